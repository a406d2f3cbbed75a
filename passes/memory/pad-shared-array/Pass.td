// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def PadSharedArray : RewritePass<"pad-shared-array"> {
  let aliases = ["bank-conflict-padding"];
  let summary = "Pad the rows of a shared array so that a column spreads over the banks";
  let description = [{
    Shared memory has 32 banks of 4 bytes. A column of an array whose rows are a
    multiple of 128 bytes long lies in one bank, and the lanes of a warp
    that read it wait for each other. This pass makes the last extent longer by `pad`.

    It applies to arrays of two or more dimensions with constant extents of which some
    access conflicts, and whose every use names an element. It does not apply to
    arrays that are used as a pointer, reinterpreted or measured with `sizeof`, to
    `extern` arrays, or where the kernel would need more than 48 KB.
  }];
  let options = [
    IntegerOption<"pad", 1, 1, 32, "elements added to each row",
                  ["1", "2", "4"]>
  ];
  let states = ["shared_bank_conflicts"];
  let excludes = ["tma-bulk-copy", "pad-shared-array"];
  let site = SharedSite;
  let promise = Bitwise;
}
