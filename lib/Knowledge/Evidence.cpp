//===- Evidence.cpp - Records and their lines -----------------------------===//
#include "kb-opt/Knowledge/Evidence.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace kbopt;
namespace json = llvm::json;

namespace {

constexpr int64_t recordVersion = 1;

struct VerdictWord {
  AttemptVerdict verdict;
  llvm::StringLiteral word;
};
constexpr VerdictWord verdictWords[] = {{AttemptVerdict::Correct, "correct"},
                                        {AttemptVerdict::Incorrect, "incorrect"},
                                        {AttemptVerdict::Inconclusive, "inconclusive"},
                                        {AttemptVerdict::NotApplied, "not-applied"}};

struct TextField {
  llvm::StringLiteral key;
  std::string Evidence::*member;
  bool required;
};
const TextField textFields[] = {
    {"primary", &Evidence::primary, true},
    {"secondary", &Evidence::secondary, false},
    {"shape", &Evidence::shape, false},
    {"pass", &Evidence::pass, true},
    {"predecessor", &Evidence::predecessor, false},
    {"chip", &Evidence::chip, true},
    {"device", &Evidence::device, true},
    {"gate", &Evidence::gate, false},
    {"failure", &Evidence::failure, false},
    {"reason", &Evidence::reason, false},
    {"program", &Evidence::program, false},
    {"before", &Evidence::before, false},
    {"after", &Evidence::after, false},
    {"time", &Evidence::time, false},
};

struct GainField {
  llvm::StringLiteral key;
  std::optional<double> Evidence::*member;
};
const GainField gainFields[] = {{"predictedGain", &Evidence::predictedGain},
                                {"achievedGain", &Evidence::achievedGain},
                                {"creditGain", &Evidence::creditGain}};

struct MapField {
  llvm::StringLiteral key;
  std::map<std::string, std::string> Evidence::*member;
};
const MapField mapFields[] = {{"parameters", &Evidence::parameters},
                              {"versions", &Evidence::versions}};

/// Everything but `id`; fields that are empty are left out. Keys are sorted when
/// an object is printed.
json::Object toObject(const Evidence &record) {
  json::Object object{{"v", recordVersion}, {"verdict", verdictName(record.verdict)}};
  for (const TextField &field : textFields)
    if (const std::string &text = record.*field.member; !text.empty())
      object[field.key] = json::fixUTF8(text);
  for (const GainField &field : gainFields)
    if (std::optional<double> gain = record.*field.member; gain && std::isfinite(*gain))
      object[field.key] = *gain + 0.0; // no negative zero
  for (const MapField &field : mapFields) {
    json::Object entries;
    for (const auto &[name, value] : record.*field.member)
      entries[json::fixUTF8(name)] = json::fixUTF8(value);
    if (!entries.empty())
      object[field.key] = std::move(entries);
  }
  if (!record.features.empty()) {
    json::Array features;
    for (const std::string &feature : record.features)
      features.push_back(json::fixUTF8(feature));
    object["features"] = std::move(features);
  }
  return object;
}

std::string print(json::Object object) {
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(object));
  return text;
}

/// Whether brackets outside of strings are nested deeper than a record's, which
/// would cost the JSON parser a stack frame each.
bool isTooDeep(llvm::StringRef line) {
  unsigned depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '{' || c == '['))
      ++depth;
    else if (!quoted && (c == '}' || c == ']') && depth)
      --depth;
    if (depth > 8)
      return true;
  }
  return false;
}

llvm::Error bad(const llvm::Twine &what) { return llvm::make_error<StoreError>(what.str()); }

llvm::Error readTexts(const json::Object &object, Evidence &record) {
  for (const TextField &field : textFields) {
    const json::Value *value = object.get(field.key);
    if (!value) {
      if (field.required)
        return bad("field '" + field.key + "' is missing");
      continue;
    }
    std::optional<llvm::StringRef> text = value->getAsString();
    if (!text)
      return bad("field '" + field.key + "' is no string");
    record.*field.member = text->str();
  }
  return llvm::Error::success();
}

llvm::Error readGains(const json::Object &object, Evidence &record) {
  for (const GainField &field : gainFields)
    if (const json::Value *value = object.get(field.key)) {
      std::optional<double> gain = value->getAsNumber();
      if (!gain || !std::isfinite(*gain))
        return bad("field '" + field.key + "' is no number");
      record.*field.member = *gain;
    }
  return llvm::Error::success();
}

llvm::Error readMaps(const json::Object &object, Evidence &record) {
  for (const MapField &field : mapFields)
    if (const json::Value *value = object.get(field.key)) {
      const json::Object *entries = value->getAsObject();
      if (!entries)
        return bad("field '" + field.key + "' is no object");
      for (const auto &entry : *entries) {
        std::optional<llvm::StringRef> text = entry.second.getAsString();
        if (!text)
          return bad("field '" + field.key + "." + llvm::StringRef(entry.first) + "' is no string");
        (record.*field.member)[llvm::StringRef(entry.first).str()] = text->str();
      }
    }
  if (const json::Value *value = object.get("features")) {
    const json::Array *features = value->getAsArray();
    if (!features)
      return bad("field 'features' is no list");
    for (const json::Value &feature : *features) {
      std::optional<llvm::StringRef> text = feature.getAsString();
      if (!text)
        return bad("field 'features' holds something that is no string");
      record.features.push_back(text->str());
    }
  }
  return llvm::Error::success();
}

bool isField(llvm::StringRef key) {
  auto matches = [&](const auto &field) { return key == field.key; };
  return key == "id" || key == "v" || key == "verdict" || key == "features" ||
         llvm::any_of(textFields, matches) || llvm::any_of(gainFields, matches) ||
         llvm::any_of(mapFields, matches);
}

} // namespace

llvm::StringRef kbopt::verdictName(AttemptVerdict verdict) {
  for (const VerdictWord &entry : verdictWords)
    if (entry.verdict == verdict)
      return entry.word;
  return "";
}

std::optional<AttemptVerdict> kbopt::verdictFromName(llvm::StringRef name) {
  for (const VerdictWord &entry : verdictWords)
    if (entry.word == name)
      return entry.verdict;
  return std::nullopt;
}

Digest Evidence::id() const {
  json::Object object = toObject(*this);
  object.erase("time");
  return digestOf(print(std::move(object)));
}

Digest Evidence::experiment() const {
  DigestBuilder builder;
  for (const std::string &part :
       {primary, secondary, pass, predecessor, chip, device, program, before, after})
    builder.add(part);
  for (const auto &[name, value] : parameters)
    builder.add(name).add(value);
  return builder.add(verdictName(verdict)).finish();
}

std::string Evidence::toLine() const {
  json::Object object = toObject(*this);
  object["id"] = id();
  return print(std::move(object));
}

llvm::Expected<Evidence> kbopt::parseEvidence(llvm::StringRef line) {
  if (isTooDeep(line))
    return bad("it is nested too deeply");
  llvm::Expected<json::Value> parsed = json::parse(line);
  if (!parsed)
    return bad(llvm::toString(parsed.takeError()));
  const json::Object *object = parsed->getAsObject();
  if (!object)
    return bad("it is no JSON object");
  std::optional<int64_t> version = object->getInteger("v");
  if (!version)
    return bad("field 'v' is missing");
  if (*version > recordVersion)
    return bad("it was written by a newer kb-opt (version " + llvm::Twine(*version) + ")");
  for (const auto &entry : *object)
    if (!isField(entry.first))
      return bad("field '" + llvm::StringRef(entry.first) + "' is unknown");
  Evidence record;
  if (llvm::Error error = readTexts(*object, record))
    return std::move(error);
  if (llvm::Error error = readGains(*object, record))
    return std::move(error);
  if (llvm::Error error = readMaps(*object, record))
    return std::move(error);
  std::optional<AttemptVerdict> verdict =
      verdictFromName(object->getString("verdict").value_or(""));
  if (!verdict)
    return bad("field 'verdict' is missing or no verdict");
  record.verdict = *verdict;
  if (object->getString("id") != record.id())
    return bad("field 'id' does not match the content");
  return record;
}

void EvidenceSet::insert(Evidence record) {
  Digest id = record.id();
  auto [place, added] = byId.try_emplace(id, record);
  if (!added && record.time < place->second.time)
    place->second = std::move(record);
}

void EvidenceSet::merge(const EvidenceSet &other) {
  for (const auto &entry : other.byId)
    insert(entry.second);
}

llvm::Expected<EvidenceSet> kbopt::readEvidence(FileSystem &fileSystem, llvm::StringRef path,
                                                std::vector<BadLine> &bad) {
  if (!fileSystem.exists(path))
    return EvidenceSet();
  llvm::Expected<std::string> bytes = fileSystem.read(path);
  if (!bytes)
    return bytes.takeError();
  return parseEvidenceLog(*bytes, path, bad);
}

EvidenceSet kbopt::parseEvidenceLog(llvm::StringRef rest, llvm::StringRef path,
                                    std::vector<BadLine> &bad) {
  EvidenceSet set;
  for (unsigned number = 1; !rest.empty(); ++number) {
    auto [line, after] = rest.split('\n');
    rest = after;
    if (line.trim().empty())
      continue;
    llvm::Expected<Evidence> record = parseEvidence(line);
    if (record)
      set.insert(std::move(*record));
    else
      bad.push_back({path.str(), number, llvm::toString(record.takeError())});
  }
  return set;
}

llvm::Error kbopt::appendEvidence(FileSystem &fileSystem, llvm::StringRef path,
                                  llvm::ArrayRef<Evidence> records) {
  if (records.empty())
    return llvm::Error::success();
  std::string lines;
  // A writer that was killed may have left half a line: end it first.
  if (fileSystem.exists(path)) {
    llvm::Expected<std::string> bytes = fileSystem.read(path);
    if (!bytes)
      return bytes.takeError();
    if (!bytes->empty() && bytes->back() != '\n')
      lines += '\n';
  }
  for (const Evidence &record : records)
    lines += record.toLine() + '\n';
  lines.pop_back();
  return fileSystem.appendLine(path, lines);
}
