// Writes NAME.json and NAME.xml of the sample reports into a folder, for report_schema_test.py.
#include "report_samples.h"

#include <fstream>

#include "check/report_json.h"
#include "check/report_junit.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string folder = arguments[1];
  for (const auto& [name, report] : vtower::test::sample_reports()) {
    std::ofstream(folder + "/" + name + ".json") << vtower::to_json(report).dump(2);
    std::ofstream(folder + "/" + name + ".xml") << vtower::to_junit(report);
  }
  return 0;
}
