//===- CompilerWords.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "CompilerWords.h"
#include "FileWords.h"
#include "Tokens.h"
#include "clang/Lex/MacroInfo.h"
#include "clang/Lex/Preprocessor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using llvm::StringRef;
namespace tok = clang::tok;

namespace {

/// [lex.name] of the C++ standard: for the implementation, in every scope.
bool isReserved(StringRef word) {
  return word.contains("__") || (word.size() > 1 && word[0] == '_' && llvm::isUpper(word[1]));
}

/// Whether \p word tells no compiler from another in a program that is compiled as \p command says:
/// in code for sm_90a all of them define it, and in host code none.
bool isOfArchitecture(StringRef word, const CompileCommand &command) {
  return word == "__CUDA_ARCH_FEAT_SM90_ALL" && command.arch == "sm_90a" &&
         command.otherArchs.empty();
}

/// What the compiler and its headers know, other than what the user wrote.
class Environment {
public:
  explicit Environment(const ParsedProgram &program) : program(program) {}

  /// Whether the compiler, or a header of the system's, defines the macro \p word.
  bool definesMacro(StringRef word) const {
    clang::Preprocessor &lexing = program.preprocessor();
    const clang::MacroInfo *macro = lexing.getMacroInfo(lexing.getIdentifierInfo(word));
    if (!macro)
      return false;
    const clang::SourceManager &sources = program.sources();
    const clang::SourceLocation place = macro->getDefinitionLoc();
    return macro->isBuiltinMacro() || place.isInvalid() || sources.isWrittenInBuiltinFile(place) ||
           sources.isInSystemHeader(place);
  }
  /// Whether one of them declares \p word outside of all namespaces, or has it built in.
  bool declares(StringRef word) const {
    clang::IdentifierInfo *name = program.preprocessor().getIdentifierInfo(word);
    if (name->getBuiltinID())
      return true;
    const auto found = program.context().getTranslationUnitDecl()->lookup(name);
    return llvm::any_of(found, [&](const clang::NamedDecl *declared) {
      return program.sources().isInSystemHeader(declared->getLocation());
    });
  }

private:
  const ParsedProgram &program;
};

/// What the directives of a text define and ask for.
struct Directives {
  std::set<std::string> defined;
  std::set<size_t> asked; ///< indices of the words in conditions, among the tokens
};

Directives directivesOf(llvm::ArrayRef<RawToken> tokens) {
  Directives result;
  static constexpr StringRef conditions[] = {"if",   "ifdef",   "ifndef",
                                             "elif", "elifdef", "elifndef"};
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].kind != tok::hash || !tokens[i].startsLine)
      continue;
    const std::string &directive = tokens[i + 1].spelling;
    const bool asks = llvm::is_contained(conditions, directive);
    if (directive == "define" && i + 2 < tokens.size())
      result.defined.insert(tokens[i + 2].spelling);
    for (i += 2; i < tokens.size() && !tokens[i].startsLine; ++i)
      if (asks && tokens[i].isWord() && tokens[i].spelling != "defined")
        result.asked.insert(i);
    --i;
  }
  return result;
}

} // namespace

std::vector<std::string> kbopt::compilerWords(const ParsedProgram &candidate,
                                              const std::set<std::string> &oldWords) {
  const std::vector<RawToken> tokens = tokensOf(candidate.text(), candidate.language());
  const Directives directives = directivesOf(tokens);
  const Environment environment(candidate);
  std::vector<std::string> found;
  std::set<std::pair<std::string, bool>> known;
  for (const auto &[index, token] : llvm::enumerate(tokens)) {
    const std::string &word = token.spelling;
    const bool isAsked = directives.asked.count(index);
    if (!token.isWord() || oldWords.count(word) || !known.insert({word, isAsked}).second ||
        isOfArchitecture(word, candidate.command()))
      continue;
    const bool isOwn = directives.defined.count(word);
    if (tellsCompiler(word) ||
        (isReserved(word) && !isOfLanguage(word) && environment.definesMacro(word)))
      found.push_back("it uses '" + word + "', by which code can recognise its compiler");
    else if (isAsked && !isOwn &&
             (isReserved(word) || environment.definesMacro(word) || environment.declares(word)))
      found.push_back("its condition asks for '" + word +
                      "', which is for compilers and headers to define");
  }
  return found;
}
