// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def TuneBlockSize : RewritePass<"tune-block-size"> {
  let aliases = ["launch-tuning"];
  let summary = "Launch a kernel with another number of threads per block";
  let description = [{
    Substitutes the constant from which a launch takes its one-dimensional block
    size; the grid, a division by the same constant rounded up, follows. Where the size is no constant, comes from
    a macro, or serves something else too, the launch itself is given the size, and the count that the
    kernel's guard compares with.

    It applies where the kernel computes the same for any block size: a thread
    uses its number in the grid only. Where a guard compares that with the count that the grid is computed
    from, any size serves. Elsewhere the number of threads stays: blocks are cut along their last dimension (`dim3(32, 32)`
    becomes `dim3(32, 8)` with four times the grid), or several blocks of one dimension become one, which the launch tests
    where only the run knows whether it comes out even. It does not apply to kernels with shared memory, barriers or
    warp operations, to launches in a macro, or in a template that is instantiated several times.
  }];
  let options = [
    IntegerOption<"size", 256, 32, 1024, "threads per block, a multiple of 32",
                  ["32", "64", "128", "256", "512", "1024"]>
  ];
  let states = ["insufficient_parallelism", "low_occupancy_register_pressure"];
  let site = LaunchSite;
  let promise = Bitwise;
}
