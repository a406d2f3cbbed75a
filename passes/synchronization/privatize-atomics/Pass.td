// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def PrivatizeAtomics : RewritePass<"privatize-atomics"> {
  let aliases = ["shared-histogram"];
  let summary = "Collect in a private copy per block before updating global memory";
  let description = [{
    Atomics to a few global addresses, as in a histogram, wait for each other. Each block counts in a copy of its own in
    shared memory, whose atomics are many times faster, and adds the copy to global memory once at the end.

    The rule takes additions through a pointer that the kernel uses for nothing else. Where the index shows its range (`% 64`,
    `& 63`, a byte) the copy has as many counters; otherwise it has `bins`, and what lies outside goes to global memory as before.
    Returns at the beginning of the kernel become conditions, so that all threads come to the barriers.

    It does not apply where results of the atomics are used, where the copy does not fit the 48 KB that every launch may have, where
    memory that is no parameter's may overlap the counters, or where the kernel fences or returns in the middle. Where another parameter may
    overlap them, the copy is made in a second kernel, and launches take it where the two lie in different allocations. Floating-point sums are
    formed in another order, as they are whenever atomics race: the pass promises no more than reassociation.
  }];
  let options = [
    IntegerOption<"bins", 256, 1, 12288, "counters of the copy where the index does not show its range",
                  ["64", "256", "1024", "4096"]>
  ];
  let states = ["synchronization_bound"];
  let enables = ["grid-stride-loop", "aggregate-atomics-in-warp"];
  let site = KernelSite;
  let promise = Reassociates;
  let allow = ["function-attributes"];
}
