// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def ScheduleKernel : RewritePass<"schedule"> {
  let summary = "Compute what a kernel computes with another schedule: who computes what, and where data waits";
  let description = [{
    Where a kernel can be raised, what it computes is known without the threads that compute it (docs/Raising.md).
    This pass gives it a whole schedule at once, prints the kernel that follows it, and puts it beside the
    original. At each launch the program chooses: the new kernel runs where its conditions hold (sizes that divide,
    aligned pointers, memory that does not overlap), else the original. Conditions that the launch proves are
    not tested.

    `as` names the sketch and its keys, as in `schedule{as='rows team=32 rows=8'}`; docs/Scheduling.md has them
    all. A key that is left out gets the most promising value. The passes that set single keys
    (`register-tiling`, `several-rows-per-block`, …) work on the same schedule.

    What it promises depends on the schedule: most keep every bit, a reduction that several threads share forms
    its sum in another order, and tensor cores multiply in fewer bits.
  }];
  let options = [
    StringOption<"as", "", "the sketch and its keys, as in 'rows team=32 rows=8'; without it the most promising schedule">
  ];
  let states = ["memory_bandwidth_saturated", "memory_latency_bound", "uncoalesced_access", "compute_throughput_saturated"];
  let site = KernelSite;
  let promise = LowerPrecision;
  let assumes = [Aligned, NoAlias];
}
