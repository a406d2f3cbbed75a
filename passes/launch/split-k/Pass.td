// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def SplitK : RewritePass<"split-k"> {
  let summary = "Divide the inner dimension of a product among blocks";
  let description = [{
    A product with few results and a long inner dimension has too few tiles to fill the machine. Several blocks share a tile,
    each takes a part of K, and their partial sums are added: by a second pass over a workspace, or by atomics.

    The sum over K is grouped in another way. It costs the traffic of the partial sums.

    The rule changes the schedule of a raised kernel (docs/Scheduling.md): a contraction or a reduction of
    columns. With `split` the warps of a block share out the terms, with `parts` blocks do, and a second kernel adds
    up their sums. The original kernel stays, and runs where a condition of the new one does not hold.
  }];
  let options = [
    IntegerOption<"split", 4, 1, 64, "parts of the outer reduction that the warps of a block share out", ["2", "4", "8", "16"]>,
    IntegerOption<"parts", 1, 1, 1024, "parts of each sum that blocks share out", ["2", "4", "8", "16"]>
  ];
  let states = ["insufficient_parallelism"];
  let site = KernelSite;
  let promise = Reassociates;
  let assumes = [Aligned, NoAlias];
  let allow = ["allocations", "launches", "signatures"];
  let parameters = [
    ReplyParameter<"SPLITS", "4", ["2", "4", "8", "16"], "parts that the inner dimension is divided into">
  ];
  let matcher = [{
    functionDecl(hasDescendant(forStmt(hasDescendant(binaryOperator(hasOperatorName("+="),
        hasDescendant(binaryOperator(hasOperatorName("*"),
          hasLHS(hasDescendant(arraySubscriptExpr())), hasRHS(hasDescendant(arraySubscriptExpr()))))))))).bind("site")
  }];
}
