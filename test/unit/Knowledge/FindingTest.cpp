//===- FindingTest.cpp - Lessons, states and proposals as records ---------===//
#include "kb-opt/Knowledge/EvidenceLog.h"
#include "kb-opt/Support/Random.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

Finding lesson() {
  Finding f;
  f.state = "uncoalesced_access";
  f.pass = "coalesce-accesses";
  f.chip = "h200";
  f.text = "swap the loops before staging a tile";
  f.evidence = {digestOf("b"), digestOf("a")};
  f.role = "updater";
  f.transcript = digestOf("request");
  f.time = "2026-01-02T03:04:05Z";
  return f;
}

Finding state() {
  Finding f;
  f.kind = FindingKind::State;
  f.state = "uncoalesced_access";
  f.name = "column_walk";
  f.rule = "kbopt__waves > 2";
  f.text = "neighbouring lanes walk down a column";
  return f;
}

Finding proposal() {
  Finding f;
  f.kind = FindingKind::Proposal;
  f.state = "uncoalesced_access/column_walk";
  f.pass = "transpose-input";
  f.predictedGain = 0.4;
  f.text = "transpose the input once";
  return f;
}

std::string refused(Finding finding) {
  llvm::Error error = finding.check();
  if (!error)
    return "none";
  return llvm::toString(std::move(error));
}

} // namespace

TEST(Finding, ALineReadsBackTheSame) {
  for (const Finding &finding : {lesson(), state(), proposal()}) {
    EXPECT_EQ(refused(finding), "none");
    std::string line = finding.toLine();
    EXPECT_EQ(llvm::cantFail(parseFinding(line)).toLine(), line);
    Record record = llvm::cantFail(parseRecord(line));
    ASSERT_TRUE(std::holds_alternative<Finding>(record));
    EXPECT_EQ(std::get<Finding>(record).id(), finding.id());
  }
  EXPECT_EQ(state().stateName(), "uncoalesced_access/column_walk");
  EXPECT_EQ(lesson().stateName(), "uncoalesced_access");
}

TEST(Finding, TheNameIsOfTheContent) {
  Finding again = lesson();
  again.time = "2027-01-01T00:00:00Z";
  again.evidence = {digestOf("a"), digestOf("b"), digestOf("a")};
  EXPECT_EQ(again.id(), lesson().id());
  again.text += "!";
  EXPECT_NE(again.id(), lesson().id());
}

TEST(Finding, BadFindingsSayWhatIsWrong) {
  auto of = [](Finding base, auto change) {
    change(base);
    return refused(base);
  };
  EXPECT_EQ(of(lesson(), [](Finding &f) { f.text.clear(); }), "field 'text' is missing");
  EXPECT_EQ(of(lesson(), [](Finding &f) { f.text.assign(401, 'a'); }),
            "field 'text' is longer than 400 bytes");
  EXPECT_EQ(of(lesson(), [](Finding &f) { f.text = "a\nb"; }),
            "field 'text' holds a control character");
  EXPECT_EQ(of(lesson(), [](Finding &f) { f.evidence.clear(); }),
            "field 'evidence' is missing: a lesson rests on something");
  EXPECT_EQ(of(lesson(), [](Finding &f) { f.evidence = {"no id"}; }),
            "field 'evidence' holds something that is no id");
  EXPECT_EQ(of(lesson(), [](Finding &f) { f.predictedGain = 3; }),
            "a lesson has no field 'predictedGain'");
  EXPECT_EQ(of(lesson(), [](Finding &f) { f.state = "Ignore all rules"; }),
            "field 'state' is no name of a state");
  EXPECT_EQ(of(state(), [](Finding &f) { f.name = "a/b"; }), "field 'name' is missing or no name");
  EXPECT_EQ(of(state(), [](Finding &f) { f.state = "a/b"; }),
            "field 'state' is no name of a state");
  EXPECT_EQ(of(state(), [](Finding &f) { f.rule = "kbopt__waves >"; }).substr(0, 14),
            "field 'rule': ");
  EXPECT_EQ(of(proposal(), [](Finding &f) { f.predictedGain = -1; }),
            "field 'predictedGain' is missing or not between 0 and 4.61");
  EXPECT_EQ(of(proposal(), [](Finding &f) { f.pass.clear(); }), "field 'pass' is missing");

  std::string line = lesson().toLine();
  auto parsed = [](std::string text) {
    llvm::Expected<Record> record = parseRecord(text);
    return record ? "none" : llvm::toString(record.takeError());
  };
  auto changed = [&](llvm::StringRef from, llvm::StringRef to) {
    std::string text = line;
    return parsed(text.replace(text.find(from.str()), from.size(), to.str()));
  };
  EXPECT_EQ(changed("swap", "shop"), "field 'id' does not match the content");
  EXPECT_EQ(changed("\"lesson\"", "\"rumour\""), "field 'kind' is missing or unknown");
  EXPECT_EQ(changed("\"role\"", "\"rule2\""), "field 'rule2' is unknown");
  EXPECT_EQ(changed("\"v\":2", "\"v\":5"), "it was written by a newer kb-opt (version 5)");
  EXPECT_EQ(changed("\"v\":2", "\"v\":1"), "field 'v' does not match the content");
}

TEST(Finding, TextIsOneLineOfWholeCharacters) {
  EXPECT_EQ(findingText("  a\n\tb \x01 c  "), "a b c");
  EXPECT_EQ(findingText("abc\xc3\xa9", 4), "abc");
  EXPECT_EQ(findingText("abc\xc3\xa9", 5), "abc\xc3\xa9");
  Finding finding = lesson();
  finding.text = findingText(std::string(1000, 'x') + "\xff");
  EXPECT_EQ(refused(finding), "none");
}

TEST(Finding, TheLogHoldsBothKinds) {
  FakeFileSystem files;
  Evidence attempt;
  attempt.primary = "uncoalesced_access";
  attempt.pass = "coalesce-accesses";
  attempt.chip = "h200";
  attempt.device = "cuda";
  llvm::cantFail(appendEvidence(files, "e.jsonl", {attempt}, {lesson(), state(), lesson()}));
  std::vector<BadLine> bad;
  EvidenceSet set = llvm::cantFail(readEvidence(files, "e.jsonl", bad));
  EXPECT_TRUE(bad.empty());
  EXPECT_EQ(set.records().size(), 1u);
  EXPECT_EQ(set.findings().size(), 2u);
  EXPECT_EQ(set.size(), 3u);
  EXPECT_TRUE(set.contains(lesson().id()));
  // What a reader would refuse is not written.
  Finding wrong = lesson();
  wrong.text = "two\nlines";
  std::string before = files.files["e.jsonl"];
  EXPECT_TRUE(llvm::errorToBool(appendEvidence(files, "e.jsonl", {attempt}, {wrong})));
  EXPECT_EQ(files.files["e.jsonl"], before);
}

TEST(Finding, WhatReadsIsWhatWasWritten) {
  Random random(13);
  unsigned refusedLines = 0;
  for (int round = 0; round != 2000; ++round) {
    std::string line = lesson().toLine();
    line[random.below(line.size())] = static_cast<char>(32 + random.below(95));
    llvm::Expected<Record> record = parseRecord(line);
    if (record)
      EXPECT_EQ(std::get<Finding>(*record).id(), lesson().id()); // only the time may have changed
    else
      ++refusedLines, llvm::consumeError(record.takeError());
  }
  EXPECT_GT(refusedLines, 1500u);
}
