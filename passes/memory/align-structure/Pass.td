// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def AlignStructure : RewritePass<"align-structure"> {
  let summary = "Declare a structure to be aligned, so that its fields are read as vectors";
  let description = [{
    A kernel that reads several fields of `bodies[i]` loads them one by one where `bodies` is known to be aligned to
    four bytes alone. With `alignas(16)` the compiler reads four floats by one instruction, and stores them so.

    The structure gets the largest alignment, of 16 bytes at most, that divides its size: size and layout stay as they
    are. The pass applies to plain structures of the main file of which the kernel uses two fields or more.

    It does not apply where the program may form a pointer that is not so aligned, or where another layout depends on
    the structure's alignment: a cast from a pointer to something else, a structure, a pair or a tuple that holds it, or
    a function of another file that passes it on.
  }];
  let states = ["uncoalesced_access", "memory_latency_bound"];
  let site = KernelSite;
  let promise = Bitwise;
  let assumes = [Aligned];
}
