// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def RemoveRedundantBarrier : RewritePass<"remove-redundant-barrier"> {
  let summary = "Drop a block barrier that orders nothing";
  let description = [{
    A barrier is needed only if some thread reads what another one wrote before it, or overwrites what another one read. The rule takes
    every pair of accesses that this barrier alone stands between, also around the back edges of loops, and drops it where the addresses
    prove that no two threads meet: after the last use of shared memory, next to another barrier, between accesses to different arrays.

    It does not apply where arrays may overlap, addresses are not affine, the kernel fences, copies asynchronously or calls what is not
    known, or where a loop with barriers is left early. Where the exchange stays within a warp `__syncwarp()` would do; that is left to
    a model. The race check of the judge is mandatory.
  }];
  let states = ["synchronization_bound"];
  let site = AccessSite;
  let promise = Bitwise;
}
