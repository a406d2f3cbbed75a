// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def VersionBoundsChecks : RewritePass<"version-bounds-checks"> {
  let summary = "Run blocks in the interior without bounds checks";
  let description = [{
    Guards that only matter at the border cost instructions and branches in every thread. A block that lies inside entirely runs a
    clone of the body without them; only blocks at the border run the guarded one. The test is uniform in the block, so no warp
    diverges on it. It costs code size.

    The rule takes comparisons of an index with 0 and with a bound that all threads share, where the index is made of thread and block
    numbers, loop variables with uniform limits, and constants: then the block's smallest and largest index are known before. The body
    becomes a function template that both kinds of block call.

    It does not apply to a single `if (i < n)` per thread, to bodies with shared arrays, which would exist twice, or where a product
    behind a guard could join a sum in one rounding once the guard is gone.
  }];
  let states = ["thread_divergence_high", "instruction_mix_suboptimal"];
  let site = KernelSite;
  let promise = Bitwise;
}
