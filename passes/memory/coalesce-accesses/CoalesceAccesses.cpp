//===- CoalesceAccesses.cpp - Let lanes touch consecutive elements ---------===//
// SPDX-License-Identifier: Apache-2.0
//
//   int r = blockIdx.x * blockDim.x + threadIdx.x;   // 32 x 8 threads
//   int c = blockIdx.y * blockDim.y + threadIdx.y;
//   y[r * n + c] = x[r * n + c];
// ==>
//   int r = blockIdx.x * blockDim.y + threadIdx.y;   // 8 x 32 threads
//   int c = blockIdx.y * blockDim.x + threadIdx.x;
//
// Owns the exchange of two axes of the block, a renaming of its threads: all of
// them are still there and compute what they did. Owns the estimate that it
// pays. What neither needs nor touches: the grid.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;
using namespace clang;

namespace {

/// Stands in for sizes that only the run knows, such as the length of a row. Only
/// the estimate of sectors rests on it, never legality.
constexpr int64_t typicalExtent = 4096;
/// Iterations that a loop of unknown length counts for in the estimate.
constexpr double typicalTrips = 16;
/// Sectors must get fewer by a fifth; less is not worth a change.
constexpr double worthwhileShare = 0.8;

/// The block's extents if all launches have the same constants.
std::optional<std::array<int64_t, 3>> commonBlock(const PassContext &context,
                                                  const KernelView &kernel, std::string &why) {
  std::optional<std::array<int64_t, 3>> common;
  if (kernel.launches.empty())
    why = "no launch of the kernel is in sight";
  if (isNamedOutsideLaunches(context.parsed(), kernel.function())) {
    why = ("the program names '" + kernel.name() +
           "' outside launches, so that not all of them are in sight")
              .str();
    return std::nullopt;
  }
  for (const LaunchFact &launch : kernel.launches) {
    if (launch.instances > 1) {
      why = "the launch at " + ast::lineText(context, launch.call->getBeginLoc()) +
            " is written once for several instances";
      return std::nullopt;
    }
    std::array<int64_t, 3> block{1, 1, 1};
    for (unsigned dimension = 0; dimension < 3; ++dimension) {
      bool known = false;
      const Expr *extent = ast::launchComponent(launch.block, dimension, launch.host, known);
      std::optional<int64_t> value =
          extent ? ast::constantOf(ast::resolve(extent, launch.host), context.parsed().context())
                 : std::optional<int64_t>(1);
      if (!known || !value) {
        why = "the shape of the block at " + ast::lineText(context, launch.call->getBeginLoc()) +
              " is not constant";
        return std::nullopt;
      }
      block[dimension] = *value;
    }
    if (common && *common != block) {
      why = "launches differ in the shape of their block";
      return std::nullopt;
    }
    common = block;
  }
  return common;
}

/// Sectors and shared-memory wavefronts of \p access, weighted by the loops
/// around it; with x and y exchanged if \p swapped.
std::optional<double> costOf(kb::AccessOp access, std::array<int64_t, 3> block, bool swapped) {
  if (!access.getAddress() || access.getSpace() == kb::MemorySpace::Local ||
      access.getSpace() == kb::MemorySpace::Constant || access.getSpace() == kb::MemorySpace::Param)
    return std::nullopt;
  LaunchValues values = LaunchValues::common(access->getParentOfType<kb::KernelOp>());
  if (swapped)
    std::swap(block[0], block[1]);
  for (unsigned dimension = 0; dimension < 3; ++dimension) {
    values.block[dimension] = block[dimension];
    if (!values.grid[dimension])
      values.grid[dimension] = typicalExtent;
  }
  kb::ExprAttr address = *access.getAddress();
  for (mlir::StringAttr symbol : address.getSymbols())
    values.symbols.try_emplace(symbol.getValue(), typicalExtent);
  double weight = 1;
  for (kb::LoopOp loop : kb::enclosingLoops(access))
    weight *= loop.getTripCount() ? double(*loop.getTripCount()) : typicalTrips;
  std::optional<RequestCost> cost;
  if (swapped) {
    // The same address in terms of the exchanged axes.
    mlir::MLIRContext *context = access.getContext();
    mlir::AffineMap map = address.getMap();
    llvm::SmallVector<mlir::AffineExpr> dims, symbols;
    for (unsigned i = 0; i < map.getNumDims(); ++i)
      dims.push_back(mlir::getAffineDimExpr(i == 0 ? 1 : i == 1 ? 0 : i, context));
    for (unsigned i = 0; i < map.getNumSymbols(); ++i)
      symbols.push_back(mlir::getAffineSymbolExpr(i == 0 ? 1 : i == 1 ? 0 : i, context));
    map = map.replaceDimsAndSymbols(dims, symbols, map.getNumDims(), map.getNumSymbols());
    mlir::OpBuilder builder(access);
    auto turned = mlir::cast<kb::AccessOp>(builder.clone(*access));
    turned.setAddressAttr(
        kb::ExprAttr::get(context, address.getLoops(), address.getSymbols(), map));
    turned.removeDomainAttr();
    cost = requestCost(turned, values);
    turned.erase();
  } else {
    cost = requestCost(access, values);
  }
  if (!cost)
    return std::nullopt;
  bool shared = access.getSpace() == kb::MemorySpace::Shared;
  // A conflict-free wavefront of shared memory moves what four sectors do.
  return weight * (shared ? 4.0 * cost->wavefronts : cost->sectors);
}

/// Why the order of threads in a block matters to \p kernel; empty if it does
/// not.
std::string whyOrderMatters(kb::KernelOp kernel) {
  std::string why;
  kernel->walk([&](mlir::Operation *op) {
    if (!why.empty())
      return;
    if (mlir::isa<kb::ShuffleOp>(op))
      why = "the kernel exchanges data within warps";
    else if (mlir::isa<kb::MmaOp>(op))
      why = "the kernel uses tensor cores";
    else if (auto opaque = mlir::dyn_cast<kb::OpaqueOp>(op))
      why = "the kernel does something that is not understood: " + opaque.getReason().str();
    else if (auto call = mlir::dyn_cast<kb::CallOp>(op))
      why = "the kernel calls '" + call.getCallee().str() +
            "', which may depend on the order of threads";
    else if (auto barrier = mlir::dyn_cast<kb::BarrierOp>(op)) {
      if (barrier.getScope() != kb::BarrierScope::Block &&
          barrier.getScope() != kb::BarrierScope::Fence)
        why = "the kernel synchronizes parts of a block";
    } else if (auto access = mlir::dyn_cast<kb::AccessOp>(op)) {
      if (access.getKind() == kb::AccessKind::Atomic)
        why = "the order of atomics on '" + access.getBase().getName().str() + "' would change";
      else if (access.getIsVolatile())
        why = "'" + access.getBase().getName().str() + "' is volatile";
    }
  });
  return why;
}

/// The uses of threadIdx and blockDim in the kernel's text, x and y.
struct Uses {
  std::vector<std::pair<const Expr *, ast::GridRef>> exchanged;
  std::string obstacle;
};

/// The function below \p body, at any depth of calls, that uses threadIdx or
/// blockDim; its text would keep the old axes.
const FunctionDecl *calleeWithIndex(const Stmt *body, std::set<const FunctionDecl *> &seen) {
  std::vector<const FunctionDecl *> callees;
  ast::walk(body, [&](const Stmt *each) {
    if (const auto *call = dyn_cast<CallExpr>(each))
      callees.push_back(call->getDirectCallee());
    if (const auto *construct = dyn_cast<CXXConstructExpr>(each))
      callees.push_back(construct->getConstructor());
    return true;
  });
  for (const FunctionDecl *callee : callees) {
    const FunctionDecl *definition = nullptr;
    if (!callee || !callee->hasBody(definition) || !seen.insert(definition).second)
      continue;
    for (const auto *reference : ast::findAll<DeclRefExpr>(definition->getBody()))
      if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
          variable && !variable->isLocalVarDeclOrParm() && variable->getIdentifier() &&
          (variable->getName() == "threadIdx" || variable->getName() == "blockDim"))
        return definition;
    if (const FunctionDecl *deeper = calleeWithIndex(definition->getBody(), seen))
      return deeper;
  }
  return nullptr;
}

Uses collectUses(const PassContext &context, const KernelView &kernel) {
  Uses uses;
  ast::walk(kernel.function()->getBody(), [&](const Stmt *each) {
    const auto *expr = dyn_cast<Expr>(each);
    if (!expr || !uses.obstacle.empty())
      return uses.obstacle.empty();
    if (isa<MSPropertyRefExpr, MemberExpr>(expr))
      if (std::optional<ast::GridRef> ref = ast::gridRefOf(expr)) {
        bool inBlock =
            ref->builtin == GridBuiltin::ThreadIdx || ref->builtin == GridBuiltin::BlockDim;
        if (inBlock && ref->dimension < 2) {
          if (expr->getBeginLoc().isMacroID() || context.text(expr->getSourceRange()).empty())
            uses.obstacle = "a thread index comes from a macro";
          uses.exchanged.emplace_back(expr, *ref);
        }
        return false;
      }
    if (const VarDecl *variable = isa<DeclRefExpr>(expr) ? ast::variableOf(expr) : nullptr)
      if (!variable->isLocalVarDeclOrParm() &&
          (variable->getName() == "threadIdx" || variable->getName() == "blockDim" ||
           variable->getName() == "warpSize"))
        uses.obstacle = "the kernel uses '" + variable->getName().str() + "' as a whole";
    return true;
  });
  if (!uses.obstacle.empty())
    return uses;
  std::set<const FunctionDecl *> seen;
  for (const KernelFact::Instance &instance : kernel.fact.instances)
    if (instance.function->getBody())
      if (const FunctionDecl *callee = calleeWithIndex(instance.function->getBody(), seen)) {
        uses.obstacle = "thread indices are also used in '" + callee->getNameAsString() + "'";
        return uses;
      }
  for (kb::KernelOp op : kernel.ops)
    for (const GridUse &use : gridUses(context.imported(), op)) {
      bool inBlock = use.builtin == GridBuiltin::ThreadIdx || use.builtin == GridBuiltin::BlockDim;
      const FunctionDecl *function = use.function;
      if (function && function->getTemplateInstantiationPattern())
        function = function->getTemplateInstantiationPattern();
      if (inBlock && uses.obstacle.empty() && function &&
          function->getCanonicalDecl() != kernel.function()->getCanonicalDecl())
        uses.obstacle = "thread indices are also used in '" + function->getNameAsString() + "'";
    }
  return uses;
}

class CoalesceAccesses : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    return ast::kernelSites(kernel);
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &) const {
    const KernelView &kernel = *site.kernel;
    if (kernel.ops.empty())
      return Decision::doesNotApply("nothing is known about the kernel's device code");
    for (kb::KernelOp op : kernel.ops)
      if (std::string why = whyOrderMatters(op); !why.empty())
        return Decision::doesNotApply(why);
    std::string why;
    std::optional<std::array<int64_t, 3>> block = commonBlock(context, kernel, why);
    if (!block)
      return Decision::doesNotApply(why);
    if ((*block)[0] == 1 || (*block)[1] == 1)
      return Decision::doesNotApply(
          "the block has one dimension, so there are no roles to exchange");
    Uses uses = collectUses(context, kernel);
    if (!uses.obstacle.empty())
      return Decision::doesNotApply(uses.obstacle);
    if (uses.exchanged.empty())
      return Decision::doesNotApply("the kernel does not use threadIdx.x or threadIdx.y");
    double before = 0, after = 0;
    std::vector<kb::AccessOp> accesses;
    for (kb::KernelOp op : kernel.ops)
      op->walk([&](kb::AccessOp access) { accesses.push_back(access); });
    for (kb::AccessOp access : accesses) {
      std::optional<double> now = costOf(access, *block, false),
                            then = costOf(access, *block, true);
      if (now && then) {
        before += *now;
        after += *then;
      }
    }
    if (before == 0)
      return Decision::doesNotApply("no access has an address that is understood");
    if (after > worthwhileShare * before)
      return Decision::doesNotApply(
          after >= before ? "lanes touch consecutive elements already"
                          : "exchanging x and y would save less than a fifth of the sectors");
    return Decision::applies();
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const KernelView &kernel = *site.kernel;
    std::string why;
    std::array<int64_t, 3> block = *commonBlock(context, kernel, why);
    bool square = block[0] == block[1];
    Rewrite rewrite;
    rewrite.summary = "exchanged the roles of threadIdx.x and threadIdx.y";
    for (const auto &[expr, ref] : collectUses(context, kernel).exchanged) {
      if (square && ref.builtin == GridBuiltin::BlockDim)
        continue; // both are the same number
      AnchorOrReason anchor =
          anchorOfRange(context.parsed(), expr->getSourceRange(), kernel.function(), "MemberExpr");
      if (!anchor)
        return decline(anchor.reason());
      std::string name = ref.builtin == GridBuiltin::ThreadIdx ? "threadIdx" : "blockDim";
      if (llvm::Error error =
              rewrite.edits.replaceAll(*anchor, name + (ref.dimension == 0 ? ".y" : ".x")))
        return std::move(error);
    }
    if (square)
      return rewrite;
    for (const LaunchFact &launch : kernel.launches)
      if (llvm::Error error = exchangeBlock(context, launch, rewrite.edits))
        return std::move(error);
    rewrite.summary += ", and of the block's extents at " + std::to_string(kernel.launches.size()) +
                       (kernel.launches.size() == 1 ? " launch" : " launches");
    return rewrite;
  }

private:
  /// Launches with x and y of the block exchanged; the expression that the
  /// block had before may also serve the grid, so it stays as it is.
  static llvm::Error exchangeBlock(const PassContext &context, const LaunchFact &launch,
                                   Edits &edits) {
    AnchorOrReason anchor = anchorOfLaunch(context.parsed(), launch.call, launch.host);
    if (!anchor)
      return decline(anchor.reason());
    llvm::StringRef written = context.text(launch.block->getSourceRange());
    bool isName = llvm::all_of(written, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (isName && !launch.block->getType()->isIntegerType())
      return edits.replace(*anchor, context.parsed(), launch.block->getSourceRange(),
                           ("dim3(" + written + ".y, " + written + ".x, " + written + ".z)").str());
    bool known = false;
    const Expr *x = ast::launchComponent(launch.block, 0, launch.host, known);
    const Expr *y = ast::launchComponent(launch.block, 1, launch.host, known);
    const Expr *z = ast::launchComponent(launch.block, 2, launch.host, known);
    std::string text = "dim3(" + context.text(y->getSourceRange()).str() + ", " +
                       context.text(x->getSourceRange()).str() +
                       (z ? ", " + context.text(z->getSourceRange()).str() : "") + ")";
    return edits.replace(*anchor, context.parsed(), launch.block->getSourceRange(), text);
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createCoalesceAccesses() {
  return std::make_unique<CoalesceAccesses>();
}
} // namespace kbopt
