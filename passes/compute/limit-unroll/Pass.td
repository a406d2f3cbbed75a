// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def LimitUnroll : RewritePass<"limit-unroll"> {
  let summary = "Keep the compiler from unrolling a loop that it unrolls too far";
  let description = [{
    `#pragma unroll 1`, or a small factor, in front of a loop whose unrolled body spills registers or no longer fits into the
    instruction cache; an unroll pragma that the loop has is replaced. The inverse of unroll-loop.

    The rule applies to `for` loops that carry an unroll pragma, or whose number of iterations the compiler can
    compute. It does not apply where the loop indexes a local array by its counter: the array would move
    from registers to local memory. Whether a loop was unrolled too far is seen in the machine code, and by the judge; it
    gains nothing for loops that the compiler left alone.
  }];
  let options = [
    IntegerOption<"factor", 1, 1, 16, "iterations per trip that are left", ["1", "2", "4"]>
  ];
  let states = ["low_occupancy_register_pressure"];
  let excludes = ["unroll-loop"];
  let site = LoopSite;
  let promise = Bitwise;
  let parameters = [ReplyParameter<"FACTOR", "1", ["1", "2", "4"], "iterations per trip that are left">];
}
