//===- AssistedReply.cpp - What a model wants changed, as data -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Assisted/AssistedReply.h"
#include "kb-opt/Assisted/ReplyTemplate.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace kbopt;
using llvm::StringRef;
namespace json = llvm::json;

std::optional<SlotKind> kbopt::slotKind(StringRef id) {
  if (id == "decls")
    return SlotKind::Decls;
  if (id == "includes")
    return SlotKind::Includes;
  if (id == "parameters")
    return SlotKind::Parameters;
  if (id == "attributes")
    return SlotKind::Attributes;
  SlotKind kind = SlotKind::Code;
  if (id.consume_front("launch"))
    kind = SlotKind::Launch;
  else if (id.consume_front("unused"))
    kind = SlotKind::Unused;
  else if (!id.consume_front("helper") && !id.consume_front("a"))
    return std::nullopt;
  unsigned number = 0;
  if (id.size() > 3 || id.starts_with("0") || id.getAsInteger(10, number))
    return std::nullopt;
  return kind;
}

const SavedAnchor *AssistedReply::anchor(StringRef id) const {
  auto found = llvm::find_if(anchors, [&](const SavedAnchor &each) { return each.id == id; });
  return found == anchors.end() ? nullptr : &*found;
}

const TemplateParameter *AssistedReply::parameter(StringRef name) const {
  auto found =
      llvm::find_if(parameters, [&](const TemplateParameter &each) { return each.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

static std::optional<Refusal> checkSize(const AssistedReply &reply) {
  auto refuse = [](const llvm::Twine &sentence) {
    return Refusal{EditRule::Size, sentence.str(), ""};
  };
  size_t bytes = 0, lines = 0;
  for (const ReplyEdit &edit : reply.edits) {
    bytes += edit.text.size();
    lines += StringRef(edit.text).count('\n') + 1;
  }
  if (bytes > ReplyLimits::editBytes)
    return refuse("the texts have " + llvm::Twine(bytes) + " bytes, " +
                  llvm::Twine(ReplyLimits::editBytes) + " are allowed");
  if (lines > ReplyLimits::editLines)
    return refuse("the texts have " + llvm::Twine(lines) + " lines, " +
                  llvm::Twine(ReplyLimits::editLines) + " are allowed");
  if (reply.edits.size() > ReplyLimits::edits)
    return refuse(llvm::Twine(reply.edits.size()) + " edits are given, " +
                  llvm::Twine(ReplyLimits::edits) + " are allowed");
  if (reply.parameters.size() > ReplyLimits::parameters)
    return refuse(llvm::Twine(reply.parameters.size()) + " parameters are declared, " +
                  llvm::Twine(ReplyLimits::parameters) + " are allowed");
  return std::nullopt;
}

static std::optional<Refusal> checkAnchors(const AssistedReply &reply) {
  std::set<std::string> seen;
  for (const ReplyEdit &edit : reply.edits) {
    if (!reply.anchor(edit.anchor) || !slotKind(edit.anchor))
      return Refusal{EditRule::UnknownAnchor, "there is no anchor '" + edit.anchor + "'", ""};
    if (!seen.insert(edit.anchor).second)
      return Refusal{EditRule::UnknownAnchor, "the anchor '" + edit.anchor + "' is given two texts",
                     ""};
  }
  if (reply.edits.empty())
    return Refusal{EditRule::NothingChanged, "it has no edits", ""};
  return std::nullopt;
}

static std::optional<Refusal> checkPromise(const AssistedReply &reply, const PassInfo &info) {
  if (reply.promise > info.promise)
    return Refusal{EditRule::Promise,
                   ("pass '" + info.name + "' promises '" + promiseName(info.promise) +
                    "', the reply only '" + promiseName(reply.promise) + "'")
                       .str(),
                   ""};
  for (Assumption assumption : reply.assumes)
    if (!llvm::is_contained(info.assumes, assumption))
      return Refusal{EditRule::Promise,
                     ("it assumes '" + assumptionName(assumption) + "', which pass '" + info.name +
                      "' does not")
                         .str(),
                     ""};
  return std::nullopt;
}

/// Whether people see \p text as a compiler does.
static bool isPlain(StringRef text) {
  if (!json::isUTF8(text))
    return false;
  for (unsigned char c : text)
    if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f)
      return false;
  // The signs that embed, override and isolate: U+202A to U+202E, U+2066 to U+2069.
  for (size_t at = text.find("\xe2"); at != StringRef::npos; at = text.find("\xe2", at + 1)) {
    unsigned char second = text.substr(at + 1).front(), third = text.substr(at + 2).front();
    if ((second == 0x80 && third >= 0xaa && third <= 0xae) ||
        (second == 0x81 && third >= 0xa6 && third <= 0xa9))
      return false;
  }
  return true;
}

std::optional<Refusal> kbopt::checkReply(const AssistedReply &reply, const PassInfo &info) {
  if (std::optional<Refusal> refusal = checkSize(reply))
    return refusal;
  if (std::optional<Refusal> refusal = checkAnchors(reply))
    return refusal;
  if (std::optional<Refusal> refusal = checkTemplate(reply.parameters, reply.edits))
    return refusal;
  if (std::optional<Refusal> refusal = checkPromise(reply, info))
    return refusal;
  for (const ReplyEdit &edit : reply.edits)
    if (!isPlain(edit.text))
      return Refusal{EditRule::Character,
                     "the text holds a character that people cannot see as it is", edit.anchor};
  return std::nullopt;
}

std::string kbopt::printReply(const AssistedReply &reply) {
  json::Array anchors, edits, parameters, assumes;
  for (const SavedAnchor &each : reply.anchors) {
    json::Object anchor{{"id", each.id},       {"usr", each.usr}, {"nodeKind", each.nodeKind},
                        {"begin", each.begin}, {"end", each.end}, {"digest", each.digest}};
    if (!each.numberless.empty())
      anchor["numberless"] = each.numberless;
    anchors.push_back(std::move(anchor));
  }
  for (const ReplyEdit &each : reply.edits)
    edits.push_back(json::Object{{"anchor", each.anchor}, {"text", each.text}});
  for (const TemplateParameter &each : reply.parameters)
    parameters.push_back(json::Object{
        {"name", each.name}, {"values", json::Array(each.values)}, {"default", each.defaultValue}});
  for (Assumption each : reply.assumes)
    assumes.push_back(assumptionName(each));
  json::Object file{{"version", 1},
                    {"pass", reply.pass},
                    {"kernel", reply.kernel},
                    {"summary", reply.summary},
                    {"promise", promiseName(reply.promise)},
                    {"assumes", std::move(assumes)},
                    {"anchors", std::move(anchors)},
                    {"edits", std::move(edits)},
                    {"parameters", std::move(parameters)}};
  // Members are sorted by name when printed.
  return llvm::formatv("{0:2}\n", json::Value(std::move(file))).str();
}
