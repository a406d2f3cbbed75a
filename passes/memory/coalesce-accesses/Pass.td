// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def CoalesceAccesses : RewritePass<"coalesce-accesses"> {
  let aliases = ["index-remap", "loop-interchange"];
  let summary = "Exchange the roles of threadIdx.x and threadIdx.y so that lanes touch consecutive elements";
  let description = [{
    The lanes of a warp differ in `threadIdx.x` first. Where a kernel walks rows with
    x and columns with y, each lane touches another row and a request needs up
    to 32 sectors. This pass exchanges `threadIdx.x` with `threadIdx.y`, and `blockDim.x`
    with `blockDim.y`, in the kernel, and the first two components of the block
    at every launch. The grid, and which block does what, stay as they are; a
    square block needs no change at the launch.

    It applies where the block's shape is constant and the sectors of all
    global accesses together get fewer. It does not apply where the order of threads
    within a block has a meaning: shuffles, votes, atomics, volatile
    accesses, warp-sized groups, inline assembly; or where indices are used in
    a function that the kernel calls.
  }];
  let states = ["uncoalesced_access", "memory_bandwidth_saturated"];
  let enables = ["vectorize-loads", "pad-shared-array", "shared-memory-tiling"];
  let site = KernelSite;
  let promise = Bitwise;
}
