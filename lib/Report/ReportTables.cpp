//===- ReportTables.cpp - What a report says of search and proof ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the pipeline, the attempts, the gates, lessons, cost and versions, as tables.
//
//===----------------------------------------------------------------------===//
#include "ReportParts.h"
#include <cmath>

using namespace kbopt;
using namespace kbopt::report;
using llvm::formatv;
using llvm::StringRef;

static void openTable(llvm::raw_ostream &os, llvm::ArrayRef<std::pair<StringRef, StringRef>> heads,
                      StringRef classes = "") {
  os << formatv("<div class=\"scroll {0}\"><table><thead><tr>", classes);
  for (const auto &[head, kind] : heads)
    os << formatv("<th class=\"{0}\">{1}</th>", kind, head);
  os << "</tr></thead><tbody>\n";
}

static void closeTable(llvm::raw_ostream &os) { os << "</tbody></table></div>\n"; }

/// \p html is escaped already.
static void cell(llvm::raw_ostream &os, llvm::Twine html, StringRef kind = "") {
  os << (kind.empty() ? std::string("<td>") : formatv("<td class=\"{0}\">", kind).str())
     << html.str() << "</td>";
}

static std::string code(StringRef text) {
  return text.empty() ? "" : "<code>" + escaped(text) + "</code>";
}

static std::string dollars(const std::optional<double> &amount) {
  return amount ? formatv("${0:f4}", *amount).str() : "cost unknown";
}

bool report::writePipeline(llvm::raw_ostream &os, const ReportPage &page) {
  if (page.steps.empty())
    return false;
  os << "<section id=\"pipeline\">\n<h2>Pipeline</h2>\n";
  openTable(os, {{"step", "n"},
                 {"move", "wide"},
                 {"when it was made", "n"},
                 {"without it", "n"},
                 {"what it does", "wide"}});
  std::vector<int> made = winningAttempts(page);
  for (size_t i = 0; i != page.steps.size(); ++i) {
    const ReportStep &step = page.steps[i];
    os << "<tr>";
    cell(os, llvm::Twine(i + 1), "n");
    cell(os, code(step.step));
    const ReportAttempt *attempt = made[i] < 0 ? nullptr : &page.attempts[made[i]];
    cell(os,
         attempt && attempt->us > 0 && attempt->parentUs > 0
             ? factor(attempt->parentUs / attempt->us)
             : "unknown",
         "n");
    cell(os, step.alone ? factor(*step.alone) + " slower" : "unknown", "n");
    cell(os, escaped(step.summary));
    os << "</tr>\n";
  }
  closeTable(os);
  os << "<p class=\"soft\"><em>When it was made</em>: time before the step over time after it, in "
        "the search. "
        "<em>Without it</em>: how much slower the winner is with all the other steps but this one; "
        "unknown where they do "
        "not apply without it, or where that was not judged.</p>\n";
  for (const std::string &step : page.ablated)
    os << "<p>" << code(step) << " contributed nothing and was left out.</p>\n";
  os << "</section>\n";
  return true;
}

void report::writeAttempts(llvm::raw_ostream &os, const ReportPage &page) {
  bool asked = llvm::any_of(page.attempts,
                            [](const ReportAttempt &each) { return each.tokens || each.dollars; });
  bool expected =
      llvm::any_of(page.attempts, [](const ReportAttempt &each) { return each.predicted > 0; });
  os << formatv("<details{0}><summary>All {1} attempts</summary>\n",
                page.attempts.size() <= 12 ? " open=\"open\"" : "", page.attempts.size());
  std::vector<std::pair<StringRef, StringRef>> heads = {
      {"#", "n"},    {"trajectory", "n"},         {"move", "wide"},        {"verdict", ""},
      {"time", "n"}, {"of the step before", "n"}, {"of the original", "n"}};
  heads.push_back({"reason", "wide"});
  if (asked)
    heads.insert(heads.end(), {{"tokens", "n"}, {"cost", "n"}});
  if (expected)
    heads.push_back({"expected", "n"});
  heads.push_back({"state before", ""});
  openTable(os, heads, "tall");
  for (size_t i = 0; i != page.attempts.size(); ++i) {
    const ReportAttempt &attempt = page.attempts[i];
    os << formatv("<tr id=\"{0}\">", rowId(i));
    cell(os, llvm::Twine(i + 1), "n");
    cell(os,
         attempt.phase == "search" ? std::to_string(attempt.trajectory)
         : attempt.phase == "tune" ? "tuning"
                                   : "winner",
         "n");
    cell(os, code(attempt.step) + (attempt.repair ? " <span class=\"soft\">repair</span>" : ""));
    cell(os, escaped(attempt.verdict), ("verdict " + outcomeClass(attempt)).str());
    bool timed = attempt.us > 0;
    cell(os, timed ? micros(attempt.us) : "", "n");
    cell(os, timed && attempt.parentUs > 0 ? factor(attempt.parentUs / attempt.us) : "", "n");
    cell(os, timed && page.originalUs > 0 ? factor(page.originalUs / attempt.us) : "", "n");
    bool both = !attempt.shortcut.empty() && !attempt.reason.empty();
    const std::string disputed =
        attempt.dispute.empty() ? "" : "; the debugger disputes it: " + attempt.dispute;
    cell(os, escaped(attempt.shortcut) + (both ? "; " : "") + escaped(attempt.reason + disputed));
    if (asked) {
      cell(os, attempt.tokens ? grouped(attempt.tokens) : "", "n");
      cell(os, attempt.tokens ? dollars(attempt.dollars) : "", "n");
    }
    if (expected)
      cell(os, attempt.predicted > 0 ? factor(attempt.predicted) : "", "n");
    cell(os, escaped(attempt.state));
    os << "</tr>\n";
  }
  closeTable(os);
  os << formatv("<p class=\"soft\">{0} judged; not judged: {1} with machine code seen before, {2} "
                "programs reached again, "
                "{3} that the roofline rules out.</p>\n</details>\n",
                page.judged, page.merged, page.known, page.pruned);
}

bool report::writeGates(llvm::raw_ostream &os, const ReportPage &page) {
  if (page.gates.empty())
    return false;
  os << "<section id=\"proof\">\n<h2>Proof</h2>\n<p class=\"soft\">What the winner was put "
        "through, on every "
        "case.</p>\n";
  openTable(os, {{"gate", ""},
                 {"what", ""},
                 {"outcome", ""},
                 {"runs", "n"},
                 {"seconds", "n"},
                 {"reason", "wide"}});
  unsigned runs = 0;
  for (const ReportGate &gate : page.gates) {
    os << "<tr>";
    cell(os, escaped(gate.gate));
    cell(os, escaped(gate.title));
    StringRef kind = gate.outcome == "passed"   ? "gain"
                     : gate.outcome == "failed" ? "wrong"
                                                : "none";
    cell(os, escaped(gate.outcome), ("verdict " + kind).str());
    cell(os, gate.runs ? grouped(gate.runs) : "", "n");
    cell(os, gate.seconds >= 0.005 ? formatv("{0:f2}", gate.seconds).str() : "", "n");
    cell(os, escaped(gate.reason));
    os << "</tr>\n";
    runs += gate.outcome == "passed" ? gate.runs : 0;
  }
  closeTable(os);
  os << formatv("<p class=\"soft\">{0} runs compared.</p>\n</section>\n", grouped(runs));
  return true;
}

bool report::writeMissed(llvm::raw_ostream &os, const ReportPage &page) {
  if (page.missed.empty())
    return false;
  os << formatv("<section id=\"missed\">\n<h2>What does not apply</h2>\n<details{0}><summary>{1} "
                "place{2} where a pass "
                "does not apply to the original</summary>\n",
                page.attempts.empty() ? " open=\"open\"" : "", page.missed.size(),
                page.missed.size() == 1 ? "" : "s");
  openTable(os, {{"pass", ""}, {"kernel", ""}, {"line", "n"}, {"reason", "wide"}}, "tall");
  for (const Remark &remark : page.missed) {
    os << "<tr>";
    cell(os, code(remark.pass));
    cell(os, code(remark.kernel));
    cell(os, remark.line ? std::to_string(remark.line) : "", "n");
    cell(os, escaped(remark.message));
    os << "</tr>\n";
  }
  closeTable(os);
  os << "</details>\n</section>\n";
  return true;
}

bool report::writeLessons(llvm::raw_ostream &os, const ReportPage &page) {
  if (page.lessons.empty())
    return false;
  os << "<section id=\"lessons\">\n<h2>Lessons</h2>\n";
  for (const ReportLesson &lesson : page.lessons) {
    os << "<div class=\"lesson\"><p>" << escaped(lesson.text) << "</p>\n<p class=\"soft\">";
    for (StringRef word : {StringRef(lesson.state), StringRef(lesson.pass), StringRef(lesson.chip)})
      if (!word.empty())
        os << code(word) << " ";
    if (!lesson.author.empty())
      os << "by the " << escaped(lesson.author);
    os << "</p>\n";
    if (lesson.evidence.empty()) {
      os << "<p class=\"soft\">No evidence is named.</p></div>\n";
      continue;
    }
    openTable(os, {{"evidence", ""}, {"pass", ""}, {"state", ""}, {"verdict", ""}, {"gain", "n"}});
    for (const ReportEvidence &evidence : lesson.evidence) {
      os << "<tr>";
      cell(os, "<code>" + shortened(evidence.id, 12) + "</code>");
      cell(os, code(evidence.pass));
      cell(os, escaped(evidence.state));
      cell(os, escaped(evidence.verdict));
      cell(os, evidence.gain ? factor(*evidence.gain) : "", "n");
      os << "</tr>\n";
    }
    closeTable(os);
    os << "</div>\n";
  }
  os << "</section>\n";
  return true;
}

bool report::writeCost(llvm::raw_ostream &os, const ReportPage &page) {
  if (page.roles.empty())
    return false;
  os << "<section id=\"cost\">\n<h2>Cost</h2>\n";
  openTable(os, {{"role", ""},
                 {"model", ""},
                 {"calls", "n"},
                 {"tokens in", "n"},
                 {"tokens out", "n"},
                 {"cost", "n"}});
  ReportRole all;
  all.role = "all";
  all.dollars = 0;
  auto row = [&](const ReportRole &role) {
    os << "<tr>";
    cell(os, escaped(role.role));
    cell(os, escaped(role.model));
    cell(os, grouped(role.calls), "n");
    cell(os, grouped(role.promptTokens), "n");
    cell(os, grouped(role.completionTokens), "n");
    cell(os, dollars(role.dollars), "n");
    os << "</tr>\n";
  };
  for (const ReportRole &role : page.roles) {
    row(role);
    all.calls += role.calls;
    all.promptTokens += role.promptTokens;
    all.completionTokens += role.completionTokens;
    all.dollars = all.dollars && role.dollars ? std::optional<double>(*all.dollars + *role.dollars)
                                              : std::nullopt;
  }
  row(all);
  closeTable(os);
  double gained = page.found && page.bestUs > 0 && page.originalUs > 0
                      ? std::log(page.originalUs / page.bestUs)
                      : 0;
  if (gained > 0)
    os << formatv(
        "<p class=\"soft\">{0} tokens per unit of logarithmic speed-up.</p>\n",
        grouped(static_cast<uint64_t>(double(all.promptTokens + all.completionTokens) / gained)));
  os << "</section>\n";
  return true;
}

bool report::writeFacts(llvm::raw_ostream &os, const ReportPage &page) {
  if (page.facts.empty())
    return false;
  os << "<section id=\"run\">\n<h2>This run</h2>\n<div class=\"scroll\"><table><tbody>\n";
  for (const auto &[name, value] : page.facts)
    os << formatv("<tr><th>{0}</th><td>{1}</td></tr>\n", escaped(name), escaped(value));
  os << "</tbody></table></div>\n</section>\n";
  return true;
}
