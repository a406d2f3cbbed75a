// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def HoistToLaunch : RewritePass<"hoist-to-launch"> {
  let summary = "Divide once for each launch, not in each thread";
  let description = [{
    A quotient of what a kernel is passed, such as `rows / tile` or `total % gridDim.x`, is the same in every thread, and every thread
    computes it: about twenty instructions in 32 bits, and about eighty in 64. The host computes it once and passes it.

    The rule takes the longest integer expressions that hold a division or a remainder and consist of parameters, components of
    `gridDim` and `blockDim`, constants, and variables of the kernel that are initialised from such and never change. A division
    of 32 bits by a constant stays: the compiler makes a multiplication of it. The host launches the new kernel where it can divide,
    which is where no divisor is 0 or negative, and the original elsewhere. It computes in the types of the kernel, so that the
    values are the same bit by bit.

    Divisions of what differs from thread to thread are for [strength-reduce-divmod](strength-reduce-divmod.md), and loads that do not
    change in a loop for [hoist-loop-invariant](hoist-loop-invariant.md).
  }];
  let states = ["instruction_mix_suboptimal", "compute_throughput_saturated"];
  let enables = ["strength-reduce-divmod"];
  let site = KernelSite;
  let promise = Bitwise;
}
