// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def SwizzleBlockOrder : RewritePass<"swizzle-block-order"> {
  let aliases = ["block-rasterization"];
  let summary = "Order the tiles so that blocks running together share operands in the cache";
  let description = [{
    Blocks start in the order of their number. In a product of matrices a row of tiles shares one operand only; groups of tiles that are
    nearly square share both, so that the second-level cache is used better.

    It needs blocks that are independent of their order.

    The rule changes the schedule of a raised kernel (docs/Scheduling.md) that is a contraction. The original
    kernel stays, and runs where a condition of the new one does not hold.
  }];
  let options = [
    IntegerOption<"group", 8, 1, 16, "rows of blocks that run together", ["4", "8", "16"]>
  ];
  let states = ["cache_inefficient"];
  let site = KernelSite;
  let promise = Bitwise;
  let assumes = [Aligned, NoAlias];
  let parameters = [
    ReplyParameter<"GROUP", "8", ["4", "8", "16"], "rows of tiles that are walked together">
  ];
  let matcher = [{
    functionDecl(hasDescendant(declRefExpr(to(varDecl(hasName("blockIdx"))))), hasDescendant(forStmt())).bind("site")
  }];
}
