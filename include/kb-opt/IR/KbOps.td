//===- KbOps.td - Operations of the kb dialect -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the operations: one per fact about a CUDA program.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_IR_KBOPS_TD
#define KBOPT_IR_KBOPS_TD

include "kb-opt/IR/KbAttrs.td"
include "kb-opt/IR/KbNest.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Kb_ProgramOp : Kb_Op<"program", [IsolatedFromAbove, SymbolTable, SingleBlock,
                                     NoTerminator, NoRegionArguments]> {
  let summary = "a CUDA translation unit";
  let description = [{
    Holds the kernels that have a body, one per instantiation, and the launches.

    ```mlir
    kb.program "saxpy.cu" {
      kb.kernel @_Z5saxpyifPKfPf "saxpy" params [] symbols [] {}
    }
    ```
  }];
  let arguments = (ins StrAttr:$file);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$file attr-dict-with-keyword $body";
}

def Kb_KernelOp : Kb_Op<"kernel", [HasParent<"ProgramOp">, Symbol, SingleBlock, NoTerminator,
                                   NoRegionArguments]> {
  let summary = "a kernel, with the device functions it calls inlined";
  let description = [{
    `sym_name` is the mangled name, `name` the readable one (`gemm<float, 16>`).
    `assumes` lists what the index arithmetic rests on that neither the source nor the launches in it prove. A loop or an access names those
    that its own expressions rest on, by position; without any, they are certain:

    | assumption | meaning |
    |---|---|
    | `fits31(x)` | gridDim.x times the threads of a block is below 2^31 |
    | `fits32(e)` | `e`, which C++ computes in unsigned 32 bits, lies within `int` |
    | `fitsu32(e)` | `e`, which C++ computes in unsigned 32 bits, lies within `unsigned` |
    | `nowrap(i)` | loop variable `i`, which C++ advances in unsigned 32 bits, does not wrap |
    | `positive(n)` | divisor `n` is at least 1 |
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$name,
                       TypedArrayAttrBase<Kb_ParamAttr, "parameters">:$params,
                       TypedArrayAttrBase<Kb_SymbolAttr, "symbols">:$symbols,
                       OptionalAttr<StrArrayAttr>:$assumes,
                       OptionalAttr<I64Attr>:$max_threads,
                       OptionalAttr<I64Attr>:$min_blocks);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $name `params` $params `symbols` $symbols (`assumes` $assumes^)?
    (`max_threads` $max_threads^)? (`min_blocks` $min_blocks^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Kb_LaunchOp : Kb_Op<"launch", [HasParent<"ProgramOp">]> {
  let summary = "a launch of a kernel in host code";
  let description = [{
    Grid, block, shared bytes and arguments as written. `grid_values`, `block_values` hold the components that are
    constants, -1 where they are not.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, StrAttr:$grid, StrAttr:$block,
                       OptionalAttr<StrAttr>:$shared, OptionalAttr<StrAttr>:$stream,
                       StrArrayAttr:$args,
                       DenseI64ArrayAttr:$grid_values, DenseI64ArrayAttr:$block_values);
  let assemblyFormat = [{
    $kernel `grid` $grid $grid_values `block` $block $block_values (`shared` $shared^)? (`stream` $stream^)?
    `args` $args attr-dict
  }];
  let hasVerifier = 1;
}

def Kb_LoopOp : Kb_Op<"loop", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "a loop";
  let description = [{
    `name` is the name of its iteration number. `trip` is the number of iterations as an expression, `trip_count` its value where
    it is a constant; `unknown` where neither is known. `value` is the source variable in terms of the index space.
    `uniformity` says whether all threads of a block run the same number of iterations.
  }];
  let arguments = (ins StrAttr:$name, Kb_UniformityAttr:$uniformity,
                       OptionalAttr<I64Attr>:$trip_count, OptionalAttr<Kb_ExprAttr>:$trip,
                       OptionalAttr<Kb_ExprAttr>:$value, OptionalAttr<StrAttr>:$condition,
                       OptionalAttr<DenseI64ArrayAttr>:$assumes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `` $uniformity (`trip_count` $trip_count^)? (`trip` $trip^)? (`value` $value^)?
    (`while` $condition^)? (`assumes` $assumes^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Kb_AccessOp : Kb_Op<"access"> {
  let summary = "a load, store or atomic";
  let description = [{
    One request of a warp for `bytes` bytes per lane. `address` is the byte offset from the base; absent where it is not affine.
    `stride` qualifies an unknown address: `uniform` if all threads of a block use the same one, `divergent` if not known to.
    `domain` holds the affine conditions under which the access happens.

    ```mlir
    kb.access load global <argument "x" argument 0> bytes 4 uniformity divergent at <: tid.x * 4>
    ```
  }];
  let arguments = (ins Kb_AccessKindAttr:$kind, Kb_MemorySpaceAttr:$space, Kb_BaseAttr:$base,
                       I64Attr:$bytes, Kb_UniformityAttr:$uniformity,
                       OptionalAttr<Kb_ExprAttr>:$address,
                       OptionalAttr<Kb_DomainAttr>:$domain, OptionalAttr<StrAttr>:$type,
                       UnitAttr:$is_volatile, OptionalAttr<DenseI64ArrayAttr>:$assumes);
  let assemblyFormat = [{
    `` $kind `` $space $base `bytes` $bytes (`type` $type^)? `uniformity` `` $uniformity (`volatile` $is_volatile^)?
    (`at` $address^)? (`where` $domain^)? (`assumes` $assumes^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Kb_SharedOp : Kb_Op<"shared", [HasParent<"KernelOp">]> {
  let summary = "a shared array";
  let description = [{
    Extents as declared, element size in bytes; `dynamic` for an `extern` array sized by the launch.
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$type, I64Attr:$element_bytes,
                       DenseI64ArrayAttr:$extents, UnitAttr:$dynamic);
  let assemblyFormat = "$name `:` $type `element` $element_bytes `extents` $extents (`dynamic` $dynamic^)? attr-dict";
  let hasVerifier = 1;
}

def Kb_BarrierOp : Kb_Op<"barrier"> {
  let summary = "a barrier or a fence";
  let description = [{`uniformity` is of the control flow that leads to it.}];
  let arguments = (ins Kb_BarrierScopeAttr:$scope, Kb_UniformityAttr:$uniformity);
  let assemblyFormat = "`` $scope `` $uniformity attr-dict";
}

def Kb_ShuffleOp : Kb_Op<"shuffle"> {
  let summary = "an exchange between the lanes of a warp: shuffle, vote, match, reduce";
  let arguments = (ins StrAttr:$mode);
  let assemblyFormat = "$mode attr-dict";
}

def Kb_MmaOp : Kb_Op<"mma"> {
  let summary = "a matrix operation on tensor cores";
  let arguments = (ins StrAttr:$instruction);
  let assemblyFormat = "$instruction attr-dict";
}

def Kb_BranchOp : Kb_Op<"branch"> {
  let summary = "a conditional branch that is not a loop's own";
  let description = [{
    `condition` is the source text where known. `guard` marks a branch whose false side leaves the kernel (`if (i < n)` around the rest, or
    `if (i >= n) return`).
  }];
  let arguments = (ins Kb_UniformityAttr:$uniformity, OptionalAttr<StrAttr>:$condition, UnitAttr:$guard);
  let assemblyFormat = "`` $uniformity ($condition^)? (`guard` $guard^)? attr-dict";
}

def Kb_ComputeOp : Kb_Op<"compute"> {
  let summary = "static operation counts of a loop body or of the kernel outside its loops";
  let description = [{
    Operations per execution of the surrounding region, nested loops excluded, by class: `fadd.f32`, `ffma.f64`, `imul.i32`,
    `cvt`, `special.f32`, ….
  }];
  let arguments = (ins DictionaryAttr:$counts);
  let assemblyFormat = "$counts attr-dict";
  let hasVerifier = 1;
}

def Kb_CallOp : Kb_Op<"call"> {
  let summary = "a call that was not inlined";
  let arguments = (ins StrAttr:$callee);
  let assemblyFormat = "$callee attr-dict";
}

def Kb_OpaqueOp : Kb_Op<"opaque"> {
  let summary = "something that is not understood";
  let description = [{
    Anything may happen here: memory may be read and written. A pass that needs to know does not apply.
  }];
  let arguments = (ins StrAttr:$reason, OptionalAttr<StrAttr>:$text);
  let assemblyFormat = "$reason ($text^)? attr-dict";
}

#endif // KBOPT_IR_KBOPS_TD
