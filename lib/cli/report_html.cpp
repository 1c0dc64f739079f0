#include "cli/report_html.h"

#include <cmath>
#include <set>
#include <vector>

#include "cli/exit_code.h"
#include "cli/html_figures.h"
#include "cli/html_json.h"
#include "cli/html_style.h"
#include "cli/html_tables.h"
#include "cli/html_text.h"
#include "cli/version.h"
#include "core/file.h"

namespace vtower::cli {
namespace {

std::string paragraph(const std::string& html, const std::string& attributes = "") {
  return html.empty() ? "" : html_tag("p", html, attributes);
}

std::string section(const std::string& title, const std::string& html) {
  return html.empty() ? "" : html_tag("h2", title) + html;
}

std::string list_of(const std::vector<std::string>& entries) {
  std::string html;
  for (const std::string& entry : entries) html += html_tag("li", html_escaped(entry));
  return html.empty() ? "" : html_tag("ul", html);
}

// With a capital, unless it begins with a name ("block.3 was left out").
std::string sentence_of(std::string text) {
  const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
  if (end != 0 && end != std::string::npos && text[end] == ' ') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return html_escaped(text);
}

std::string code(const std::string& text) {
  return html_tag("code", html_escaped(text));
}

std::string count_of(std::size_t count, const std::string& word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

std::string meaning_of(int exit_code) {
  switch (static_cast<ExitCode>(exit_code)) {
    case ExitCode::ok: return "agree";
    case ExitCode::differ: return "differ, cause unknown";
    case ExitCode::usage: return "usage";
    case ExitCode::differ_named: return "differ, cause named";
    case ExitCode::not_comparable: return "not comparable";
    case ExitCode::bad_input: return "bad input";
    case ExitCode::bad_checkpoint: return "bad checkpoint";
    case ExitCode::mode_unavailable: return "a mode did not run";
    case ExitCode::resources: return "out of memory, device or peer";
    case ExitCode::vacuous: return "nothing was compared";
  }
  return "unknown";
}

std::string title_of(const Report& report) {
  std::string word = html_word_of(report.verdict);
  word.front() = static_cast<char>(word.front() - 'a' + 'A');
  return word;
}

std::string banner(const Report& report) {
  std::set<std::string> items;
  for (const PairReport& pair : report.pairs) {
    for (const ItemReport& item : pair.items) items.insert(item.item);
  }
  // Runs that agree are not all there is to say where an item failed or a mode did not run.
  const bool all_well = report.verdict != Verdict::agree || report.exit_code == 0;
  std::string html = html_tag("h1", title_of(report));
  html += paragraph(code("vtower " + report.command) + ", exit code <b>" +
                    std::to_string(report.exit_code) + "</b>: " + meaning_of(report.exit_code));
  html += paragraph(
      count_of(report.pairs.size(), "comparison") + " of " + count_of(items.size(), "item") +
          (report.failed.empty() ? "" : ", " + count_of(report.failed.size(), "item") + " failed") +
          (report.not_run.empty()
               ? ""
               : ", " + count_of(report.not_run.size(), "mode") + " did not run"),
      "class=\"quiet\"");
  return html_tag("header", html,
                  "class=\"banner " + (all_well ? html_class_of(report.verdict) : "unsure") + "\"");
}

std::string cause_of(const Report& report) {
  if (!report.cause) {
    if (report.verdict == Verdict::agree) {
      return paragraph(
          "Each compared run is within its limit on these inputs. Nothing else was "
          "tested.");
    }
    std::string html;
    for (const std::string& sentence : report.algebra) html += paragraph(html_escaped(sentence));
    if (!report.first_wrong_stage.empty()) {
      html += paragraph("The first stage outside of its floor is " +
                        code(report.first_wrong_stage) + ".");
    }
    if (html.empty() && report.verdict == Verdict::differ) html = paragraph("No cause was named.");
    return html;
  }
  const Cause& cause = *report.cause;
  const std::string id = cause.id + (cause.variant.empty() ? "" : "." + cause.variant);
  std::string html = paragraph("<b>" + sentence_of(cause.sentence) + "</b>", "class=\"cause\"");
  std::string numbers =
      code(id) + ", in " + html_escaped(cause.side) + ". With this fault planted " +
      "into the sound tower, " + html_number(cause.residual) +
      " is left of the difference; rounding allows " + html_number(cause.limit) + ".";
  if (cause.runner_up) {
    numbers += " The next best, " + code(cause.runner_up->id) + ", leaves " +
               html_number(cause.runner_up->residual) + ".";
  }
  html += paragraph(numbers);
  std::string also;
  for (const std::string& other : cause.also) also += (also.empty() ? "" : ", ") + code(other);
  if (!also.empty()) html += paragraph("These inputs cannot tell it apart from: " + also + ".");
  for (const std::string& sentence : report.algebra) html += paragraph(html_escaped(sentence));
  return html;
}

std::string worst_of(const Report& report, const HtmlPictures& pictures) {
  if (!report.worst) return "";
  const Worst& worst = *report.worst;
  std::string place = "Token " + std::to_string(worst.token) + " of " + html_escaped(worst.item);
  if (worst.tensor != "embeddings") place += ", " + code(worst.tensor);
  if (worst.box_px && worst.box_px->size() == 4) {
    const std::vector<std::int64_t>& box = *worst.box_px;
    place += ", pixels " + std::to_string(box[0]) + ".." + std::to_string(box[2]) + " across and " +
             std::to_string(box[1]) + ".." + std::to_string(box[3]) +
             " down of the resized picture";
  }
  if (worst.frames && worst.frames->size() == 2) {
    place += ", frames " + std::to_string((*worst.frames)[0]) + " to " +
             std::to_string((*worst.frames)[1]);
  }
  std::string html = paragraph(place + ", in " + html_escaped(worst.pair) + ".");
  html +=
      paragraph(std::isnan(worst.value) ? "It is <b>not finite</b>."
                                        : "Its error is <b>" + html_number(worst.value) + "</b>, " +
                                              html_share(worst.value / worst.limit) +
                                              " of its limit " + html_number(worst.limit) + ".");
  if (!worst.pattern.empty()) {
    html += paragraph("Beyond their limit are: <b>" + html_escaped(worst.pattern) + "</b>.");
  }
  return html + html_worst_picture(worst, report, pictures.items);
}

std::string items_of(const Report& report, const HtmlItems& items) {
  if (items.drawn.empty()) return "";
  std::string intro =
      "Errors of tokens as shares of their limit. Tokens of both sides are coloured "
      "by three principal components of both together, so equal colours are equal "
      "tokens.";
  if (items.drawn.size() < items.of) {
    intro += " Drawn: the worst " + std::to_string(items.drawn.size()) + " of " +
             count_of(items.of, "item") + ".";
  }
  return paragraph(intro, "class=\"quiet\"") + html_item_figures(report, items);
}

std::string folded(const std::string& title, const nlohmann::ordered_json& value) {
  if (value.is_null() || (value.is_structured() && value.empty())) return "";
  return html_tag("details", html_tag("summary", title) +
                                 html_tag("div", html_json(value), "class=\"scroll\""));
}

std::string head(const Report& report) {
  return "<meta charset=\"utf-8\">"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
         "img-src data:; style-src 'unsafe-inline'\">"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">" +
         html_tag("title",
                  "vtower " + html_escaped(report.command) + ": " + html_word_of(report.verdict)) +
         html_tag("style", html_style);
}

}  // namespace

std::string report_html(const Report& report, const HtmlPictures& pictures) {
  std::string body = banner(report);
  body += section(report.cause ? "Cause" : "In short", cause_of(report));
  body += section("What to do", list_of(report.next_steps));
  body += section("The worst token", worst_of(report, pictures));
  body += section("Comparisons", report.pairs.empty() ? "" : html_pairs(report));
  body += section("Items", items_of(report, pictures.items));
  body += section("Error by depth", pictures.depth ? html_depth(*pictures.depth) : "");
  body +=
      section("What ran", folded("Ledger: each stage that ran, in its order", report.ledger) +
                              folded("Plan: which items shared a call", report.plan) +
                              folded("Attestation: device, types, libraries", report.attestation) +
                              folded("Policy: what counts as the same", report.policy));
  body += section("Notes", list_of(report.notes));
  body += section("Failed items", html_failed(report));
  body += section("Modes that did not run", list_of(report.not_run));
  body += html_tag("footer", "Written by vtower " + html_escaped(version) +
                                 ". It says what was tested, on these inputs, and no more.");
  return "<!DOCTYPE html>\n" +
         html_tag("html", html_tag("head", head(report)) + "\n" + html_tag("body", body),
                  "lang=\"en\"") +
         "\n";
}

void write_html(const std::filesystem::path& path, const Report& report,
                const HtmlPictures& pictures) {
  AtomicFile file(path);
  file.write(report_html(report, pictures));
  file.commit();
}

}  // namespace vtower::cli
