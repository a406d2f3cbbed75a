// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def UnrollLoop : RewritePass<"unroll-loop"> {
  let aliases = ["loop-unrolling"];
  let summary = "Ask the compiler to unroll an innermost loop";
  let description = [{
    Puts `#pragma unroll` before the loop: entirely where the trip count is a
    constant of at most `full` iterations, otherwise by `factor`. Loads of several
    iterations are then in flight at once, and loop arithmetic is shared.

    It applies to innermost loops whose trip count is known or computable before
    the loop. It does not apply to loops that end on data, contain another loop,
    carry a pragma already, or run once at most. It costs registers.
  }];
  let options = [
    IntegerOption<"factor", 4, 2, 64, "iterations per trip of the unrolled loop",
                  ["2", "4", "8", "16"]>,
    IntegerOption<"full", 16, 0, 256, "largest constant trip count that is unrolled entirely">
  ];
  let states = ["memory_latency_bound", "instruction_mix_suboptimal"];
  let excludes = ["limit-unroll"];
  let retunes = ["tune-block-size", "launch-bounds"];
  let site = LoopSite;
  let promise = Bitwise;
}
