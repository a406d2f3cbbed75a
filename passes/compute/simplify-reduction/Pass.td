// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def SimplifyReduction : RewritePass<"simplify-reduction"> {
  let summary = "Form sums of fewer terms";
  let description = [{
    A sum that every point forms anew, though it is the same for a whole row of points, is formed once for the row. A sum is also
    distributed where that makes it the same: in `sum over k of x[k] * ((k == j) - x[j]) * y[k]`, the backward pass of a softmax, the
    comparison is 1 for one term only, and `x[j]` does not depend on `k`. The result is `x[j] * (y[j] - sum over k of x[k] * y[k])`, and
    the sum that is left needs forming once for all `j`. Factors that all terms have stand outside of the sum.

    It needs a kernel that can be raised (docs/Raising.md), and sums of float or double elements that the kernel does not store to. The sums
    are formed in another order and of other terms: where large terms cancel out, other digits are lost.

    The rule sets the key `simplify` of the schedule (docs/Scheduling.md). The original kernel stays, and runs where a
    condition of the new one does not hold.
  }];
  let states = ["compute_throughput_saturated", "memory_latency_bound"];
  let enables = ["several-rows-per-block", "cache-row"];
  let site = KernelSite;
  let promise = Reassociates;
  let assumes = [Aligned, NoAlias];
}
