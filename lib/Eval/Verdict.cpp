//===- Verdict.cpp - Names and JSON of verdicts ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/Verdict.h"
#include "kb-opt/Support/JsonBytes.h"
#include <iterator>

using namespace llvm;

namespace kbopt {

static constexpr const char *outcomeNames[] = {"passed", "failed", "undecided", "not run"};

template <typename Enum, size_t N>
static std::optional<Enum> parseName(const char *const (&names)[N], StringRef text) {
  for (size_t i = 0; i < N; ++i)
    if (text == names[i])
      return static_cast<Enum>(i);
  return std::nullopt;
}

StringRef toString(GateOutcome outcome) { return outcomeNames[static_cast<int>(outcome)]; }

std::optional<GateOutcome> parseGateOutcome(StringRef text) {
  return parseName<GateOutcome>(outcomeNames, text);
}

GateRecord GateRecord::pass(GateId gate, std::string reason, unsigned cases) {
  GateRecord record;
  record.gate = gate;
  record.reason = std::move(reason);
  record.cases = cases;
  return record;
}

GateRecord GateRecord::fail(GateId gate, FailureClass failure, std::string reason,
                            std::vector<std::string> details) {
  GateRecord record;
  record.gate = gate;
  record.outcome = GateOutcome::Failed;
  record.failure = failure;
  record.reason = std::move(reason);
  record.details = std::move(details);
  return record;
}

GateRecord GateRecord::undecided(GateId gate, std::string reason,
                                 std::vector<std::string> details) {
  GateRecord record = fail(gate, FailureClass::None, std::move(reason), std::move(details));
  record.outcome = GateOutcome::Undecided;
  return record;
}

GateRecord GateRecord::notRun(GateId gate, std::string reason) {
  GateRecord record;
  record.gate = gate;
  record.outcome = GateOutcome::NotRun;
  record.reason = std::move(reason);
  return record;
}

std::string Verdict::summary() const {
  std::string text = toString(kind).str();
  if (!gate)
    return text;
  text += " (";
  if (failure != FailureClass::None)
    text += toString(failure).str() + ", ";
  text += toString(*gate).str() + " " + gateTitle(*gate).str() + ")";
  if (!reason.empty())
    text += ": " + reason;
  return text;
}

void Verdict::add(GateRecord record) {
  if (record.stops() && !gate) {
    kind =
        record.outcome == GateOutcome::Failed ? VerdictKind::Incorrect : VerdictKind::Inconclusive;
    gate = record.gate;
    failure = record.failure;
    reason = record.reason;
    details = record.details;
  }
  gates.push_back(std::move(record));
}

/// Details quote what programs print, which may be any bytes.
static json::Array shownList(ArrayRef<std::string> texts) {
  json::Array list;
  for (const std::string &text : texts)
    list.push_back(shownJson(text));
  return list;
}

json::Value toJSON(const GateRecord &record) {
  json::Object object{{"gate", toString(record.gate)},
                      {"outcome", toString(record.outcome)},
                      {"cases", static_cast<int64_t>(record.cases)},
                      {"seconds", record.seconds}};
  if (record.failure != FailureClass::None)
    object["failure"] = toString(record.failure);
  if (!record.reason.empty())
    object["reason"] = shownJson(record.reason);
  if (!record.details.empty())
    object["details"] = shownList(record.details);
  return object;
}

json::Value toJSON(const Verdict &verdict) {
  json::Object object{{"verdict", toString(verdict.kind)}};
  if (verdict.failure != FailureClass::None)
    object["failure"] = toString(verdict.failure);
  if (verdict.gate)
    object["gate"] = toString(*verdict.gate);
  if (!verdict.reason.empty())
    object["reason"] = shownJson(verdict.reason);
  if (!verdict.details.empty())
    object["details"] = shownList(verdict.details);
  json::Array gates;
  for (const GateRecord &record : verdict.gates)
    gates.push_back(toJSON(record));
  object["gates"] = std::move(gates);
  if (verdict.timing)
    object["timing"] = toJSON(*verdict.timing);
  return object;
}

/// Reads the optional string \p key of \p object with \p parse.
template <typename T, typename Parse>
static bool readName(const json::Object &object, StringLiteral key, bool required, Parse parse,
                     json::Path path, std::optional<T> &result) {
  std::optional<StringRef> text = object.getString(key);
  if (!text) {
    if (required)
      path.field(key).report("expected a name");
    return !required;
  }
  result = parse(*text);
  if (!result)
    path.field(key).report("unknown name");
  return result.has_value();
}

bool fromJSON(const json::Value &value, GateRecord &record, json::Path path) {
  json::ObjectMapper map(value, path);
  const json::Object *object = value.getAsObject();
  if (!map || !object)
    return false;
  std::optional<GateId> gate;
  std::optional<GateOutcome> outcome;
  std::optional<FailureClass> failure;
  if (!readName(*object, "gate", true, parseGateId, path, gate) ||
      !readName(*object, "outcome", true, parseGateOutcome, path, outcome) ||
      !readName(*object, "failure", false, parseFailureClass, path, failure))
    return false;
  record.gate = *gate;
  record.outcome = *outcome;
  record.failure = failure.value_or(FailureClass::None);
  int64_t cases = 0;
  if (!map.mapOptional("reason", record.reason) || !map.mapOptional("details", record.details) ||
      !map.mapOptional("cases", cases) || !map.mapOptional("seconds", record.seconds))
    return false;
  record.cases = static_cast<unsigned>(cases);
  return true;
}

bool fromJSON(const json::Value &value, Verdict &verdict, json::Path path) {
  json::ObjectMapper map(value, path);
  const json::Object *object = value.getAsObject();
  if (!map || !object)
    return false;
  std::optional<VerdictKind> kind;
  std::optional<FailureClass> failure;
  if (!readName(*object, "verdict", true, parseVerdictKind, path, kind) ||
      !readName(*object, "failure", false, parseFailureClass, path, failure) ||
      !readName(*object, "gate", false, parseGateId, path, verdict.gate))
    return false;
  verdict.kind = *kind;
  verdict.failure = failure.value_or(FailureClass::None);
  return map.mapOptional("reason", verdict.reason) && map.mapOptional("details", verdict.details) &&
         map.mapOptional("gates", verdict.gates) && map.mapOptional("timing", verdict.timing);
}

} // namespace kbopt
