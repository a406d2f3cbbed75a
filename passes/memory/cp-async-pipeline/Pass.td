// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def CpAsyncPipeline : RewritePass<"cp-async-pipeline"> {
  let summary = "Copy tiles to shared memory asynchronously, several stages ahead";
  let description = [{
    From sm_80 on `__pipeline_memcpy_async` copies from global to shared memory without passing through registers. Several tiles can be
    on their way while one is in use.

    It needs a copy without a transformation in between, 4, 8 or 16 bytes at a time and aligned, and shared memory for each stage.

    The rule changes the schedule of a raised kernel (docs/Scheduling.md) that is a contraction. The original
    kernel stays, and runs where a condition of the new one does not hold.
  }];
  let options = [
    IntegerOption<"stages", 3, 2, 4, "tiles in shared memory", ["3", "4"]>
  ];
  let states = ["memory_latency_bound"];
  let enables = ["tma-bulk-copy", "warp-specialization"];
  let retunes = ["tune-block-size", "launch-bounds"];
  let site = KernelSite;
  let promise = Bitwise;
  let assumes = [Aligned, NoAlias];
  let minimumChip = 80;
  let allow = ["asm", "function-attributes"];
  let parameters = [
    ReplyParameter<"STAGES", "3", ["2", "3", "4"], "tiles in shared memory">
  ];
  let matcher = [{
    forStmt(hasDescendant(callExpr(callee(functionDecl(hasName("__syncthreads"))))),
      hasDescendant(binaryOperator(hasOperatorName("="), hasLHS(hasDescendant(declRefExpr(to(varDecl(hasAttr("attr::CUDAShared"))))))))
    ).bind("site")
  }];
}
