//===- Counters.cpp - Global counters that a block can keep itself ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "Counters.h"
#include "kb-opt/Rewrite/AllocationTest.h"
#include "kb-opt/Rewrite/Dispatch.h"

using namespace kbopt;
using namespace kbopt::privatize;
using namespace clang;
using llvm::StringRef;

/// What every launch may have without asking for more (CUDA C++ Programming Guide, "Shared
/// Memory").
static constexpr int64_t sharedBytes = 48 * 1024;

static bool isAdd(const CallExpr *call) {
  if (call->getNumArgs() != 2)
    return false;
  if (const FunctionDecl *callee = call->getDirectCallee())
    return callee->getIdentifier() && callee->getName() == "atomicAdd";
  const auto *unresolved = dyn_cast<UnresolvedLookupExpr>(call->getCallee()->IgnoreParenImpCasts());
  return unresolved && unresolved->getName().getAsString() == "atomicAdd";
}

/// For `p`, `&p[i]` and `p + i`: p, with \p index.
static const ParmVarDecl *targetOf(const Expr *address, const Expr *&index) {
  address = ast::strip(address);
  index = nullptr;
  if (const auto *unary = dyn_cast<UnaryOperator>(address);
      unary && unary->getOpcode() == UO_AddrOf)
    if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(ast::strip(unary->getSubExpr()))) {
      index = subscript->getIdx();
      return dyn_cast_or_null<ParmVarDecl>(ast::variableOf(subscript->getBase()));
    }
  if (const auto *sum = dyn_cast<BinaryOperator>(address); sum && sum->getOpcode() == BO_Add) {
    index = sum->getRHS();
    return dyn_cast_or_null<ParmVarDecl>(ast::variableOf(sum->getLHS()));
  }
  return dyn_cast_or_null<ParmVarDecl>(ast::variableOf(address));
}

/// The number of values that \p index can have, from 0 on, as far as its text shows.
static std::optional<int64_t> rangeOf(const Expr *index, const ASTContext &context) {
  if (!index)
    return 1;
  index = ast::strip(index);
  if (const auto *cast = dyn_cast<ExplicitCastExpr>(index);
      cast && cast->getType()->isIntegerType() && !cast->getType()->isDependentType() &&
      context.getIntWidth(cast->getType()) >= 32)
    if (std::optional<int64_t> inner = rangeOf(cast->getSubExpr(), context))
      return inner;
  if (index->getType()->isDependentType())
    return std::nullopt;
  if (const auto *binary = dyn_cast<BinaryOperator>(index)) {
    std::optional<int64_t> right = ast::constantOf(binary->getRHS(), context),
                           left = ast::constantOf(binary->getLHS(), context);
    if (binary->getOpcode() == BO_Rem && right && *right > 0 &&
        (binary->getType()->isUnsignedIntegerType() || rangeOf(binary->getLHS(), context)))
      return *right;
    if (binary->getOpcode() == BO_And)
      for (std::optional<int64_t> mask : {right, left})
        if (mask && *mask >= 0)
          return *mask + 1;
  }
  QualType type = index->getType().getCanonicalType();
  if (type->isUnsignedIntegerType() && context.getIntWidth(type) == 8)
    return 256;
  return std::nullopt;
}

/// The element's type in all instances; empty with a reason where it is none that the rule takes.
static std::string elementType(const KernelView &kernel, const ParmVarDecl *array,
                               std::string &why) {
  std::string common;
  for (const KernelFact::Instance &instance : kernel.fact.instances) {
    QualType type = instance.function->getParamDecl(array->getFunctionScopeIndex())->getType();
    const auto *builtin =
        type->isPointerType() ? type->getPointeeType()->getAs<BuiltinType>() : nullptr;
    std::string name = !builtin                                       ? ""
                       : builtin->getKind() == BuiltinType::Int       ? "int"
                       : builtin->getKind() == BuiltinType::UInt      ? "unsigned"
                       : builtin->getKind() == BuiltinType::ULongLong ? "unsigned long long"
                       : builtin->getKind() == BuiltinType::Float     ? "float"
                       : builtin->getKind() == BuiltinType::Double    ? "double"
                                                                      : "";
    if (name.empty())
      why = "'" + array->getNameAsString() +
            "' does not point to numbers that shared memory can add to";
    else if (!common.empty() && common != name)
      why = "instances of the template differ in the type of '" + array->getNameAsString() + "'";
    common = name;
  }
  return common;
}

/// The pointer parameter that \p access goes through, whole; null if it is none.
static const ParmVarDecl *pointerOf(kb::KernelOp kernel, const KernelView &view,
                                    kb::AccessOp access) {
  kb::BaseAttr base = access.getBase();
  bool isPointer = base.getKind() == kb::BaseKind::Argument &&
                   size_t(base.getArgument()) < view.function()->getNumParams() &&
                   mlir::cast<kb::ParamAttr>(kernel.getParams()[base.getArgument()]).getIsPointer();
  return isPointer ? view.function()->getParamDecl(base.getArgument()) : nullptr;
}

/// Why it could be seen when a sum arrives; empty if it cannot, or not where \p apart,
/// pointers, lie elsewhere.
static std::string whyOrderMatters(const PassContext &context, const KernelView &view,
                                   kb::KernelOp kernel, const ParmVarDecl *array,
                                   std::vector<const ParmVarDecl *> &apart) {
  std::string name = "'" + array->getNameAsString() + "'", why;
  std::vector<kb::AccessOp> updates, before, after;
  bool hasBarrier = false;
  kernel->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (auto barrier = mlir::dyn_cast<kb::BarrierOp>(op)) {
      hasBarrier = true;
      if (barrier.getScope() != kb::BarrierScope::Block &&
          barrier.getScope() != kb::BarrierScope::Warp)
        why = "the kernel fences, so that others may wait for what it adds to " + name;
    } else if (auto call = mlir::dyn_cast<kb::CallOp>(op); call && call.getCallee() != "vprintf") {
      why = "the kernel calls '" + call.getCallee().str() + "', which is not known";
    } else if (auto opaque = mlir::dyn_cast<kb::OpaqueOp>(op)) {
      why = "the kernel does something that is not understood: " + opaque.getReason().str();
    } else if (auto access = mlir::dyn_cast<kb::AccessOp>(op)) {
      bool own = access.getBase().getKind() == kb::BaseKind::Argument &&
                 access.getBase().getArgument() == int64_t(array->getFunctionScopeIndex());
      if (own && (access.getKind() != kb::AccessKind::Atomic || access.getIsVolatile()))
        why = "the kernel also reads or writes " + name + " directly";
      if (own)
        updates.push_back(access);
      else if (access.getSpace() == kb::MemorySpace::Global ||
               access.getSpace() == kb::MemorySpace::Generic)
        (updates.empty() ? before : after).push_back(access);
    }
  });
  if (updates.empty() && why.empty())
    why = "nothing is known about the device code that adds to " + name;
  // A thread that reads the memory first, once, and adds then sees what it would have seen.
  bool isOnce = !hasBarrier && llvm::all_of(updates, [](kb::AccessOp update) {
    return kb::enclosingLoops(update).empty();
  });
  for (const auto &[accesses, isBefore] : {std::pair(&before, true), std::pair(&after, false)})
    for (kb::AccessOp access : *accesses) {
      if (!why.empty() || (isBefore && isOnce && access.getKind() == kb::AccessKind::Load))
        continue;
      if (basesMayAlias(context.imported(), access, updates.front()).refuted())
        continue;
      const ParmVarDecl *other = pointerOf(kernel, view, access);
      if (!other)
        why = (access.getBase().getName().empty() ? "memory behind a pointer that is loaded"
                                                  : "'" + access.getBase().getName().str() + "'") +
              " and " + name + " may overlap";
      else if (!llvm::is_contained(apart, other))
        apart.push_back(other);
    }
  return why;
}

/// The exits at the top of the kernel's body; a return anywhere else is an obstacle.
static std::vector<const IfStmt *> exitsOf(const PassContext &context, const KernelView &kernel,
                                           std::string &why) {
  std::vector<const IfStmt *> exits;
  const auto *body = cast<CompoundStmt>(kernel.function()->getBody());
  size_t understood = 0;
  for (const Stmt *statement : body->body()) {
    const auto *exit = dyn_cast<IfStmt>(statement);
    if (!exit || exit->getElse() || exit->hasInitStorage() || exit->hasVarStorage())
      continue;
    const Stmt *then = exit->getThen();
    if (const auto *block = dyn_cast<CompoundStmt>(then); block && block->size() == 1)
      then = block->body_front();
    if (isa<ReturnStmt>(then)) {
      if (!byteRange(context.parsed(), exit->getSourceRange(), &why))
        return exits;
      exits.push_back(exit);
      ++understood;
    }
  }
  auto returns = ast::findAll<ReturnStmt>(body);
  for (const ReturnStmt *each : returns)
    if (understood != returns.size())
      why = "the kernel returns in the middle, at " + ast::lineText(context, each->getBeginLoc());
  if (!exits.empty() && !ast::findAll<LabelStmt>(body).empty())
    why = "the kernel has labels";
  return exits;
}

/// Whether \p bins elements of \p bytes fit beside what the kernel has.
static std::string whyTooLarge(const PassContext &context, const KernelView &kernel, int64_t bins,
                               int64_t bytes) {
  int64_t used = 0, dynamic = 0;
  bool isSizedByLaunch = false;
  for (kb::KernelOp op : kernel.ops) {
    int64_t own = 0;
    op->walk([&](kb::SharedOp shared) {
      isSizedByLaunch |= shared.getDynamic();
      int64_t elements = 1;
      for (int64_t extent : shared.getExtents())
        elements *= extent;
      own += shared.getDynamic() ? 0 : elements * int64_t(shared.getElementBytes());
    });
    used = std::max(used, own);
  }
  if (isSizedByLaunch &&
      (kernel.launches.empty() || isNamedOutsideLaunches(context.parsed(), kernel.function())))
    return "launches size the kernel's shared memory, and not all of them are in sight";
  for (const LaunchFact &launch : kernel.launches)
    if (launch.shared) {
      std::optional<int64_t> value =
          ast::constantOf(ast::resolve(launch.shared, launch.host), context.parsed().context());
      if (!value)
        return "the launch at " + ast::lineText(context, launch.call->getBeginLoc()) +
               " asks for shared memory of its own";
      dynamic = std::max(dynamic, *value);
    }
  if (used + dynamic + bins * bytes > sharedBytes)
    return std::to_string(bins) + " counters of " + std::to_string(bytes) +
           " bytes do not fit the 48 KB of shared memory" +
           (used + dynamic ? ", of which " + std::to_string(used + dynamic) + " bytes are taken"
                           : "");
  return "";
}

/// What the updates in \p counters, of one array, come to.
static void judge(const PassContext &context, const KernelView &kernel, int64_t bins,
                  Counters &counters) {
  const ASTContext &ast = context.parsed().context();
  std::string name = "'" + counters.array->getNameAsString() + "'";
  std::string &why = counters.obstacle;
  counters.type = elementType(kernel, counters.array, why);
  unsigned mentions = 0;
  for (const auto *reference : ast::findAll<DeclRefExpr>(kernel.function()->getBody()))
    mentions += reference->getDecl() == counters.array;
  if (why.empty() && mentions != counters.updates.size())
    why = "the kernel uses " + name + " for more than atomicAdd";
  counters.isProven = true;
  for (const Update &update : counters.updates) {
    for (const auto *reference : ast::findAll<DeclRefExpr>(update.call->getArg(1)))
      if (reference->getDecl()->hasAttr<CUDASharedAttr>())
        why = "the kernel collects " + name + " in shared memory already";
    std::optional<int64_t> range = rangeOf(update.index, ast);
    counters.isProven &= range.has_value();
    counters.bins = std::max(counters.bins, range.value_or(0));
    if (!byteRange(context.parsed(), update.call->getSourceRange()) && why.empty())
      byteRange(context.parsed(), update.call->getSourceRange(), &why);
  }
  if (!counters.isProven)
    counters.bins = bins;
  if (why.empty())
    why = whyTooLarge(context, kernel, counters.bins,
                      counters.type == "unsigned long long" || counters.type == "double" ? 8 : 4);
  for (kb::KernelOp op : kernel.ops)
    if (why.empty())
      why = whyOrderMatters(context, kernel, op, counters.array, counters.apart);
  if (why.empty())
    counters.exits = exitsOf(context, kernel, why);
  if (why.empty() && !counters.apart.empty())
    choosingLaunches(context, kernel, counters, why);
}

std::vector<const LaunchFact *> privatize::choosingLaunches(const PassContext &context,
                                                            const KernelView &kernel,
                                                            const Counters &counters,
                                                            std::string &why) {
  std::vector<const LaunchFact *> result;
  std::string obstacle = KernelText(context, kernel).obstacle().str();
  if (obstacle.empty() && !AllocationTest(context, kernel.function()).isPossible())
    obstacle = "the toolkit has no function that tells allocations apart";
  if (obstacle.empty() && kernel.launches.empty())
    obstacle = "no launch is in sight that could choose a second kernel";
  bool isPossible = obstacle.empty();
  for (const LaunchFact &launch : kernel.launches) {
    std::string here = dispatchObstacle(context, kernel, launch);
    auto isUnwritten = [&](const ParmVarDecl *pointer) {
      return argumentText(context, launch, pointer->getFunctionScopeIndex()).empty();
    };
    if (here.empty() && (isUnwritten(counters.array) || llvm::any_of(counters.apart, isUnwritten)))
      here = "the launch at " + ast::lineText(context, launch.call->getBeginLoc()) +
             " has arguments that cannot be evaluated twice";
    if (here.empty() && isPossible)
      result.push_back(&launch);
    else if (obstacle.empty())
      obstacle = here;
  }
  if (result.empty())
    why = "'" + counters.apart.front()->getNameAsString() + "' and '" +
          counters.array->getNameAsString() + "' may overlap, and " + obstacle;
  return result;
}

Counters privatize::countersOf(const PassContext &context, const KernelView &kernel, int64_t bins) {
  const Stmt *body = kernel.function()->getBody();
  // Statements whose value is not used.
  std::vector<const Stmt *> discarded;
  ast::walk(body, [&](const Stmt *each) {
    if (isa<CompoundStmt, IfStmt, ForStmt, WhileStmt, DoStmt>(each))
      for (const Stmt *child : each->children())
        discarded.push_back(child);
    return true;
  });
  Counters none;
  none.obstacle = "the kernel adds to no array by atomics whose results are not used";
  if (kernel.ops.empty()) {
    none.obstacle = "nothing is known about the kernel's device code";
    return none;
  }
  std::vector<Counters> arrays;
  for (const auto *call : ast::findAll<CallExpr>(body)) {
    const Expr *index = nullptr;
    const ParmVarDecl *array = isAdd(call) ? targetOf(call->getArg(0), index) : nullptr;
    if (!array || !llvm::is_contained(discarded, call))
      continue;
    auto known = llvm::find_if(arrays, [&](const Counters &each) { return each.array == array; });
    if (known == arrays.end()) {
      arrays.emplace_back().array = array;
      known = std::prev(arrays.end());
    }
    known->updates.push_back({call, index});
  }
  for (Counters &each : arrays) {
    judge(context, kernel, bins, each);
    if (each.obstacle.empty() || &each == &arrays.front())
      none = each;
    if (each.obstacle.empty())
      break;
  }
  return none;
}
