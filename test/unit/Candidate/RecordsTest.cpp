//===- RecordsTest.cpp - Records come back from their JSON ----------------===//
#include "kb-opt/Candidate/JudgementRecord.h"
#include "kb-opt/Candidate/LinesRecord.h"
#include "kb-opt/Candidate/RewriteRecord.h"
#include "kb-opt/Candidate/SiteRecord.h"
#include "kb-opt/Candidate/SpeedRecord.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
namespace json = llvm::json;

namespace {

std::string print(const json::Value &value) { return llvm::formatv("{0}", value).str(); }

template <typename Record> Record parse(llvm::StringRef text) {
  auto record = json::parse<Record>(text);
  if (record)
    return *record;
  ADD_FAILURE() << llvm::toString(record.takeError());
  return Record();
}

/// \p record after a way to text and back, which must give the same text again.
template <typename Record> Record roundTrip(const Record &record) {
  const std::string text = print(json::Value(record));
  Record back = parse<Record>(text);
  EXPECT_EQ(print(json::Value(back)), text);
  return back;
}

template <typename Record> bool isRefused(llvm::StringRef text) {
  auto record = json::parse<Record>(text);
  if (record)
    return false;
  llvm::consumeError(record.takeError());
  return true;
}

TEST(RewriteRecord, KeepsAProgram) {
  RewriteRecord record;
  record.text = std::string("// caf\xe9\n__global__ void k();\n"); // Latin-1
  record.host = "host";
  record.edits = {{3, 4, "ForStmt at line 7", 1, 9}, {20, 0, "", 20, 20}};
  record.promise = Promise::Reassociates;
  record.assumes = {Assumption::Aligned, Assumption::NoAlias};
  record.run = ScheduleRun{"base\xff", {{"c:@F@k", "tile(8)"}}};
  RewriteRecord back = roundTrip(record);
  EXPECT_EQ(back.text, record.text);
  EXPECT_EQ(back.host, "host");
  ASSERT_EQ(back.edits.size(), 2u);
  EXPECT_EQ(back.edits[0].anchor, "ForStmt at line 7");
  EXPECT_EQ(back.edits[0].offset, 3u);
  EXPECT_EQ(back.edits[0].length, 4u);
  EXPECT_EQ(back.edits[0].anchorBegin, 1u);
  EXPECT_EQ(back.edits[0].anchorEnd, 9u);
  EXPECT_EQ(back.promise, Promise::Reassociates);
  EXPECT_EQ(back.assumes, record.assumes);
  ASSERT_TRUE(back.run.has_value());
  EXPECT_EQ(back.run->base, "base\xff");
  EXPECT_EQ(back.run->schedules, record.run->schedules);
}

TEST(RewriteRecord, KeepsWhyThereIsNone) {
  RewriteRecord record = RewriteRecord::none("no site");
  EXPECT_EQ(print(json::Value(record)), R"({"reason":"no site"})");
  record.refusedBy = EditRule::Library;
  RewriteRecord back = roundTrip(record);
  EXPECT_FALSE(back.text.has_value());
  EXPECT_EQ(back.reason, "no site");
  EXPECT_EQ(back.refusedBy, EditRule::Library);
}

TEST(RewriteRecord, ReadsWhatEarlierBuildsWrote) {
  auto record = parse<RewriteRecord>(
      R"({"assumes":["noalias"],"edits":[{"anchor":"a","begin":1,"end":2,"length":1,"offset":1}],)"
      R"("host":"h","promise":"bitwise","text":"t"})");
  EXPECT_EQ(record.text, "t");
  EXPECT_EQ(record.edits.size(), 1u);
  EXPECT_FALSE(record.run.has_value());
}

TEST(RewriteRecord, RefusesOtherForms) {
  EXPECT_TRUE(isRefused<RewriteRecord>("[]"));
  EXPECT_TRUE(isRefused<RewriteRecord>("{}"));
  EXPECT_TRUE(isRefused<RewriteRecord>(R"({"text":"t"})")) << "without its edits";
  EXPECT_TRUE(isRefused<RewriteRecord>(R"({"text":"t","edits":[],"host":"h"})"))
      << "without its promise";
  EXPECT_TRUE(isRefused<RewriteRecord>(R"({"reason":"r","rule":"no such rule"})"));
}

TEST(RewriteRecord, Weakens) {
  CandidatePromise before;
  before.result = Promise::Reassociates;
  before.assumes = {Assumption::NoAlias};
  RewriteRecord record;
  record.assumes = {Assumption::Aligned};
  CandidatePromise after = weaken(before, record);
  EXPECT_EQ(after.result, Promise::Reassociates) << "an exact step makes nothing exact again";
  EXPECT_EQ(after.assumes, (std::set<Assumption>{Assumption::Aligned, Assumption::NoAlias}));
  record.promise = Promise::LowerPrecision;
  EXPECT_EQ(weaken(before, record).result, Promise::LowerPrecision);
}

TEST(SiteRecord, RoundTrip) {
  std::vector<SiteRecord> sites = {{"unroll", "k", false, {{"factor", "4"}}, {}},
                                   {"schedule", "k", false, {}, {"tile(8)", "tile(16)"}},
                                   {"rewrite", "k", true, {}, {}}};
  std::vector<SiteRecord> back = roundTrip(sites);
  ASSERT_EQ(back.size(), 3u);
  EXPECT_EQ(back[0].values, sites[0].values);
  EXPECT_EQ(back[1].choices, sites[1].choices);
  EXPECT_TRUE(back[2].assisted);
  EXPECT_TRUE(isRefused<std::vector<SiteRecord>>(R"([{"kernel":"k"}])"));
}

TEST(SpeedRecord, OfTheCostModel) {
  SpeedRecord record;
  record.us = 12.5;
  record.floorUs = 3;
  record.seconds = 0.25;
  record.longest = "_Z1kv";
  record.kernels["_Z1kv"] = {12.5, {{"kbopt__waves", 1.5}}, {"line 3: 90 %"}, 3};
  SpeedRecord back = roundTrip(record);
  EXPECT_EQ(back.us, 12.5);
  EXPECT_EQ(back.floorUs, 3);
  EXPECT_EQ(back.seconds, 0.25);
  EXPECT_EQ(back.longest, "_Z1kv");
  ASSERT_TRUE(back.find("_Z1kv"));
  EXPECT_EQ(back.find("_Z1kv")->metrics, record.kernels["_Z1kv"].metrics);
  EXPECT_EQ(back.find("_Z1kv")->lines, record.kernels["_Z1kv"].lines);
  EXPECT_EQ(back.find("_Z1kv")->launches, 3u);
  EXPECT_FALSE(back.find("other"));
}

TEST(SpeedRecord, OfAProgramThatIsNotCounted) {
  EXPECT_EQ(print(json::Value(SpeedRecord())), "{}");
  EXPECT_FALSE(roundTrip(SpeedRecord()).us.has_value());
}

TEST(SpeedRecord, OfCounters) {
  SpeedRecord record;
  record.longest = "k";
  record.degraded = "no permission";
  record.kernels["k"] = {2, {}, {}};
  EXPECT_EQ(print(json::Value(record)),
            R"({"degraded":"no permission","kernels":{"k":{"metrics":{},"us":2}},"longest":"k"})");
  EXPECT_EQ(roundTrip(record).degraded, "no permission");
  EXPECT_TRUE(isRefused<SpeedRecord>(R"({"kernels":{"k":{"us":2}}})"));
}

TEST(LinesRecord, RoundTrip) {
  LinesRecord record;
  record.kernels["k"] = {"line 1: 60 %", "line 9: 20 %"};
  record.kernels["none"] = {};
  EXPECT_EQ(roundTrip(record).kernels, record.kernels);
  EXPECT_TRUE(isRefused<LinesRecord>("{}"));
}

TEST(JudgementRecord, KeepsAVerdict) {
  JudgementRecord record;
  record.verdict.kind = VerdictKind::Correct;
  record.verdict.add(GateRecord::fail(GateId::G6, FailureClass::Correctness, "out[3] is 7"));
  JudgementRecord back = roundTrip(record);
  EXPECT_EQ(back.verdict.kind, VerdictKind::Incorrect);
  EXPECT_EQ(back.verdict.gate, GateId::G6);
  EXPECT_EQ(back.verdict.reason, "out[3] is 7");
  EXPECT_FALSE(back.speed.has_value());
}

TEST(JudgementRecord, KeepsTheSpeed) {
  JudgementRecord record;
  record.verdict.kind = VerdictKind::Correct;
  JudgedSpeed &speed = record.speed.emplace();
  speed.code = "c0de";
  speed.us = 5;
  speed.modelledUs = 6;
  speed.floorUs = 1;
  speed.metrics = {{"x.pct", 50}};
  speed.shape = "matmul";
  speed.degraded = "no counters";
  speed.kernelsUs = 4;
  speed.launches = 2;
  speed.kernels["k"] = {4, {{"x.pct", 40}}, "stencil"};
  JudgementRecord back = roundTrip(record);
  ASSERT_TRUE(back.speed.has_value());
  EXPECT_EQ(back.speed->code, "c0de");
  EXPECT_EQ(back.speed->us, 5);
  EXPECT_EQ(back.speed->modelledUs, 6);
  EXPECT_EQ(back.speed->floorUs, 1);
  EXPECT_EQ(back.speed->metrics, speed.metrics);
  EXPECT_EQ(back.speed->shape, "matmul");
  EXPECT_EQ(back.speed->degraded, "no counters");
  EXPECT_EQ(back.speed->kernelsUs, 4);
  EXPECT_EQ(back.speed->launches, 2u);
  EXPECT_EQ(back.speed->kernels["k"].us, 4);
  EXPECT_EQ(back.speed->kernels["k"].metrics, speed.kernels["k"].metrics);
  EXPECT_EQ(back.speed->kernels["k"].shape, "stencil");
}

TEST(JudgementRecord, OfACorrectProgramHasASpeed) {
  JudgementRecord record;
  record.verdict.kind = VerdictKind::Correct;
  EXPECT_TRUE(isRefused<JudgementRecord>(print(json::Value(record))));
  EXPECT_TRUE(isRefused<JudgementRecord>("{}"));
}

} // namespace
