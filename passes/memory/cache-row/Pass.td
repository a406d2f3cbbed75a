// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def CacheRow : RewritePass<"cache-row"> {
  let summary = "Keep a row that is read more than once where it is near: in registers or in shared memory";
  let description = [{
    A kernel that normalizes a row reads it for the mean, again for the variance, and again for the result. A team of threads
    that keeps its part of the row in registers reads it once; longer rows wait in shared memory.

    The rule changes the schedule of a raised kernel (docs/Scheduling.md) whose points each read a row more than
    once. The original kernel stays, and runs where a condition of the new one does not hold, such as rows
    that are too long.
  }];
  let options = [
    ChoiceOption<"cache", "registers", "where the row waits: none, registers or shared", ["none", "registers", "shared"]>
  ];
  let states = ["memory_bandwidth_saturated", "memory_latency_bound", "cache_inefficient"];
  let enables = ["several-rows-per-block", "vectorize-loads"];
  let site = KernelSite;
  let promise = Reassociates;
  let assumes = [Aligned, NoAlias];
}
