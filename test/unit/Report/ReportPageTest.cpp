//===- ReportPageTest.cpp - The page that --report writes ------------------===//

#include "kb-opt/Report/ReportPage.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"
#include "gtest/gtest.h"

using namespace kbopt;
using llvm::StringRef;

namespace {

ReportAttempt attempt(StringRef move, StringRef parent, StringRef node, VerdictKind outcome,
                      double us) {
  ReportAttempt result;
  result.trajectory = 1;
  result.pass = move.split('{').first.str();
  result.step = move.str();
  result.parent = parent.str();
  result.node = node.str();
  result.outcome = outcome;
  result.verdict = outcome == VerdictKind::Correct ? "correct" : "not so";
  result.us = us;
  result.parentUs = 10;
  result.judged = !node.empty();
  return result;
}

KernelPage kernel(double us) {
  KernelPage page;
  page.kernel = "scale";
  page.us = us;
  page.share = 1;
  page.state = "memory_latency_bound";
  page.metrics = {{"gpu__time_duration.sum", us * 1000},
                  {"dram__bytes_read.sum", 4096},
                  {"smsp__inst_executed.sum", 512},
                  {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 2048},
                  {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", 9}};
  return page;
}

/// Every section has data.
ReportPage fullPage() {
  ReportPage page;
  page.program = "a.cu";
  page.chip = "h200";
  page.source = "modelled";
  page.originalUs = 10;
  page.bestUs = 4;
  page.found = page.confirmed = true;
  page.end = "done";
  page.replay = "kb-opt -passes='p,q{n=2}' a.cu";
  page.root = "root";
  page.winner = "two";
  page.steps = {{"p", "does p", 2.0}, {"q{n=2}", "does q", std::nullopt}};
  page.ablated = {"neutral"};
  page.attempts = {attempt("p", "root", "one", VerdictKind::Correct, 5),
                   attempt("bad", "root", "three", VerdictKind::Incorrect, 0),
                   attempt("q{n=2}", "one", "two", VerdictKind::Correct, 4),
                   attempt("invent", "root", "", VerdictKind::NotApplied, 0)};
  page.attempts[3].isRefused = true;
  page.attempts[3].tokens = 1234;
  page.timeline = {{"original recorded", 1}};
  page.seconds = 2;
  page.judged = 3;
  page.before = "a\nint x = 1;\nc\nd\n";
  page.after = "a\nint y = 1;\nnew\nc\nd\n";
  page.kernelsBefore = {kernel(10)};
  page.kernelsBefore[0].measure = "issued instructions";
  page.kernelsBefore[0].lines = {{"a.cu", 2, "int x = 1;", 0.75, "8.0 sectors per request", {}},
                                 {"helper.h", 7, "", 0.25, "", {}}};
  page.kernelsAfter = {kernel(4)};
  page.ceilings = {{{"DRAM", 4.8e12}, {"L2", 6e12}}, {{"fp32", 67e12}}, {"issue", 1e12}};
  page.gates = {{"G6", "outputs", "passed", "", 12, 0.5},
                {"G9", "sanitizer", "not run", "needs a GPU", 0, 0}};
  page.roles = {{"coder", "m", 3, 1000, 200, 0.25}, {"planner", "m", 1, 10, 2, std::nullopt}};
  page.lessons = {{"tile first",
                   "memory_latency_bound",
                   "p",
                   "h200",
                   "updater",
                   {{"0123456789abcdef", "p", "s", "correct", 2.0}}}};
  page.missed = {{RemarkKind::Missed, "r", "scale", 1, "a.cu", 3, 1, "no loop", {}}};
  page.facts = {{"seed", "0"}};
  return page;
}

std::string htmlOf(const ReportPage &page) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeReport(os, page);
  return text;
}

size_t count(StringRef text, StringRef part) { return text.count(part); }

/// Whether tags are balanced, attributes quoted and bare `<` and `&` absent, as XML wants
/// it. Returns what is wrong.
std::string wrongMarkup(StringRef text) {
  std::vector<std::string> open;
  text.consume_front("<!DOCTYPE html>");
  while (!text.empty()) {
    size_t next = text.find_first_of("<&");
    if (next == StringRef::npos)
      break;
    text = text.drop_front(next);
    if (text[0] == '&') {
      if (!llvm::any_of(llvm::ArrayRef<StringRef>{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"},
                        [&](StringRef entity) { return text.starts_with(entity); }))
        return "bare & at: " + text.take_front(40).str();
      text = text.drop_front();
      continue;
    }
    bool closes = text.starts_with("</");
    StringRef name =
        text.drop_front(closes ? 2 : 1).take_while([](char c) { return llvm::isAlnum(c); });
    if (name.empty())
      return "bare < at: " + text.take_front(40).str();
    size_t at = 1 + closes + name.size();
    for (bool quoted = false; at < text.size() && (quoted || text[at] != '>'); ++at) {
      quoted ^= text[at] == '"';
      if (text[at] == '<')
        return "< within a tag at: " + text.take_front(80).str();
    }
    bool isVoid = text[at - 1] == '/';
    if (closes) {
      if (open.empty() || open.back() != name)
        return ("</" + name + "> does not close <" + (open.empty() ? "" : open.back()) + ">").str();
      open.pop_back();
    } else if (!isVoid) {
      open.push_back(name.str());
    }
    text = text.drop_front(at + 1);
  }
  return open.empty() ? "" : "<" + open.back() + "> stays open";
}

/// All texts of a page replaced by \p text.
ReportPage poisoned(const std::string &text) {
  ReportPage page = fullPage();
  for (std::string *each : {&page.program,
                            &page.chip,
                            &page.source,
                            &page.end,
                            &page.replay,
                            &page.steps[0].summary,
                            &page.ablated[0],
                            &page.attempts[0].verdict,
                            &page.attempts[0].reason,
                            &page.attempts[0].shortcut,
                            &page.attempts[0].state,
                            &page.attempts[3].step,
                            &page.attempts[3].pass,
                            &page.before,
                            &page.kernelsBefore[0].kernel,
                            &page.kernelsBefore[0].launch,
                            &page.kernelsBefore[0].limiter,
                            &page.kernelsBefore[0].state,
                            &page.kernelsBefore[0].why,
                            &page.kernelsBefore[0].measure,
                            &page.kernelsBefore[0].lines[0].note,
                            &page.kernelsBefore[0].lines[1].file,
                            &page.kernelsBefore[0].lines[1].text,
                            &page.ceilings.bytes[0].name,
                            &page.ceilings.flops[0].name,
                            &page.gates[0].gate,
                            &page.gates[0].title,
                            &page.gates[0].outcome,
                            &page.gates[0].reason,
                            &page.roles[0].role,
                            &page.roles[0].model,
                            &page.lessons[0].text,
                            &page.lessons[0].state,
                            &page.lessons[0].pass,
                            &page.lessons[0].chip,
                            &page.lessons[0].author,
                            &page.lessons[0].evidence[0].id,
                            &page.lessons[0].evidence[0].pass,
                            &page.lessons[0].evidence[0].state,
                            &page.lessons[0].evidence[0].verdict,
                            &page.missed[0].pass,
                            &page.missed[0].kernel,
                            &page.missed[0].message,
                            &page.facts[0].first,
                            &page.facts[0].second})
    *each = text;
  page.after = text + "\nmore\n";
  page.timings = page.limits = {text};
  return page;
}

} // namespace

TEST(ReportPage, IsWellFormed) {
  EXPECT_EQ(wrongMarkup(htmlOf(fullPage())), "");
  EXPECT_EQ(wrongMarkup(htmlOf(ReportPage())), "");
  EXPECT_NE(wrongMarkup("<p><b></p>"), ""); // the check can fail
  EXPECT_NE(wrongMarkup("<p>a & b</p>"), "");
}

TEST(ReportPage, TextsAreNeverMarkup) {
  const std::string attack = "</script></title></code>\"'><img src=x onerror=alert(1)>&lt;";
  std::string text = htmlOf(poisoned(attack));
  EXPECT_EQ(wrongMarkup(text), "");
  EXPECT_EQ(text.find("<img"), std::string::npos);
  EXPECT_EQ(count(text, "<script"), 1u);
  EXPECT_EQ(count(text, "</script>"), 1u);
  EXPECT_GT(count(text, "&lt;img src=x onerror=alert(1)&gt;&amp;lt;"), 40u);
  // The evidence's name is cut in a word of the attack, not in an entity.
  EXPECT_NE(text.find("&lt;/script&gt;&lt;/t…"), std::string::npos);
}

TEST(ReportPage, TuningStandsBehindWhatItTuned) {
  ReportPage page = fullPage();
  page.steps[1].step = "q{n=4}";
  page.winner = "tuned";
  page.attempts.push_back(attempt("q{n=4}", "two", "tuned", VerdictKind::Correct, 3));
  page.attempts.back().phase = "tune";
  page.attempts.back().trajectory = 0;
  std::string text = htmlOf(page);
  EXPECT_EQ(wrongMarkup(text), "");
  // The way goes by p and q{n=2}, which the last edge leaves.
  EXPECT_EQ(count(text, "class=\"edge win\""), 3u);
  EXPECT_NE(text.find("tuned q{n=4}  3.33 ×</text>"), std::string::npos);
  EXPECT_NE(text.find("<td class=\"n\">tuning</td>"), std::string::npos);
  EXPECT_EQ(text.find("at the end"), std::string::npos);

  std::string json;
  llvm::raw_string_ostream os(json);
  writeReportJson(os, page);
  llvm::Expected<llvm::json::Value> figures = llvm::json::parse(json);
  ASSERT_TRUE(bool(figures)) << llvm::toString(figures.takeError());
  const llvm::json::Array &attempts = *figures->getAsObject()->getArray("attempts");
  EXPECT_EQ(attempts[0].getAsObject()->getString("phase"), "search");
  EXPECT_EQ(attempts[4].getAsObject()->getString("phase"), "tune");
}

TEST(ReportPage, ShowsWhatHides) {
  std::string text = htmlOf(poisoned("a\x1b[31m\xE2\x80\xAE \xff\xC2\x9B\r\nb\x01"));
  EXPECT_TRUE(llvm::json::isUTF8(text));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x01'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.find("\xE2\x80\xAE"), std::string::npos);
  EXPECT_NE(text.find("a[U+001B][31m[U+202E] \xEF\xBF\xBD[U+009B]\nb[U+0001]"), std::string::npos);
}

// Browsers run no script but the one whose digest the page states.
TEST(ReportPage, LoadsNothingAndRunsItsOwnScriptAlone) {
  std::string text = htmlOf(fullPage());
  StringRef rest = StringRef(text).split("<script>").second;
  StringRef script = rest.split("</script>").first;
  llvm::SHA256 hash;
  hash.update(script);
  std::string policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" +
                       llvm::encodeBase64(hash.final()) + "'";
  EXPECT_NE(text.find(policy), std::string::npos);
  for (StringRef loading : {"src=", "url(", "@import", "<link", "<iframe", "<object"})
    EXPECT_EQ(text.find(loading.str()), std::string::npos) << loading.str();
  EXPECT_EQ(count(text, "http"), 2u); // the name of XHTML, and http-equiv
}

TEST(ReportPage, LeavesOutWhatHasNoDataAndSaysWhy) {
  ReportPage page;
  page.program = "a.cu";
  page.source = "modelled";
  page.originalUs = 10;
  page.limits = {"no GPU was used"};
  std::string text = htmlOf(page);
  for (StringRef section : {"pipeline", "gain", "roofline", "patch", "kernels", "source", "proof",
                            "tree", "lessons", "cost", "missed", "run"})
    EXPECT_EQ(text.find("id=\"" + section.str() + "\""), std::string::npos) << section.str();
  for (StringRef reason :
       {"<li>cost: no model was asked</li>", "<li>lessons: no model was asked</li>",
        "<li>patch: no faster program was proven</li>", "<li>search tree: nothing was tried</li>",
        "<li>roofline: no kernel has counters for bytes, work and time</li>",
        "<li>no GPU was used</li>"})
    EXPECT_NE(text.find(reason.str()), std::string::npos) << reason.str();
  EXPECT_NE(text.find("stays as it is"), std::string::npos);
  std::string full = htmlOf(fullPage());
  EXPECT_EQ(full.find("id=\"absent\""), std::string::npos);
  EXPECT_NE(full.find("id=\"cost\""), std::string::npos);
}

TEST(ReportPage, SaysHowSureItIs) {
  ReportPage page = fullPage();
  EXPECT_NE(htmlOf(page).find("no lower bound without a GPU"), std::string::npos);
  page.device = "NVIDIA H200";
  page.source = "measured";
  page.lowerBound = 2.41;
  page.confirmed = false;
  page.gates.clear();
  std::string text = htmlOf(page);
  EXPECT_NE(text.find("measured on NVIDIA H200"), std::string::npos);
  EXPECT_NE(text.find("at least 2.410 × (95 %)"), std::string::npos);
  EXPECT_NE(text.find("<b>not proven</b>: the run ended before every gate"), std::string::npos);
  EXPECT_NE(text.find("<li>proof: the run ended before the final check</li>"), std::string::npos);
}

TEST(ReportPage, DrawsTheTimeline) {
  ReportPage page = fullPage();
  page.counts = "41 screened, 2 proven, 1 refused (G7)";
  page.timeline = {{"original recorded", 3.5}, {"first proof", 19}};
  page.seconds = 20;
  std::string text = htmlOf(page);
  EXPECT_NE(text.find("41 screened, 2 proven, 1 refused (G7)"), std::string::npos);
  EXPECT_NE(text.find(">original recorded, 3.5 s</text>"), std::string::npos);
  EXPECT_NE(text.find("text-anchor=\"end\">first proof, 19.0 s</text>"), std::string::npos);
  page.timeline.clear();
  EXPECT_EQ(htmlOf(page).find("id=\"timeline\""), std::string::npos);
}

TEST(ReportPage, MarksTheWinnersWay) {
  ReportPage page = fullPage();
  std::string text = htmlOf(page);
  EXPECT_EQ(count(text, "class=\"edge win\""), 2u);
  EXPECT_EQ(count(text, "class=\"edge\""), 2u);
  EXPECT_NE(text.find("2.00 × slower"), std::string::npos);
  EXPECT_EQ(text.find("made at the end"), std::string::npos);
  // Tuning found other parameters than any attempt had.
  page.steps[1].step = "q{n=4}";
  EXPECT_NE(htmlOf(page).find("q{n=4}, made at the end by tuning or ablation"), std::string::npos);
}

TEST(ReportPage, ShowsRefusedProposalsRepairsAndTokens) {
  ReportPage page = fullPage();
  page.attempts[3].repair = true;
  std::string text = htmlOf(page);
  EXPECT_NE(text.find("a proposal that was refused"), std::string::npos);
  EXPECT_NE(text.find("; 1\u202f234 tokens"), std::string::npos);
  EXPECT_NE(text.find("not so, repair</text>"), std::string::npos);
  // One role's price is unknown, so the sum is.
  EXPECT_NE(text.find("$0.2500"), std::string::npos);
  EXPECT_EQ(count(text, "<td class=\"n\">cost unknown</td>"),
            3u); // that role, the sum, the attempt
}

TEST(ReportPage, HoldsThreeHundredAttempts) {
  ReportPage page = fullPage();
  for (unsigned i = 0; page.attempts.size() < 300; ++i)
    page.attempts.push_back(attempt("p", i % 3 ? "n" + std::to_string(i - 1) : "root",
                                    "n" + std::to_string(i), VerdictKind::Correct, 8));
  std::string text = htmlOf(page);
  EXPECT_EQ(count(text, "<tr id=\"a"), 300u);
  EXPECT_EQ(count(text, "href=\"#a300\""), 2u); // from the chart and from the tree
  EXPECT_EQ(wrongMarkup(text), "");
  EXPECT_LT(text.size(), 600000u);
}

TEST(ReportPage, PutsThePatchSideBySide) {
  std::string text = htmlOf(fullPage());
  EXPECT_NE(
      text.find(
          "<td class=\"no\">2</td><td class=\"line minus\">int <b>x</b> = 1;</td>"
          "<td class=\"no right\">2</td><td class=\"line plus right\">int <b>y</b> = 1;</td>"),
      std::string::npos);
  EXPECT_NE(text.find("<td class=\"no void\"></td><td class=\"void\"></td>"
                      "<td class=\"no right\">3</td><td class=\"line plus right\">new</td>"),
            std::string::npos);
}

TEST(ReportPage, PutsCostsBesideLines) {
  std::string text = htmlOf(fullPage());
  EXPECT_NE(text.find("<span>75.0 %</span></td><td class=\"line\">int x = 1;<span "
                      "class=\"note\">8.0 sectors per request</span>"),
            std::string::npos);
  EXPECT_NE(text.find("<td colspan=\"3\">helper.h</td>"), std::string::npos);
}

TEST(ReportPage, CountsInstructionsWhereThereAreNoFlops) {
  ReportPage page = fullPage();
  EXPECT_NE(htmlOf(page).find("FLOP per byte of DRAM traffic"), std::string::npos);
  page.kernelsAfter[0].metrics.erase("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum");
  std::string text = htmlOf(page);
  EXPECT_EQ(text.find("FLOP per byte"), std::string::npos);
  EXPECT_NE(text.find("warp instructions per byte of DRAM traffic"), std::string::npos);
  EXPECT_NE(text.find("issue 1.0 Tinst/s"), std::string::npos);
}
