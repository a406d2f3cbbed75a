//===- JsonObjects.cpp - Finding JSON in what a model says ----------------===//
#include "kb-opt/LLM/StructuredReply.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;
namespace json = llvm::json;
using llvm::StringRef;

/// The length of the object that begins \p text, by its braces; npos if it does not end.
static size_t balancedLength(StringRef text) {
  unsigned depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return StringRef::npos;
}

/// With line breaks and tabs within strings escaped: models forget to.
static std::string escapeControls(StringRef text) {
  std::string result;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      result += c;
      result += text[++i];
      continue;
    }
    if (c == '"')
      quoted = !quoted;
    if (quoted && c == '\n')
      result += "\\n";
    else if (quoted && c == '\t')
      result += "\\t";
    else if (quoted && c == '\r')
      result += "\\r";
    else
      result += c;
  }
  return result;
}

/// Garbage of megabytes must not be tried at its every brace.
static constexpr unsigned mostTries = 64;
/// Deeper nesting than any reply has; a parser that recurses must not be asked to follow it.
static constexpr unsigned deepestNesting = 200;

static bool tooDeep(StringRef text) {
  unsigned depth = 0, deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == '}' || c == ']') && depth) {
      --depth;
    }
  }
  return deepest > deepestNesting;
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
