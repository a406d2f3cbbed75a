// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def TwoStageBlockReduction : RewritePass<"two-stage-block-reduction"> {
  let aliases = ["block-reduction"];
  let summary = "Reduce with all threads of a block, then across blocks";
  let description = [{
    A reduction by one thread per row, or with one atomic per element, leaves the machine idle or waiting. All threads of a block
    fold elements in registers, warps reduce by shuffles, one value per warp goes through shared memory, and each block ends
    with one store or one atomic.

    It needs an associative and commutative operator. Sums of floating point are formed in another order.

    The rule changes the schedule of a raised kernel (docs/Scheduling.md) whose points each reduce a row: the
    warps of a block share it. The original kernel stays, and runs where a condition of the new one does not
    hold.
  }];
  let options = [
    IntegerOption<"team", 256, 64, 1024, "threads that reduce one row together", ["128", "256", "512"]>
  ];
  let states = ["insufficient_parallelism", "synchronization_bound"];
  let enables = ["vectorize-loads", "warp-shuffle-reduction"];
  let site = KernelSite;
  let promise = Reassociates;
  let assumes = [Aligned, NoAlias];
  let allow = ["launches"];
  let parameters = [
    ReplyParameter<"THREADS", "256", ["128", "256", "512"], "threads per block">
  ];
  let matcher = [{
    functionDecl(anyOf(
      hasDescendant(forStmt(hasDescendant(binaryOperator(hasAnyOperatorName("+=", "*="), hasLHS(declRefExpr()))))),
      hasDescendant(callExpr(callee(functionDecl(hasAnyName("atomicAdd", "atomicMax", "atomicMin"))))))).bind("site")
  }];
}
