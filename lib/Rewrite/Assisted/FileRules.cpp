//===- FileRules.cpp - Rules on a file that no pass made -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/Assisted/FileRules.h"
#include "CompilerWords.h"
#include "FileWords.h"
#include "Functions.h"
#include "Tokens.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
using llvm::StringRef;
namespace tok = clang::tok;

namespace {

/// Keeps the order and says everything once.
struct Breaches {
  void add(const llvm::Twine &text) {
    if (known.insert(text.str()).second)
      texts.push_back(text.str());
  }
  std::vector<std::string> texts;
  std::set<std::string> known;
};

//===-- Text ----------------------------------------------------------------===//

/// The directives of a text, each on one line with single spaces.
std::vector<std::string> directivesOf(llvm::ArrayRef<RawToken> tokens) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind != tok::hash || !tokens[i].startsLine)
      continue;
    std::string line;
    for (++i; i < tokens.size() && !tokens[i].startsLine; ++i)
      if (tokens[i].kind != tok::comment)
        line += (line.empty() ? "" : " ") + tokens[i].spelling;
    --i;
    lines.push_back(std::move(line));
  }
  return lines;
}

void checkDirective(StringRef line, Breaches &breaches) {
  auto [word, rest] = line.split(' ');
  if (word == "include") {
    // The compilers' folders hold what both sides have.
    if (!rest.starts_with("<") || rest.contains("..") || rest.starts_with("< /"))
      breaches.add("include: it includes " + rest + ", which is not judged");
    return;
  }
  if (word == "pragma") {
    StringRef what = rest.split(' ').first;
    if (what != "unroll" && what != "nounroll" && what != "once" && !what.starts_with("nv_") &&
        what != "omp")
      breaches.add("directive: it has '#pragma " + what + "'");
    return;
  }
  static constexpr StringRef plain[] = {"define", "undef", "ifdef", "ifndef",  "if", "elif",
                                        "else",   "endif", "error", "warning", ""};
  if (!llvm::is_contained(plain, word))
    breaches.add("directive: it has '#" + word + "'");
  // A macro with arguments can put a compiler's name together.
  if ((word == "if" || word == "elif") && !rest.starts_with("defined"))
    if (size_t bracket = rest.find(" ( "); bracket != StringRef::npos && bracket > 0) {
      StringRef before = rest.take_front(bracket);
      StringRef last = before.substr(before.rfind(' ') + 1);
      if (!last.empty() && (llvm::isAlpha(last[0]) || last[0] == '_') && last != "defined")
        breaches.add("directive: its condition calls the macro '" + last + "'");
    }
}

void checkText(const ParsedProgram &candidate, const std::set<std::string> &oldWords,
               const std::set<std::string> &oldLines, Breaches &breaches) {
  for (const std::string &reason : compilerWords(candidate, oldWords))
    breaches.add("compiler-word: " + reason);
  for (const std::string &line : directivesOf(tokensOf(candidate.text(), candidate.language())))
    if (!oldLines.count(line))
      checkDirective(line, breaches);
}

//===-- Declarations and calls ----------------------------------------------===//

class Walker : public clang::DynamicRecursiveASTVisitor {
public:
  /// Refuses new calls of given functions that use, by whatever way, what a file may not.
  void finish();
  /// \p oldLines: the original's directives, by which headers come in that the original has as
  /// well.
  Walker(const ParsedProgram &program, const std::set<std::string> &oldWords,
         const std::set<std::string> &oldLines, bool isCalled, Breaches &breaches)
      : program(program), oldWords(oldWords), oldLines(oldLines), isCalled(isCalled),
        breaches(breaches) {}

  bool TraverseDecl(clang::Decl *declaration) override {
    const clang::FunctionDecl *outer = function;
    if (const auto *inner = llvm::dyn_cast_or_null<clang::FunctionDecl>(declaration))
      function = inner;
    bool goOn = clang::DynamicRecursiveASTVisitor::TraverseDecl(declaration);
    function = outer;
    return goOn;
  }

  bool VisitDecl(clang::Decl *declaration) override;
  bool VisitFunctionDecl(clang::FunctionDecl *declared) override;
  bool VisitVarDecl(clang::VarDecl *variable) override;
  bool VisitGCCAsmStmt(clang::GCCAsmStmt *assembly) override {
    if (onHost() && !isGiven(assembly->getAsmLoc()))
      breaches.add("inline-asm: it has assembly on the host");
    return true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator *operation) override;
  bool VisitBinaryOperator(clang::BinaryOperator *operation) override;
  bool VisitDeclRefExpr(clang::DeclRefExpr *reference) override;
  bool VisitOverloadExpr(clang::OverloadExpr *overloads) override;
  bool VisitMemberExpr(clang::MemberExpr *member) override {
    if (const auto *callee = llvm::dyn_cast<clang::CXXMethodDecl>(member->getMemberDecl()))
      checkUse(*callee, callee->getNameAsString(), member->getMemberLoc());
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr *expression) override {
    const clang::CXXRecordDecl *type = expression->getConstructor()->getParent();
    checkUse(*type, type->getNameAsString(), expression->getLocation());
    return true;
  }

private:
  bool onHost() const {
    return !function || !isDeviceFunction(function) || function->hasAttr<clang::CUDAHostAttr>();
  }
  bool isOld(StringRef name) const { return oldWords.count(name.str()); }
  bool isOwn(const clang::Decl &declaration) const {
    const clang::SourceManager &sources = program.sources();
    return !sources.isInSystemHeader(sources.getExpansionLoc(declaration.getLocation()));
  }
  const clang::VarDecl *keptVariable(const clang::Expr *expression) const;
  void refuseKept(const clang::VarDecl *variable, llvm::StringRef what);
  /// Whether the text at \p place comes from a header of the user's that the original includes by
  /// the same line.
  bool isGiven(clang::SourceLocation place) const;
  /// Of \p used, at \p place: a function, a type. What lies in the system's headers is held against
  /// the rules at once.
  void checkUse(const clang::NamedDecl &used, StringRef name, clang::SourceLocation place);
  /// \p what is used at \p place: a breach, or what a function of a given header brings along.
  void refuse(const llvm::Twine &what, clang::SourceLocation place);

  const ParsedProgram &program;
  const std::set<std::string> &oldWords, &oldLines;
  const bool isCalled;
  Breaches &breaches;
  const clang::FunctionDecl *function = nullptr; ///< around the node that is visited
  std::set<const clang::VarDecl *> kept;         ///< scalars that outlive a call
  /// Of functions of given headers, what they use that a file may not; of all functions, the user's
  /// own that they call.
  std::map<const clang::Decl *, std::string> broughtAlong;
  std::map<const clang::Decl *, std::set<const clang::Decl *>> calls;
  /// The user's functions that the candidate's own text calls and the original's does not.
  std::map<const clang::Decl *, std::string> newCalls;
};

/// What lets code run before main, in another's place, or in one compiler alone.
bool changesLinkage(const clang::Attr &attribute) {
  switch (attribute.getKind()) {
  case clang::attr::Constructor:
  case clang::attr::Destructor:
  case clang::attr::Alias:
  case clang::attr::IFunc:
  case clang::attr::Weak:
  case clang::attr::WeakRef:
  case clang::attr::WeakImport:
  case clang::attr::Section:
  case clang::attr::Cleanup:
  case clang::attr::InitPriority:
  case clang::attr::Naked:
  case clang::attr::AsmLabel:
  case clang::attr::EnableIf:
  case clang::attr::DiagnoseIf:
  case clang::attr::OptimizeNone:
  case clang::attr::Overloadable:
  case clang::attr::NoBuiltin:
  case clang::attr::Target:
  case clang::attr::Annotate:
    return true;
  default:
    return false;
  }
}

bool Walker::VisitDecl(clang::Decl *declaration) {
  if (declaration->isImplicit())
    return true;
  for (const clang::Attr *attribute : declaration->attrs())
    if (!attribute->isImplicit() && !attribute->isInherited() && changesLinkage(*attribute) &&
        isOwn(*declaration) && !isGiven(attribute->getLocation()) &&
        !isOld(attribute->getSpelling()))
      breaches.add(StringRef("attribute: it has the attribute '") + attribute->getSpelling() + "'");
  return true;
}

bool Walker::VisitFunctionDecl(clang::FunctionDecl *declared) {
  std::string name = declared->getNameAsString();
  if (declared->isImplicit() || isOld(name) || !isOwn(*declared) ||
      isGiven(declared->getLocation()) || declared->getTemplateInstantiationPattern() ||
      declared->isTemplated() || llvm::isa<clang::CXXMethodDecl>(declared))
    return true;
  if (!declared->isDefined())
    breaches.add("declaration: it declares '" + name + "' and does not define it");
  // The C library's names could be taken over by it.
  else if (declared->isExternC() && !declared->hasAttr<clang::CUDAGlobalAttr>())
    breaches.add("declaration: it defines '" + name + "' for the whole process (extern \"C\")");
  else if (declared->isReplaceableGlobalAllocationFunction())
    breaches.add("declaration: it replaces '" + name + "'");
  return true;
}

bool Walker::VisitVarDecl(clang::VarDecl *variable) {
  std::string name = variable->getNameAsString();
  if (!variable->hasGlobalStorage() || variable->hasAttr<clang::CUDASharedAttr>() || isOld(name) ||
      !isOwn(*variable))
    return true;
  if (variable->hasAttr<clang::CUDADeviceAttr>() || variable->hasAttr<clang::CUDAConstantAttr>())
    return true; // G2's
  if (variable->hasExternalStorage() && !variable->getDefinition() &&
      !isGiven(variable->getLocation()))
    breaches.add("declaration: it declares '" + name + "' and does not define it");
  else if (isCalled && !variable->isConstexpr() && !variable->getType().isConstQualified() &&
           !(function && isDeviceFunction(function))) {
    // A buffer that is kept, or whether something was set up, shows in repeated calls of the judge.
    if (variable->getType()->isScalarType())
      kept.insert(variable->getCanonicalDecl());
    else if (!isGiven(variable->getLocation()))
      breaches.add("mutable-state: the variable '" + name + "' keeps its value from call to call");
  }
  return true;
}

/// The variable that \p expression names, if it is one of those that are kept.
const clang::VarDecl *Walker::keptVariable(const clang::Expr *expression) const {
  const auto *reference = llvm::dyn_cast<clang::DeclRefExpr>(expression->IgnoreParenImpCasts());
  const auto *variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
  return variable && kept.count(variable->getCanonicalDecl()) ? variable : nullptr;
}

void Walker::refuseKept(const clang::VarDecl *variable, llvm::StringRef what) {
  if (variable)
    breaches.add("mutable-state: the variable '" + variable->getNameAsString() + "' " + what);
}

bool Walker::VisitUnaryOperator(clang::UnaryOperator *operation) {
  if (operation->isIncrementDecrementOp())
    refuseKept(keptVariable(operation->getSubExpr()), "counts calls");
  return true;
}

bool Walker::VisitBinaryOperator(clang::BinaryOperator *operation) {
  const clang::VarDecl *left = keptVariable(operation->getLHS());
  if (operation->isCompoundAssignmentOp()) {
    refuseKept(left, "counts calls");
  } else if (operation->isAssignmentOp() && left) {
    // Its own former value, in any place of the new one.
    std::vector<const clang::Stmt *> rest = {operation->getRHS()};
    while (!rest.empty()) {
      const clang::Stmt *statement = rest.back();
      rest.pop_back();
      if (!statement)
        continue;
      if (const auto *inner = llvm::dyn_cast<clang::Expr>(statement);
          inner && keptVariable(inner) == left)
        refuseKept(left, "counts calls");
      rest.insert(rest.end(), statement->child_begin(), statement->child_end());
    }
  } else if (operation->isEqualityOp()) {
    for (auto [one, other] : {std::pair(operation->getLHS(), operation->getRHS()),
                              {operation->getRHS(), operation->getLHS()}}) {
      const clang::VarDecl *variable = keptVariable(one);
      if (variable && variable->getType()->isPointerType() &&
          !other->IgnoreParenImpCasts()->isNullPointerConstant(
              program.context(), clang::Expr::NPC_ValueDependentIsNotNull))
        refuseKept(variable, "recognises a pointer of an earlier call");
    }
  }
  return true;
}

bool Walker::VisitDeclRefExpr(clang::DeclRefExpr *reference) {
  const clang::ValueDecl *used = reference->getDecl();
  std::string name = used->getNameAsString();
  if (llvm::isa<clang::FunctionDecl>(used)) {
    checkUse(*used, name, reference->getLocation());
  } else if (const auto *variable = llvm::dyn_cast<clang::VarDecl>(used);
             variable && variable->hasExternalStorage() && !isOwn(*variable) && !isOld(name) &&
             onHost()) {
    static constexpr StringRef denied[] = {"environ",
                                           "__environ",
                                           "_environ",
                                           "program_invocation_name",
                                           "program_invocation_short_name",
                                           "cin"};
    if (llvm::is_contained(denied, name))
      refuse("host-call: it reads '" + name + "' on the host", reference->getLocation());
  }
  return true;
}

bool Walker::VisitOverloadExpr(clang::OverloadExpr *overloads) {
  for (const clang::NamedDecl *candidate : overloads->decls())
    checkUse(*candidate->getUnderlyingDecl(), overloads->getName().getAsString(),
             overloads->getNameLoc());
  return true;
}

bool Walker::isGiven(clang::SourceLocation place) const {
  const clang::SourceManager &sources = program.sources();
  // What stands at the beginning of the candidate's text is a file of its own with the same name,
  // if it was precompiled (clang's preamble).
  const StringRef main = sources.getFilename(sources.getLocForStartOfFile(sources.getMainFileID()));
  auto isOwnText = [&](clang::SourceLocation location) {
    return sources.getFilename(location) == main;
  };
  clang::SourceLocation line = sources.getSpellingLoc(place);
  if (isOwnText(line))
    return false;
  do
    line = sources.getIncludeLoc(sources.getFileID(line));
  while (line.isValid() && !isOwnText(line));
  if (line.isInvalid())
    return false;
  // The place of its directive in the candidate's text.
  const StringRef text = program.text();
  const size_t at = sources.getFileOffset(line);
  if (at >= text.size())
    return false;
  const size_t begin = text.rfind('\n', at) + 1;
  const std::vector<std::string> directives =
      directivesOf(tokensOf(text.slice(begin, text.find('\n', at)), program.language()));
  return directives.size() == 1 && oldLines.count(directives.front());
}

void Walker::refuse(const llvm::Twine &what, clang::SourceLocation place) {
  if (!isGiven(place))
    return breaches.add(what);
  if (function)
    broughtAlong.try_emplace(function->getCanonicalDecl(), what.str());
}

void Walker::finish() {
  for (const auto &[first, name] : newCalls) {
    std::set<const clang::Decl *> seen;
    std::vector<const clang::Decl *> rest = {first};
    while (!rest.empty()) {
      const clang::Decl *callee = rest.back();
      rest.pop_back();
      if (!seen.insert(callee).second)
        continue;
      if (auto found = broughtAlong.find(callee); found != broughtAlong.end())
        breaches.add(found->second + ", by '" + name + "', which the original does not call");
      rest.insert(rest.end(), calls[callee].begin(), calls[callee].end());
    }
  }
}

void Walker::checkUse(const clang::NamedDecl &used, StringRef name, clang::SourceLocation place) {
  if (!onHost() || name.empty())
    return;
  if (isOwn(used) && llvm::isa<clang::FunctionDecl>(used)) {
    if (function)
      calls[function->getCanonicalDecl()].insert(used.getCanonicalDecl());
    if (!isOld(name) && !isGiven(place))
      newCalls.try_emplace(used.getCanonicalDecl(), name.str());
  }
  if (isOld(name) || isOwn(used))
    return;
  if (const auto *callee = llvm::dyn_cast<clang::FunctionDecl>(&used);
      callee &&
      (callee->isConstexpr() || callee->getBuiltinID(/*ConsiderWrapperFunctions=*/false) ||
       (isDeviceFunction(callee) && !callee->hasAttr<clang::CUDAHostAttr>())))
    if (StringRef(name).starts_with("__builtin_") || callee->isConstexpr() ||
        isDeviceFunction(callee))
      return;
  const clang::SourceManager &sources = program.sources();
  StringRef header =
      llvm::sys::path::filename(sources.getFilename(sources.getExpansionLoc(used.getLocation())));
  HostOrigin origin = HostOrigin::CLibrary;
  if (used.isInStdNamespace() || StringRef(used.getQualifiedNameAsString()).starts_with("std::") ||
      StringRef(used.getQualifiedNameAsString()).starts_with("__gnu_cxx::"))
    origin = HostOrigin::Std;
  else if (name.starts_with("cu") || name.starts_with("CU") || name.starts_with("__cuda"))
    origin = HostOrigin::Cuda;
  else if (header.contains("math") || header.contains("string") || header.contains("vector") ||
           header.contains("fp16") || header.contains("bf16") || header.contains("fp8") ||
           header.contains("complex") || header.contains("cooperative_groups"))
    return;
  if (origin == HostOrigin::Std)
    if (const auto *space = llvm::dyn_cast<clang::NamespaceDecl>(used.getDeclContext());
        space && !fileMayUse(space->getName(), origin))
      return refuse("host-call: it uses '" + used.getQualifiedNameAsString() + "' on the host",
                    place);
  if (!fileMayUse(name, origin))
    refuse("host-call: it uses '" + name + "' on the host", place);
}

} // namespace

std::vector<std::string> kbopt::newBreaches(StringRef original, const ParsedProgram &candidate,
                                            bool isCalled) {
  Breaches breaches;
  const std::set<std::string> oldWords = wordsOf(original, candidate.language());
  const std::vector<std::string> lines = directivesOf(tokensOf(original, candidate.language()));
  const std::set<std::string> oldLines(lines.begin(), lines.end());
  checkText(candidate, oldWords, oldLines, breaches);
  Walker walker(candidate, oldWords, oldLines, isCalled, breaches);
  for (const clang::Decl *declaration : candidate.declarations())
    walker.TraverseDecl(const_cast<clang::Decl *>(declaration));
  walker.finish();
  return std::move(breaches.texts);
}
