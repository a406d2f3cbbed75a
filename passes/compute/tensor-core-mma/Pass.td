// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def TensorCoreMma : RewritePass<"tensor-core-mma"> {
  let aliases = ["wmma"];
  let summary = "Multiply matrices on the tensor cores";
  let description = [{
    Products of tiles in half, bf16, tf32 or int8 run on the tensor cores at eight to sixteen times the rate of the ordinary units. The
    tile comes from shared memory, accumulators stay in fragments.

    With half or bf16 inputs and float accumulation only the order of sums changes; float inputs become tf32 with ten bits of
    mantissa, which is lower precision and needs a declared tolerance.

    The rule changes the schedule of a raised kernel (docs/Scheduling.md) whose terms are products of two loads.
    The original kernel stays, and runs where a condition of the new one does not hold.
  }];
  let options = [
    ChoiceOption<"core", "tf32", "unit that multiplies", ["tf32", "bf16", "half"]>
  ];
  let states = ["compute_throughput_saturated"];
  let retunes = ["tune-block-size", "launch-bounds"];
  let site = KernelSite;
  let promise = LowerPrecision;
  let assumes = [Aligned, NoAlias];
  let minimumChip = 80;
  let allow = ["asm", "function-attributes"];
  let matcher = [{
    functionDecl(hasDescendant(forStmt(hasDescendant(binaryOperator(hasOperatorName("+="), hasDescendant(
      expr(anyOf(binaryOperator(hasOperatorName("*")), cxxOperatorCallExpr()), hasDescendant(arraySubscriptExpr()))))))))
      .bind("site")
  }];
}
