//===- HostBranches.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/HostBranches.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Lex/Lexer.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
using llvm::StringRef;

/// The tokens of \p text, each behind a space, without comments.
static std::string tokensIn(StringRef text, const clang::LangOptions &language) {
  const std::string copy = text.str();
  clang::Lexer lexer(clang::SourceLocation(), language, copy.data(), copy.data(),
                     copy.data() + copy.size());
  std::string all;
  clang::Token token;
  for (bool isEnd = false; !isEnd;) {
    isEnd = lexer.LexFromRawLexer(token);
    if (token.is(clang::tok::eof))
      break;
    const unsigned end = lexer.getCurrentBufferOffset();
    all += " " + copy.substr(end - token.getLength(), token.getLength());
  }
  return all + " ";
}

namespace {

/// Whether \p wanted is true of \p statement or of a statement in it; bodies of lambdas are others.
template <typename Predicate> bool anyIn(const clang::Stmt *statement, Predicate wanted) {
  if (!statement || llvm::isa<clang::LambdaExpr>(statement))
    return false;
  return wanted(statement) || llvm::any_of(statement->children(), [&](const clang::Stmt *child) {
           return anyIn(child, wanted);
         });
}

bool hasCalls(const clang::Stmt *statement) {
  return anyIn(statement, [](const clang::Stmt *each) {
    return llvm::isa<clang::CallExpr, clang::CXXConstructExpr, clang::CXXNewExpr,
                     clang::CXXDeleteExpr>(each);
  });
}

/// Whether control does not come out behind \p statement, where it leaves at all.
bool leaves(const clang::Stmt *statement) {
  return anyIn(statement, [](const clang::Stmt *each) {
    return llvm::isa<clang::ReturnStmt, clang::BreakStmt, clang::ContinueStmt, clang::GotoStmt,
                     clang::CXXThrowExpr>(each);
  });
}

/// Whether the program or the function ends in \p statement.
bool ends(const clang::Stmt *statement) {
  return anyIn(statement, [](const clang::Stmt *each) {
    if (llvm::isa<clang::ReturnStmt, clang::CXXThrowExpr>(each))
      return true;
    const auto *call = llvm::dyn_cast<clang::CallExpr>(each);
    const clang::FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
    return callee && (callee->isNoReturn() ||
                      llvm::is_contained({"exit", "abort", "_Exit", "quick_exit", "terminate"},
                                         callee->getDeclName().getAsString()));
  });
}

/// Whether \p condition holds where a size is zero, or one of several, or less.
bool asksForNothing(const clang::Expr *condition) {
  condition = condition->IgnoreParenImpCasts();
  auto isNumber = [](const clang::Expr *value, uint64_t number) {
    const auto *literal = llvm::dyn_cast<clang::IntegerLiteral>(value->IgnoreParenImpCasts());
    return literal && literal->getValue() == number;
  };
  auto isSize = [](const clang::Expr *value) {
    return value->IgnoreParenImpCasts()->getType()->isIntegerType() && !hasCalls(value);
  };
  if (const auto *negated = llvm::dyn_cast<clang::UnaryOperator>(condition))
    return negated->getOpcode() == clang::UO_LNot && isSize(negated->getSubExpr());
  const auto *both = llvm::dyn_cast<clang::BinaryOperator>(condition);
  if (!both)
    return false;
  const clang::Expr *left = both->getLHS(), *right = both->getRHS();
  switch (both->getOpcode()) {
  case clang::BO_LOr:
    return asksForNothing(left) && asksForNothing(right);
  case clang::BO_EQ:
    return (isSize(left) && isNumber(right, 0)) || (isNumber(left, 0) && isSize(right));
  case clang::BO_LE:
    return isSize(left) && isNumber(right, 0);
  case clang::BO_LT:
    return isSize(left) && isNumber(right, 1);
  default:
    return false;
  }
}

/// Whether \p condition asks how a call of CUDA's ended, or for a null pointer.
bool asksForFailure(const clang::Expr *condition) {
  return anyIn(condition, [](const clang::Stmt *each) {
    const auto *expression = llvm::dyn_cast<clang::Expr>(each);
    if (!expression)
      return false;
    const clang::QualType type = expression->getType();
    if (const auto *number = type->getAs<clang::EnumType>())
      return StringRef(number->getDecl()->getName()).starts_with("cudaError");
    if (const auto *cast = llvm::dyn_cast<clang::ImplicitCastExpr>(expression))
      return cast->getCastKind() == clang::CK_PointerToBoolean ||
             cast->getCastKind() == clang::CK_NullToPointer;
    // What was asked before.
    const auto *reference = llvm::dyn_cast<clang::DeclRefExpr>(expression);
    const auto *variable =
        reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
    return variable && type->isBooleanType() && variable->isLocalVarDecl() && variable->getInit() &&
           asksForFailure(variable->getInit());
  });
}

/// Whether \p statement, or what is left out in its place, changes nothing that counts: it gives
/// hints to the device, asks for errors, or prints.
bool isHint(const clang::Stmt *statement) {
  static constexpr StringRef calls[] = {"cudaGetLastError",
                                        "cudaPeekAtLastError",
                                        "cudaGetErrorString",
                                        "cudaGetErrorName",
                                        "cudaStreamSetAttribute",
                                        "cudaFuncSetCacheConfig",
                                        "cudaCtxResetPersistingL2Cache",
                                        "cudaMemAdvise",
                                        "cudaMemPrefetchAsync",
                                        "printf",
                                        "fprintf",
                                        "perror"};
  return !statement || !anyIn(statement, [](const clang::Stmt *each) {
    if (const auto *call = llvm::dyn_cast<clang::CallExpr>(each)) {
      const clang::FunctionDecl *callee = call->getDirectCallee();
      return !callee || !llvm::is_contained(calls, callee->getDeclName().getAsString());
    }
    const auto *assigned = llvm::dyn_cast<clang::BinaryOperator>(each);
    return (assigned && assigned->isAssignmentOp()) ||
           llvm::isa<clang::ReturnStmt, clang::BreakStmt, clang::ContinueStmt, clang::GotoStmt>(
               each);
  });
}

/// Which conditions the text of a program decides, see HostBranch::isDecided. It walks the program
/// first.
class Decisions : public clang::DynamicRecursiveASTVisitor {
public:
  bool VisitUnaryOperator(clang::UnaryOperator *operation) override {
    if (operation->getOpcode() == clang::UO_AddrOf)
      noteShared(operation->getSubExpr());
    return true;
  }
  bool VisitVarDecl(clang::VarDecl *variable) override {
    if (variable->getType()->isReferenceType() && variable->hasInit())
      noteShared(variable->getInit());
    return true;
  }
  bool VisitCallExpr(clang::CallExpr *call) override {
    const clang::FunctionDecl *callee = call->getDirectCallee();
    for (unsigned i = 0; i < call->getNumArgs(); ++i)
      if (!callee || i >= callee->getNumParams() ||
          callee->getParamDecl(i)->getType()->isReferenceType())
        noteShared(call->getArg(i));
    return true;
  }

  bool isDecided(const clang::Expr *value) const {
    value = value->IgnoreParens();
    if (const auto *cast = llvm::dyn_cast<clang::CastExpr>(value))
      return isDecided(cast->getSubExpr());
    if (llvm::isa<clang::IntegerLiteral, clang::CXXBoolLiteralExpr,
                  clang::UnaryExprOrTypeTraitExpr>(value))
      return true;
    if (const auto *reference = llvm::dyn_cast<clang::DeclRefExpr>(value)) {
      const auto *variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl());
      return llvm::isa<clang::EnumConstantDecl>(reference->getDecl()) ||
             (variable && variable->getType()->isIntegralOrEnumerationType() &&
              !shared.count(variable->getCanonicalDecl()) && isOwnValue(*variable));
    }
    // `grid.y` of a dim3.
    if (const auto *member = llvm::dyn_cast<clang::MemberExpr>(value)) {
      const auto *reference =
          llvm::dyn_cast<clang::DeclRefExpr>(member->getBase()->IgnoreParenImpCasts());
      return reference && !member->isArrow() && value->getType()->isIntegerType() &&
             reference->getType().getAsString().find("dim3") != std::string::npos &&
             !shared.count(reference->getDecl()->getCanonicalDecl());
    }
    if (const auto *one = llvm::dyn_cast<clang::UnaryOperator>(value))
      return one->isArithmeticOp() && isDecided(one->getSubExpr());
    if (const auto *choice = llvm::dyn_cast<clang::ConditionalOperator>(value))
      return isDecided(choice->getCond()) && isDecided(choice->getTrueExpr()) &&
             isDecided(choice->getFalseExpr());
    if (const auto *both = llvm::dyn_cast<clang::BinaryOperator>(value))
      return keepsApart(*both) || asksAlignment(*both) ||
             (!both->isAssignmentOp() && isDecided(both->getLHS()) && isDecided(both->getRHS()));
    if (const auto *call = llvm::dyn_cast<clang::CallExpr>(value))
      return isDecidedCall(*call);
    return false;
  }

private:
  void noteShared(const clang::Expr *value) {
    if (const auto *reference = llvm::dyn_cast<clang::DeclRefExpr>(value->IgnoreParenImpCasts()))
      shared.insert(reference->getDecl()->getCanonicalDecl());
  }
  /// Of parameters the arguments are looked at where that matters: sizes come from the program.
  bool isOwnValue(const clang::VarDecl &variable) const {
    const clang::Expr *start = variable.getInit();
    if (llvm::isa<clang::ParmVarDecl>(variable) || !start)
      return true;
    return !anyIn(start, [](const clang::Stmt *each) {
      const auto *expression = llvm::dyn_cast<clang::Expr>(each);
      return llvm::isa<clang::CallExpr, clang::ArraySubscriptExpr>(each) ||
             (expression && (expression->getType()->isPointerType() ||
                             expression->getType()->isRealFloatingType()));
    });
  }
  /// The variable that the pointer \p value is counted from; null if it is no plain one.
  static const clang::Decl *baseOf(const clang::Expr *value) {
    value = value->IgnoreParenImpCasts();
    if (const auto *sum = llvm::dyn_cast<clang::BinaryOperator>(value))
      return sum->getType()->isPointerType() ? baseOf(sum->getLHS()) : nullptr;
    const auto *reference = llvm::dyn_cast<clang::DeclRefExpr>(value);
    return reference && value->getType()->isPointerType() ? reference->getDecl() : nullptr;
  }
  /// `a + n <= b || b + m <= a`: true of memory of different allocations, wherever it lies.
  static bool keepsApart(const clang::BinaryOperator &both) {
    const auto *left = llvm::dyn_cast<clang::BinaryOperator>(both.getLHS()->IgnoreParenImpCasts()),
               *right = llvm::dyn_cast<clang::BinaryOperator>(both.getRHS()->IgnoreParenImpCasts());
    if (both.getOpcode() != clang::BO_LOr || !left || !right || left->getOpcode() != clang::BO_LE ||
        right->getOpcode() != clang::BO_LE)
      return false;
    const clang::Decl *one = baseOf(left->getLHS()), *other = baseOf(left->getRHS());
    return one && other && one == baseOf(right->getRHS()) && other == baseOf(right->getLHS());
  }
  /// `(size_t)a % 16`, or of several pointers: allocations begin at multiples of 256 bytes.
  static bool asksAlignment(const clang::BinaryOperator &rest) {
    const auto *divisor =
        llvm::dyn_cast<clang::IntegerLiteral>(rest.getRHS()->IgnoreParenImpCasts());
    constexpr uint64_t allocationAlignment = 256;
    return rest.getOpcode() == clang::BO_Rem && divisor && divisor->getValue().isPowerOf2() &&
           divisor->getValue().ule(allocationAlignment) && !hasCalls(rest.getLHS());
  }
  /// A function of the program's that returns one decided value.
  bool isDecidedCall(const clang::CallExpr &call) const {
    const clang::FunctionDecl *callee = call.getDirectCallee();
    const auto *body =
        callee ? llvm::dyn_cast_or_null<clang::CompoundStmt>(callee->getBody()) : nullptr;
    if (!body || body->size() != 1)
      return false;
    for (const clang::Expr *argument : call.arguments())
      if (!argument->getType()->isPointerType() && !isDecided(argument))
        return false;
    const auto *given = llvm::dyn_cast<clang::ReturnStmt>(body->body_front());
    return given && given->getRetValue() && isDecided(given->getRetValue());
  }

  std::set<const clang::Decl *> shared; ///< variables that something else may write to
};

/// Seeds, and what goes around them.
struct SeedSites {
  Insertions insertions;
  std::vector<std::string> lines;
};

/// Looks for seeds: what generators of <random> are made from or seeded with, and whole numbers
/// that variables and parameters of unsigned types with telling names get.
class SeedFinder : public clang::DynamicRecursiveASTVisitor {
public:
  explicit SeedFinder(const ParsedProgram &program) : program(program) {}

  bool TraverseFunctionDecl(clang::FunctionDecl *function) override {
    return function->hasAttr<clang::CUDADeviceAttr>() ||
           function->hasAttr<clang::CUDAGlobalAttr>() ||
           clang::DynamicRecursiveASTVisitor::TraverseFunctionDecl(function);
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr *made) override {
    if (isEngine(made->getConstructor()->getParent()) && made->getNumArgs() == 1)
      wrap(made->getArg(0));
    return true;
  }
  bool VisitCXXMemberCallExpr(clang::CXXMemberCallExpr *call) override {
    const clang::CXXMethodDecl *method = call->getMethodDecl();
    if (method && method->getDeclName().getAsString() == "seed" && isEngine(method->getParent()) &&
        call->getNumArgs() == 1)
      wrap(call->getArg(0));
    return true;
  }
  bool VisitVarDecl(clang::VarDecl *variable) override {
    if (!variable->isConstexpr() && variable->getInitStyle() == clang::VarDecl::CInit &&
        variable->hasInit() && isTelling(*variable) && !variable->getType().isConstQualified() &&
        isNumber(variable->getInit()))
      wrap(variable->getInit());
    return true;
  }
  bool VisitCallExpr(clang::CallExpr *call) override {
    const clang::FunctionDecl *callee = call->getDirectCallee();
    for (unsigned i = 0; callee && i < callee->getNumParams() && i < call->getNumArgs(); ++i)
      if (isTelling(*callee->getParamDecl(i)) && isNumber(call->getArg(i)))
        wrap(call->getArg(i));
    return true;
  }

  SeedSites sites;

private:
  static bool isEngine(const clang::CXXRecordDecl *type) {
    return llvm::is_contained({"mersenne_twister_engine", "linear_congruential_engine",
                               "subtract_with_carry_engine", "discard_block_engine",
                               "shuffle_order_engine"},
                              type->getNameAsString());
  }
  static bool isTelling(const clang::VarDecl &variable) {
    const std::string name = StringRef(variable.getNameAsString()).lower();
    return variable.getType()->isUnsignedIntegerType() &&
           llvm::any_of(std::initializer_list<StringRef>{"seed", "rng", "lcg", "state"},
                        [&](StringRef part) { return StringRef(name).contains(part); });
  }
  static bool isNumber(const clang::Expr *value) {
    return llvm::isa<clang::IntegerLiteral>(value->IgnoreParenImpCasts());
  }
  void wrap(const clang::Expr *value) {
    value = value->IgnoreImpCasts();
    const clang::SourceManager &sources = program.sources();
    const clang::SourceRange range = value->getSourceRange();
    if (range.isInvalid() || range.getBegin().isMacroID() || range.getEnd().isMacroID() ||
        !sources.isInMainFile(range.getBegin()) || !value->getType()->isIntegerType() ||
        llvm::isa<clang::CXXDefaultArgExpr>(value))
      return;
    const unsigned begin = sources.getFileOffset(range.getBegin()),
                   end = sources.getFileOffset(clang::Lexer::getLocForEndOfToken(
                       range.getEnd(), 0, sources, program.language()));
    for (const auto &[offset, text] : sites.insertions)
      if (offset >= begin && offset <= end)
        return;
    sites.insertions.emplace_back(begin, "kbrecordSeed(");
    sites.insertions.emplace_back(end, ")");
    const StringRef all = program.text();
    const size_t lineBegin = all.rfind('\n', begin) + 1;
    sites.lines.push_back(tokensIn(all.slice(lineBegin, all.find('\n', end)), program.language()));
  }

  const ParsedProgram &program;
};

SeedSites findSeeds(const ParsedProgram &program) {
  SeedFinder finder(program);
  for (const clang::Decl *declaration : program.declarations())
    finder.TraverseDecl(const_cast<clang::Decl *>(declaration));
  return std::move(finder.sites);
}

class Collector : public clang::DynamicRecursiveASTVisitor {
public:
  Collector(const ParsedProgram &program, StringRef original)
      : program(program), sources(program.sources()), language(program.language()),
        oldTokens(tokensIn(original, language)) {}

  bool TraverseFunctionDecl(clang::FunctionDecl *function) override {
    return enter(function,
                 [&] { return clang::DynamicRecursiveASTVisitor::TraverseFunctionDecl(function); });
  }
  bool TraverseCXXMethodDecl(clang::CXXMethodDecl *function) override {
    return enter(function, [&] {
      return clang::DynamicRecursiveASTVisitor::TraverseCXXMethodDecl(function);
    });
  }
  bool TraverseLambdaExpr(clang::LambdaExpr *lambda) override {
    return enter(lambda->getCallOperator(),
                 [&] { return clang::DynamicRecursiveASTVisitor::TraverseLambdaExpr(lambda); });
  }

  bool VisitCompoundStmt(clang::CompoundStmt *compound) override {
    for (const clang::Stmt *child : compound->body())
      behind[child] = compound;
    return true;
  }
  bool VisitIfStmt(clang::IfStmt *statement) override;
  bool VisitConditionalOperator(clang::ConditionalOperator *choice) override;
  bool VisitReturnStmt(clang::ReturnStmt *given) override {
    if (given->getRetValue() && given->getRetValue()->getType()->isBooleanType())
      leaveOutChoices(given->getRetValue());
    return true;
  }
  bool VisitForStmt(clang::ForStmt *loop) override {
    if (loop->getCond() && !loop->getConditionVariable())
      addLoop(loop, loop->getCond(), loop->getBody());
    return true;
  }
  bool VisitWhileStmt(clang::WhileStmt *loop) override {
    if (!loop->getConditionVariable())
      addLoop(loop, loop->getCond(), loop->getBody());
    return true;
  }
  bool VisitSwitchStmt(clang::SwitchStmt *statement) override;

  NotedHost finish(SeedSites seeds);

  Decisions decisions;

private:
  template <typename Body> bool enter(const clang::FunctionDecl *function, Body body) {
    const bool isHosts = !function->hasAttr<clang::CUDADeviceAttr>() &&
                         !function->hasAttr<clang::CUDAGlobalAttr>() && !function->isConstexpr();
    return isHosts ? body() : true;
  }
  std::optional<std::pair<unsigned, unsigned>> place(clang::SourceRange range) const;
  std::string tokens(clang::SourceRange range) const;
  bool isOld(const std::string &tokens) const { return StringRef(oldTokens).contains(tokens); }
  bool isOldWork(const clang::Stmt *body) const;
  bool isConstant(const clang::Expr *condition) const {
    bool value;
    return condition->isValueDependent() ||
           condition->EvaluateAsBooleanCondition(value, program.context());
  }
  /// What follows \p statement in its block; an invalid range where nothing does.
  clang::SourceRange restBehind(const clang::Stmt *statement) const;
  void leaveOutChoices(const clang::Expr *value);
  bool isExtreme(const clang::ConditionalOperator &choice) const;
  void addLoop(const clang::Stmt *loop, const clang::Expr *condition, const clang::Stmt *body);
  void note(const clang::Expr *condition, bool notesTaken, bool notesPassed, bool isPlain);
  bool isHidden(const clang::Stmt *statement, const clang::Expr *condition);

  const ParsedProgram &program;
  const clang::SourceManager &sources;
  const clang::LangOptions &language;
  const std::string oldTokens;
  NotedHost result;
  unsigned next = 0, groups = 0;
  Insertions insertions; ///< in the order of making
  std::map<const clang::Stmt *, const clang::CompoundStmt *> behind;
  std::set<const clang::Stmt *> parts; ///< choices in what another condition asks for
};

} // namespace

std::optional<std::pair<unsigned, unsigned>> Collector::place(clang::SourceRange range) const {
  if (range.isInvalid() || range.getBegin().isMacroID() || range.getEnd().isMacroID() ||
      !sources.isInMainFile(range.getBegin()) || !sources.isInMainFile(range.getEnd()))
    return std::nullopt;
  const clang::SourceLocation end =
      clang::Lexer::getLocForEndOfToken(range.getEnd(), 0, sources, language);
  return std::pair(sources.getFileOffset(range.getBegin()), sources.getFileOffset(end));
}

std::string Collector::tokens(clang::SourceRange range) const {
  auto found = place({sources.getExpansionLoc(range.getBegin()),
                      sources.getExpansionRange(range.getEnd()).getEnd()});
  return found ? tokensIn(program.text().slice(found->first, found->second), language) : " ? ";
}

/// Whether the original does the same: a way back to its own code needs no case of its own.
bool Collector::isOldWork(const clang::Stmt *body) const {
  clang::SourceRange range = body->getSourceRange();
  if (const auto *compound = llvm::dyn_cast<clang::CompoundStmt>(body))
    range = compound->body_empty() ? clang::SourceRange()
                                   : clang::SourceRange(compound->body_front()->getBeginLoc(),
                                                        compound->body_back()->getEndLoc());
  return range.isValid() && hasCalls(body) && isOld(tokens(range));
}

clang::SourceRange Collector::restBehind(const clang::Stmt *statement) const {
  auto found = behind.find(statement);
  if (found == behind.end())
    return {};
  auto next = std::next(llvm::find(found->second->body(), statement));
  return next == found->second->body_end()
             ? clang::SourceRange()
             : clang::SourceRange((*next)->getBeginLoc(), found->second->body_back()->getEndLoc());
}

/// Whether \p condition cannot be noted; one that a new macro writes into host code is named.
bool Collector::isHidden(const clang::Stmt *statement, const clang::Expr *condition) {
  if (place(condition->getSourceRange()))
    return false;
  const clang::SourceLocation begin = statement->getBeginLoc();
  if (!begin.isMacroID() || !sources.isInMainFile(sources.getExpansionLoc(begin)) ||
      sources.isInSystemHeader(sources.getSpellingLoc(begin)))
    return true;
  const StringRef macro = clang::Lexer::getImmediateMacroName(begin, sources, language);
  if (!isOld((" " + macro + " ").str()))
    result.hidden.push_back(
        llvm::formatv("line {0}: the macro {1}", sources.getExpansionLineNumber(begin), macro));
  return true;
}

void Collector::note(const clang::Expr *condition, bool notesTaken, bool notesPassed,
                     bool isPlain) {
  auto range = place(condition->getSourceRange());
  if (!range || (!notesTaken && !notesPassed))
    return;
  HostBranch branch;
  branch.line = sources.getSpellingLineNumber(condition->getBeginLoc());
  branch.text = program.text().slice(range->first, range->second).str();
  branch.isPlain = isPlain;
  branch.isDecided = decisions.isDecided(condition);
  const unsigned number = next;
  next += 2;
  branch.taken = number;
  branch.passed = number + 1;
  insertions.emplace_back(range->first,
                          "kbrecordChose(" + std::to_string(number) + ", static_cast<bool>(");
  insertions.emplace_back(range->second, "))");
  if (!notesTaken) // only whether it was reached
    branch.taken.reset();
  if (!notesPassed)
    branch.passed.reset();
  result.branches.push_back(std::move(branch));
}

bool Collector::VisitIfStmt(clang::IfStmt *statement) {
  const clang::Expr *condition = statement->getCond();
  if (statement->isConstexpr() || statement->isConsteval() || !condition ||
      statement->getConditionVariable() || isConstant(condition))
    return true;
  leaveOutChoices(condition);
  const clang::Stmt *then = statement->getThen(), *otherwise = statement->getElse();
  if (asksForFailure(condition) &&
      (ends(then) || (otherwise && ends(otherwise)) || (isHint(then) && isHint(otherwise))))
    return true;
  if (isOld(tokens(statement->getSourceRange())) || isHidden(statement, condition))
    return true;
  const bool isOldCondition = isOld(" if (" + tokens(condition->getSourceRange()) + ") ");
  const clang::SourceRange rest = leaves(then) ? restBehind(statement) : clang::SourceRange();
  const bool notesPassed = otherwise        ? !isOldWork(otherwise)
                           : rest.isValid() ? !isOld(tokens(rest))
                                            : !isOldCondition;
  // Functions are also called with sizes of zero, where the original stands that; programs with
  // sizes of their own have no such case.
  const bool doesNothing = asksForNothing(condition) && leaves(then) && !hasCalls(then);
  note(condition, !doesNothing && !isOldWork(then), notesPassed,
       !hasCalls(then) && !leaves(then) &&
           (!otherwise || (!hasCalls(otherwise) && !leaves(otherwise))));
  return true;
}

/// Notes the choices in \p value, whose value is all that counts of it.
void Collector::leaveOutChoices(const clang::Expr *value) {
  anyIn(value, [&](const clang::Stmt *each) {
    const auto *choice = llvm::dyn_cast<clang::ConditionalOperator>(each);
    if (choice && !hasCalls(choice))
      parts.insert(choice);
    return false;
  });
}

/// Whether \p choice writes out the larger or the smaller of two values.
bool Collector::isExtreme(const clang::ConditionalOperator &choice) const {
  const auto *compared =
      llvm::dyn_cast<clang::BinaryOperator>(choice.getCond()->IgnoreParenImpCasts());
  if (!compared || !compared->isRelationalOp())
    return false;
  auto textOf = [&](const clang::Expr *value) {
    return tokens(value->IgnoreParenImpCasts()->getSourceRange());
  };
  const std::string left = textOf(compared->getLHS()), right = textOf(compared->getRHS()),
                    first = textOf(choice.getTrueExpr()), second = textOf(choice.getFalseExpr());
  return (left == first && right == second) || (left == second && right == first);
}

bool Collector::VisitConditionalOperator(clang::ConditionalOperator *choice) {
  const clang::Expr *condition = choice->getCond();
  leaveOutChoices(condition);
  if (parts.count(choice) || isExtreme(*choice))
    return true;
  if (!isConstant(condition) && place(condition->getSourceRange()) &&
      !isOld(tokens(choice->getSourceRange())))
    note(condition, true, true,
         !hasCalls(choice->getTrueExpr()) && !hasCalls(choice->getFalseExpr()));
  return true;
}

void Collector::addLoop(const clang::Stmt *loop, const clang::Expr *condition,
                        const clang::Stmt *body) {
  leaveOutChoices(condition);
  if (!isConstant(condition) && !isOld(tokens(loop->getSourceRange())) &&
      !isHidden(loop, condition) && !isOldWork(body))
    note(condition, true, false, !hasCalls(body) && !leaves(body));
}

bool Collector::VisitSwitchStmt(clang::SwitchStmt *statement) {
  if (isOld(tokens(statement->getSourceRange())))
    return true;
  const unsigned group = groups++;
  for (const clang::SwitchCase *label = statement->getSwitchCaseList(); label;
       label = label->getNextSwitchCase()) {
    auto range = place({label->getBeginLoc(), label->getColonLoc()});
    if (!range || llvm::isa<clang::SwitchCase>(label->getSubStmt()) ||
        isOldWork(label->getSubStmt()))
      continue;
    HostBranch branch;
    branch.line = sources.getSpellingLineNumber(label->getBeginLoc());
    branch.text = program.text().slice(range->first, range->second - 1).str();
    branch.taken = next++;
    branch.group = group;
    insertions.emplace_back(range->second,
                            " kbrecordTaken(" + std::to_string(*branch.taken) + ");");
    result.branches.push_back(std::move(branch));
  }
  return true;
}

/// The text of \p program after \p insertions.
static std::string insertCalls(const ParsedProgram &program, Insertions insertions) {
  if (insertions.empty())
    return program.text().str();
  // What opens at a place comes before what opens there later; what closes there is all alike.
  llvm::stable_sort(insertions, [](const auto &a, const auto &b) { return a.first < b.first; });
  std::string text = "extern \"C\" bool kbrecordChose(unsigned, bool);\n"
                     "extern \"C\" void kbrecordTaken(unsigned);\n"
                     "extern \"C\" unsigned long kbrecordSeed(unsigned long);\n#line 1\n";
  unsigned at = 0;
  for (const auto &[offset, inserted] : insertions) {
    text += program.text().slice(at, offset).str() + inserted;
    at = offset;
  }
  return text + program.text().drop_front(at).str();
}

NotedHost Collector::finish(SeedSites seeds) {
  llvm::append_range(insertions, seeds.insertions);
  result.text = insertCalls(program, std::move(insertions));
  result.seeds = std::move(seeds.lines);
  return std::move(result);
}

NotedHost kbopt::noteBranches(const ParsedProgram &program, StringRef original) {
  Collector collector(program, original);
  for (const clang::Decl *declaration : program.declarations())
    collector.decisions.TraverseDecl(const_cast<clang::Decl *>(declaration));
  for (const clang::Decl *declaration : program.declarations())
    collector.TraverseDecl(const_cast<clang::Decl *>(declaration));
  return collector.finish(findSeeds(program));
}

NotedHost kbopt::noteSeeds(const ParsedProgram &program) {
  SeedSites seeds = findSeeds(program);
  return {insertCalls(program, std::move(seeds.insertions)), {}, {}, std::move(seeds.lines)};
}

std::vector<std::string> kbopt::sidesNotSeen(const NotedHost &host, const std::set<unsigned> &taken,
                                             const std::set<unsigned> &called, bool isClosed) {
  std::vector<std::string> all;
  std::set<unsigned> reachedGroups;
  for (const HostBranch &branch : host.branches)
    if (branch.group && (taken.count(*branch.taken) || called.count(*branch.taken)))
      reachedGroups.insert(*branch.group);
  for (const HostBranch &branch : host.branches) {
    if (isClosed && branch.isDecided)
      continue;
    auto isSeen = [&](unsigned number) {
      return taken.count(number) || (branch.isPlain && called.count(number));
    };
    if (branch.group) {
      if (reachedGroups.count(*branch.group) && !isSeen(*branch.taken))
        all.push_back(llvm::formatv("line {0}: '{1}' is never reached", branch.line, branch.text));
      continue;
    }
    const unsigned number = branch.taken ? *branch.taken : *branch.passed - 1;
    auto isReached = [&](const std::set<unsigned> &seen) {
      return seen.count(number) || seen.count(number + 1);
    };
    if (!isReached(taken) && !isReached(called))
      continue; // what leads here is named, or nothing calls the function
    if (branch.taken && !isSeen(number))
      all.push_back(llvm::formatv("line {0}: '{1}' is never true", branch.line, branch.text));
    if (branch.passed && !isSeen(number + 1))
      all.push_back(llvm::formatv("line {0}: '{1}' is never false", branch.line, branch.text));
  }
  return all;
}
