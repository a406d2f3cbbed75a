// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def StrengthReduceDivmod : RewritePass<"strength-reduce-divmod"> {
  let summary = "Replace divisions and remainders by cheaper arithmetic";
  let description = [{
    An integer division by a value that is not a constant takes about twenty instructions. Where the divisor is the same for all
    threads the host computes a multiplier and a shift once per launch, and the kernel multiplies instead.

    The rule applies to `/` and `%` by a parameter, a product of parameters or an extent of the launch, where the dividend follows from
    thread indices, parameters and counters in sums, products and quotients. The host launches the new kernel where it can
    show that the divisor is positive and that the dividend fits 31 bits, and the original elsewhere. Divisions by
    constants are the compiler's work; what may be negative, such as a difference, stays.
  }];
  let states = ["instruction_mix_suboptimal"];
  let site = KernelSite;
  let promise = Bitwise;
  let allow = ["signatures"];
}
