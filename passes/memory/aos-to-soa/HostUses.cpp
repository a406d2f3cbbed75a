//===- HostUses.cpp - The life of an array on the host ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the host may do with the pointer to an array of structures on the device, and the
// statements in front of which or behind which the fields must move.
//
//===----------------------------------------------------------------------===//

#include "SplitArray.h"

using namespace kbopt;
using namespace kbopt::split;
using namespace clang;

namespace {

StringRef calleeOf(const CallExpr *call) {
  const FunctionDecl *callee = call->getDirectCallee();
  return callee && callee->getIdentifier() ? callee->getName() : StringRef();
}

/// Whether \p stream is the default one.
bool isDefaultStream(const Expr *stream, const ASTContext &context) {
  const Expr *expr = stream ? ast::strip(stream) : nullptr;
  while (const auto *cast = dyn_cast_or_null<CastExpr>(expr))
    expr = ast::strip(cast->getSubExpr());
  return !expr || isa<CXXDefaultArgExpr, CXXNullPtrLiteralExpr>(expr) ||
         ast::constantOf(expr, context) == std::optional<int64_t>(0);
}

class Life {
public:
  Life(const PassContext &context, Pointer &pointer, HostLife &life)
      : context(context), ast(context.parsed().context()), pointer(pointer), life(life),
        parents(pointer.function), body(pointer.function->getBody()) {}

  std::string follow();

private:
  void stop(const Stmt *at, const llvm::Twine &what) {
    if (why.empty())
      why = (what + " at " + ast::lineText(context, at->getBeginLoc())).str();
  }
  const Stmt *parentOf(const Stmt *node) const { return parents.of(node); }
  void use(const DeclRefExpr *reference);
  void useInCall(const CallExpr *call, const Expr *argument, bool isWhole, bool isAddress);
  void copy(const CallExpr *call, const Expr *argument, bool isWhole);
  const Stmt *alwaysRun(const Stmt *inner) const;
  bool isWholeSize(const Expr *size) const;
  bool staysTheSame(const Expr *size) const;
  void checkPlace();
  void countLaunches();

  const PassContext &context;
  const ASTContext &ast;
  Pointer &pointer;
  HostLife &life;
  Parents parents;
  const Stmt *body;
  std::string why;
  std::vector<const Expr *> needed; ///< calls that the parts' arrays must be declared for
  std::vector<std::pair<const CallExpr *, const Expr *>> wholeCopies; ///< with their sizes
};

/// The statement of a block that always executes \p inner, once; null if it may not.
const Stmt *Life::alwaysRun(const Stmt *inner) const {
  for (const Stmt *up = parentOf(inner); up; inner = up, up = parentOf(up)) {
    const auto *block = dyn_cast<CompoundStmt>(up);
    const bool isOfMacro = up->getBeginLoc().isMacroID();
    if (block && !isOfMacro)
      return inner;
    const auto *binary = dyn_cast<BinaryOperator>(up);
    const auto *branch = dyn_cast<IfStmt>(up);
    const auto *choice = dyn_cast<ConditionalOperator>(up);
    const bool isSure =
        block ||
        (isa<Expr>(up) && !isa<LambdaExpr>(up) && !(binary && binary->isLogicalOp()) &&
         !(choice && choice->getCond() != inner)) ||
        isa<DeclStmt>(up) || (branch && branch->getCond() == inner) ||
        (isa<DoStmt>(up) && isOfMacro);
    if (!isSure)
      return nullptr;
  }
  return nullptr;
}

/// Whether nothing that \p size is made of changes behind the allocation.
bool Life::staysTheSame(const Expr *size) const {
  bool stays = true;
  ast::walk(size, [&](const Stmt *each) {
    if (isa<CallExpr, MemberExpr, ArraySubscriptExpr, LambdaExpr>(each))
      stays = false;
    const auto *reference = dyn_cast<DeclRefExpr>(each);
    const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    if (!variable || variable->getType().isConstQualified())
      return stays;
    stays &= variable->isLocalVarDeclOrParm() && !variable->getType()->isReferenceType() &&
             !variable->isStaticLocal();
    const auto *block = cast<CompoundStmt>(parentOf(life.allocation));
    bool isBehind = false;
    for (const Stmt *statement : block->body()) {
      stays &= !isBehind || !mayModify(statement, variable);
      isBehind |= statement == life.allocation;
    }
    return stays;
  });
  return stays;
}

bool Life::isWholeSize(const Expr *size) const {
  if (!ast::sameValue(size, life.bytes, pointer.function, ast))
    return false;
  return ast::constantOf(ast::resolve(size, pointer.function), ast) || staysTheSame(size);
}

void Life::use(const DeclRefExpr *reference) {
  const Expr *expr = reference;
  bool isWhole = true, isAddress = false;
  for (const Stmt *up = parentOf(expr); isa_and_nonnull<Expr>(up) && !isa<CallExpr>(up);
       up = parentOf(up))
    if (isa<UnaryExprOrTypeTraitExpr>(up)) // sizeof(*d)
      return;
  for (const Stmt *up = parentOf(expr); up; up = parentOf(up)) {
    const auto *unary = dyn_cast<UnaryOperator>(up);
    const auto *sum = dyn_cast<BinaryOperator>(up);
    const auto *subscript = dyn_cast<ArraySubscriptExpr>(up);
    if (isa<LambdaExpr>(up))
      break;
    if (const auto *call = dyn_cast<CallExpr>(up))
      return useInCall(call, expr, isWhole, isAddress);
    if (subscript && subscript->getBase() == expr)
      isWhole = false;
    else if (unary && unary->getOpcode() == UO_AddrOf)
      isAddress = isWhole;
    else if (sum && sum->isAdditiveOp() && sum->getLHS() == expr && !isAddress)
      isWhole = false;
    else if (sum && sum->getOpcode() == BO_Assign && sum->getLHS() == expr && isWhole &&
             !isAddress &&
             sum->getRHS()->isNullPointerConstant(context.parsed().context(),
                                                  Expr::NPC_ValueDependentIsNotNull))
      return;
    else if (!isa<ParenExpr, CastExpr>(up))
      break;
    expr = cast<Expr>(up);
  }
  stop(reference,
       "the host uses '" + pointer.variable->getNameAsString() + "' in a way that is not followed");
}

void Life::useInCall(const CallExpr *call, const Expr *argument, bool isWhole, bool isAddress) {
  const std::string name = "'" + pointer.variable->getNameAsString() + "'";
  const StringRef callee = calleeOf(call);
  if (callee != "cudaMalloc")
    needed.push_back(call);
  if (const auto *launch = dyn_cast<CUDAKernelCallExpr>(call); launch && isWhole && !isAddress) {
    const size_t before = pointer.handed.size();
    for (unsigned i = 0; i < call->getNumArgs() && call->getDirectCallee(); ++i)
      if (call->getArg(i) == argument && ast::variableOf(argument) == pointer.variable)
        pointer.handed.push_back({argument, call->getDirectCallee(), i});
    life.launches.push_back(call);
    if (pointer.handed.size() == before)
      stop(call, name + " is cast for the launch");
    const CallExpr *config = launch->getConfig();
    if (config->getNumArgs() > 3 && !isDefaultStream(config->getArg(3), ast))
      stop(call, "the launch has a stream of its own");
    return;
  }
  if (callee == "cudaMalloc" && isAddress && call->getArg(0) == argument) {
    if (life.allocation)
      return stop(call, name + " is allocated once more");
    life.allocation = alwaysRun(call);
    life.bytes = call->getArg(1);
    if (!life.allocation)
      stop(call, name + " is allocated under a condition");
    return;
  }
  if (isAddress)
    return stop(call, "the address of " + name + " is handed on");
  const bool isSet = callee == "cudaMemset" || callee == "cudaMemsetAsync";
  if (isSet || callee == "cudaMemcpy" || callee == "cudaMemcpyAsync")
    return copy(call, argument, isWhole);
  const Stmt *statement = alwaysRun(call);
  if (callee != "cudaFree" || !isWhole)
    return stop(call, name + " is handed to '" + callee.str() + "'");
  if (!statement)
    return stop(call, name + " is freed under a condition");
  life.releases.push_back(statement);
}

/// A copy or a memset; \p isWhole: from the first structure on.
void Life::copy(const CallExpr *call, const Expr *argument, bool isWhole) {
  const std::string name = "'" + pointer.variable->getNameAsString() + "'";
  const bool isSet = calleeOf(call).starts_with("cudaMemset");
  const unsigned stream = isSet ? 3 : 4;
  const Stmt *statement = alwaysRun(call);
  if (!statement)
    return stop(call, name + " is copied under a condition");
  if (calleeOf(call).ends_with("Async") && call->getNumArgs() > stream &&
      !isDefaultStream(call->getArg(stream), ast))
    return stop(call, name + " is copied on a stream of its own");
  if (call->getArg(0) == argument) {
    life.fills.push_back(statement);
    if (isWhole)
      wholeCopies.push_back({call, call->getArg(2)});
    else
      life.partialFills.push_back(statement);
  } else if (!isSet && call->getArg(1) == argument) {
    life.reads.push_back(statement);
  } else {
    stop(call, name + " is handed to '" + calleeOf(call).str() + "'");
  }
}

/// The parts' arrays are declared behind the allocation: everything else must see them.
void Life::checkPlace() {
  const std::string name = "'" + pointer.variable->getNameAsString() + "'";
  const auto *block = dyn_cast_or_null<CompoundStmt>(parentOf(life.allocation));
  bool isDeclared = false, hasCase = false;
  for (const Stmt *each : block->body()) {
    if (const auto *declaration = dyn_cast<DeclStmt>(each))
      isDeclared |= llvm::is_contained(declaration->decls(), pointer.variable);
    hasCase |= isa<SwitchCase>(each);
  }
  if (!isDeclared || hasCase)
    return stop(life.allocation, name + " is declared in another block than it is allocated in,");
  if (!ast::findAll<GotoStmt>(body).empty())
    return stop(body, "the function has a goto; it begins");
  const SourceManager &sources = context.parsed().sources();
  const SourceLocation end = sources.getExpansionLoc(life.allocation->getEndLoc());
  for (const Expr *each : needed)
    if (sources.isBeforeInTranslationUnit(sources.getExpansionLoc(each->getBeginLoc()), end))
      return stop(each, name + " is used before it is allocated,");
}

/// A loop that launches and does not copy launches again; so do several launches for one copy.
void Life::countLaunches() {
  std::vector<const Stmt *> copies = life.fills;
  llvm::append_range(copies, life.reads);
  life.launchesAgain = life.launches.size() > copies.size();
  for (const Expr *launch : life.launches)
    for (const Stmt *up = parentOf(launch); up; up = parentOf(up)) {
      auto isInside = [&](const Stmt *copy) {
        while (copy && copy != up)
          copy = parentOf(copy);
        return copy != nullptr;
      };
      life.launchesAgain |= isa<ForStmt, WhileStmt, DoStmt>(up) && !isInside(life.allocation) &&
                            llvm::none_of(copies, isInside);
    }
}

std::string Life::follow() {
  const Expr *initial = pointer.variable->getInit();
  if (initial && !initial->isNullPointerConstant(context.parsed().context(),
                                                 Expr::NPC_ValueDependentIsNotNull))
    return "'" + pointer.variable->getNameAsString() + "' is no memory of cudaMalloc";
  std::set<SourceLocation> seen;
  for (const auto *each : ast::findAll<DeclRefExpr>(body))
    if (each->getDecl() == pointer.variable && seen.insert(each->getLocation()).second)
      use(each);
  if (why.empty() && !life.allocation)
    why = "'" + pointer.variable->getNameAsString() + "' is no memory of cudaMalloc";
  if (why.empty())
    checkPlace();
  if (why.empty())
    countLaunches();
  for (const auto &[call, size] : wholeCopies)
    if (why.empty() && !isWholeSize(size))
      life.partialFills.push_back(alwaysRun(call));
  return why;
}

} // namespace

std::string split::followHost(const PassContext &context, Pointer &pointer, HostLife &life) {
  return Life(context, pointer, life).follow();
}
