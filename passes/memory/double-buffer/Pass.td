// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def DoubleBuffer : RewritePass<"double-buffer"> {
  let aliases = ["ping-pong-buffers"];
  let summary = "Load the next tile while the current one is in use";
  let description = [{
    A loop that loads a tile, waits, computes, and waits again, does one thing at a time. With two buffers the loads of the next tile are
    issued before the arithmetic of this one, and one barrier per iteration is enough.

    It needs twice the shared memory, or registers for the tile on its way.

    The rule changes the schedule of a raised kernel (docs/Scheduling.md) that is a contraction: the next tile
    is loaded into registers meanwhile. The original kernel stays, and runs where a condition of the new one
    does not hold.
  }];
  let options = [
    IntegerOption<"stages", 2, 2, 2, "tiles in shared memory", ["2"]>
  ];
  let states = ["memory_latency_bound", "synchronization_bound"];
  let enables = ["cp-async-pipeline"];
  let retunes = ["tune-block-size", "launch-bounds"];
  let site = KernelSite;
  let promise = Bitwise;
  let assumes = [Aligned, NoAlias];
  let allow = ["function-attributes"];
  let matcher = [{
    forStmt(hasDescendant(callExpr(callee(functionDecl(hasName("__syncthreads"))))),
      hasDescendant(binaryOperator(hasOperatorName("="), hasLHS(hasDescendant(declRefExpr(to(varDecl(hasAttr("attr::CUDAShared"))))))))
    ).bind("site")
  }];
}
