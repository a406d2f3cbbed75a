//===- Finding.cpp - Conclusions and their lines --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/Finding.h"
#include "RecordJson.h"
#include "kb-opt/Knowledge/MetricExpression.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace kbopt;
using namespace kbopt::record;
namespace json = llvm::json;

namespace {

constexpr int64_t findingVersion = 2;
/// A proposal may promise a hundred times at most (a logarithm).
constexpr double largestPromise = 4.61;

struct KindWord {
  FindingKind kind;
  llvm::StringLiteral word;
};
constexpr KindWord kindWords[] = {{FindingKind::Lesson, "lesson"},
                                  {FindingKind::State, "state"},
                                  {FindingKind::Proposal, "proposal"}};

struct TextField {
  llvm::StringLiteral key;
  std::string Finding::*member;
  size_t limit; ///< bytes
};
const TextField textFields[] = {
    {"state", &Finding::state, 128}, {"name", &Finding::name, 48},
    {"rule", &Finding::rule, 400},   {"pass", &Finding::pass, 64},
    {"chip", &Finding::chip, 64},    {"text", &Finding::text, findingTextBytes},
    {"role", &Finding::role, 32},    {"transcript", &Finding::transcript, 64},
    {"time", &Finding::time, 32},
};

bool isField(llvm::StringRef key) {
  return llvm::is_contained({"id", "v", "kind", "predictedGain", "evidence", "versions"}, key) ||
         llvm::any_of(textFields, [&](const TextField &field) { return key == field.key; });
}

/// Everything but `id`.
json::Object toObject(const Finding &finding) {
  json::Object object{{"v", findingVersion}, {"kind", findingKindName(finding.kind)}};
  for (const TextField &field : textFields)
    write(object, field.key, finding.*field.member);
  write(object, "predictedGain", finding.predictedGain);
  std::vector<Digest> ids = finding.evidence;
  llvm::sort(ids);
  ids.erase(llvm::unique(ids), ids.end());
  write(object, "evidence", ids);
  write(object, "versions", finding.versions);
  return object;
}

bool isStateWord(llvm::StringRef text) {
  return !text.empty() && text.front() >= 'a' && text.front() <= 'z' &&
         llvm::all_of(
             text, [](char c) { return (c >= 'a' && c <= 'z') || llvm::isDigit(c) || c == '_'; });
}

llvm::Error checkTexts(const Finding &finding) {
  for (const TextField &field : textFields) {
    const std::string &text = finding.*field.member;
    if (text.size() > field.limit)
      return bad("field '" + field.key + "' is longer than " + llvm::Twine(field.limit) + " bytes");
    if (llvm::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; }))
      return bad("field '" + field.key + "' holds a control character");
  }
  for (auto [key, text] : {std::pair("state", &finding.state), std::pair("text", &finding.text)})
    if (text->empty())
      return bad("field '" + llvm::Twine(key) + "' is missing");
  return llvm::Error::success();
}

llvm::Error checkKind(const Finding &finding) {
  bool isState = finding.kind == FindingKind::State;
  bool isProposal = finding.kind == FindingKind::Proposal;
  llvm::StringRef kind = findingKindName(finding.kind);
  auto excess = [&](llvm::StringRef key) {
    return bad("a " + kind + " has no field '" + key + "'");
  };
  if (!isState && !finding.name.empty())
    return excess("name");
  if (!isState && !finding.rule.empty())
    return excess("rule");
  if (isState && !finding.pass.empty())
    return excess("pass");
  if (!isProposal && finding.predictedGain)
    return excess("predictedGain");
  auto [parent, refinement] = llvm::StringRef(finding.state).split('/');
  bool refined = finding.state.find('/') != std::string::npos;
  if (!isStateWord(parent) || (refined && (isState || !isStateWord(refinement))))
    return bad("field 'state' is no name of a state");
  if (isState && !isStateWord(finding.name))
    return bad("field 'name' is missing or no name");
  if (!finding.rule.empty())
    if (llvm::Expected<MetricExpression> rule = MetricExpression::parse(finding.rule); !rule)
      return bad("field 'rule': " + llvm::toString(rule.takeError()));
  if (isProposal && finding.pass.empty())
    return bad("field 'pass' is missing");
  if (isProposal && !(finding.predictedGain && *finding.predictedGain > 0 &&
                      *finding.predictedGain <= largestPromise))
    return bad("field 'predictedGain' is missing or not between 0 and 4.61");
  if (finding.kind == FindingKind::Lesson && finding.evidence.empty())
    return bad("field 'evidence' is missing: a lesson rests on something");
  return llvm::Error::success();
}

} // namespace

llvm::StringRef kbopt::findingKindName(FindingKind kind) {
  for (const KindWord &entry : kindWords)
    if (entry.kind == kind)
      return entry.word;
  return "";
}

std::optional<FindingKind> kbopt::findingKindFromName(llvm::StringRef name) {
  for (const KindWord &entry : kindWords)
    if (entry.word == name)
      return entry.kind;
  return std::nullopt;
}

std::string kbopt::findingText(llvm::StringRef words, size_t limit) {
  std::string fixed = json::fixUTF8(words), text;
  for (char c : fixed) {
    bool blank = static_cast<unsigned char>(c) <= 32 || c == 127;
    if (!blank)
      text += c;
    else if (!text.empty() && text.back() != ' ')
      text += ' ';
  }
  if (text.size() > limit) {
    // Not in the middle of a character.
    size_t end = limit;
    while (end && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
      --end;
    text.resize(end);
  }
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  return text;
}

std::string Finding::stateName() const {
  return kind == FindingKind::State ? state + "/" + name : state;
}

Digest Finding::id() const { return idOf(toObject(*this)); }

std::string Finding::toLine() const {
  json::Object object = toObject(*this);
  object["id"] = idOf(object);
  return print(std::move(object));
}

llvm::Error Finding::check() const {
  if (llvm::Error error = checkTexts(*this))
    return error;
  if (evidence.size() > findingEvidenceIds)
    return bad("field 'evidence' holds more than " + llvm::Twine(findingEvidenceIds) + " ids");
  for (const Digest &id : evidence)
    if (!isDigest(id))
      return bad("field 'evidence' holds something that is no id");
  return checkKind(*this);
}

llvm::Expected<Finding> record::findingOf(const json::Object &object) {
  std::optional<FindingKind> kind = findingKindFromName(object.getString("kind").value_or(""));
  if (!kind)
    return bad("field 'kind' is missing or unknown");
  for (const auto &entry : object)
    if (!isField(entry.first))
      return bad("field '" + llvm::StringRef(entry.first) + "' is unknown");
  Finding finding;
  finding.kind = *kind;
  for (const TextField &field : textFields)
    if (llvm::Error error = readText(object, field.key, false, finding.*field.member))
      return std::move(error);
  if (llvm::Error error = readNumber(object, "predictedGain", finding.predictedGain))
    return std::move(error);
  if (llvm::Error error = readTexts(object, "evidence", finding.evidence))
    return std::move(error);
  if (llvm::Error error = readMap(object, "versions", finding.versions))
    return std::move(error);
  if (llvm::Error error = finding.check())
    return std::move(error);
  if (llvm::Error error = checkName(object, toObject(finding)))
    return std::move(error);
  return finding;
}

llvm::Expected<Finding> kbopt::parseFinding(llvm::StringRef line) {
  llvm::Expected<json::Object> object = parse(line);
  if (!object)
    return object.takeError();
  return findingOf(*object);
}
