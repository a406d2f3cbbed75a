//===- LineDirectives.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Lock/LineDirectives.h"
#include "kb-opt/Report/Diff.h"
#include "clang/Basic/SourceLocation.h"
#include "clang/Lex/Lexer.h"
#include <vector>

using namespace kbopt;
using llvm::StringRef;

/// For each line of \p text whether a directive may stand before it: not in a raw string or a
/// comment, not in a directive that goes on, and not between parentheses, which may be the
/// arguments of a macro.
static std::vector<bool> linesThatMayFollow(StringRef text, const clang::LangOptions &language) {
  std::vector<size_t> starts{0};
  for (size_t at = text.find('\n'); at != StringRef::npos; at = text.find('\n', at + 1))
    starts.push_back(at + 1);
  std::vector<bool> may(starts.size(), true);
  auto forbid = [&](size_t begin, size_t end) { // boundaries inside (begin, end)
    for (auto at = llvm::upper_bound(starts, begin); at != starts.end() && *at < end; ++at)
      may[at - starts.begin()] = false;
  };
  for (size_t line = 1; line < starts.size(); ++line)
    if (StringRef before = text.slice(starts[line - 1], starts[line]).rtrim("\r\n");
        before.ends_with("\\"))
      may[line] = false;
  std::string copy = text.str(); // the lexer wants a zero at its end
  const auto base = clang::SourceLocation::getFromRawEncoding(1);
  clang::Lexer lexer(base, language, copy.data(), copy.data(), copy.data() + copy.size());
  lexer.SetCommentRetentionState(true);
  clang::Token token;
  unsigned depth = 0;
  size_t opened = 0;
  do {
    lexer.LexFromRawLexer(token);
    const size_t begin = token.getLocation().getRawEncoding() - base.getRawEncoding();
    forbid(begin, begin + token.getLength());
    if (token.is(clang::tok::l_paren) && depth++ == 0)
      opened = begin;
    else if (token.is(clang::tok::r_paren) && depth && --depth == 0)
      forbid(opened, begin);
  } while (token.isNot(clang::tok::eof));
  return may;
}

std::string kbopt::withLineDirectives(StringRef original, StringRef rewritten, StringRef path,
                                      const clang::LangOptions &language) {
  const std::vector<bool> may = linesThatMayFollow(rewritten, language);
  std::string quoted;
  for (char c : path)
    quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  llvm::SmallVector<StringRef> lines;
  rewritten.split(lines, '\n');
  if (!lines.empty() && lines.back().empty())
    lines.pop_back();
  // The line of the original for each line of the result.
  std::vector<unsigned> origin(lines.size());
  size_t at = 0;
  unsigned line = 1;
  for (const DiffHunk &hunk : diffHunks(original, rewritten, 0)) {
    while (at < hunk.afterLines && at < origin.size())
      origin[at++] = line++;
    const unsigned first = hunk.beforeLines + 1;
    unsigned removed = 0, added = 0;
    for (const DiffLine &each : hunk.lines)
      ++(each.kind == '-' ? removed : added);
    const unsigned last = removed ? first + removed - 1 : std::max(1u, hunk.beforeLines);
    for (unsigned i = 0; i < added && at < origin.size(); ++i)
      origin[at++] = std::min(first + i, last);
    line = first + removed;
  }
  while (at < origin.size())
    origin[at++] = line++;
  std::string result;
  unsigned expected = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (origin[i] != expected && (i == 0 || may[i])) {
      result += "#line " + std::to_string(origin[i]) + " \"" + quoted + "\"\n";
      expected = origin[i];
    }
    result += lines[i].str() + "\n";
    ++expected;
  }
  return result;
}
