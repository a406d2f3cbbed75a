// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def LimitRegisters : RewritePass<"limit-registers"> {
  let summary = "Set the number of registers per thread";
  let description = [{
    Caps (or raises) the registers of one kernel by `__maxnreg__(n)`, to get one more resident block or to end spills. The direct
    form of launch-bounds; never use both on one kernel.

    Up to 64 registers any block can be launched. Above that the rule applies where every launch is in sight and its block
    has so few threads that 65,536 registers suffice. It does not apply to a kernel that has launch bounds or a limit
    already. `__maxnreg__` needs CUDA 12.4 or later.
  }];
  let options = [
    IntegerOption<"registers", 64, 16, 255, "registers per thread", ["32", "40", "48", "64", "80", "96", "128"]>
  ];
  let states = ["low_occupancy_register_pressure"];
  let excludes = ["launch-bounds"];
  let site = KernelSite;
  let promise = Bitwise;
  let allow = ["register-limits"];
  let parameters = [
    ReplyParameter<"REGISTERS", "64", ["32", "40", "48", "64", "80", "96", "128"], "registers per thread">
  ];
}
