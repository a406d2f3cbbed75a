// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def RegisterTiling : RewritePass<"register-tiling"> {
  let aliases = ["thread-tiling"];
  let summary = "Let each thread compute a small tile of results in registers";
  let description = [{
    In a matrix product from shared memory every multiply-add needs two loads. A thread that computes TM × TN results loads TM + TN
    values for TM · TN multiply-adds, so that arithmetic rather than shared memory becomes the limit.

    It needs an inner product over tiles, and results enough to keep all SMs busy with fewer threads. Each result keeps its own
    order of summation. It costs registers: TM · TN accumulators.

    The rule changes the schedule of a raised kernel (docs/Scheduling.md) that is a contraction. The original
    kernel stays, and runs where a condition of the new one does not hold.
  }];
  let options = [
    IntegerOption<"tm", 8, 1, 16, "rows of a thread tile", ["4", "8", "16"]>,
    IntegerOption<"tn", 8, 1, 16, "columns of a thread tile", ["4", "8", "16"]>
  ];
  let states = ["compute_throughput_saturated", "shared_bank_conflicts", "memory_latency_bound"];
  let enables = ["vectorize-loads", "double-buffer"];
  let retunes = ["tune-block-size", "launch-bounds"];
  let site = KernelSite;
  let promise = Bitwise;
  let assumes = [Aligned, NoAlias];
  let allow = ["function-attributes"];
  let parameters = [
    ReplyParameter<"TM", "4", ["2", "4", "8"], "rows of results per thread">,
    ReplyParameter<"TN", "4", ["2", "4", "8"], "columns of results per thread">
  ];
  let matcher = [{
    functionDecl(hasDescendant(forStmt(hasDescendant(binaryOperator(hasOperatorName("+="),
        hasDescendant(binaryOperator(hasOperatorName("*"),
          hasLHS(hasDescendant(arraySubscriptExpr())), hasRHS(hasDescendant(arraySubscriptExpr()))))))))).bind("site")
  }];
}
