//===- SameThreads.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   k<<<blocks, 256>>>(x);          ==>   k<<<blocks * 4, 64>>>(x);
//   k<<<grid, dim3(32, 32)>>>(x);   ==>   k<<<dim3(grid.x, grid.y * 4, 1), dim3(32, 8, 1)>>>(x);
//
//===----------------------------------------------------------------------===//
#include "SameThreads.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Dispatch.h"

using namespace kbopt;
using namespace clang;

namespace {

/// Blocks that a grid may have along y and z (CUDA C++ Programming Guide, "Technical
/// Specifications").
constexpr int64_t mostBlocksAlong = 65535;

/// Extent of a grid or a block along one dimension.
struct Extent {
  std::string text;
  std::optional<int64_t> value;
};

struct Configuration {
  std::string obstacle;
  Extent grid[3], block[3];

  bool isLine() const { return block[1].value == 1 && block[2].value == 1; }
};

Extent extentOf(const PassContext &context, const LaunchFact &launch, bool block,
                unsigned dimension) {
  const ASTContext &ast = context.parsed().context();
  bool known = false;
  const Expr *written =
      ast::launchComponent(block ? launch.block : launch.grid, dimension, launch.host, known);
  Extent extent;
  if (known && written && !ast::strip(written)->getType()->isIntegralOrEnumerationType())
    return extent; // a fraction, which the launch cuts off
  if (known)
    extent.value = written ? ast::constantOf(ast::resolve(written, launch.host), ast)
                           : std::optional<int64_t>(1);
  extent.text =
      extent.value ? std::to_string(*extent.value) : extentText(context, launch, block, dimension);
  return extent;
}

Configuration configurationOf(const PassContext &context, const LaunchFact &launch) {
  Configuration result;
  std::string where = "the launch at " + ast::lineText(context, launch.call->getBeginLoc());
  if (launch.instances > 1)
    result.obstacle = where + " is written once for several instances";
  for (unsigned dimension = 0; dimension < 3; ++dimension) {
    result.grid[dimension] = extentOf(context, launch, /*block=*/false, dimension);
    result.block[dimension] = extentOf(context, launch, /*block=*/true, dimension);
    if (result.grid[dimension].text.empty() || result.block[dimension].text.empty())
      result.obstacle = "the grid and the block of " + where + " cannot be computed twice";
  }
  return result;
}

/// What the workload launches \p kernel with along x, where something was recorded.
std::optional<int64_t> recordedBlock(const PassContext &context, const KernelView &kernel) {
  for (kb::KernelOp op : kernel.ops)
    if (const RecordedLaunch *launch = context.recordedLaunch(op))
      return launch->block[0];
  return std::nullopt;
}

std::string text(int64_t number) { return std::to_string(number); }

/// Cuts blocks of \p threads into \p parts along their last dimension that allows it.
std::string cut(Configuration &launch, int64_t threads, int64_t parts) {
  for (unsigned dimension : {2u, 1u, 0u}) {
    Extent &grid = launch.grid[dimension], &block = launch.block[dimension];
    if (*block.value % parts != 0)
      continue;
    std::string smaller = text(*block.value / parts), more = grid.text + " * " + text(parts);
    if (grid.value) {
      more = text(*grid.value * parts);
      if (dimension > 0 && *grid.value * parts > mostBlocksAlong)
        continue;
    } else if (dimension > 0) {
      std::string fits = grid.text + " <= " + text(mostBlocksAlong / parts) + " ? ";
      more = fits + more + " : " + grid.text;
      smaller = fits + smaller + " : " + block.text;
    }
    grid.text = more;
    block.text = smaller;
    return "";
  }
  return "a block of " + text(threads) + " threads cannot be cut into " + text(parts) +
         " along one dimension";
}

/// Joins \p parts blocks of one dimension to one.
std::string join(Configuration &launch, int64_t parts, int64_t wanted) {
  Extent &grid = launch.grid[0], &block = launch.block[0];
  if (grid.value && *grid.value % parts != 0)
    return "a grid of " + text(*grid.value) + " blocks is no multiple of " + text(parts);
  std::string even = grid.value ? "" : grid.text + " % " + text(parts) + " == 0 ? ";
  block.text = even + text(wanted) + (grid.value ? "" : " : " + block.text);
  grid.text = grid.value ? text(*grid.value / parts)
                         : even + grid.text + " / " + text(parts) + " : " + grid.text;
  return "";
}

/// Cuts blocks whose size only the run knows.
void cutUnknown(Configuration &launch, int64_t wanted) {
  Extent &grid = launch.grid[0], &block = launch.block[0];
  std::string even = block.text + " % " + text(wanted) + " == 0 ? ";
  grid.text = even + grid.text + " * (" + block.text + " / " + text(wanted) + ") : " + grid.text;
  block.text = even + text(wanted) + " : " + block.text;
}

std::string joined(const Extent (&extents)[3]) {
  if (extents[1].text == "1" && extents[2].text == "1")
    return extents[0].text;
  return "dim3(" + extents[0].text + ", " + extents[1].text + ", " + extents[2].text + ")";
}

} // namespace

SameThreads kbopt::sameThreads(const PassContext &context, const KernelView &kernel,
                               const LaunchFact &launch, int64_t wanted) {
  SameThreads result;
  Configuration configuration = configurationOf(context, launch);
  result.obstacle = configuration.obstacle;
  if (!result.obstacle.empty())
    return result;
  auto &[x, y, z] = configuration.block;
  if (x.value && y.value && z.value) {
    int64_t threads = result.size = *x.value * *y.value * *z.value;
    if (threads == wanted || threads < 1)
      result.obstacle = "the launch has " + text(threads) + " threads per block already";
    else if (threads % wanted == 0)
      result.obstacle = cut(configuration, threads, threads / wanted);
    else if (wanted % threads == 0 && configuration.isLine())
      result.obstacle = join(configuration, wanted / threads, wanted);
    else
      result.obstacle =
          "blocks of " + text(threads) + " threads cannot be made blocks of " + text(wanted);
  } else if (!configuration.isLine()) {
    result.obstacle = "the block of the launch is not written where it can be seen";
  } else if (std::optional<int64_t> now = recordedBlock(context, kernel);
             now && (*now == wanted || *now % wanted != 0)) {
    result.obstacle = "the workload launches blocks of " + text(*now) + " threads";
  } else {
    cutUnknown(configuration, wanted);
  }
  result.grid = joined(configuration.grid);
  result.block = joined(configuration.block);
  return result;
}
