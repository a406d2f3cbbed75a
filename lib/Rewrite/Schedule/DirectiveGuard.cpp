//===- DirectiveGuard.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "DirectiveGuard.h"

#include "llvm/ADT/StringExtras.h"
#include <vector>

using namespace kbopt;
using llvm::StringRef;

namespace {
/// One `#if … #endif`.
struct Conditional {
  std::string before;  ///< the negations of the branches before the current one
  std::string current; ///< the current one's condition; empty: `#else`
  bool hasPlace;       ///< whether a branch so far has the place
  bool isSkipped;      ///< whether it stands in a branch that is not compiled
};
} // namespace

static std::string conditionOf(StringRef word, StringRef rest) {
  if (word.ends_with("ifdef") || word.ends_with("elifdef"))
    return ("defined(" + rest + ")").str();
  if (word.ends_with("ndef"))
    return ("!defined(" + rest + ")").str();
  return word == "else" ? "" : ("(" + rest + ")").str();
}

std::optional<std::string> kbopt::directiveGuard(StringRef text, size_t place) {
  std::vector<Conditional> open;
  std::vector<std::string> guards;
  bool isFound = false, isSkipped = false; // in branches beside the one with the place
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    StringRef line = text.slice(at, end).trim();
    if (place < at && !isFound) {
      isFound = true;
      for (Conditional &each : open) {
        each.hasPlace = true;
        if (!each.before.empty())
          guards.push_back(each.before);
        if (!each.current.empty())
          guards.push_back(each.current);
      }
    }
    at = end + 1;
    if (!line.consume_front("#"))
      continue;
    line = line.split("//").first.trim();
    if (line.ends_with("\\") || line.contains("/*"))
      return std::nullopt;
    const StringRef word = line.take_while(llvm::isAlpha), rest = line.substr(word.size()).trim();
    if (word.starts_with("if")) {
      open.push_back({"", conditionOf(word, rest), false, isSkipped});
    } else if (open.empty()) {
      return std::nullopt;
    } else if (word.starts_with("el")) {
      Conditional &last = open.back();
      last.before += (last.before.empty() ? "!" : " && !") + last.current;
      last.current = conditionOf(word, rest);
      isSkipped |= last.hasPlace;
    } else if (word == "endif") {
      const Conditional last = open.back();
      open.pop_back();
      if (!last.hasPlace && !last.isSkipped)
        return std::nullopt; // which branch is compiled is not known here
      if (last.hasPlace)
        isSkipped = false;
    } else if (!isSkipped) {
      return std::nullopt;
    }
  }
  if (!open.empty())
    return std::nullopt;
  return llvm::join(guards, " && ");
}
