// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def BranchToSelect : RewritePass<"branch-to-select"> {
  let summary = "Replace short branches by selects";
  let description = [{
    A branch on which lanes of a warp differ runs both arms one after the other, with the cost of the jumps. Where both arms are short
    and have no side effects a select does the same without a jump.

    The rule takes every `if` of a kernel on which threads may differ and whose arms only set local variables of arithmetic types, by a
    few cheap operations: `x = c ? a : b`. Comparisons stay as they are, so that a NaN and both zeros come out as before.

    It does not apply to arms that read or write memory, call, divide or declare; those behind a bounds check are left to a model,
    which can select the address first.
  }];
  let options = [
    IntegerOption<"operations", 10, 1, 64, "operations in both arms together that a select may cost", ["4", "10", "24"]>
  ];
  let states = ["thread_divergence_high"];
  let enables = ["tensor-core-mma"];
  let site = KernelSite;
  let promise = Bitwise;
}
