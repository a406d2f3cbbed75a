// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def OnlineSinglePass : RewritePass<"online-single-pass"> {
  let aliases = ["online-softmax", "welford"];
  let summary = "Fold several passes over a row into one";
  let description = [{
    Softmax finds a maximum, then a sum of exponentials, then divides: three passes over a row. Kept as a pair (maximum, sum) that is
    rescaled when a larger maximum appears, the first two become one. Mean and variance are one pass with Welford's or shifted sums;
    attention needs no stored scores at all.

    Results differ in rounding. It needs recognised idioms.

    The rule changes the schedule of a raised kernel (docs/Scheduling.md) that takes a maximum and a sum of
    exponentials over a row. The original kernel stays, and runs where a condition of the new one does not hold.
  }];
  let options = [
    IntegerOption<"online", 1, 0, 1, "maximum and sum in one pass", ["1"]>
  ];
  let states = ["algorithmic_inefficiency", "memory_bandwidth_saturated"];
  let enables = ["two-stage-block-reduction", "vectorize-loads"];
  let site = KernelSite;
  let promise = Reassociates;
  let assumes = [Aligned, NoAlias];
  let matcher = [{
    functionDecl(
      hasDescendant(compoundStmt(has(forStmt().bind("first")), has(forStmt(unless(equalsBoundNode("first")))))),
      hasDescendant(arraySubscriptExpr())).bind("site")
  }];
}
