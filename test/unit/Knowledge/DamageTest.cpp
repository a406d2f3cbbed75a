//===- DamageTest.cpp - Damaged input is told, never believed -------------===//
//
// Every reader of this library on inputs with bytes changed, cut or doubled: no
// crash, and a record that still reads is one that was written.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Knowledge/Catalogue.h"
#include "kb-opt/Knowledge/Evidence.h"
#include "kb-opt/Knowledge/State.h"
#include "kb-opt/Support/Random.h"
#include "kb-opt/Target/Builtin.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

std::string damaged(std::string text, Random &random) {
  static const char bytes[] = "\"{}[],:.0-9eE\\x \n\xff";
  for (uint64_t changes = 1 + random.below(3); changes && !text.empty(); --changes) {
    size_t at = random.below(text.size());
    switch (random.below(4)) {
    case 0:
      text[at] = bytes[random.below(sizeof(bytes) - 1)];
      break;
    case 1:
      text.erase(at, 1 + random.below(20));
      break;
    case 2:
      text.insert(at, text.substr(random.below(text.size()), 1 + random.below(20)));
      break;
    default:
      text.resize(at);
      break;
    }
  }
  return text;
}

template <typename T> bool reads(llvm::Expected<T> value) {
  if (value)
    return true;
  EXPECT_NE(llvm::toString(value.takeError()), "");
  return false;
}

Evidence sample() {
  Evidence e;
  e.primary = "uncoalesced_access";
  e.pass = "coalesce-accesses";
  e.parameters = {{"factor", "4"}};
  e.features = {"loops=1"};
  e.chip = "h200";
  e.device = "cuda";
  e.achievedGain = 0.25;
  e.reason = "a \"quoted\" reason [with brackets {";
  e.time = "2026-01-01T00:00:00Z";
  return e;
}

} // namespace

TEST(Damage, EvidenceThatReadsIsEvidenceThatWasWritten) {
  Random random(11);
  const std::string line = sample().toLine();
  unsigned refused = 0;
  for (int round = 0; round != 3000; ++round) {
    llvm::Expected<Evidence> record = parseEvidence(damaged(line, random));
    if (record)
      EXPECT_EQ(record->id(), sample().id()); // only the time may have changed
    else
      ++refused, llvm::consumeError(record.takeError());
  }
  EXPECT_GT(refused, 2500u);
}

TEST(Damage, DeepNestingIsRefused) {
  EXPECT_FALSE(reads(parseEvidence(std::string(1000000, '['))));
  EXPECT_FALSE(reads(MetricExpression::parse(std::string(1000000, '('))));
  EXPECT_FALSE(reads(MetricExpression::parse(std::string(1000000, '-') + "1")));
  EXPECT_TRUE(reads(MetricExpression::parse(std::string(50, '(') + "1" + std::string(50, ')'))));
}

TEST(Damage, DataFilesAreReadOrNamed) {
  Random random(12);
  llvm::StringRef device = *builtinKnowledgeFile("devices/h200.json"),
                  rules = *builtinKnowledgeFile("states/rules.json"),
                  edges = *builtinKnowledgeFile("seed/edges.json");
  llvm::StringRef optimizations = *builtinKnowledgeFile("seed/optimizations.json"),
                  pipelines = *builtinKnowledgeFile("seed/pipelines.json");
  for (int round = 0; round != 150; ++round) {
    if (llvm::Expected<ChipInfo> chip = parseChip(damaged(device.str(), random), "d.json"))
      EXPECT_GT(chip->smCount, 0);
    else
      EXPECT_EQ(llvm::toString(chip.takeError()).find("device file 'd.json': "), 0u);
    if (llvm::Expected<StateRules> read = StateRules::parse(damaged(rules.str(), random), "r.json"))
      (void)read->classify({});
    else
      EXPECT_EQ(llvm::toString(read.takeError()).find("state rules 'r.json': "), 0u);
    if (!reads(Catalogue::parse(optimizations, damaged(edges.str(), random), pipelines)))
      continue;
  }
}
