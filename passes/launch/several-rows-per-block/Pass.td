// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def SeveralRowsPerBlock : RewritePass<"several-rows-per-block"> {
  let summary = "Give short rows a warp each, and several of them to a block";
  let description = [{
    A block per row of a few dozen to a few hundred elements leaves most threads idle and pays for barriers. A warp per row needs no barrier:
    it reduces by shuffles, and a block takes as many rows as it has warps.

    It needs rows that are short against the block. Reductions are grouped in another way.

    The rule changes the schedule of a raised kernel (docs/Scheduling.md) whose points each reduce a row. The
    original kernel stays, and runs where a condition of the new one does not hold.
  }];
  let options = [
    IntegerOption<"team", 32, 1, 32, "lanes that reduce one row together", ["4", "8", "16", "32"]>,
    IntegerOption<"rows", 8, 1, 64, "rows of a block", ["4", "8", "16"]>
  ];
  let states = ["insufficient_parallelism", "memory_latency_bound"];
  let enables = ["tune-block-size"];
  let site = KernelSite;
  let promise = Reassociates;
  let assumes = [Aligned, NoAlias];
  let parameters = [
    ReplyParameter<"ROWS", "4", ["2", "4", "8"], "rows (warps) per block">
  ];
  let matcher = [{
    functionDecl(hasDescendant(forStmt(hasLoopInit(hasDescendant(declRefExpr(to(varDecl(hasName("threadIdx"))))))))).bind("site")
  }];
}
