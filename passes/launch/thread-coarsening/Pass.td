// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def ThreadCoarsening : RewritePass<"thread-coarsening"> {
  let aliases = ["work-per-thread-increase"];
  let summary = "Let each thread compute several elements";
  let description = [{
    A thread that handles several elements has several loads in flight, computes addresses once, and shares what the elements
    have in common. Elements are dealt with the stride of the block, so that accesses stay coalesced.

    It needs independent elements. It costs registers and parallelism: factors of 2, 4, 8.

    The rule changes the schedule of a raised kernel (docs/Scheduling.md): loads of several elements are in
    flight before the first is used. The original kernel stays, and runs where a condition of the new one does
    not hold.
  }];
  let options = [
    IntegerOption<"inflight", 4, 1, 8, "independent loads of a thread", ["1", "2", "4", "8"]>
  ];
  let states = ["memory_latency_bound", "insufficient_parallelism", "instruction_mix_suboptimal"];
  let retunes = ["tune-block-size", "launch-bounds"];
  let site = KernelSite;
  let promise = Bitwise;
  let assumes = [Aligned, NoAlias];
  let parameters = [
    ReplyParameter<"ITEMS", "4", ["2", "4", "8"], "elements per thread">
  ];
  let matcher = [{
    functionDecl(hasDescendant(ifStmt(hasCondition(expr(anyOf(
      binaryOperator(hasAnyOperatorName("<", ">=")),
      hasDescendant(binaryOperator(hasAnyOperatorName("<", ">="))))))))).bind("site")
  }];
}
