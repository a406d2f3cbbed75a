//===- Closure.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tokens are read from the text, not from the AST: a branch that this parse did
// not take counts, too, and so does every definition that a macro ever has.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Lock/Closure.h"
#include "kb-opt/Source/Mentions.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Lex/Lexer.h"
#include "clang/Lex/MacroInfo.h"
#include "clang/Lex/Preprocessor.h"
#include <set>

using namespace kbopt;
using clang::Decl;

ClosureRoots kbopt::closureRoots(const ParsedProgram &original,
                                 llvm::ArrayRef<std::string> kernels) {
  ClosureRoots roots;
  std::set<std::string> chosen, hosts;
  for (const KernelFact &kernel : findKernels(original)) {
    const bool isMeant = kernels.empty() || llvm::is_contained(kernels, kernel.name) ||
                         llvm::is_contained(kernels, kernel.function->getNameAsString());
    (isMeant ? roots.roots : roots.others).push_back(kernel.usr);
    if (isMeant)
      chosen.insert(kernel.usr);
  }
  for (const LaunchFact &launch : findLaunches(original))
    if (launch.host && (!launch.kernel || chosen.contains(launch.kernelUsr)))
      hosts.insert(usrOf(launch.host));
  roots.roots.insert(roots.roots.end(), hosts.begin(), hosts.end());
  return roots;
}

namespace {

class ClosureReader {
public:
  ClosureReader(const ParsedProgram &program, const ClosureRoots &roots)
      : program(program), sources(program.sources()), preprocessor(program.preprocessor()),
        others(roots.others.begin(), roots.others.end()) {}
  Digest read(const ClosureRoots &roots);

private:
  void collect(const Decl *declaration, const std::set<std::string> &wanted);
  void need(const Decl *declaration);
  bool isForeign(clang::SourceLocation place) const;
  void addUnit(const Decl *unit);
  void addTokens(clang::FileID file, unsigned begin, unsigned end, DigestBuilder &digest);
  void addIncludes(clang::FileID file, unsigned begin, unsigned end, DigestBuilder &digest);
  void needMacro(clang::IdentifierInfo *name);

  const ParsedProgram &program;
  const clang::SourceManager &sources;
  clang::Preprocessor &preprocessor;
  std::set<std::string> others;
  std::set<const Decl *> seen;
  std::vector<const Decl *> pending;
  std::set<const clang::IdentifierInfo *> macros;
  std::set<Digest>
      parts; ///< sorted: the order of declarations that do not depend on each other is free
};

} // namespace

/// Whether \p place belongs to the toolkit, the compiler or the system, which a lock names by their
/// versions.
bool ClosureReader::isForeign(clang::SourceLocation place) const {
  place = sources.getExpansionLoc(place);
  if (place.isInvalid())
    return true;
  if (!sources.isInSystemHeader(place))
    return false;
  llvm::StringRef file = sources.getFilename(place);
  return file.empty() || program.command().isForeignHeader(file);
}

void ClosureReader::need(const Decl *declaration) {
  for (const Decl *each : declaration->redecls()) {
    const Decl *unit = unitOf(each);
    if (unit && !unit->isImplicit() && !isForeign(unit->getLocation()) && seen.insert(unit).second)
      pending.push_back(unit);
  }
}

/// Finds the roots, and what has an effect without being named.
void ClosureReader::collect(const Decl *declaration, const std::set<std::string> &wanted) {
  if (const auto *inner = llvm::dyn_cast<clang::DeclContext>(declaration);
      inner && llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(declaration)) {
    for (const Decl *each : inner->decls())
      collect(each, wanted);
    return;
  }
  if (llvm::isa<clang::UsingDirectiveDecl>(declaration))
    return need(declaration);
  const Decl *named = declaration;
  if (const auto *described = llvm::dyn_cast<clang::FunctionTemplateDecl>(declaration))
    named = described->getTemplatedDecl();
  if (const auto *record =
          llvm::dyn_cast<clang::CXXRecordDecl>(declaration)) // kernels may be launched by methods
    for (const Decl *each : record->decls())
      if (llvm::isa<clang::FunctionDecl>(each) && wanted.contains(usrOf(each)))
        need(declaration);
  if (llvm::isa<clang::FunctionDecl>(named) && wanted.contains(usrOf(named)))
    need(declaration);
}

void ClosureReader::needMacro(clang::IdentifierInfo *name) {
  if (!name->hadMacroDefinition() || !macros.insert(name).second)
    return;
  DigestBuilder digest;
  digest.add("macro").add(name->getName());
  bool isUsers = false;
  for (const clang::MacroDirective *each = preprocessor.getLocalMacroDirectiveHistory(name); each;
       each = each->getPrevious()) {
    const clang::MacroInfo *macro = each->getMacroInfo();
    if (!macro || macro->isBuiltinMacro() || isForeign(macro->getDefinitionLoc()))
      continue;
    isUsers = true;
    digest.add(macro->isFunctionLike());
    for (const clang::IdentifierInfo *parameter : macro->params())
      digest.add(parameter->getName());
    for (const clang::Token &token : macro->tokens()) {
      digest.add(preprocessor.getSpelling(token));
      if (clang::IdentifierInfo *inner = token.getIdentifierInfo())
        needMacro(inner);
    }
  }
  if (isUsers)
    parts.insert(digest.finish());
}

void ClosureReader::addTokens(clang::FileID file, unsigned begin, unsigned end,
                              DigestBuilder &digest) {
  llvm::StringRef text = sources.getBufferData(file);
  clang::Lexer lexer(sources.getLocForStartOfFile(file), program.language(), text.begin(),
                     text.begin() + begin, text.end());
  clang::Token token;
  bool hasIncludes = false;
  for (bool isLast = false; !isLast;) {
    isLast = lexer.LexFromRawLexer(token);
    if (token.is(clang::tok::eof) || sources.getFileOffset(token.getLocation()) >= end)
      break;
    std::string spelling = clang::Lexer::getSpelling(token, sources, program.language());
    digest.add(spelling);
    hasIncludes |= spelling == "include";
    if (token.is(clang::tok::raw_identifier))
      needMacro(preprocessor.getIdentifierInfo(spelling));
  }
  if (hasIncludes)
    addIncludes(file, begin, end, digest);
}

/// The tokens of the files that are included between \p begin and \p end: parts of a body may stand
/// in a file of their own.
void ClosureReader::addIncludes(clang::FileID file, unsigned begin, unsigned end,
                                DigestBuilder &digest) {
  auto add = [&](const clang::SrcMgr::SLocEntry &entry) {
    if (!entry.isFile() || entry.getFile().getIncludeLoc().isInvalid())
      return;
    auto [includer, offset] = sources.getDecomposedLoc(entry.getFile().getIncludeLoc());
    const clang::FileID included =
        sources.getFileID(clang::SourceLocation::getFromRawEncoding(entry.getOffset()));
    if (includer == file && offset >= begin && offset < end && included != file)
      addTokens(included, 0, sources.getBufferData(included).size(), digest);
  };
  for (unsigned i = 0; i < sources.local_sloc_entry_size(); ++i)
    add(sources.getLocalSLocEntry(i));
  for (unsigned i = 0; i < sources.loaded_sloc_entry_size(); ++i)
    add(sources.getLoadedSLocEntry(i));
}

void ClosureReader::addUnit(const Decl *unit) {
  clang::CharSourceRange range = sources.getExpansionRange(unit->getSourceRange());
  clang::SourceLocation last =
      clang::Lexer::getLocForEndOfToken(range.getEnd(), 0, sources, program.language());
  DigestBuilder digest;
  const auto *named = llvm::dyn_cast<clang::NamedDecl>(unit);
  digest.add(unit->getDeclKindName()).add(named ? named->getQualifiedNameAsString() : "");
  auto [file, begin] = sources.getDecomposedLoc(range.getBegin());
  if (last.isValid() && sources.getFileID(last) == file)
    addTokens(file, begin, sources.getFileOffset(last), digest);
  parts.insert(digest.finish());
}

Digest ClosureReader::read(const ClosureRoots &roots) {
  std::set<std::string> wanted(roots.roots.begin(), roots.roots.end());
  for (const Decl *declaration : program.declarations())
    collect(declaration, wanted);
  while (!pending.empty()) {
    const Decl *unit = pending.back();
    pending.pop_back();
    const Decl *function = unit;
    if (const auto *described = llvm::dyn_cast<clang::FunctionTemplateDecl>(unit))
      function = described->getTemplatedDecl();
    if (llvm::isa<clang::FunctionDecl>(function) && others.contains(usrOf(function)))
      continue;
    addUnit(unit);
    forEachMention(unit, [&](const Decl *each) { need(each); });
  }
  DigestBuilder all;
  for (const Digest &part : parts)
    all.add(part);
  return all.finish();
}

Digest kbopt::closureDigest(const ParsedProgram &program, const ClosureRoots &roots) {
  return ClosureReader(program, roots).read(roots);
}
