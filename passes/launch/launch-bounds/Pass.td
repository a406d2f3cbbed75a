// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def LaunchBounds : RewritePass<"launch-bounds"> {
  let summary = "Tell the compiler the largest block and the blocks per SM";
  let description = [{
    `__launch_bounds__(threads, blocks)` lets the compiler choose the number of registers for the occupancy that is wanted: fewer
    registers for more blocks, or more registers where the block is known to be small.

    The rule takes `threads` from the launches: it applies where all of them are in sight and their blocks are constants, or
    bounded by constants. It does not apply to a kernel that has launch bounds or a register limit, whose address is taken,
    or whose block size only the run knows. Too tight a bound spills registers to local memory.
  }];
  let options = [
    IntegerOption<"blocks", 2, 0, 32, "resident blocks per SM that the compiler makes room for; 0 leaves it open",
                  ["1", "2", "3", "4", "6", "8"]>
  ];
  let states = ["low_occupancy_register_pressure"];
  let excludes = ["limit-registers"];
  let site = KernelSite;
  let promise = Bitwise;
  let allow = ["register-limits"];
  let parameters = [
    ReplyParameter<"BLOCKS", "2", ["1", "2", "3", "4", "6", "8"], "resident blocks per SM that the compiler makes room for">
  ];
}
