// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def AosToSoa : RewritePass<"aos-to-soa"> {
  let aliases = ["structure-of-arrays"];
  let summary = "Split an array of structures into arrays";
  let description = [{
    Threads that read one field of consecutive structures touch memory with the structure's stride: a warp needs many
    sectors and uses a part of each. With one array per field, lanes read consecutive words.

    The rule splits arrays whose whole life is in view. Such an array is a local variable of a host function that
    `cudaMalloc` fills. Only `cudaMemcpy`, `cudaMemset`, `cudaFree` and kernels of the file are given it. The kernels
    take a pointer for each field that they use. The array itself stays, and so do the host's structures and copies. A
    kernel moves the fields to their arrays behind each copy to the device. In front of each copy from the device,
    another one moves those back that kernels store.

    That costs a reading of the whole array on the device for each copy, and memory for the fields. The rule asks for
    more launches than copies, a launch in a loop that does not copy, or a kernel that uses the array in a loop.
    `cudaMemcpy2D` of each field would need no kernel, but it moves four bytes at a time. On one H200, with 4,194,304
    structures of 32 bytes, the copy of a single field took 6.5 ms from pinned memory and 36 ms from other memory. The
    copy of the whole array took 2.5 and 8.5 ms, and the kernel that splits off two fields 0.08 ms. 20 launches of the
    example's kernel took 1.41 ms before and 0.26 ms after.

    Kernels and device functions may use `p[i].f`, copies (`S s = p[i]; p[i] = s;`) and references or pointers to one
    element (`S &s = p[i];`). An array inside of the structure becomes one array for each of its elements; its indices
    must be constants.

    The rule does not apply to managed memory, streams other than the default one, templates, unions and bit-fields, nor
    where another function is given the array. It leaves kernels alone that use all fields of a structure whose size 8
    divides: `align-structure` has those read as vectors. Other files must not launch the kernel; they would no longer
    link. Where the array comes from the caller, a model may write a converted copy, or stage a block's structures
    through shared memory.
  }];
  let states = ["uncoalesced_access"];
  let enables = ["coalesce-accesses", "vectorize-loads", "fuse-kernels-vertical"];
  let site = KernelSite;
  let promise = Bitwise;
  let allow = ["allocations", "signatures"];
  let matcher = [{
    functionDecl(hasDescendant(memberExpr(hasObjectExpression(ignoringParenImpCasts(arraySubscriptExpr()))))).bind("site")
  }];
}
