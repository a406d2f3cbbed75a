//===- Evidence.cpp - Attempts and their lines ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/Evidence.h"
#include "RecordJson.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;
using namespace kbopt::record;
namespace json = llvm::json;

namespace {

struct TextField {
  llvm::StringLiteral key;
  std::string Evidence::*member;
  bool required;
  int64_t since = attemptVersion;
};
const TextField textFields[] = {
    {"primary", &Evidence::primary, true},
    {"secondary", &Evidence::secondary, false},
    {"shape", &Evidence::shape, false},
    {"pass", &Evidence::pass, true},
    {"predecessor", &Evidence::predecessor, false},
    {"chip", &Evidence::chip, true},
    {"device", &Evidence::device, true},
    {"reason", &Evidence::reason, false},
    {"cause", &Evidence::cause, false, 2},
    {"reply", &Evidence::reply, false, 2},
    {"role", &Evidence::role, false, 2},
    {"program", &Evidence::program, false},
    {"before", &Evidence::before, false},
    {"after", &Evidence::after, false},
    {"time", &Evidence::time, false},
};

struct NumberField {
  llvm::StringLiteral key;
  std::optional<double> Evidence::*member;
  int64_t since = attemptVersion;
};
const NumberField numberFields[] = {
    {"predictedGain", &Evidence::predictedGain}, {"achievedGain", &Evidence::achievedGain},
    {"creditGain", &Evidence::creditGain},       {"modelledGain", &Evidence::modelledGain, 2},
    {"estimatedUs", &Evidence::estimatedUs, 4},  {"cost", &Evidence::cost, 2}};

struct MapField {
  llvm::StringLiteral key;
  std::map<std::string, std::string> Evidence::*member;
};
const MapField mapFields[] = {{"parameters", &Evidence::parameters},
                              {"versions", &Evidence::versions}};

bool isField(llvm::StringRef key) {
  auto matches = [&](const auto &field) { return key == field.key; };
  return llvm::is_contained(
             {"id", "v", "kind", "verdict", "gate", "failure", "features", "tokens", "nest"},
             key) ||
         llvm::any_of(textFields, matches) || llvm::any_of(numberFields, matches) ||
         llvm::any_of(mapFields, matches);
}

/// Everything but `id`.
json::Object toObject(const Evidence &record) {
  json::Object object{{"verdict", toString(record.verdict)}};
  int64_t version = attemptVersion;
  auto put = [&](const auto &field) {
    write(object, field.key, record.*field.member);
    if (object.get(field.key))
      version = std::max(version, field.since);
  };
  write(object, "gate", toString(record.gate).str());
  write(object, "failure", toString(record.failure).str());
  llvm::for_each(textFields, put);
  llvm::for_each(numberFields, put);
  for (const MapField &field : mapFields)
    write(object, field.key, record.*field.member);
  write(object, "features", record.features);
  if (record.tokens) {
    object["tokens"] = record.tokens;
    version = 2;
  }
  if (record.verdict == VerdictKind::Screened)
    version = 3;
  json::Object figures;
  for (const auto &[name, value] : record.nest)
    figures[json::fixUTF8(name)] = value + 0.0; // no negative zero
  if (!figures.empty()) {
    object["nest"] = std::move(figures);
    version = 4;
  }
  object["v"] = version;
  return object;
}

/// The field `nest` of \p object.
llvm::Error readFigures(const json::Object &object, std::map<std::string, double> &figures) {
  const json::Value *found = object.get("nest");
  if (!found)
    return llvm::Error::success();
  const json::Object *entries = found->getAsObject();
  if (!entries)
    return bad("field 'nest' is no object");
  for (const auto &entry : *entries) {
    std::optional<double> number;
    if (llvm::Error error = readNumber(*entries, entry.first, number))
      return bad("field 'nest': " + llvm::toString(std::move(error)));
    figures[llvm::StringRef(entry.first).str()] = *number;
  }
  return llvm::Error::success();
}

} // namespace

Digest Evidence::id() const { return idOf(toObject(*this)); }

Digest Evidence::experiment() const {
  DigestBuilder builder;
  for (const std::string &part :
       {primary, secondary, pass, predecessor, chip, device, program, before, after})
    builder.add(part);
  for (const auto &[name, value] : parameters)
    builder.add(name).add(value);
  // A model that is asked again says something else.
  if (!reply.empty() || !role.empty() || tokens)
    builder.add(reply).add(toString(failure)).add(reason);
  return builder.add(toString(verdict)).finish();
}

std::string Evidence::toLine() const {
  json::Object object = toObject(*this);
  object["id"] = idOf(object);
  return print(std::move(object));
}

/// The record of \p object, whose `id` and `v` are not looked at.
static llvm::Expected<Evidence> fieldsOf(const json::Object &object) {
  // Attempts have no kind where kb-opt writes them.
  if (const json::Value *kind = object.get("kind"); kind && kind->getAsString() != "attempt")
    return bad("field 'kind' is not 'attempt'");
  for (const auto &entry : object)
    if (!isField(entry.first))
      return bad("field '" + llvm::StringRef(entry.first) + "' is unknown");
  Evidence record;
  for (const TextField &field : textFields)
    if (llvm::Error error = readText(object, field.key, field.required, record.*field.member))
      return std::move(error);
  for (const NumberField &field : numberFields)
    if (llvm::Error error = readNumber(object, field.key, record.*field.member))
      return std::move(error);
  for (const MapField &field : mapFields)
    if (llvm::Error error = readMap(object, field.key, record.*field.member))
      return std::move(error);
  if (llvm::Error error = readTexts(object, "features", record.features))
    return std::move(error);
  if (llvm::Error error = readFigures(object, record.nest))
    return std::move(error);
  if (const json::Value *tokens = object.get("tokens")) {
    std::optional<uint64_t> count = tokens->getAsUINT64();
    if (!count)
      return bad("field 'tokens' is no count");
    record.tokens = *count;
  }
  // It names a file.
  if (!record.reply.empty() && !isDigest(record.reply))
    return bad("field 'reply' is no digest");
  if (record.cost && *record.cost < 0)
    return bad("field 'cost' is negative");
  std::optional<VerdictKind> verdict = parseVerdictKind(object.getString("verdict").value_or(""));
  if (!verdict)
    return bad("field 'verdict' is missing or no verdict");
  record.verdict = *verdict;
  std::string gate, failure;
  if (llvm::Error error = readText(object, "gate", /*required=*/false, gate))
    return std::move(error);
  if (llvm::Error error = readText(object, "failure", /*required=*/false, failure))
    return std::move(error);
  record.gate = parseGateId(gate);
  if (!record.gate && !gate.empty())
    return bad("field 'gate' is no gate: '" + gate + "'");
  if (std::optional<FailureClass> known = parseFailureClass(failure))
    record.failure = *known;
  else
    return bad("field 'failure' is no failure: '" + failure + "'");
  return record;
}

llvm::Expected<Evidence> record::attemptOf(const json::Object &object) {
  llvm::Expected<Evidence> record = fieldsOf(object);
  if (record)
    if (llvm::Error error = checkName(object, toObject(*record)))
      return std::move(error);
  return record;
}

llvm::Expected<Evidence> kbopt::parseUnnamedEvidence(llvm::StringRef line) {
  llvm::Expected<json::Value> parsed = json::parse(line);
  if (!parsed)
    return bad(llvm::toString(parsed.takeError()));
  const json::Object *object = parsed->getAsObject();
  if (!object)
    return bad("it is no JSON object");
  if (object->get("id") || object->get("v"))
    return bad("it has a name already; 'kb-knowledge merge' takes such records");
  return fieldsOf(*object);
}

llvm::Expected<Evidence> kbopt::parseEvidence(llvm::StringRef line) {
  llvm::Expected<json::Object> object = parse(line);
  if (!object)
    return object.takeError();
  return attemptOf(*object);
}
