// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def AddRestrictConst : RewritePass<"add-restrict-const"> {
  let aliases = ["restrict"];
  let summary = "Declare pointer parameters const and __restrict__ where the program allows it";
  let description = [{
    A pointer that is never stored through becomes a pointer to `const`; a pointer
    that no launch passes together with an overlapping buffer becomes `__restrict__`.
    The compiler may then load through the read-only path, and keep values in
    registers across stores to other arrays.

    It applies where every launch is in sight and passes a variable that only an
    allocation sets; two parameters that are both only read may overlap. It does not
    apply where a launch passes the same buffer twice, an offset into a buffer, or a
    pointer that comes from elsewhere; where the kernel follows pointers that it
    has loaded; or to parameters written as arrays or as a typedef.
  }];
  let options = [
    BooleanOption<"const", true, "add const where nothing is stored">,
    BooleanOption<"restrict", true, "add __restrict__ where nothing overlaps">
  ];
  let states = ["memory_bandwidth_saturated", "memory_latency_bound"];
  let enables = ["vectorize-loads", "hoist-loop-invariant", "use-ldg-readonly", "cache-hint-streaming"];
  let site = ParameterSite;
  let promise = Bitwise;
  let assumes = [NoAlias];
}
