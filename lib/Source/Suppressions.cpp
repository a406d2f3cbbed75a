//===- Suppressions.cpp - Reading NOKBOPT comments ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/Suppressions.h"

#include "clang/Basic/LangOptions.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <climits>

using namespace kbopt;

namespace {
/// One NOKBOPT word in a comment.
struct Mark {
  enum Kind { Line, NextLine, Begin, End } kind;
  unsigned line;
  std::vector<std::string> passes;
};
} // namespace

/// Appends the marks of the comment \p text, whose first line is \p line.
static void readComment(llvm::StringRef text, unsigned line, std::vector<Mark> &marks) {
  constexpr llvm::StringLiteral word = "NOKBOPT";
  size_t at = 0;
  while ((at = text.find(word, at)) != llvm::StringRef::npos) {
    bool startsWord = at == 0 || !(llvm::isAlnum(text[at - 1]) || text[at - 1] == '_');
    unsigned here = line + text.take_front(at).count('\n');
    llvm::StringRef rest = text.substr(at + word.size());
    at += word.size();
    if (!startsWord)
      continue;
    Mark mark{Mark::Line, here, {}};
    if (rest.consume_front("NEXTLINE"))
      mark.kind = Mark::NextLine;
    else if (rest.consume_front("BEGIN"))
      mark.kind = Mark::Begin;
    else if (rest.consume_front("END"))
      mark.kind = Mark::End;
    if (!rest.empty() && (llvm::isAlnum(rest.front()) || rest.front() == '_'))
      continue;
    if (rest.consume_front("(")) {
      llvm::SmallVector<llvm::StringRef> names;
      rest.take_until([](char c) { return c == ')' || c == '\n'; }).split(names, ',');
      for (llvm::StringRef name : names)
        if (!name.trim().empty())
          mark.passes.push_back(name.trim().str());
    }
    marks.push_back(std::move(mark));
  }
}

static std::vector<Mark> readMarks(llvm::StringRef text) {
  std::vector<Mark> marks;
  if (!text.contains("NOKBOPT"))
    return marks;
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus11 = language.CPlusPlus17 = true;
  language.CUDA = language.LineComment = true;
  // The lexer wants a terminated buffer.
  std::string copy = text.str();
  clang::Lexer lexer(clang::SourceLocation(), language, copy.data(), copy.data(),
                     copy.data() + copy.size());
  lexer.SetCommentRetentionState(true);
  unsigned line = 1;
  const char *counted = copy.data();
  clang::Token token;
  for (bool atEnd = false; !atEnd;) {
    atEnd = lexer.LexFromRawLexer(token);
    if (!token.is(clang::tok::comment))
      continue;
    const char *end = lexer.getBufferLocation();
    const char *begin = end - token.getLength();
    line += std::count(counted, begin, '\n');
    counted = begin;
    readComment(llvm::StringRef(begin, token.getLength()), line, marks);
  }
  return marks;
}

Suppressions Suppressions::parse(llvm::StringRef text) {
  Suppressions result;
  struct Open {
    unsigned line;
    std::vector<std::string> passes;
  };
  std::vector<Open> open;
  for (Mark &mark : readMarks(text)) {
    switch (mark.kind) {
    case Mark::Line:
      result.ranges.push_back({mark.line, mark.line, std::move(mark.passes)});
      break;
    case Mark::NextLine:
      result.ranges.push_back({mark.line + 1, mark.line + 1, std::move(mark.passes)});
      break;
    case Mark::Begin:
      open.push_back({mark.line, std::move(mark.passes)});
      break;
    case Mark::End: {
      // END(a) closes the innermost BEGIN(a); a bare END the innermost of all.
      auto match = llvm::find_if(llvm::reverse(open), [&](const Open &candidate) {
        return mark.passes.empty() || candidate.passes == mark.passes;
      });
      if (match == open.rend()) {
        result.faults.push_back({mark.line, "NOKBOPTEND without a NOKBOPTBEGIN before it"});
        break;
      }
      result.ranges.push_back({match->line, mark.line, std::move(match->passes)});
      open.erase(std::next(match).base());
      break;
    }
    }
  }
  for (Open &left : open) {
    result.faults.push_back({left.line, "NOKBOPTBEGIN without a NOKBOPTEND after it"});
    result.ranges.push_back({left.line, UINT_MAX, std::move(left.passes)});
  }
  return result;
}

bool Suppressions::covers(unsigned line, llvm::StringRef pass) const {
  return coversAny(line, line, pass);
}

bool Suppressions::coversAny(unsigned first, unsigned last, llvm::StringRef pass) const {
  return llvm::any_of(ranges, [&](const Range &range) {
    return range.first <= last && first <= range.last &&
           (range.passes.empty() || llvm::is_contained(range.passes, pass));
  });
}
