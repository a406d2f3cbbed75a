//===- MacroCall.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "MacroCall.h"

#include "clang/Lex/Lexer.h"
#include "clang/Lex/MacroInfo.h"
#include "clang/Lex/Preprocessor.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

/// The macro called \p name, if that always meant the same.
static const MacroInfo *onlyMacro(const ParsedProgram &program, StringRef name) {
  Preprocessor &macros = program.preprocessor();
  const MacroDirective *last = macros.getLocalMacroDirective(macros.getIdentifierInfo(name));
  return last && !last->getPrevious() ? last->getMacroInfo() : nullptr;
}

namespace {
/// An argument in the file.
struct Argument {
  SourceLocation begin;
  StringRef text;
};
} // namespace

/// The arguments in the parentheses after the macro's name at \p name, the variable ones as one;
/// \p end is the closing one. None where there are no parentheses.
static std::optional<std::vector<Argument>> argumentsAfter(const ParsedProgram &program,
                                                           SourceLocation name,
                                                           const MacroInfo &macro,
                                                           SourceLocation &end) {
  const SourceManager &sources = program.sources();
  const unsigned from = sources.getFileOffset(name);
  const StringRef text = program.text();
  Lexer lexer(sources.getLocForStartOfFile(sources.getMainFileID()), program.language(),
              text.begin(), text.begin() + from, text.end());
  Token token;
  lexer.LexFromRawLexer(token); // the name
  lexer.LexFromRawLexer(token);
  if (token.isNot(tok::l_paren))
    return std::nullopt;
  std::vector<Argument> all;
  unsigned depth = 0, begin = sources.getFileOffset(token.getLocation()) + 1;
  auto finish = [&](unsigned at) {
    const StringRef whole = text.slice(begin, at), trimmed = whole.ltrim();
    begin += whole.size() - trimmed.size();
    all.push_back({sources.getComposedLoc(sources.getMainFileID(), begin), trimmed.rtrim()});
    begin = at + 1;
  };
  for (;;) {
    lexer.LexFromRawLexer(token);
    const unsigned at = sources.getFileOffset(token.getLocation());
    const bool isVariable = macro.isVariadic() && all.size() + 1 >= macro.getNumParams();
    if (token.isOneOf(tok::eof, tok::hash))
      return std::nullopt;
    if (token.is(tok::l_paren))
      ++depth;
    else if (token.is(tok::comma) && !depth && !isVariable)
      finish(at);
    else if (token.is(tok::r_paren) && !depth--) {
      if (macro.getNumParams())
        finish(at);
      end = token.getLocation();
      return all;
    }
  }
}

bool MacroCall::write(SourceLocation name) {
  const SourceManager &sources = program->sources();
  if (sources.getFileID(name) != sources.getMainFileID())
    return false;
  const MacroInfo *macro =
      onlyMacro(*program, Lexer::getSourceText(CharSourceRange::getTokenRange(name), sources,
                                               program->language()));
  if (!macro || macro->isBuiltinMacro())
    return false;
  std::vector<Argument> arguments;
  SourceLocation end = name;
  if (macro->isFunctionLike()) {
    std::optional<std::vector<Argument>> found = argumentsAfter(*program, name, *macro, end);
    if (!found || found->size() > macro->getNumParams())
      return false;
    arguments = std::move(*found);
    arguments.resize(macro->getNumParams());
  }
  use = SourceRange(name, end);
  for (const Token &token : macro->tokens()) {
    if (token.isOneOf(tok::hash, tok::hashhash))
      return false;
    if (token.hasLeadingSpace() && !expansion.empty())
      expansion += ' ';
    const IdentifierInfo *word = token.getIdentifierInfo();
    const int parameter = word ? macro->getParameterNum(word) : -1;
    if (word && word->isStr("__VA_OPT__"))
      return false;
    Piece piece{expansion.size(), {}};
    if (parameter >= 0) {
      piece.argument = arguments[parameter].begin;
      expansion += arguments[parameter].text;
    } else {
      expansion += Lexer::getSpelling(token, sources, program->language());
    }
    pieces[token.getLocation()] = piece;
  }
  return true;
}

std::optional<size_t> MacroCall::offsetOf(SourceLocation token) const {
  const SourceManager &sources = program->sources();
  if (!token.isMacroID())
    return std::nullopt;
  SourceLocation inBody = sources.getImmediateSpellingLoc(token);
  unsigned inArgument = 0;
  const bool isArgument = sources.isMacroArgExpansion(token);
  if (isArgument) {
    const SourceLocation parameter = sources.getImmediateExpansionRange(token).getBegin();
    if (!inBody.isFileID() || !parameter.isMacroID())
      return std::nullopt;
    inArgument = sources.getFileOffset(inBody);
    inBody = sources.getImmediateSpellingLoc(parameter);
  }
  auto piece = pieces.find(inBody);
  if (piece == pieces.end() || piece->second.argument.isValid() != isArgument)
    return std::nullopt;
  return isArgument
             ? piece->second.begin + inArgument - sources.getFileOffset(piece->second.argument)
             : piece->second.begin;
}

std::optional<std::pair<size_t, size_t>> MacroCall::find(SourceRange range) const {
  std::optional<size_t> begin = offsetOf(range.getBegin()), last = offsetOf(range.getEnd());
  if (!begin || !last || *last < *begin)
    return std::nullopt;
  const size_t length = Lexer::MeasureTokenLength(program->sources().getSpellingLoc(range.getEnd()),
                                                  program->sources(), program->language());
  return std::pair(*begin, *last + length);
}

const MacroCall *MacroCall::around(const ParsedProgram &program, SourceLocation inside) {
  struct Calls {
    std::map<SourceLocation, std::unique_ptr<MacroCall>> all;
  };
  if (!inside.isMacroID())
    return nullptr;
  const SourceLocation name = program.sources().getExpansionLoc(inside);
  auto &calls = program.derived<std::shared_ptr<Calls>>([] { return std::make_shared<Calls>(); });
  auto [entry, isNew] = calls->all.try_emplace(name);
  if (isNew) {
    std::unique_ptr<MacroCall> call(new MacroCall(program));
    if (call->write(name))
      entry->second = std::move(call);
  }
  return entry->second.get();
}
