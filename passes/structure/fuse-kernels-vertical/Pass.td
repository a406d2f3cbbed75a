// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def FuseKernelsVertical : RewritePass<"fuse-kernels-vertical"> {
  let aliases = ["kernel-fusion", "loop-fusion"];
  let summary = "Join launches of which the second reads what the first wrote";
  let description = [{
    Two launches in a row, where a point of the second needs what one point of the first stored, become one: the value stays in a
    register, its array is not read again, and one launch goes away. A chain of launches becomes one kernel.

    The rule joins kernels that can be raised (docs/Scheduling.md, "Several launches"): two maps, a reduction or a product and the map
    over its results, reductions over rows and the map over the elements of those rows, and a light map in front of loops
    over rows. The array is still stored unless nothing but these launches uses it. The launches stay as they are for sizes that do
    not match and arrays that overlap, which the host tests unless it is proven.

    The new kernel has no schedule: `schedule` and the passes that set keys give it one.
  }];
  let states = ["memory_bandwidth_saturated", "launch_overhead_dominant"];
  let excludes = ["split-kernel"];
  let enables = ["vectorize-loads", "thread-coarsening"];
  let site = LaunchSite;
  let promise = Reassociates;
  let assumes = [NoAlias];
  let allow = ["allocations", "launches", "signatures"];
  let matcher = [{
    cudaKernelCallExpr(expr().bind("site"),
      hasAncestor(functionDecl(hasDescendant(cudaKernelCallExpr(unless(equalsBoundNode("site")))))))
  }];
}
