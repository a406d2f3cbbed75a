//===- TuneBlockSize.cpp - Launch with another number of threads -----------===//
//
//   const int threads = 128;            ==>   const int threads = 256;
//   k<<<(n + threads - 1) / threads, threads>>>(x, n);
//
// Owns finding the constant behind a launch's block size, and the proof that
// the grid follows it and the kernel does not care. Which size is best is the
// policy's question.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Coverage.h"

using namespace kbopt;
using namespace clang;

namespace {

/// The literals that a new size must be written into.
struct Constant {
  const IntegerLiteral *block = nullptr;
  /// Where the grid has a constant of its own: the whole rounded-up division.
  const Expr *gridExpr = nullptr;
  const Expr *count = nullptr;
  int64_t size = 0;
  std::string obstacle;
};

/// Variables that \p expr stands for, through initialisers.
void chain(const Expr *expr, std::vector<const VarDecl *> &variables) {
  for (unsigned depth = 0; expr && depth < 8; ++depth) {
    for (const auto *reference : ast::findAll<DeclRefExpr>(expr))
      if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
          variable && !llvm::is_contained(variables, variable)) {
        variables.push_back(variable);
        chain(variable->getInit(), variables);
      }
    return;
  }
}

Constant examine(const PassContext &context, const Site &site, const LaunchFact &launch) {
  Constant result;
  const ASTContext &ast = context.parsed().context();
  auto stop = [&](const llvm::Twine &why) {
    result.obstacle = why.str();
    return result;
  };
  bool known = false;
  for (unsigned dimension : {1u, 2u}) {
    const Expr *extent = ast::launchComponent(launch.block, dimension, launch.host, known);
    if (!known)
      return stop("the block of the launch is not written where it can be seen");
    if (extent && ast::constantOf(ast::resolve(extent, launch.host), ast) != std::optional<int64_t>(1))
      return stop("the block has more than one dimension");
  }
  const Expr *block = ast::launchComponent(launch.block, 0, launch.host, known);
  if (!known || !block)
    return stop("the block of the launch is not written where it can be seen");
  const Expr *value = ast::resolve(block, launch.host);
  std::optional<int64_t> size = ast::constantOf(value, ast);
  if (!size)
    return stop("the block size '" + context.text(block->getSourceRange()) + "' is not a constant");
  result.size = *size;
  result.block = dyn_cast<IntegerLiteral>(value);
  if (!result.block)
    return stop("the block size is computed from other constants");
  if (result.block->getLocation().isMacroID())
    return stop("the block size comes from a macro");
  // A template's argument is a literal, too, in the place of its parameter.
  if (llvm::StringRef written = context.text(result.block->getSourceRange());
      written.empty() || !llvm::isDigit(written[0]))
    return stop("the block size '" + written + "' is no literal");

  if (Coverage covered = coverageOf(context, *site.kernel, launch); !covered)
    return stop(covered.reason());
  // A constant of the grid's own changes with the block.
  const Expr *grid = ast::launchComponent(launch.grid, 0, launch.host, known);
  if (grid && known)
    if (auto division = ast::ceilDivision(grid, launch.host, ast)) {
      const Expr *divisor = ast::resolve(division->size, launch.host);
      if (divisor != value) {
        result.gridExpr = ast::resolve(grid, launch.host);
        result.count = division->count;
        if (result.gridExpr->getBeginLoc().isMacroID() || result.gridExpr->getEndLoc().isMacroID())
          return stop("the grid is computed in a macro");
        if (isa<CallExpr>(result.gridExpr))
          return stop("the grid's block size is an argument of its own");
      }
    }
  // Whoever else reads the constant would see the new one.
  std::vector<const VarDecl *> variables;
  chain(launch.block, variables);
  if (result.gridExpr)
    chain(launch.grid, variables);
  const Stmt *host = launch.host ? launch.host->getBody() : nullptr;
  if (!variables.empty() && !host)
    return stop("the launch stands outside of a function");
  for (const VarDecl *variable : variables) {
    if (!variable->isLocalVarDecl()) {
      if (!isa<ParmVarDecl>(variable) && variable->getInit() && ast::resolve(variable->getInit(), launch.host) == result.block)
        return stop("'" + variable->getName() + "' is a constant of the whole program");
      continue;
    }
    if (!variable->getInit() || !ast::findAll<IntegerLiteral>(variable->getInit()).size())
      continue;
    bool holdsBlock = llvm::is_contained(ast::findAll<IntegerLiteral>(variable->getInit()), result.block);
    bool holdsGrid = false;
    if (result.gridExpr)
      ast::walk(variable->getInit(), [&](const Stmt *each) {
        holdsGrid |= each == result.gridExpr;
        return true;
      });
    if (!holdsBlock && !holdsGrid)
      continue;
    std::string stranger;
    ast::walk(host, [&](const Stmt *each) {
      if (each == launch.call)
        return false; // the launch itself; its arguments are checked below
      if (const auto *declaration = dyn_cast<DeclStmt>(each))
        if (declaration->isSingleDecl())
          if (const auto *other = dyn_cast<VarDecl>(declaration->getSingleDecl())) {
            std::vector<const VarDecl *> ofGrid;
            chain(launch.grid, ofGrid);
            chain(launch.block, ofGrid);
            if (llvm::is_contained(ofGrid, other) && other != variable)
              return false; // followed on its own, below
          }
      if (const auto *reference = dyn_cast<DeclRefExpr>(each);
          reference && reference->getDecl() == variable && stranger.empty())
        stranger = ast::lineText(context, reference->getBeginLoc());
      return true;
    });
    for (const Expr *argument : launch.arguments)
      if (ast::mentions(argument, variable))
        stranger = "the kernel's arguments";
    if (!stranger.empty())
      return stop("'" + variable->getName() + "' is also used in " + stranger);
  }
  // The grid's variable, where it follows the block: only this launch reads it.
  for (const auto *reference : ast::findAll<DeclRefExpr>(launch.grid)) {
    const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
    if (!variable || !variable->isLocalVarDecl() || !host)
      continue;
    std::string stranger;
    ast::walk(host, [&](const Stmt *each) {
      if (each == launch.call)
        return false;
      if (const auto *other = dyn_cast<DeclRefExpr>(each);
          other && other->getDecl() == variable && stranger.empty() &&
          ast::ceilDivision(launch.grid, launch.host, ast) &&
          !ast::mentions(launch.block, variable) && variable->getInit() &&
          !isa<IntegerLiteral>(ast::strip(variable->getInit())))
        stranger = ast::lineText(context, other->getBeginLoc());
      return true;
    });
    for (const Expr *argument : launch.arguments)
      if (ast::mentions(argument, variable))
        stranger = "the kernel's arguments";
    if (!stranger.empty())
      return stop("'" + variable->getName() + "', which follows the block size, is also used in " +
                  stranger);
  }
  return result;
}

class TuneBlockSize : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &context, const KernelView &kernel) const override {
    std::vector<Site> sites;
    for (const LaunchFact &launch : kernel.launches)
      sites.push_back(ast::siteOf(kernel, launch.call));
    return sites;
  }

  Decision prepare(const PassContext &context, const Site &site,
                   const PassOptions &options) const override {
    int64_t wanted = options.integer("size");
    if (wanted % 32 != 0)
      return Decision::doesNotApply("size " + llvm::Twine(wanted) + " is not a multiple of a warp");
    Answer free = context.forAllInstances(*site.kernel, [&](kb::KernelOp kernel) {
      if (kernel.getMaxThreads() && int64_t(*kernel.getMaxThreads()) < wanted)
        return Answer::no("__launch_bounds__ allows fewer threads");
      return isBlockSizeFree(context.imported(), kernel);
    });
    if (!free.proven())
      return Decision::doesNotApply(free.reason);
    Constant constant = examine(context, site, launchOf(site));
    if (!constant.obstacle.empty())
      return Decision::doesNotApply(constant.obstacle);
    if (constant.size == wanted)
      return Decision::doesNotApply("the launch has " + llvm::Twine(wanted) +
                                    " threads per block already");
    return Decision::applies();
  }

  llvm::Expected<Rewrite> apply(const PassContext &context, const Site &site,
                                const PassOptions &options) const override {
    const LaunchFact &launch = launchOf(site);
    Constant constant = examine(context, site, launch);
    std::string size = std::to_string(options.integer("size"));
    Rewrite rewrite;
    rewrite.summary = "launched with " + size + " threads per block instead of " +
                      std::to_string(constant.size);
    AnchorOrReason anchor = anchorOf(context.parsed(), constant.block, launch.host);
    if (!anchor)
      return llvm::createStringError(anchor.reason());
    if (llvm::Error error = rewrite.edits.replaceAll(*anchor, size))
      return std::move(error);
    if (constant.gridExpr) {
      AnchorOrReason grid = anchorOf(context.parsed(), constant.gridExpr, launch.host);
      if (!grid)
        return llvm::createStringError(grid.reason());
      std::string text = "(" + context.text(constant.count->getSourceRange()).str() + " + " +
                         std::to_string(options.integer("size") - 1) + ") / " + size;
      if (llvm::Error error = rewrite.edits.replaceAll(*grid, text))
        return std::move(error);
    }
    return rewrite;
  }

private:
  static const LaunchFact &launchOf(const Site &site) {
    for (const LaunchFact &launch : site.kernel->launches)
      if (launch.call == site.as<Stmt>())
        return launch;
    llvm_unreachable("a site of this pass is a launch");
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createTuneBlockSize() { return std::make_unique<TuneBlockSize>(); }
} // namespace kbopt
