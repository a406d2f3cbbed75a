//===- GridStrideLoop.cpp - Let a grid of fixed size loop over elements ----===//
// SPDX-License-Identifier: Apache-2.0
//
//   int i = blockIdx.x * blockDim.x + threadIdx.x;
//   if (i < n)
//     y[i] = a * x[i];
// ==>
//   int stride = gridDim.x * blockDim.x;
//   for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
//     y[i] = a * x[i];
//
// Owns the loop, the proof that elements do not care which thread computes them,
// and the host's choice of the grid. How many blocks are best is the policy's question.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/Coverage.h"
#include "kb-opt/Rewrite/Dispatch.h"

using namespace kbopt;
using namespace clang;

namespace {

/// SMs of the largest chip of a compute capability; a few more or fewer do not matter.
unsigned smsOf(unsigned chip) {
  switch (chip) {
  case 75:
    return 72;
  case 80:
    return 108;
  case 86:
    return 84;
  case 89:
    return 142;
  default:
    return chip >= 100 ? 148 : 132;
  }
}

/// A count up to here leaves room for the loop's last step, whatever the grid.
constexpr int64_t safeCount = int64_t(1) << 30;

/// The returns of the kernel's own in \p root; \p inLoop whether one stands in a loop.
void collectReturns(const Stmt *root, bool below, std::vector<const ReturnStmt *> &returns,
                    bool &inLoop) {
  if (!root || isa<LambdaExpr>(root))
    return;
  if (const auto *leave = dyn_cast<ReturnStmt>(root)) {
    returns.push_back(leave);
    inLoop |= below;
  }
  below |= isa<ForStmt, WhileStmt, DoStmt, CXXForRangeStmt>(root);
  for (const Stmt *child : root->children())
    collectReturns(child, below, returns, inLoop);
}

/// Why the order of elements could be seen; empty if it cannot.
std::string whyOrderMatters(const PassContext &context, const KernelView &kernel) {
  Answer free = context.forAllInstances(kernel, [&](kb::KernelOp op) -> Answer {
    for (const GridUse &use : gridUses(context.imported(), op))
      if (use.builtin == GridBuiltin::GridDim)
        return Answer::no("the kernel reads the size of its grid");
    Answer result = isBlockSizeFree(context.imported(), op);
    op->walk([&](kb::AccessOp access) {
      std::string name = "'" + access.getBase().getName().str() + "'";
      if (access.getIsVolatile())
        result = Answer::no(name + " is volatile");
      if (access.getKind() != kb::AccessKind::Atomic)
        return;
      // Sums of integers come out the same in any order, if the old value is not used.
      const Expr *call = context.imported().exprOf(access);
      bool unseen = false;
      if (call && call->getType()->isIntegerType())
        ast::walk(kernel.function()->getBody(), [&](const Stmt *each) {
          for (const Stmt *child : each->children())
            if (const auto *expr = dyn_cast_or_null<Expr>(child);
                expr && expr->getSourceRange() == call->getSourceRange())
              unseen |= isa<CompoundStmt, IfStmt, ForStmt>(each) || (isa<ExprWithCleanups>(each));
          return true;
        });
      if (!unseen && result.proven())
        result = Answer::no("the order of atomics on " + name + " would change");
    });
    return result;
  });
  return free.proven() ? "" : free.reason;
}

/// The kernel's guard with what stands around it.
struct Shape {
  GuardedElements guarded;
  const DeclStmt *index = nullptr;
  /// Declarations that depend on the element, or that the body changes.
  std::vector<const DeclStmt *> inside;
  std::vector<const ReturnStmt *> returns;
  std::string obstacle;
};

Shape shapeOf(const PassContext &context, const KernelView &kernel) {
  Shape shape;
  std::optional<GuardedElements> guarded = guardedElements(kernel);
  if (!guarded) {
    shape.obstacle =
        ("'" + kernel.name() + "' does not end in a body guarded by 'if (i < n)'").str();
    return shape;
  }
  shape.guarded = *guarded;
  if (context.text(guarded->count->getSourceRange()).empty())
    shape.obstacle = "the guard comes from a macro";
  std::vector<const VarDecl *> moving{guarded->index};
  for (const Stmt *each : cast<CompoundStmt>(kernel.function()->getBody())->body()) {
    const auto *declaration = dyn_cast<DeclStmt>(each);
    if (!declaration)
      break;
    bool isInside = false;
    for (const Decl *member : declaration->decls()) {
      const auto *variable = dyn_cast<VarDecl>(member);
      if (!variable)
        continue;
      if (variable == guarded->index) {
        shape.index = declaration;
        if (!declaration->isSingleDecl())
          shape.obstacle =
              ("'" + variable->getName() + "' is declared together with other variables").str();
        continue;
      }
      isInside |=
          variable->getType()->isArrayType() || llvm::any_of(moving, [&](const VarDecl *other) {
            return ast::mentions(variable->getInit(), other);
          });
      for (const Stmt *part : guarded->body)
        isInside |= mayModify(part, variable);
      if (ast::mentions(guarded->count, variable) && isInside)
        shape.obstacle =
            ("the bound depends on '" + variable->getName() + "', which differs between elements")
                .str();
    }
    if (!isInside)
      continue;
    shape.inside.push_back(declaration);
    for (const Decl *member : declaration->decls())
      if (const auto *variable = dyn_cast<VarDecl>(member))
        moving.push_back(variable);
  }
  bool inLoop = false;
  for (const Stmt *part : guarded->body) {
    collectReturns(part, false, shape.returns, inLoop);
    if (!ast::findAll<LabelStmt>(part).empty() && shape.obstacle.empty())
      shape.obstacle = "the body has labels";
  }
  if (inLoop && shape.obstacle.empty())
    shape.obstacle = "the body returns from inside a loop";
  return shape;
}

std::string typeName(const PassContext &context, QualType type) {
  return type.getUnqualifiedType().getAsString(context.parsed().context().getPrintingPolicy());
}

/// \p text without the parentheses around all of it.
llvm::StringRef bare(llvm::StringRef text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0)
      return i + 1 == text.size() && text.starts_with("(") ? text.drop_front().drop_back() : text;
  }
  return text;
}

KernelText textOf(const PassContext &context, const KernelView &kernel, const Shape &shape) {
  KernelText text(context, kernel);
  const VarDecl *index = shape.guarded.index;
  std::string name = index->getNameAsString(), type = typeName(context, index->getType());
  std::string stride = context.freshName("stride");
  std::string header = type + " " + stride + " = gridDim.x * blockDim.x;\nfor (" + type + " " +
                       name + " = " + context.text(index->getInit()->getSourceRange()).str() +
                       "; " + name + " < " +
                       context.text(shape.guarded.count->getSourceRange()).str() + "; " + name +
                       " += " + stride + ")";
  text.replace(shape.index->getSourceRange(), "");
  std::string inside;
  for (const DeclStmt *declaration : shape.inside) {
    inside += context.text(declaration->getSourceRange()).str() + "\n";
    text.replace(declaration->getSourceRange(), "");
  }
  for (const ReturnStmt *leave : shape.returns)
    text.replace(leave->getSourceRange(), "continue");
  std::string others;
  for (const Expr *other : shape.guarded.others)
    others += (others.empty() ? "" : " && ") + context.text(other->getSourceRange()).str();
  const IfStmt *guard = shape.guarded.guard;
  bool leaves = shape.guarded.body.front() != guard->getThen();
  if (leaves) {
    text.replace(guard, header + " {\n" + inside);
    text.closeBody();
  } else {
    bool braces = !inside.empty();
    text.replace(SourceRange(guard->getBeginLoc(), guard->getRParenLoc()),
                 header + (braces ? " {\n" + inside : "") +
                     (others.empty() ? "" : "\nif (" + others + ")"));
    if (braces)
      text.closeBody();
  }
  return text;
}

/// Whether the launch's grid and count allow the loop; what only the run knows is a condition.
struct Fit {
  std::string obstacle, condition, grid, type;
  bool isConstant = false; ///< so many blocks, whatever the arguments
};

Fit fitOf(const PassContext &context, const KernelView &kernel, const Shape &shape,
          const LaunchFact &launch, int64_t mostBlocks) {
  Fit fit;
  const ASTContext &ast = context.parsed().context();
  fit.obstacle = dispatchObstacle(context, kernel, launch);
  if (!fit.obstacle.empty())
    return fit;
  std::string where = "the launch at " + ast::lineText(context, launch.call->getBeginLoc());
  std::string block = extentText(context, launch, true, 0);
  fit.grid = extentText(context, launch, false, 0);
  std::string count = hostText(context, kernel, launch, shape.guarded.count);
  if (fit.grid.empty() || block.empty())
    fit.obstacle = where + " has a grid that is not written where it can be seen";
  // A negative number of blocks must stay one, so that the launch still fails.
  bool known = false;
  const Expr *written = ast::launchComponent(launch.grid, 0, launch.host, known);
  bool isSigned = known && written && ast::strip(written)->getType()->isSignedIntegerType() &&
                  !llvm::StringRef(fit.grid).ends_with(".x");
  fit.type =
      isSigned ? typeName(context, ast::strip(written)->getType().getCanonicalType()) : "unsigned";
  std::optional<int64_t> blocks =
      ast::constantOf(ast::resolve(written ? written : launch.grid, launch.host), ast);
  if (blocks && *blocks <= mostBlocks)
    fit.obstacle = where + " has no more than " + std::to_string(*blocks) + " blocks already";
  fit.isConstant = blocks.has_value();
  bool isNumber = !count.empty() && llvm::all_of(count, llvm::isDigit);
  std::vector<std::string> conditions;
  if (!isNumber && shape.guarded.count->getType()->isUnsignedIntegerType() &&
      ast::strip(shape.guarded.count)->getType()->isSignedIntegerType())
    conditions.push_back(count + " >= 0");
  if (!coverageOf(context, kernel, launch)) {
    if (count.empty())
      fit.obstacle = "the host cannot compute '" +
                     context.text(shape.guarded.count->getSourceRange()).str() + "' at " + where;
    conditions.push_back("(long long)" + fit.grid + " * " + block + " >= " + count);
  }
  if (ast.getIntWidth(shape.guarded.index->getType()) < 64) {
    if (count.empty())
      fit.obstacle = "the host cannot compute '" +
                     context.text(shape.guarded.count->getSourceRange()).str() + "' at " + where;
    else if (!isNumber)
      conditions.push_back(count + " <= 1 << 30");
    else if (std::stoll(count) > safeCount)
      fit.obstacle = "a counter of " + count + " elements could overflow";
  }
  fit.condition = llvm::join(conditions, " && ");
  return fit;
}

class GridStrideLoop : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    return ast::kernelSites(kernel);
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &options) const {
    const KernelView &kernel = *site.kernel;
    Shape shape = shapeOf(context, kernel);
    if (!shape.obstacle.empty())
      return Decision::doesNotApply(shape.obstacle);
    if (std::string why = whyOrderMatters(context, kernel); !why.empty())
      return Decision::doesNotApply(why);
    if (KernelText text(context, kernel); !text.obstacle().empty())
      return Decision::doesNotApply(text.obstacle());
    if (kernel.launches.empty())
      return Decision::doesNotApply("no launch of the kernel is in sight");
    std::string first;
    for (const LaunchFact &launch : kernel.launches) {
      Fit fit =
          fitOf(context, kernel, shape, launch, smsOf(context.chip()) * options.integer("perSM"));
      if (fit.obstacle.empty())
        return Decision::applies();
      first = first.empty() ? fit.obstacle : first;
    }
    return Decision::doesNotApply(first);
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const KernelView &kernel = *site.kernel;
    Shape shape = shapeOf(context, kernel);
    bool certain = !isNamedOutsideLaunches(context.parsed(), kernel.function());
    for (const LaunchFact &launch : kernel.launches) {
      Fit fit =
          fitOf(context, kernel, shape, launch, smsOf(context.chip()) * options.integer("perSM"));
      certain &= fit.obstacle.empty() && fit.condition.empty();
    }
    std::string own = kernel.function()->getNameAsString();
    std::string name = certain ? own : derivedName(context, own, "strided");
    std::string sms = std::to_string(smsOf(context.chip())),
                perSm = std::to_string(options.integer("perSM"));
    Rewrite rewrite;
    rewrite.summary =
        "looped over the elements with " + perSm + " blocks for each of " + sms + " SMs";
    KernelText text = textOf(context, kernel, shape);
    if (!text.obstacle().empty())
      return decline(text.obstacle());
    if (llvm::Error error = writeKernel(context, kernel, text, name,
                                        "'" + own + "' with a grid of any size.", rewrite.edits))
      return std::move(error);
    std::string blocks = context.freshName("blocks");
    for (const LaunchFact &launch : kernel.launches) {
      Fit fit =
          fitOf(context, kernel, shape, launch, smsOf(context.chip()) * options.integer("perSM"));
      if (!fit.obstacle.empty())
        continue;
      std::string y = extentText(context, launch, false, 1),
                  z = extentText(context, launch, false, 2);
      LaunchChoice choice;
      choice.kernel = name;
      choice.condition = fit.condition;
      std::string most = perSm + " * " + sms;
      const std::string &x = fit.isConstant ? most : blocks;
      choice.grid = y == "1" && z == "1" ? x : "dim3(" + x + ", " + y + ", " + z + ")";
      if (!fit.isConstant)
        choice.before = fit.type + " " + blocks + " = " + bare(fit.grid).str() + ";\nif (" +
                        blocks + " > " + most + ")\n  " + blocks + " = " + most +
                        "; // blocks per SM, SMs\n";
      if (llvm::Error error = writeDispatch(context, launch, choice, rewrite.edits))
        return std::move(error);
    }
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createGridStrideLoop() { return std::make_unique<GridStrideLoop>(); }
} // namespace kbopt
