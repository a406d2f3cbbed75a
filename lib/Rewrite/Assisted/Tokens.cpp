//===- Tokens.cpp - The tokens of a piece of text ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Tokens.h"
#include "clang/Lex/Lexer.h"

using namespace kbopt;

std::vector<RawToken> kbopt::tokensOf(llvm::StringRef text, const clang::LangOptions &language) {
  // The lexer wants a terminated buffer that lives.
  std::string buffer = text.str();
  clang::Lexer lexer(clang::SourceLocation(), language, buffer.data(), buffer.data(),
                     buffer.data() + buffer.size());
  lexer.SetCommentRetentionState(true);
  std::vector<RawToken> tokens;
  unsigned done = 0;
  for (clang::Token token; !lexer.LexFromRawLexer(token) || token.isNot(clang::tok::eof);) {
    if (token.is(clang::tok::eof))
      break;
    unsigned end = lexer.getBufferLocation() - buffer.data();
    unsigned begin = end - token.getLength();
    assert(begin >= done && "tokens follow one another");
    done = end;
    std::string spelling = buffer.substr(begin, token.getLength());
    if (token.needsCleaning()) {
      // Splices: a backslash before the end of the line.
      for (size_t at = spelling.find('\\'); at != std::string::npos; at = spelling.find('\\', at)) {
        size_t stop = spelling.find_first_not_of(" \t\r", at + 1);
        if (stop != std::string::npos && spelling[stop] == '\n')
          spelling.erase(at, stop + 1 - at);
        else
          ++at;
      }
    }
    tokens.push_back(
        {token.getKind(), begin, token.getLength(), token.isAtStartOfLine(), std::move(spelling)});
  }
  // The lexer drops a comment that does not end.
  llvm::StringRef rest = text.substr(done).ltrim();
  if (!rest.empty())
    tokens.push_back({clang::tok::unknown, unsigned(text.size() - rest.size()),
                      unsigned(rest.size()), false, rest.str()});
  return tokens;
}

std::set<std::string> kbopt::wordsOf(llvm::StringRef text, const clang::LangOptions &language) {
  std::set<std::string> words;
  for (RawToken &token : tokensOf(text, language))
    if (token.isWord())
      words.insert(std::move(token.spelling));
  return words;
}
