// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def GridStrideLoop : RewritePass<"grid-stride-loop"> {
  let summary = "Let a grid of fixed size loop over the elements";
  let description = [{
    `if (i < n)` with a block for every few hundred elements becomes a loop that steps by the whole grid. The grid then has a few
    blocks per SM, whatever n is: what a thread computes before the loop is paid once, and later passes find a loop to work on.

    The rule applies to kernels that end in a body guarded by `i < n`, with `i` the thread's number in the grid, and whose
    threads do not work together: no shared memory, barriers, warp operations or atomics whose order shows. The host
    launches the new kernel where the grid covers all elements and the counter cannot overflow, and the original
    elsewhere; where both are certain only the new kernel stays. A launch in a macro, or one that is a fallback
    already, keeps the original.
  }];
  let options = [
    IntegerOption<"perSM", 8, 1, 32, "blocks per SM in the grid", ["2", "4", "8", "16"]>
  ];
  let states = ["insufficient_parallelism", "launch_overhead_dominant"];
  let enables = ["thread-coarsening", "tune-block-size", "persistent-kernel"];
  let site = KernelSite;
  let promise = Bitwise;
  let parameters = [ReplyParameter<"PERSM", "8", ["2", "4", "8", "16"], "blocks per SM in the grid">];
}
