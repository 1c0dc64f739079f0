// Writes the made-up report: html_example FILE
#include "support/html_report.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const vtower::Report report = vtower::test::full_report();
  vtower::cli::write_html(argv[1], report, vtower::test::full_pictures(report));
  return 0;
}
