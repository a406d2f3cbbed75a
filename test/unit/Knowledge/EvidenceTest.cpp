//===- EvidenceTest.cpp - Records, their names, and broken logs -----------===//
#include "kb-opt/Knowledge/EvidenceLog.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace kbopt;

namespace {

Evidence sample() {
  Evidence e;
  e.primary = "uncoalesced_access";
  e.secondary = "memory_bandwidth_saturated";
  e.features = {"loops=1", "pointers=3"};
  e.shape = "elementwise";
  e.pass = "coalesce-accesses";
  e.parameters = {{"factor", "4"}};
  e.predecessor = "add-restrict-const";
  e.chip = "h200";
  e.device = "cpu-modelled";
  e.predictedGain = 0.1;
  e.achievedGain = 1.0 / 3;
  e.creditGain = 0.35;
  e.program = "p";
  e.before = "b";
  e.after = "a";
  e.versions = {{"kb-opt", "0.1.0"}, {"llvm", "22.1"}};
  e.time = "2026-01-02T03:04:05Z";
  return e;
}

std::string errorOf(llvm::StringRef line) {
  llvm::Expected<Evidence> record = parseEvidence(line);
  return record ? "none" : llvm::toString(record.takeError());
}

std::string replaced(std::string text, llvm::StringRef from, llvm::StringRef to) {
  size_t at = text.find(from.str());
  EXPECT_NE(at, std::string::npos) << from.str() << " in " << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to.str());
}

} // namespace

TEST(Evidence, ALineReadsBackTheSame) {
  Evidence record = sample();
  std::string line = record.toLine();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  Evidence again = llvm::cantFail(parseEvidence(line));
  EXPECT_EQ(again.toLine(), line);
  EXPECT_EQ(again.achievedGain, 1.0 / 3);
  EXPECT_EQ(again.features, record.features);
  EXPECT_EQ(again.time, record.time);
  Evidence failed = sample();
  failed.verdict = VerdictKind::Incorrect;
  failed.achievedGain.reset();
  failed.gate = GateId::G6;
  failed.failure = FailureClass::Correctness;
  failed.reason = "out[3] is \"7\",\nexpected 8";
  again = llvm::cantFail(parseEvidence(failed.toLine()));
  EXPECT_EQ(again.verdict, VerdictKind::Incorrect);
  EXPECT_EQ(again.achievedGain, std::nullopt);
  EXPECT_EQ(again.reason, failed.reason);
}

TEST(Evidence, AScheduleHasItsNest) {
  Evidence record = sample();
  record.nest = {{"fits-rows", 1}, {"points", 12.5}};
  record.estimatedUs = 4.25;
  std::string line = record.toLine();
  EXPECT_NE(line.find("\"v\":4"), std::string::npos);
  Evidence again = llvm::cantFail(parseEvidence(line));
  EXPECT_EQ(again.nest, record.nest);
  EXPECT_EQ(again.estimatedUs, 4.25);
  EXPECT_EQ(again.toLine(), line);
  EXPECT_EQ(errorOf(replaced(line, "12.5", "\"wide\"")),
            "field 'nest': field 'points' is no number");
  EXPECT_EQ(errorOf(replaced(line, "{\"fits-rows\":1,\"points\":12.5}", "3")),
            "field 'nest' is no object");
}

TEST(Evidence, NamesAWordThatItDoesNotKnow) {
  Evidence failed = sample();
  failed.gate = GateId::G6;
  failed.failure = FailureClass::Correctness;
  const std::string line = failed.toLine();
  for (auto [from, to] :
       {std::pair("\"G6\"", "\"G99\""), std::pair("\"correctness\"", "\"taste\"")}) {
    llvm::Expected<Evidence> read = parseEvidence(replaced(line, from, to));
    ASSERT_FALSE(read);
    EXPECT_NE(llvm::toString(read.takeError()).find(llvm::StringRef(to).trim('"')),
              std::string::npos);
  }
}

TEST(Evidence, TheNameIsOfTheContentAndNotOfTheTime) {
  Evidence record = sample(), later = sample(), other = sample();
  later.time = "2027-01-01T00:00:00Z";
  other.parameters["factor"] = "8";
  EXPECT_EQ(record.id(), later.id());
  EXPECT_NE(record.id(), other.id());
  EXPECT_EQ(record.id().size(), 32u);
}

// Records of earlier versions keep their names, whatever fields were added.
TEST(Evidence, OlderLinesKeepTheirNames) {
  llvm::StringRef line =
      R"({"achievedGain":1.25,"after":"coalesce-accesses","before":"transpose","chip":"h200",)"
      R"("creditGain":1.25,"device":"cpu-modelled","id":"7c9324e6bb5170c50b72e692d4788697",)"
      R"("pass":"coalesce-accesses","predictedGain":0.25,"primary":"uncoalesced_access",)"
      R"("program":"transpose","secondary":"memory_bandwidth_saturated","shape":"elementwise",)"
      R"("time":"2026-01-01T00:00:00Z","v":1,"verdict":"correct","versions":{"kb-opt":"0.1.0"}})";
  Evidence record = llvm::cantFail(parseEvidence(line));
  EXPECT_EQ(record.toLine(), line);
  // Said or not, it is an attempt.
  std::string said = replaced(line.str(), "\"id\"", "\"kind\":\"attempt\",\"id\"");
  EXPECT_EQ(llvm::cantFail(parseEvidence(said)).toLine(), line);
}

TEST(Evidence, WhatAModelTookIsPartOfTheRecord) {
  Evidence record = sample();
  record.reply = digestOf("reply");
  record.role = "coder";
  record.cause = "missing barrier";
  record.tokens = 1234;
  record.cost = 0.0125;
  record.modelledGain = -0.5;
  std::string line = record.toLine();
  EXPECT_NE(line.find("\"v\":2"), std::string::npos) << line;
  Evidence again = llvm::cantFail(parseEvidence(line));
  EXPECT_EQ(again.toLine(), line);
  EXPECT_EQ(again.tokens, 1234u);
  EXPECT_EQ(again.cost, 0.0125);
  EXPECT_EQ(again.modelledGain, -0.5);
  EXPECT_NE(record.id(), sample().id());
  Evidence dearer = record, other = record;
  dearer.tokens = 2000;
  dearer.cost = 0.02;
  other.reply = digestOf("another reply");
  EXPECT_EQ(record.experiment(), dearer.experiment());
  EXPECT_NE(record.experiment(), other.experiment());
  EXPECT_EQ(errorOf(replaced(line, "1234", "-5")), "field 'tokens' is no count");
  EXPECT_EQ(errorOf(replaced(line, "0.0125", "-0.0125")), "field 'cost' is negative");
  EXPECT_EQ(errorOf(replaced(line, record.reply, "../reply")), "field 'reply' is no digest");
}

TEST(Evidence, ZeroAndSpecialGains) {
  Evidence record = sample();
  record.achievedGain = -0.0;
  record.creditGain = NAN;
  Evidence again = llvm::cantFail(parseEvidence(record.toLine()));
  EXPECT_EQ(again.achievedGain, 0.0);
  EXPECT_EQ(again.creditGain, std::nullopt);
}

TEST(Evidence, BadRecordsSayWhatIsWrong) {
  std::string line = sample().toLine();
  EXPECT_EQ(errorOf("7"), "it is no JSON object");
  EXPECT_EQ(errorOf("{}"), "field 'v' is missing");
  EXPECT_EQ(errorOf(replaced(line, "\"v\":1", "\"v\":5")),
            "it was written by a newer kb-opt (version 5)");
  EXPECT_EQ(errorOf(replaced(line, "\"v\":1", "\"v\":2")), "field 'v' does not match the content");
  EXPECT_EQ(errorOf(replaced(line, "\"v\":1", "\"kind\":\"lesson\",\"v\":1")),
            "field 'kind' is not 'attempt'");
  EXPECT_EQ(errorOf(replaced(line, "\"pass\":", "\"pazz\":")), "field 'pazz' is unknown");
  EXPECT_EQ(errorOf(replaced(line, "\"pass\":\"coalesce-accesses\",", "")),
            "field 'pass' is missing");
  EXPECT_EQ(errorOf(replaced(line, "\"h200\"", "7")), "field 'chip' is no string");
  EXPECT_EQ(errorOf(replaced(line, "0.34999999999999998", "\"much\"")),
            "field 'creditGain' is no number");
  EXPECT_EQ(errorOf(replaced(line, "\"correct\"", "\"perhaps\"")),
            "field 'verdict' is missing or no verdict");
  EXPECT_EQ(errorOf(replaced(line, "h200", "h100")), "field 'id' does not match the content");
  EXPECT_NE(errorOf(line.substr(0, line.size() / 2)), "none");
}

TEST(Evidence, ALogKeepsItsBadLines) {
  FakeFileSystem files;
  std::string good = sample().toLine();
  std::string log = "not json\n" + good + "\n\n{\"v\":1}\n" + good.substr(0, 40);
  files.files["evidence.jsonl"] = log;
  std::vector<BadLine> bad;
  EvidenceSet set = llvm::cantFail(readEvidence(files, "evidence.jsonl", bad));
  EXPECT_EQ(set.size(), 1u);
  ASSERT_EQ(bad.size(), 3u);
  EXPECT_EQ(bad[0].line, 1u);
  EXPECT_EQ(bad[1].line, 4u);
  EXPECT_EQ(bad[1].reason, "field 'primary' is missing");
  EXPECT_EQ(bad[2].line, 5u);
  // What is appended after half a line is whole, and nothing that was there goes.
  Evidence other = sample();
  other.pass = "unroll-loop";
  llvm::cantFail(appendEvidence(files, "evidence.jsonl", {other, sample()}));
  EXPECT_EQ(files.files["evidence.jsonl"].substr(0, log.size()), log);
  bad.clear();
  EXPECT_EQ(llvm::cantFail(readEvidence(files, "evidence.jsonl", bad)).size(), 2u);
  EXPECT_EQ(bad.size(), 3u);
}

TEST(Evidence, AnAbsentLogIsEmptyAndAFullDiskIsAnError) {
  FakeFileSystem files;
  std::vector<BadLine> bad;
  EXPECT_EQ(llvm::cantFail(readEvidence(files, "none.jsonl", bad)).size(), 0u);
  files.failWrites = true;
  EXPECT_TRUE(llvm::errorToBool(appendEvidence(files, "none.jsonl", {sample()})));
  EXPECT_FALSE(llvm::errorToBool(appendEvidence(files, "none.jsonl", {})));
}

TEST(Evidence, MergingIsUnionInAnyOrder) {
  Evidence a = sample(), b = sample(), later = sample();
  b.pass = "unroll-loop";
  later.time = "2027-01-01T00:00:00Z";
  EvidenceSet one, two, both, back;
  one.insert(a);
  two.insert(b);
  two.insert(later);
  both.merge(one);
  both.merge(two);
  back.merge(two);
  back.merge(one);
  ASSERT_EQ(both.size(), 2u);
  ASSERT_EQ(back.size(), 2u);
  for (const auto &[id, record] : both.records())
    EXPECT_EQ(record.toLine(), back.records().at(id).toLine());
  EXPECT_EQ(both.records().at(a.id()).time, a.time);
}
