// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def HoistLoopInvariant : RewritePass<"hoist-loop-invariant"> {
  let aliases = ["licm"];
  let summary = "Compute what does not change in a loop before the loop";
  let description = [{
    Moves loads, and arithmetic worth the move (divisions and functions),
    whose operands no iteration changes, into a constant before the loop. The compiler does so by
    itself where it can; it cannot move a load past a store that may alias.

    Arithmetic is moved if it can neither trap nor touch memory. A load is moved if
    no store, in this thread or another, can change it while the loop runs, and if
    every iteration executes it; a loop that may run no iteration at all gets the load
    under its own condition. It does not apply to volatile loads,
    loads under a condition, or where aliasing is unknown: run add-restrict-const first.
  }];
  let states = ["instruction_mix_suboptimal", "compute_throughput_saturated"];
  let site = LoopSite;
  let promise = Bitwise;
  let assumes = [NoAlias];
}
