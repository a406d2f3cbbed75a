//===- ProgramRules.cpp - The rules on the program that a reply makes -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the comparison of the program before with the program after: what stands
// outside the anchors is the same text, and must still be the same code. What the
// anchors hold is walked by NewCode.cpp.
//
//===----------------------------------------------------------------------===//

#include "Functions.h"
#include "NewCode.h"
#include "Tokens.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "clang/AST/Attr.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;
using llvm::StringRef;

namespace {

using Finding = std::optional<Refusal>;

/// The braces of a function's body.
struct Braces {
  unsigned open, close;
};

std::optional<Braces> bracesOf(const ParsedProgram &program, const clang::FunctionDecl *function) {
  const auto *body = llvm::dyn_cast_or_null<clang::CompoundStmt>(function->getBody());
  if (!body || body->getLBracLoc().isMacroID() || body->getRBracLoc().isMacroID())
    return std::nullopt;
  auto open = mainFileOffset(program, body->getLBracLoc());
  auto close = mainFileOffset(program, body->getRBracLoc());
  if (!open || !close)
    return std::nullopt;
  return Braces{*open, *close};
}

class ProgramChecker {
public:
  ProgramChecker(const ParsedProgram &before, const ParsedProgram &after,
                 llvm::ArrayRef<PlacedEdit> edits, llvm::ArrayRef<StringRef> allow)
      : before(before), after(after), edits(edits), allow(allow) {}

  Finding check();

private:
  bool allows(StringRef what) const { return llvm::is_contained(allow, what); }
  /// Where the byte at \p offset, which no anchor holds, is in the program after.
  unsigned moved(unsigned offset) const;
  /// Whether a function whose body has \p braces is what an edit takes away.
  bool isRemoved(const Braces &braces) const {
    return llvm::any_of(edits, [&](const PlacedEdit &edit) {
      return *slotKind(edit.id) == SlotKind::Unused && edit.anchor.contains(braces.open, 1);
    });
  }
  /// Every function of before is where it should be, and `partners` knows it.
  Finding checkFunctions();
  Finding checkKernels();
  Finding checkLaunches();
  Finding checkOutputs();
  NewCode newCode() const;

  const ParsedProgram &before, &after;
  llvm::ArrayRef<PlacedEdit> edits;
  llvm::ArrayRef<StringRef> allow;
  std::vector<std::pair<const clang::FunctionDecl *, const clang::FunctionDecl *>> partners;
};

unsigned ProgramChecker::moved(unsigned offset) const {
  unsigned result = offset;
  for (const PlacedEdit &edit : edits)
    if (edit.anchor.end <= offset)
      result += unsigned(edit.inserted.size()) - (edit.anchor.end - edit.anchor.begin);
  return result;
}

Finding ProgramChecker::checkFunctions() {
  std::map<unsigned, const clang::FunctionDecl *> byBrace;
  for (const clang::FunctionDecl *function : functionsOfMainFile(after))
    if (auto braces = bracesOf(after, function))
      byBrace[braces->open] = function;
  for (const clang::FunctionDecl *function : functionsOfMainFile(before)) {
    auto braces = bracesOf(before, function);
    if (!braces || isRemoved(*braces))
      continue;
    auto found = byBrace.find(moved(braces->open));
    auto now = found == byBrace.end() ? std::nullopt : bracesOf(after, found->second);
    if (!now || now->close != moved(braces->close))
      return Refusal{EditRule::OutsideAnchor,
                     "the function '" + function->getQualifiedNameAsString() +
                         "' no longer begins and ends where it did",
                     ""};
    bool isKernel = function->hasAttr<clang::CUDAGlobalAttr>();
    bool same = function->getQualifiedNameAsString() == found->second->getQualifiedNameAsString() &&
                isKernel == found->second->hasAttr<clang::CUDAGlobalAttr>() &&
                function->getType().getAsString() == found->second->getType().getAsString();
    bool mayChange =
        isKernel && allows("signatures") && function->getName() == found->second->getName();
    if (!same && !mayChange)
      return Refusal{EditRule::Signature,
                     "'" + function->getQualifiedNameAsString() + "' is no longer declared as '" +
                         function->getType().getAsString() + "'",
                     ""};
    partners.emplace_back(function, found->second);
  }
  return std::nullopt;
}

Finding ProgramChecker::checkKernels() {
  if (allows("launches"))
    return std::nullopt;
  auto names = [](const ParsedProgram &program) {
    std::multiset<std::string> names;
    for (const clang::FunctionDecl *function : functionsOfMainFile(program))
      if (function->hasAttr<clang::CUDAGlobalAttr>())
        names.insert(function->getQualifiedNameAsString());
    return names;
  };
  std::multiset<std::string> had = names(before), has = names(after);
  for (const std::string &name : has)
    if (had.count(name) < has.count(name))
      return Refusal{EditRule::Kernels, "it adds the kernel '" + name + "'", ""};
  for (const std::string &name : had)
    if (has.count(name) < had.count(name))
      return Refusal{EditRule::Kernels, "the kernel '" + name + "' is gone", ""};
  return std::nullopt;
}

Finding ProgramChecker::checkLaunches() {
  if (allows("launches"))
    return std::nullopt;
  std::vector<LaunchFact> launches = findLaunches(before);
  for (const PlacedEdit &edit : edits) {
    if (*slotKind(edit.id) != SlotKind::Launch)
      continue;
    std::set<std::string> words = wordsOf(edit.text, after.language());
    for (const LaunchFact &launch : launches) {
      auto at = mainFileOffset(before, launch.call->getBeginLoc());
      if (launch.kernel && at && edit.anchor.contains(*at, 0) &&
          !words.count(launch.kernel->getNameAsString()))
        return Refusal{
            EditRule::Launches,
            "the kernel '" + launch.kernel->getNameAsString() + "' is no longer launched", edit.id};
    }
  }
  return std::nullopt;
}

Finding ProgramChecker::checkOutputs() {
  if (allows("signatures") || allows("launches"))
    return std::nullopt;
  for (auto [was, is] : partners) {
    if (!was->hasAttr<clang::CUDAGlobalAttr>() || was->getNumParams() != is->getNumParams())
      continue;
    for (unsigned i = 0; i < was->getNumParams(); ++i) {
      const clang::ParmVarDecl *parameter = was->getParamDecl(i);
      clang::QualType type = parameter->getType();
      bool written = (type->isPointerType() || type->isReferenceType()) &&
                     !type->getPointeeType().isConstQualified();
      if (written && ast::mentions(was->getBody(), parameter) &&
          !ast::mentions(is->getBody(), is->getParamDecl(i)))
        return Refusal{EditRule::Output,
                       "kernel '" + was->getNameAsString() + "' no longer uses its output '" +
                           parameter->getNameAsString() + "'",
                       ""};
    }
  }
  return std::nullopt;
}

NewCode ProgramChecker::newCode() const {
  NewCode code;
  code.allow = allow.vec();
  std::string rest = before.text().str();
  for (const PlacedEdit &edit : edits) {
    NewCode::Piece piece;
    piece.id = edit.id;
    piece.begin = moved(edit.anchor.begin);
    // An insertion stands before the byte that it was made at.
    if (edit.anchor.begin == edit.anchor.end)
      piece.begin -= edit.inserted.size();
    // So does a later insertion at the same byte.
    for (const PlacedEdit &other : edits)
      if (&other > &edit && edit.anchor.end == other.anchor.begin &&
          other.anchor.begin == other.anchor.end && edit.anchor.begin == edit.anchor.end)
        piece.begin -= other.inserted.size();
    piece.end = piece.begin + edit.inserted.size();
    code.pieces.push_back(piece);
    StringRef old = before.text().slice(edit.anchor.begin, edit.anchor.end);
    for (const std::string &word : wordsOf(old, before.language()))
      code.oldWords.insert(word);
    std::fill(rest.begin() + edit.anchor.begin, rest.begin() + edit.anchor.end, ' ');
  }
  code.untouchedWords = wordsOf(rest, before.language());
  return code;
}

Finding ProgramChecker::check() {
  if (Finding finding = checkFunctions())
    return finding;
  if (Finding finding = checkKernels())
    return finding;
  if (Finding finding = checkLaunches())
    return finding;
  if (Finding finding = checkOutputs())
    return finding;
  return checkNewCode(after, newCode());
}

} // namespace

Finding kbopt::checkProgram(const ParsedProgram &before, const ParsedProgram &after,
                            llvm::ArrayRef<PlacedEdit> edits, llvm::ArrayRef<StringRef> allow) {
  return ProgramChecker(before, after, edits, allow).check();
}
