//===- SourceSegments.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "SourceSegments.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace kbopt {

/// Bytes of the comment, string or character that \p text begins with; 0 if it is none.
static size_t skipped(StringRef text) {
  if (text.starts_with("//"))
    return std::min(text.find('\n'), text.size());
  if (text.starts_with("/*"))
    return std::min(text.find("*/", 2), text.size() - 2) + 2;
  if (text[0] != '"' && text[0] != '\'')
    return 0;
  size_t at = 1;
  while (at < text.size() && text[at] != text[0] && text[at] != '\n')
    at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

SourceSegments::SourceSegments(StringRef text) {
  lines.push_back(0);
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n')
      lines.push_back(i + 1);
  // Parentheses that are open: the word before each.
  std::vector<StringRef> open;
  StringRef word;
  for (size_t i = 0; i < text.size();) {
    const StringRef rest = text.drop_front(i);
    // A digit before the mark: 1'000.
    const bool isSeparator = rest[0] == '\'' && i && isAlnum(text[i - 1]);
    if (const size_t bytes = isSeparator ? 1 : skipped(rest)) {
      i += bytes;
      continue;
    }
    if (isAlpha(rest[0]) || rest[0] == '_') {
      word = rest.take_while([](char c) { return isAlnum(c) || c == '_'; });
      i += word.size();
      if (word == "else" || word == "do")
        ends.push_back(i);
      continue;
    }
    const bool isInFor = is_contained(open, "for");
    if (rest[0] == '(') {
      open.push_back(word);
    } else if (rest[0] == ')' && !open.empty()) {
      const StringRef before = open.back();
      open.pop_back();
      if (before == "if" || before == "for" || before == "while" || before == "switch")
        ends.push_back(i + 1);
    } else if (rest[0] == '{' || rest[0] == '}' || (!isInFor && rest[0] == ';')) {
      ends.push_back(i + 1);
    } else if (!isInFor && (rest.starts_with("&&") || rest.starts_with("||"))) {
      ends.push_back(i + 2);
      ++i;
    } else if (!isInFor && (rest[0] == '?' || (rest[0] == ':' && !rest.starts_with("::") &&
                                               (i == 0 || text[i - 1] != ':')))) {
      ends.push_back(i + 1);
    }
    if (!isSpace(rest[0]))
      word = "";
    ++i;
  }
}

unsigned SourceSegments::at(const kbrt::SourcePosition &position) const {
  const size_t line = std::min<size_t>(position.first, lines.size());
  const size_t offset = line ? lines[line - 1] + (position.second ? position.second - 1 : 0) : 0;
  return static_cast<unsigned>(llvm::upper_bound(ends, offset) - ends.begin());
}

} // namespace kbopt
