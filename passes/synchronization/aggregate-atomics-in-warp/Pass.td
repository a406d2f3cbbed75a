// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def AggregateAtomicsInWarp : RewritePass<"aggregate-atomics-in-warp"> {
  let aliases = ["warp-aggregation"];
  let summary = "Let one lane do the atomic for its whole warp";
  let description = [{
    Where all active lanes of a warp update the same address, they can add up among themselves first, and one lane does a
    single atomic. A counter that hands out places in a list gives each lane its place from one atomic.

    The rule takes 32-bit integer atomics that are statements of their own, and additions of a constant whose result is assigned.
    Lanes are those that are at the atomic together (`__activemask()`); where the address is not known to be the same for all of
    them, `__match_any_sync` finds those that share one (option `match`). Values other than a constant need sm_80 for
    `__reduce_add_sync` and its relatives.

    It does not apply to floating-point atomics, whose sums would change, where one lane does the atomic already, or in macros.
  }];
  let options = [
    BooleanOption<"match", true, "group lanes by their address where it may differ">
  ];
  let states = ["synchronization_bound", "thread_divergence_high"];
  let site = AccessSite;
  let promise = Reassociates;
}
