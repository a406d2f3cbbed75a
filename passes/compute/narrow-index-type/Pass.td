// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def NarrowIndexType : RewritePass<"narrow-index-type"> {
  let summary = "Compute indices in 32 bits where they fit";
  let description = [{
    64-bit index arithmetic takes two to four instructions where 32 bits take one, and two registers in place of one. Where the
    largest index is known to be below 2^31 the kernel can count in `int`, and widen only in the address.

    The rule makes a second kernel in which parameters, variables and casts of 64 bits become `int`, as far as they follow from
    thread indices, parameters and counters. The host tests that every index, and every product and sum on the way to it, fits
    31 bits, and launches the original where that does not hold. Data of 64 bits stays as it is. It does not apply where a
    narrow value would meet one whose sign is not known in unsigned arithmetic. It gains nothing where the compiler already
    strength-reduced the address to a pointer that advances.
  }];
  let states = ["instruction_mix_suboptimal", "low_occupancy_register_pressure"];
  let enables = ["strength-reduce-divmod"];
  let site = KernelSite;
  let promise = Bitwise;
  let allow = ["launches", "signatures"];
}
