// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def WarpShuffleReduction : RewritePass<"warp-shuffle-reduction"> {
  let summary = "Let the last steps of a block's reduction run through warp shuffles";
  let description = [{
    A tree reduction in shared memory waits at a barrier after each halving. Once 32 values or fewer are left
    they lie in one warp, whose lanes can exchange registers with `__shfl_down_sync`: no barrier,
    no shared memory. Better still every warp reduces its own values first and only one value per
    warp goes through shared memory.

    It needs a commutative and associative operator. Sums of floating point are formed in another
    order unless the tree stays exactly the same.

    The rule changes the schedule of a raised kernel (docs/Scheduling.md) whose points each reduce a row: the
    lanes of a warp share it. The original kernel stays, and runs where a condition of the new one does not
    hold.
  }];
  let options = [
    IntegerOption<"team", 32, 2, 32, "lanes that reduce one row together", ["8", "16", "32"]>
  ];
  let states = ["synchronization_bound", "low_occupancy_shared_memory", "instruction_mix_suboptimal"];
  let enables = ["remove-redundant-barrier", "several-rows-per-block"];
  let site = KernelSite;
  let promise = Reassociates;
  let assumes = [Aligned, NoAlias];
  let matcher = [{
    stmt(anyOf(forStmt(), whileStmt()),
      hasDescendant(callExpr(callee(functionDecl(hasName("__syncthreads"))))),
      hasDescendant(arraySubscriptExpr(hasDescendant(declRefExpr(to(varDecl(hasAttr("attr::CUDAShared")))))))
    ).bind("site")
  }];
}
