// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def VectorizeLoads : RewritePass<"vectorize-loads"> {
  let aliases = ["vectorize-stores", "float4"];
  let summary = "Load and store several consecutive elements per instruction";
  let description = [{
    Handles three shapes of code:

    - a kernel whose body is guarded by `if (i < n)`, with `i` the thread's number
      in the grid: each thread takes `width` consecutive elements, and the grid
      at every launch shrinks by `width`;
    - a grid-stride loop, whose vectors are dealt to threads as elements were;
    - a loop in one thread that reads consecutive elements, such as the inner
      product of a row: it takes `width` elements per iteration, in the same order.

    Elements left over run the original body. Alignment to the vector is
    checked at run time; without it the original body runs for all elements.

    Each element is computed by the same operations in the same order, so
    results are the same bit for bit. It does not apply where a stored array
    may overlap another one, where elements depend on each other, on barriers, atomics
    or shared memory in the body, or where a launch is not known to cover
    all elements.
  }];
  let options = [
    IntegerOption<"width", 4, 2, 4, "elements per load: 2 or 4; fewer where 16 bytes do not hold them",
                  ["2", "4"]>
  ];
  let states = ["memory_bandwidth_saturated", "instruction_mix_suboptimal"];
  let enables = ["tune-block-size"];
  let site = LoopSite;
  let promise = Bitwise;
  let assumes = [Aligned, NoAlias];
}
