//===- TuneBlockSize.cpp - Launch with another number of threads -----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   const int threads = 128;            ==>   const int threads = 256;
//   k<<<(n + threads - 1) / threads, threads>>>(x, n);
//
//   k<<<ceil_div(n, size), size>>>(x, n);   ==>   k<<<(n + 255) / 256, 256>>>(x, n);
//
// Where the grid's count is not the guard's, or nothing is guarded, the threads stay as many
// (SameThreads.h).
//
// Owns finding the constant behind a launch's block size, or else what to write
// at the launch, and the proof that the grid follows it and the kernel does not
// care. Which size is best is the policy's question.
//
//===----------------------------------------------------------------------===//

#include "SameThreads.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Coverage.h"
#include "kb-opt/Rewrite/Dispatch.h"

using namespace kbopt;
using namespace clang;

namespace {

/// The literals that a new size must be written into.
struct Constant {
  const IntegerLiteral *block = nullptr;
  /// Where the grid has a constant of its own: the whole rounded-up division.
  const Expr *gridExpr = nullptr;
  const Expr *count = nullptr;
  int64_t size = 0; ///< 0: only the run knows
  std::string obstacle;
  /// The constant cannot be changed, but the launch can.
  bool atLaunch = false;
  /// Then the number of elements, as text.
  std::string elements;
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

/// The constant that sets the block size, and no more than that.
Constant examineConstant(const PassContext &context, const LaunchFact &launch) {
  Constant result;
  const ASTContext &ast = context.parsed().context();
  auto stop = [&](const llvm::Twine &why) {
    result.obstacle = why.str();
    return result;
  };
  bool known = false;
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
  // Other readers of the constant would see the new one.
  std::vector<const VarDecl *> variables;
  chain(launch.block, variables);
  if (result.gridExpr)
    chain(launch.grid, variables);
  const Stmt *host = launch.host ? launch.host->getBody() : nullptr;
  if (!variables.empty() && !host)
    return stop("the launch stands outside of a function");
  for (const VarDecl *variable : variables) {
    if (!variable->isLocalVarDecl()) {
      if (!isa<ParmVarDecl>(variable) && variable->getInit() &&
          ast::resolve(variable->getInit(), launch.host) == result.block)
        return stop("'" + variable->getName() + "' is a constant of the whole program");
      continue;
    }
    if (!variable->getInit() || !ast::findAll<IntegerLiteral>(variable->getInit()).size())
      continue;
    bool holdsBlock =
        llvm::is_contained(ast::findAll<IntegerLiteral>(variable->getInit()), result.block);
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

/// Where the parts between <<< and >>> stand in the file; empty if that is not clear. They may be
/// macros.
std::vector<ByteRange> configurationOf(const PassContext &context, const LaunchFact &launch) {
  std::vector<ByteRange> parts;
  std::optional<ByteRange> call = byteRange(context.parsed(), launch.call->getSourceRange());
  if (!call)
    return parts;
  llvm::StringRef text = context.parsed().text();
  size_t begin = text.find("<<<", call->begin), end = text.find(">>>", call->begin);
  if (begin == llvm::StringRef::npos || end == llvm::StringRef::npos || end < begin ||
      end > call->end)
    return parts;
  begin += 3;
  llvm::StringRef inside = text.slice(begin, end);
  // Comments and literals could hold commas.
  if (inside.contains("//") || inside.contains("/*") ||
      inside.find_first_of("\"'#") != llvm::StringRef::npos)
    return parts;
  int depth = 0;
  size_t first = 0;
  for (size_t i = 0; i <= inside.size(); ++i) {
    char c = i < inside.size() ? inside[i] : ',';
    depth += c == '(' || c == '{' || c == '[' ? 1 : c == ')' || c == '}' || c == ']' ? -1 : 0;
    if (c != ',' || depth != 0)
      continue;
    llvm::StringRef part = inside.slice(first, i);
    unsigned at = begin + first + (part.size() - part.ltrim().size());
    parts.push_back({at, at + unsigned(part.trim().size())});
    first = i + 1;
  }
  return parts;
}

/// Where the grid's count is what the kernel's guard compares with: what to change at \p launch.
Constant examine(const PassContext &context, const Site &site, const LaunchFact &launch) {
  const ASTContext &ast = context.parsed().context();
  Constant result;
  auto stop = [&](const llvm::Twine &why) {
    result.obstacle = why.str();
    return result;
  };
  bool known = false;
  for (unsigned dimension : {1u, 2u}) {
    const Expr *extent = ast::launchComponent(launch.block, dimension, launch.host, known);
    if (!known)
      return stop("the block of the launch is not written where it can be seen");
    if (extent &&
        ast::constantOf(ast::resolve(extent, launch.host), ast) != std::optional<int64_t>(1))
      return stop("the block has more than one dimension");
  }
  if (Coverage covered = coverageOf(context, *site.kernel, launch); !covered)
    return stop(covered.reason());
  Constant constant = examineConstant(context, launch);
  if (constant.obstacle.empty())
    return constant;
  // Then the launch says the size itself, and the count that the kernel compares with.
  result.size = constant.size;
  result.atLaunch = true;
  if (launch.call->getBeginLoc().isMacroID())
    return stop("the launch at " + ast::lineText(context, launch.call->getBeginLoc()) +
                " stands in a macro");
  if (launch.byApi || configurationOf(context, launch).size() < 2)
    return stop(constant.obstacle);
  result.elements = hostText(context, *site.kernel, launch, guardedElements(*site.kernel)->count);
  if (result.elements.empty() || extentText(context, launch, false, 1).empty() ||
      extentText(context, launch, false, 2).empty())
    return stop(constant.obstacle);
  return result;
}

/// `sameThreads`, where it can be written at \p launch.
SameThreads threadsKept(const PassContext &context, const Site &site, const LaunchFact &launch,
                        int64_t wanted) {
  SameThreads result;
  if (launch.call->getBeginLoc().isMacroID())
    result.obstacle = "the launch at " + ast::lineText(context, launch.call->getBeginLoc()) +
                      " stands in a macro";
  else if (launch.byApi || configurationOf(context, launch).size() < 2)
    result.obstacle = "the grid and the block of the launch are not written between <<< and >>>";
  else
    return sameThreads(context, *site.kernel, launch, wanted);
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

  Decision decide(const PassContext &context, const Site &site, const PassOptions &options) const {
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
    if (!constant.obstacle.empty()) {
      SameThreads kept = threadsKept(context, site, launchOf(site), wanted);
      return kept.obstacle.empty()
                 ? Decision::applies()
                 : Decision::doesNotApply(constant.obstacle + ", and " + kept.obstacle);
    }
    if (constant.size == wanted)
      return Decision::doesNotApply("the launch has " + llvm::Twine(wanted) +
                                    " threads per block already");
    return Decision::applies();
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const LaunchFact &launch = launchOf(site);
    Constant constant = examine(context, site, launch);
    std::string size = std::to_string(options.integer("size"));
    Rewrite rewrite;
    if (!constant.obstacle.empty()) {
      SameThreads kept = threadsKept(context, site, launch, options.integer("size"));
      rewrite.summary =
          "launched the same threads in blocks of " + size + " instead of " +
          (kept.size ? std::to_string(kept.size)
                     : "'" + context.text(launch.block->getSourceRange()).str() + "'");
      if (llvm::Error error =
              writeConfiguration(context, launch, kept.grid, kept.block, rewrite.edits))
        return std::move(error);
      return rewrite;
    }
    rewrite.summary =
        "launched with " + size + " threads per block instead of " +
        (constant.size ? std::to_string(constant.size)
                       : "'" + context.text(launch.block->getSourceRange()).str() + "'");
    if (constant.atLaunch) {
      if (llvm::Error error = writeAtLaunch(context, launch, constant.elements,
                                            options.integer("size"), rewrite.edits))
        return std::move(error);
      return rewrite;
    }
    AnchorOrReason anchor = anchorOf(context.parsed(), constant.block, launch.host);
    if (!anchor)
      return decline(anchor.reason());
    if (llvm::Error error = rewrite.edits.replaceAll(*anchor, size))
      return std::move(error);
    if (constant.gridExpr) {
      AnchorOrReason grid = anchorOf(context.parsed(), constant.gridExpr, launch.host);
      if (!grid)
        return decline(grid.reason());
      std::string text = "(" + context.text(constant.count->getSourceRange()).str() + " + " +
                         std::to_string(options.integer("size") - 1) + ") / " + size;
      if (llvm::Error error = rewrite.edits.replaceAll(*grid, text))
        return std::move(error);
    }
    return rewrite;
  }

private:
  /// The grid and the block, in place of what is written in the launch.
  static llvm::Error writeAtLaunch(const PassContext &context, const LaunchFact &launch,
                                   const std::string &elements, int64_t size, Edits &edits) {
    int64_t number = 0;
    std::string grid =
        llvm::StringRef(elements).getAsInteger(10, number)
            ? "(" + elements + " + " + std::to_string(size - 1) + ") / " + std::to_string(size)
            : std::to_string((number + size - 1) / size);
    auto other = [&](unsigned dimension) {
      bool known = false;
      const Expr *extent = ast::launchComponent(launch.grid, dimension, launch.host, known);
      bool isOne = known && (!extent || ast::constantOf(ast::resolve(extent, launch.host),
                                                        context.parsed().context()) ==
                                            std::optional<int64_t>(1));
      return isOne ? std::string("1") : extentText(context, launch, false, dimension);
    };
    std::string y = other(1), z = other(2);
    if (y != "1" || z != "1")
      grid = "dim3(" + grid + ", " + y + ", " + z + ")";
    return writeConfiguration(context, launch, grid, std::to_string(size), edits);
  }

  static llvm::Error writeConfiguration(const PassContext &context, const LaunchFact &launch,
                                        llvm::StringRef grid, llvm::StringRef block, Edits &edits) {
    AnchorOrReason anchor = anchorOfLaunch(context.parsed(), launch.call, launch.host);
    if (!anchor)
      return decline(anchor.reason());
    std::vector<ByteRange> parts = configurationOf(context, launch);
    if (llvm::Error error =
            edits.replace(*anchor, parts[0].begin, parts[0].end - parts[0].begin, grid))
      return error;
    return edits.replace(*anchor, parts[1].begin, parts[1].end - parts[1].begin, block);
  }

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
