// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def FixDoubleLiterals : RewritePass<"fix-double-literals"> {
  let summary = "Give float expressions float literals";
  let description = [{
    `x * 0.5` with a float `x` is computed in double precision and rounded back, at a
    thirty-second to a sixty-fourth of the rate on most chips. This pass adds the `f` suffix to double literals
    in expressions whose every other operand is a float or an integer and whose result becomes a float;
    calls such as `exp(x * 2.0)` then choose their float form by themselves.

    Intermediate results are rounded to float where they were not before: the promise is
    lower precision. It does not apply to expressions with a double variable or an explicit
    cast to double, or to results that stay double. A macro that is nothing but a literal gets a cast
    where it is used; other macros stay as they are.

    Literals of `__device__` functions that the kernel calls count as the kernel's, unless the host or
    other instances of a template use the function as well.
  }];
  let states = ["compute_throughput_saturated"];
  let site = KernelSite;
  let promise = LowerPrecision;
}
