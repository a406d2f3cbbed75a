//===- KeptGates.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "KeptGates.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

GateStore::~GateStore() = default;

/// The object that \p store has under \p name.
static std::optional<json::Object> lookUp(GateStore *store, StringRef name) {
  std::optional<std::string> text = store ? store->find(name) : std::nullopt;
  if (!text)
    return std::nullopt;
  Expected<json::Value> value = json::parse(*text);
  if (!value) {
    consumeError(value.takeError()); // another version's: it is asked again
    return std::nullopt;
  }
  json::Object *object = value->getAsObject();
  return object ? std::optional(std::move(*object)) : std::nullopt;
}

static void keep(GateStore *store, StringRef name, json::Object object) {
  if (store)
    store->keep(name, formatv("{0}", json::Value(std::move(object))).str());
}

template <typename T> static bool read(const json::Object &object, StringRef key, T &into) {
  const json::Value *value = object.get(key);
  json::Path::Root root;
  return value && fromJSON(*value, into, root);
}

/// What the answers of gates rest on beside the two programs.
static Digest groundsOf(const GateContext &context) {
  const RunIdentity &identity = context.judge.baseline->identity;
  return DigestBuilder().add(identity.input).add(identity.harness).add(identity.image).finish();
}

std::optional<GateRecord> keptGate(GateStore *store, GateId gate, GateContext &context) {
  std::optional<json::Object> kept = lookUp(store, toString(gate));
  GateRecord record;
  if (!kept || !read(*kept, "record", record) || record.gate != gate)
    return std::nullopt;
  const int64_t cases = kept->getInteger("cases").value_or(0),
                spread = kept->getInteger("spread").value_or(-1);
  if (kept->getString("grounds") != groundsOf(context) || cases < context.caseCount || spread < 0 ||
      spread > static_cast<int64_t>(Spread::Narrowed))
    return std::nullopt;
  std::optional<TimingReport> timing;
  if (kept->get("timing") && !read(*kept, "timing", timing.emplace()))
    return std::nullopt;
  context.spread = static_cast<Spread>(spread);
  context.hasOwnTable |= kept->getBoolean("ownTable").value_or(false);
  context.hasOtherInputs |= kept->getBoolean("otherInputs").value_or(false);
  context.hasRoundedUpload |= kept->getBoolean("roundedUpload").value_or(false);
  context.runsHostsAgain |= kept->getBoolean("runsAgain").value_or(false);
  context.hasRelaidInputs |= kept->getBoolean("relaidInputs").value_or(false);
  if (timing)
    context.timing = std::move(timing);
  record.details.push_back("answered by an earlier run");
  record.seconds = 0;
  return record;
}

void keepGate(GateStore *store, const GateRecord &record, const GateContext &context) {
  if (record.outcome != GateOutcome::Passed && record.outcome != GateOutcome::Failed)
    return;
  json::Object kept{{"record", toJSON(record)},
                    {"grounds", groundsOf(context)},
                    {"cases", context.caseCount},
                    {"spread", static_cast<int64_t>(context.spread)},
                    {"ownTable", context.hasOwnTable},
                    {"otherInputs", context.hasOtherInputs},
                    {"roundedUpload", context.hasRoundedUpload},
                    {"runsAgain", context.runsHostsAgain},
                    {"relaidInputs", context.hasRelaidInputs}};
  if (context.timing)
    kept["timing"] = toJSON(*context.timing);
  keep(store, toString(record.gate), std::move(kept));
}

static constexpr StringLiteral originalName = "original";

std::optional<BaselineReport> keptBaseline(GateStore *store, ArrayRef<TestCase> cases) {
  std::optional<json::Object> kept = lookUp(store, originalName);
  if (!kept)
    return std::nullopt;
  BaselineReport report;
  if (kept->get("problem") && !read(*kept, "problem", report.problem.emplace()))
    return std::nullopt;
  std::vector<std::string> admitted;
  if (!read(*kept, "admitted", admitted) || !read(*kept, "notAdmitted", report.notAdmitted))
    return std::nullopt;
  report.deterministic = kept->getBoolean("deterministic").value_or(false);
  report.unchecked = kept->getString("unchecked").value_or("").str();
  report.identity = {kept->getString("input").value_or("").str(),
                     kept->getString("harness").value_or("").str(),
                     kept->getString("image").value_or("").str()};
  for (const std::string &name : admitted) {
    const TestCase *test = find_if(cases, [&](const TestCase &each) { return each.name == name; });
    if (test == cases.end())
      return std::nullopt;
    report.admitted.push_back(*test);
  }
  return report;
}

void keepBaseline(GateStore *store, const BaselineReport &report) {
  json::Array admitted;
  for (const TestCase &test : report.admitted)
    admitted.push_back(test.name);
  json::Object kept{
      {"deterministic", report.deterministic}, {"unchecked", json::fixUTF8(report.unchecked)},
      {"admitted", std::move(admitted)},       {"notAdmitted", json::Array(report.notAdmitted)},
      {"input", report.identity.input},        {"harness", report.identity.harness},
      {"image", report.identity.image}};
  if (report.problem)
    kept["problem"] = toJSON(*report.problem);
  keep(store, originalName, std::move(kept));
}

} // namespace kbopt
