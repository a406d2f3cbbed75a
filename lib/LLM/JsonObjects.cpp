//===- JsonObjects.cpp - Finding JSON in what a model says ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/LLM/StructuredReply.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;
namespace json = llvm::json;
using llvm::StringRef;

/// Calls \p visit for the characters of \p text, an escape as one, with whether they stand in a
/// string; until it returns false.
template <typename Visit> static void scan(StringRef text, Visit visit) {
  bool quoted = false;
  for (size_t i = 0; i < text.size();) {
    StringRef piece = text.substr(i, quoted && text[i] == '\\' ? 2 : 1);
    if (piece == "\"")
      quoted = !quoted;
    i += piece.size();
    if (!visit(piece, quoted))
      return;
  }
}

/// The length of the object that begins \p text, by its braces; npos if it does not end.
static size_t balancedLength(StringRef text) {
  unsigned depth = 0;
  size_t length = 0;
  bool ended = false;
  scan(text, [&](StringRef piece, bool quoted) {
    length += piece.size();
    if (!quoted && piece == "{")
      ++depth;
    else if (!quoted && piece == "}")
      ended = --depth == 0;
    return !ended;
  });
  return ended ? length : StringRef::npos;
}

/// With line breaks and tabs within strings escaped: models forget to.
static std::string escapeControls(StringRef text) {
  std::string result;
  scan(text, [&](StringRef piece, bool quoted) {
    if (quoted && piece == "\n")
      result += "\\n";
    else if (quoted && piece == "\t")
      result += "\\t";
    else if (quoted && piece == "\r")
      result += "\\r";
    else
      result += piece;
    return true;
  });
  return result;
}

/// Garbage of megabytes must not be tried at its every brace.
static constexpr unsigned mostTries = 64;
/// Deeper nesting than any reply has; a parser that recurses must not be asked to follow it.
static constexpr unsigned deepestNesting = 200;

static bool tooDeep(StringRef text) {
  unsigned depth = 0;
  scan(text, [&](StringRef piece, bool quoted) {
    if (!quoted && (piece == "{" || piece == "["))
      ++depth;
    else if (!quoted && (piece == "}" || piece == "]") && depth)
      --depth;
    return depth <= deepestNesting;
  });
  return depth > deepestNesting;
}

static bool tryParse(StringRef text, std::vector<json::Value> &objects, std::string &problem) {
  std::string fixed;
  if (!json::isUTF8(text)) {
    fixed = json::fixUTF8(text);
    text = fixed;
  }
  if (tooDeep(text)) {
    problem = "it is nested too deeply";
    return false;
  }
  auto value = json::parse(text);
  if (!value) {
    std::string why = llvm::toString(value.takeError());
    value = json::parse(escapeControls(text));
    if (!value) {
      llvm::consumeError(value.takeError());
      problem = "it is no JSON: " + why;
      return false;
    }
  }
  if (!value->getAsObject()) {
    problem = "it is JSON, but no object";
    return false;
  }
  if (!llvm::is_contained(objects, *value))
    objects.push_back(std::move(*value));
  return true;
}

std::vector<json::Value> kbopt::jsonObjectsIn(StringRef text, std::string &problem) {
  std::vector<json::Value> objects;
  problem = "it holds no JSON object";
  StringRef whole = text.trim();
  if (whole.starts_with("{") && tryParse(whole, objects, problem))
    return objects;
  // Fenced blocks. A fence within a JSON string does not stand at the beginning of a line.
  unsigned tries = 0;
  for (StringRef rest = text; rest.contains("```") && tries < mostTries; ++tries) {
    rest = rest.split("```").second;
    auto [info, block] = rest.split('\n');
    StringRef body = block.substr(0, block.find("\n```")).trim();
    if (body.starts_with("{"))
      tryParse(body, objects, problem);
    rest = block.substr(std::min(block.size(), body.size()));
  }
  // Balanced braces, outermost first.
  for (size_t begin = text.find('{'); begin != StringRef::npos && tries < 2 * mostTries; ++tries) {
    StringRef rest = text.substr(begin);
    size_t length = balancedLength(rest);
    if (length == StringRef::npos && objects.empty() && problem == "it holds no JSON object")
      problem = "its JSON object does not end";
    bool taken = length != StringRef::npos && tryParse(rest.take_front(length), objects, problem);
    begin = text.find('{', begin + (taken ? length : 1));
  }
  if (!objects.empty())
    problem.clear();
  return objects;
}
