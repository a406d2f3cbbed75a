//===- MatchFunctions.cpp - Two functions that do the same -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "MatchFunctions.h"
#include "kb-opt/Rewrite/AstTools.h"
#include <set>

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

namespace {

std::string canonical(QualType type) {
  return type.getCanonicalType().getUnqualifiedType().getAsString();
}

/// Whether what the pattern does with a parameter of type \p a holds for one of type \p b.
bool standsFor(QualType a, QualType b) {
  if (canonical(a) == canonical(b))
    return !a.isRestrictQualified() || b.isRestrictQualified();
  const QualType x = a->getPointeeType(), y = b->getPointeeType();
  return !x.isNull() && !y.isNull() && x.isConstQualified() && canonical(x) == canonical(y) &&
         (!a.isRestrictQualified() || b.isRestrictQualified());
}

/// Whether \p expr may change something, or depends on other threads.
bool hasEffects(const Expr *expr) {
  bool found = false;
  ast::walk(expr, [&](const Stmt *each) {
    if (const auto *unary = llvm::dyn_cast<UnaryOperator>(each))
      found |= unary->isIncrementDecrementOp();
    else if (const auto *binary = llvm::dyn_cast<BinaryOperator>(each))
      found |= binary->isAssignmentOp();
    else if (const auto *call = llvm::dyn_cast<CallExpr>(each)) {
      const FunctionDecl *callee = call->getDirectCallee();
      const std::string name = callee ? callee->getNameAsString() : "";
      found |= name.empty() || StringRef(name).starts_with("atomic") ||
               StringRef(name).starts_with("__");
    } else if (!llvm::isa<Expr>(each) || llvm::isa<LambdaExpr, CXXThrowExpr>(each))
      found = true;
    return !found;
  });
  return found;
}

/// The binary operator that does the same with its operands exchanged.
std::optional<BinaryOperatorKind> exchanged(BinaryOperatorKind kind) {
  switch (kind) {
  case BO_Add:
  case BO_Mul:
  case BO_And:
  case BO_Or:
  case BO_Xor:
  case BO_EQ:
  case BO_NE:
    return kind;
  case BO_LT:
    return BO_GT;
  case BO_GT:
    return BO_LT;
  case BO_LE:
    return BO_GE;
  case BO_GE:
    return BO_LE;
  default:
    return std::nullopt;
  }
}

class Matcher {
public:
  /// \p context is that of the second function.
  Matcher(const OpenPlaces &places, const ASTContext &context) : places(places), context(context) {}

  bool match(const Stmt *a, const Stmt *b);
  bool bind(const ValueDecl *a, const ValueDecl *b);
  /// Whether what stands for open expressions is known where those are.
  bool knowsOpenVariables() const;
  Bindings bindings;
  std::map<unsigned, const Expr *> open;

private:
  bool matchOpen(unsigned number, const Expr *a, const Expr *b);
  bool matchDeclaration(const Decl *a, const Decl *b);
  bool matchAssembly(const GCCAsmStmt *a, const GCCAsmStmt *b);
  bool matchReference(const DeclRefExpr *a, const DeclRefExpr *b);
  bool matchBinary(const BinaryOperator *a, const BinaryOperator *b);
  bool matchCall(const CallExpr *a, const CallExpr *b);
  bool matchIncrement(const Stmt *a, const Stmt *b);
  bool matchFor(const ForStmt *a, const ForStmt *b);
  bool matchLeaf(const Expr *a, const Expr *b);
  bool matchChildren(const Stmt *a, const Stmt *b);
  /// Tries \p attempt, and undoes what it bound if it fails.
  bool tried(llvm::function_ref<bool()> attempt) {
    Bindings before = bindings;
    Bindings reverse = bound;
    std::map<unsigned, const Expr *> stood = open;
    if (attempt())
      return true;
    bindings = std::move(before);
    bound = std::move(reverse);
    open = std::move(stood);
    return false;
  }

  const OpenPlaces &places;
  const ASTContext &context;
  Bindings bound; ///< the other way
};

/// The parameters and local variables that \p expr names.
std::set<const VarDecl *> variablesOf(const Expr *expr) {
  std::set<const VarDecl *> variables;
  for (const auto *reference : ast::findAll<DeclRefExpr>(expr))
    if (const auto *variable = llvm::dyn_cast<VarDecl>(reference->getDecl());
        variable && (llvm::isa<ParmVarDecl>(variable) || variable->isLocalVarDecl()))
      variables.insert(variable);
  return variables;
}

/// Whether both are the same expression of one function.
bool isSame(const Expr *a, const Expr *b, const ASTContext &context) {
  llvm::FoldingSetNodeID first, second;
  a->Profile(first, context, /*Canonical=*/true);
  b->Profile(second, context, /*Canonical=*/true);
  return first == second;
}

bool Matcher::matchOpen(unsigned number, const Expr *a, const Expr *b) {
  if (canonical(a->getType()) != canonical(b->getType()) || hasEffects(b))
    return false;
  auto [place, isNew] = open.try_emplace(number, b);
  return isNew || isSame(place->second, b, context);
}

bool Matcher::knowsOpenVariables() const {
  std::map<unsigned, std::set<const VarDecl *>> known;
  for (const auto &[expr, place] : places)
    known[place.number].merge(variablesOf(place.around));
  for (const auto &[number, expr] : open)
    for (const VarDecl *variable : variablesOf(expr)) {
      auto pattern = bound.find(variable);
      if (pattern == bound.end() ? !llvm::isa<ParmVarDecl>(variable)
                                 : !llvm::isa<ParmVarDecl>(pattern->second) &&
                                       !known[number].count(llvm::cast<VarDecl>(pattern->second)))
        return false;
    }
  return true;
}

bool Matcher::bind(const ValueDecl *a, const ValueDecl *b) {
  auto there = bindings.find(a);
  auto back = bound.find(b);
  if (there != bindings.end() || back != bound.end())
    return there != bindings.end() && there->second == b;
  if (llvm::isa<ParmVarDecl>(a) != llvm::isa<ParmVarDecl>(b) ||
      (llvm::isa<ParmVarDecl>(a) ? !standsFor(a->getType(), b->getType())
                                 : canonical(a->getType()) != canonical(b->getType())))
    return false;
  bindings[a] = b;
  bound[b] = a;
  return true;
}

bool Matcher::matchDeclaration(const Decl *a, const Decl *b) {
  if (const auto *alias = llvm::dyn_cast<TypedefNameDecl>(a)) {
    const auto *other = llvm::dyn_cast<TypedefNameDecl>(b);
    return other && canonical(alias->getUnderlyingType()) == canonical(other->getUnderlyingType());
  }
  const auto *x = llvm::dyn_cast<VarDecl>(a), *y = llvm::dyn_cast<VarDecl>(b);
  return x && y && x->hasAttr<CUDASharedAttr>() == y->hasAttr<CUDASharedAttr>() &&
         x->getStorageClass() == y->getStorageClass() && bind(x, y) &&
         match(x->getInit(), y->getInit());
}

bool Matcher::matchReference(const DeclRefExpr *a, const DeclRefExpr *b) {
  const ValueDecl *x = a->getDecl(), *y = b->getDecl();
  if (const auto *variable = llvm::dyn_cast<VarDecl>(x);
      variable && (llvm::isa<ParmVarDecl>(x) || variable->isLocalVarDecl()))
    return bind(x, y);
  return x->getQualifiedNameAsString() == y->getQualifiedNameAsString() &&
         canonical(x->getType()) == canonical(y->getType());
}

bool Matcher::matchBinary(const BinaryOperator *a, const BinaryOperator *b) {
  if (a->getOpcode() == b->getOpcode() &&
      tried([&] { return match(a->getLHS(), b->getLHS()) && match(a->getRHS(), b->getRHS()); }))
    return true;
  return exchanged(a->getOpcode()) == b->getOpcode() &&
         tried([&] { return match(a->getLHS(), b->getRHS()) && match(a->getRHS(), b->getLHS()); });
}

/// Whether the function of that name does the same with its two arguments exchanged.
bool isSymmetric(StringRef name) {
  return name == "min" || name == "max" || name == "fminf" || name == "fmaxf" || name == "fmin" ||
         name == "fmax";
}

bool Matcher::matchCall(const CallExpr *a, const CallExpr *b) {
  if (tried([&] { return matchChildren(a, b); }))
    return true;
  const FunctionDecl *callee = a->getDirectCallee();
  return callee && callee->getIdentifier() && isSymmetric(callee->getName()) &&
         a->getNumArgs() == 2 && b->getNumArgs() == 2 && tried([&] {
           return match(a->getCallee(), b->getCallee()) && match(a->getArg(0), b->getArg(1)) &&
                  match(a->getArg(1), b->getArg(0));
         });
}

/// The same but for whether the value before or after is the result, which is not used.
bool Matcher::matchIncrement(const Stmt *a, const Stmt *b) {
  const auto *x = llvm::dyn_cast_or_null<UnaryOperator>(a),
             *y = llvm::dyn_cast_or_null<UnaryOperator>(b);
  return x && y && x->isIncrementDecrementOp() && y->isIncrementDecrementOp()
             ? x->isIncrementOp() == y->isIncrementOp() && match(x->getSubExpr(), y->getSubExpr())
             : match(a, b);
}

bool Matcher::matchFor(const ForStmt *a, const ForStmt *b) {
  return match(a->getInit(), b->getInit()) && match(a->getCond(), b->getCond()) &&
         matchIncrement(a->getInc(), b->getInc()) && match(a->getBody(), b->getBody());
}

bool Matcher::matchAssembly(const GCCAsmStmt *a, const GCCAsmStmt *b) {
  auto isSameConstraint = [&](auto constraintOf, unsigned count, unsigned others) {
    for (unsigned i = 0; i != count && i != others; ++i)
      if (constraintOf(a, i) != constraintOf(b, i))
        return false;
    return count == others;
  };
  return a->getAsmString() == b->getAsmString() && a->isVolatile() == b->isVolatile() &&
         isSameConstraint(
             [](const GCCAsmStmt *each, unsigned i) { return each->getOutputConstraint(i); },
             a->getNumOutputs(), b->getNumOutputs()) &&
         isSameConstraint(
             [](const GCCAsmStmt *each, unsigned i) { return each->getInputConstraint(i); },
             a->getNumInputs(), b->getNumInputs()) &&
         isSameConstraint([](const GCCAsmStmt *each, unsigned i) { return each->getClobber(i); },
                          a->getNumClobbers(), b->getNumClobbers()) &&
         matchChildren(a, b);
}

/// Whether two expressions of one class without operands, or what they have besides, are the same.
bool Matcher::matchLeaf(const Expr *a, const Expr *b) {
  if (const auto *x = llvm::dyn_cast<IntegerLiteral>(a))
    return llvm::APInt::isSameValue(x->getValue(), llvm::cast<IntegerLiteral>(b)->getValue());
  if (const auto *x = llvm::dyn_cast<FloatingLiteral>(a))
    return x->getValue().bitwiseIsEqual(llvm::cast<FloatingLiteral>(b)->getValue());
  if (const auto *x = llvm::dyn_cast<CXXBoolLiteralExpr>(a))
    return x->getValue() == llvm::cast<CXXBoolLiteralExpr>(b)->getValue();
  if (const auto *x = llvm::dyn_cast<CharacterLiteral>(a))
    return x->getValue() == llvm::cast<CharacterLiteral>(b)->getValue();
  if (const auto *x = llvm::dyn_cast<CXXDefaultArgExpr>(a))
    return match(x->getExpr(), llvm::cast<CXXDefaultArgExpr>(b)->getExpr());
  if (const auto *x = llvm::dyn_cast<UnaryOperator>(a))
    return x->getOpcode() == llvm::cast<UnaryOperator>(b)->getOpcode();
  if (const auto *x = llvm::dyn_cast<MemberExpr>(a))
    return x->getMemberNameInfo().getAsString() ==
           llvm::cast<MemberExpr>(b)->getMemberNameInfo().getAsString();
  if (llvm::isa<ExplicitCastExpr, UnaryExprOrTypeTraitExpr, CXXConstructExpr, ImplicitValueInitExpr,
                CXXScalarValueInitExpr>(a))
    return canonical(a->getType()) == canonical(b->getType());
  return llvm::isa<ArraySubscriptExpr, CallExpr, ConditionalOperator, InitListExpr, ConstantExpr,
                   CXXNullPtrLiteralExpr>(a);
}

bool Matcher::matchChildren(const Stmt *a, const Stmt *b) {
  auto x = a->child_begin(), y = b->child_begin();
  for (; x != a->child_end() && y != b->child_end(); ++x, ++y)
    if (!match(*x, *y))
      return false;
  return x == a->child_end() && y == b->child_end();
}

bool Matcher::match(const Stmt *a, const Stmt *b) {
  if (!a || !b)
    return !a && !b;
  // How far a loop is unrolled is no part of what it computes.
  if (const auto *attributed = llvm::dyn_cast<AttributedStmt>(a))
    return match(attributed->getSubStmt(), b);
  if (const auto *attributed = llvm::dyn_cast<AttributedStmt>(b))
    return match(a, attributed->getSubStmt());
  const auto *x = llvm::dyn_cast<Expr>(a), *y = llvm::dyn_cast<Expr>(b);
  if (x && y) {
    a = x = ast::strip(x);
    b = y = ast::strip(y);
    if (auto place = places.find(x); place != places.end())
      return matchOpen(place->second.number, x, y);
    auto grid = ast::gridRefOf(x), other = ast::gridRefOf(y);
    if (grid || other)
      return grid && other && grid->builtin == other->builtin &&
             grid->dimension == other->dimension;
  }
  if (a->getStmtClass() != b->getStmtClass())
    return false;
  if (const auto *reference = llvm::dyn_cast<DeclRefExpr>(a))
    return matchReference(reference, llvm::cast<DeclRefExpr>(b));
  if (const auto *compound = llvm::dyn_cast<CompoundAssignOperator>(a))
    return compound->getOpcode() == llvm::cast<CompoundAssignOperator>(b)->getOpcode() &&
           matchChildren(a, b);
  if (const auto *binary = llvm::dyn_cast<BinaryOperator>(a))
    return matchBinary(binary, llvm::cast<BinaryOperator>(b));
  if (const auto *loop = llvm::dyn_cast<ForStmt>(a))
    return matchFor(loop, llvm::cast<ForStmt>(b));
  if (const auto *declarations = llvm::dyn_cast<DeclStmt>(a)) {
    const auto *others = llvm::cast<DeclStmt>(b);
    return llvm::equal(
        declarations->decls(), others->decls(),
        [&](const Decl *each, const Decl *other) { return matchDeclaration(each, other); });
  }
  if (const auto *call = llvm::dyn_cast<CallExpr>(a))
    return matchCall(call, llvm::cast<CallExpr>(b));
  if (const auto *assembly = llvm::dyn_cast<GCCAsmStmt>(a))
    return matchAssembly(assembly, llvm::cast<GCCAsmStmt>(b));
  if (x && y)
    return matchLeaf(x, y) && matchChildren(a, b);
  const bool isKnown = llvm::isa<CompoundStmt, IfStmt, WhileStmt, DoStmt, ReturnStmt, BreakStmt,
                                 ContinueStmt, NullStmt, SwitchStmt, CaseStmt, DefaultStmt>(a);
  return isKnown && matchChildren(a, b);
}

} // namespace

std::optional<FunctionMatch> kbopt::matchFunctions(const FunctionDecl *pattern,
                                                   const FunctionDecl *function,
                                                   const OpenPlaces &open) {
  Matcher matcher(open, function->getASTContext());
  if ((open.empty() && pattern->getNumParams() != function->getNumParams()) ||
      !matcher.match(pattern->getBody(), function->getBody()))
    return std::nullopt;
  // What the body does not use, or open expressions alone, is bound in the order in which it
  // stands.
  for (const ParmVarDecl *parameter : pattern->parameters()) {
    bool isBound = matcher.bindings.count(parameter);
    for (const ParmVarDecl *other : function->parameters())
      isBound = isBound || matcher.bind(parameter, other);
    if (!isBound && open.empty())
      return std::nullopt;
  }
  if (!matcher.knowsOpenVariables())
    return std::nullopt;
  FunctionMatch match;
  std::set<const ValueDecl *> taken;
  for (const auto &[theirs, ours] : matcher.bindings)
    taken.insert(ours);
  for (const ParmVarDecl *parameter : function->parameters())
    if (!taken.count(parameter))
      match.extra.push_back(parameter);
  match.bindings = std::move(matcher.bindings);
  match.open = std::move(matcher.open);
  return match;
}
