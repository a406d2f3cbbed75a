// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def SharedMemoryTiling : RewritePass<"shared-memory-tiling"> {
  let aliases = ["tiling"];
  let summary = "Load a tile into shared memory once and let the whole block read it";
  let description = [{
    Where the threads of a block read the same elements of global memory, as in a matrix product or a stencil,
    the block loads a tile together, waits, and computes from shared memory. Each element then
    crosses the memory bus once per block in place of once per thread that needs it.

    It needs reuse between threads of a block, indices that are affine in the thread, and a tile
    that fits. It costs shared memory and two barriers per tile, and gains nothing where each element is read
    by one thread only, or where the first-level cache already serves the reuse.

    The rule changes the schedule of a raised kernel (docs/Scheduling.md): a reduction with two parallel
    dimensions in which every load lacks one of them. The original kernel stays, and runs where a condition of
    the new one does not hold.
  }];
  let options = [
    IntegerOption<"bm", 128, 8, 256, "rows of a block tile", ["32", "64", "128", "256"]>,
    IntegerOption<"bn", 128, 8, 256, "columns of a block tile", ["64", "128", "256"]>,
    IntegerOption<"bk", 8, 1, 64, "terms of a tile", ["8", "16", "32"]>
  ];
  let states = ["memory_bandwidth_saturated", "memory_latency_bound"];
  let enables = ["pad-shared-array", "swizzle-shared-array", "register-tiling", "double-buffer", "tensor-core-mma"];
  let retunes = ["tune-block-size", "launch-bounds"];
  let site = KernelSite;
  let promise = Bitwise;
  let assumes = [Aligned, NoAlias];
  let allow = ["function-attributes"];
  let parameters = [
    ReplyParameter<"TILE", "16", ["8", "16", "32"], "edge of the square tile in elements">
  ];
  let matcher = [{
    functionDecl(anyOf(
      hasDescendant(forStmt(hasDescendant(binaryOperator(hasOperatorName("+="),
        hasDescendant(binaryOperator(hasOperatorName("*"),
          hasLHS(hasDescendant(arraySubscriptExpr())), hasRHS(hasDescendant(arraySubscriptExpr())))))))),
      hasDescendant(forStmt(
        hasLoopInit(hasDescendant(varDecl(hasInitializer(ignoringParenImpCasts(integerLiteral(equals(0))))))),
        hasDescendant(arraySubscriptExpr(hasIndex(ignoringParenImpCasts(declRefExpr())))))),
      hasDescendant(arraySubscriptExpr(hasIndex(ignoringParenImpCasts(binaryOperator(
        hasAnyOperatorName("+", "-"), hasRHS(ignoringParenImpCasts(integerLiteral())))))))
    )).bind("site")
  }];
}
