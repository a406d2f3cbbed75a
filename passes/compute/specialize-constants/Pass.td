// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def SpecializeConstants : RewritePass<"specialize-constants"> {
  let aliases = ["kernel-specialization"];
  let summary = "Compile a kernel for arguments that are the same at every launch";
  let description = [{
    An integer argument that has one value at all launches becomes a constant of a second kernel: loops get known trip counts,
    divisions by it become shifts or multiplications, branches on it disappear. The host takes that kernel where the
    argument has the value, and the original otherwise. Where every launch passes the constant itself only the new kernel stays.

    The rule follows arguments through variables and through the callers of the function that launches. It fixes parameters
    that bound a loop, are multiplied or divided by, decide a branch or are passed on; a count that only guards
    the threads stays, and so does a value above `limit`, which is rather the size of a workload. `parameter` and `value` fix one by hand, `as`
    several: a search tries what its workload passed, where the launches show nothing. Another value, in another run, takes the original.
    It costs code size and one comparison per launch.
  }];
  let options = [
    StringOption<"parameter", "", "the only parameter to fix">,
    IntegerOption<"value", 0, 0, 1073741824, "its value; 0 takes what the launches show">,
    StringOption<"as", "", "the parameters to fix with their values, as in 'taps=5 stride=2'; a search fills in what its workload passed">,
    IntegerOption<"limit", 4096, 1, 1073741824, "largest value that counts as a property of the program">
  ];
  let states = ["instruction_mix_suboptimal", "compute_throughput_saturated"];
  let enables = ["unroll-loop", "strength-reduce-divmod", "version-bounds-checks"];
  let site = KernelSite;
  let promise = Bitwise;
  let allow = ["launches", "signatures"];
}
