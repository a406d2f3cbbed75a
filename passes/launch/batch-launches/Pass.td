// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def BatchLaunches : RewritePass<"batch-launches"> {
  let aliases = ["batch-kernel-launches"];
  let summary = "Make one launch of a host loop of independent launches";
  let description = [{
    A loop of the host that launches a kernel for one matrix, image or head after the other leaves most of a GPU idle where each of them is
    small, and pays for every launch. Where no launch needs what another one computes, all of them become one: the loop's variable is
    one more dimension of the points that a kernel computes. Several loops around a launch become several dimensions.

    The rule applies to kernels that can be raised (docs/Scheduling.md, "Loops of launches"), in loops `for (int i = begin; i < end; ++i)` that do
    nothing else but to wait and to check for errors, also in a macro such as `CHECK(...)`. Pointers that are passed are an array and a multiple of the loop's variable,
    `x + i * rows * columns`, and integers are affine in it; the grid is the same for all launches. That launches do not depend on
    each other is proven from the sizes that the kernel is passed. Steps of which each reads what the one before stored stay a loop,
    and so do launches that all are passed the same.

    Launches on several streams, `streams[i % count]`, become one on the default stream, which waits for the others and they for it. The
    program must be seen to make all of them by `cudaStreamCreate`. Where it waits for one of them alone, it must have no memory that host and
    device share.

    A loop with a launch between `#if` and `#endif` stays beside the new launch, which is for builds with the same macros.

    The loop stays as it is for arrays that overlap and for loops that do not run, which the host tests unless it is proven.
    The new kernel has no schedule: `schedule` and the passes that set keys give it one.
  }];
  let states = ["launch_overhead_dominant", "insufficient_parallelism"];
  let enables = ["fuse-kernels-vertical"];
  let site = LaunchSite;
  let promise = Reassociates;
  let assumes = [NoAlias];
}
