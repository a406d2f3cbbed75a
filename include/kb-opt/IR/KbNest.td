//===- KbNest.td - The raised form of a kernel -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns kb.nest and what stands in it: what a kernel computes, without the threads
// that compute it, and the schedule that is to compute it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_IR_KBNEST_TD
#define KBOPT_IR_KBNEST_TD

include "kb-opt/IR/KbAttrs.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

def Kb_OperandKind : Kb_Enum<"OperandKind", "what an operand of a raised statement is", [
  I32EnumAttrCase<"Element", 0, "element">, I32EnumAttrCase<"Index", 1, "index">]>;

def Kb_LoopOrder : Kb_Enum<"LoopOrder", "what the iterations of an inner dimension owe to each other", [
  I32EnumAttrCase<"Any", 0, "any">, I32EnumAttrCase<"Reduction", 1, "reduction">,
  I32EnumAttrCase<"Ascending", 2, "ascending">]>;
def Kb_LoopOrderAttr : EnumAttr<Kb_Dialect, Kb_LoopOrder, "order">;

def Kb_OperandAttr : Kb_Attr<"Operand", "operand"> {
  let summary = "an array element or an index value that a raised statement uses";
  let description = [{
    `element`: the element of type `type` and `bytes` bytes that lies `offset` elements after `base`. `indices` and `strides` are
    the same offset split into array dimensions, outermost first: offset = sum of indices[k] * strides[k]. Every index is affine and lies
    between 0 and the extent that the next outer stride implies. They are empty where the offset could not be split.
    `index`: the value of `offset` itself, converted to `type`; `base` then has the kind `unknown` and no name.
  }];
  let parameters = (ins "::kbopt::kb::OperandKind":$kind, "::kbopt::kb::BaseAttr":$base,
                        StringRefParameter<>:$type, "int64_t":$bytes, "::kbopt::kb::ExprAttr":$offset,
                        OptionalArrayRefParameter<"::kbopt::kb::ExprAttr">:$indices,
                        OptionalArrayRefParameter<"::kbopt::kb::ExprAttr">:$strides);
  let assemblyFormat = [{
    `<` $kind $base `:` $type `bytes` $bytes `at` $offset (`split` `[` $indices^ `]`)? (`by` `[` $strides^ `]`)? `>`
  }];
}

def Kb_NestOp : Kb_Op<"nest", [ParentOneOf<["ProgramOp", "SequenceOp"]>, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "what one launch of a kernel computes";
  let description = [{
    The body runs once for every point of the parallel dimensions `dims`, 0 <= dim < its extent, in any order: no point
    depends on another. Inner dimensions are `kb.over` operations. Expressions are over the dimensions of the nest, outermost first,
    then the `kb.over` around them; they use no `tid` or `bid`. `bdim` and `gdim` are those of the launch that is raised.

    `symbols` are integer values that expressions name. Origin `param` or `invariant`: `name` is a C++ expression over the kernel's parameters.
    Origin `varying`: `name` is an integer variable that a `kb.let` before the use declares, once for each point.

    `requires` lists expressions that must be >= 0 at a launch for the nest to compute what the kernel does (the grid covers every
    point, a size is positive, a radix divides). A host program tests them before it uses another schedule.

    `domain`, where there is one, restricts the points further (`p` rows of which the last block has fewer).

    `racefree` names bases of which no proof shows that points touch different elements. Every point is what one thread, or one block, of the
    kernel does, and nothing orders these: were an element shared and stored to, the kernel itself would race, which is undefined. The judge's race
    check holds the kernel to that on every case.

    `filled` names arrays in shared memory that the kernel reads where no proof shows that a store came before. What was not stored has no
    defined value, so that the nest may compute any there. The judge's check of uninitialised reads holds the kernel to that.

    `header` is the text that a kernel of this form needs before `__global__` (a template header); empty for most.
    `schedule` says how the points and inner dimensions are given to threads; without it the kernel stays as it is. Its keys
    are described in docs/Scheduling.md.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, StrArrayAttr:$dims,
                       TypedArrayAttrBase<Kb_ExprAttr, "extents">:$extents,
                       TypedArrayAttrBase<Kb_SymbolAttr, "symbols">:$symbols,
                       OptionalAttr<TypedArrayAttrBase<Kb_ExprAttr, "requirements">>:$requirements,
                       OptionalAttr<Kb_DomainAttr>:$domain, OptionalAttr<StrAttr>:$header,
                       OptionalAttr<DictionaryAttr>:$schedule, OptionalAttr<StrArrayAttr>:$racefree,
                       OptionalAttr<StrArrayAttr>:$filled);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $kernel `dims` $dims `extents` $extents `symbols` $symbols (`requires` $requirements^)? (`where` $domain^)?
    (`racefree` $racefree^)? (`filled` $filled^)? (`header` $header^)? (`schedule` $schedule^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Kb_SequenceOp : Kb_Op<"sequence", [HasParent<"ProgramOp">, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "nests that one launch of a kernel computes one after the other";
  let description = [{
    The body holds two `kb.nest` of the same kernel. The first is what all blocks compute. The second is what the block computes that is the last
    one to finish ("the last block ends the sum"); it may load what the first stored. In both, `bdim` and `gdim` are those of the launch that is
    raised.

    `counter` is the variable in which the blocks of the kernel count themselves, as the user writes it. It is 0 before a launch and after it, so
    that what computes the nests in another way leaves it alone. Were it not 0, a block that is not the last one would load what the others still
    store, or no block would be the last. The judge's race check and its comparison of results hold the kernel to that on every case.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, StrAttr:$counter);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kernel `counter` $counter attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    NestOp first();
    NestOp last();
  }];
}

def Kb_UnraisedOp : Kb_Op<"unraised", [HasParent<"ProgramOp">]> {
  let summary = "a kernel that has no raised form, and why";
  let arguments = (ins FlatSymbolRefAttr:$kernel, StrAttr:$reason);
  let assemblyFormat = "$kernel $reason attr-dict";
}

def Kb_OverOp : Kb_Op<"over", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "an inner dimension of a nest";
  let description = [{
    The body runs for 0 <= name < extent; the extent may depend on dimensions around it (a triangle). Names are unique in the nest.
    `order` says what its iterations owe to each other: `any` (parallel: stores of different elements), `reduction` (parallel but for the kb.reduce
    operations in it, whose variables are declared outside), or `ascending` (as written; nothing is known).
    `team` marks a dimension that the given kernel already shared out among the threads of a warp or block; it is information only.
    With `while`, data ends the loop: `text` is a condition over scalars of the point that is asked before each iteration, and the first time that
    it does not hold is the end. Such a loop is `ascending`. Where nothing else ends it, the extent is `unbounded`, 2^62, and nothing uses `name`.
  }];
  let arguments = (ins StrAttr:$name, Kb_ExprAttr:$extent, Kb_LoopOrderAttr:$order, UnitAttr:$team,
                       OptionalAttr<StrAttr>:$text);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name `` $order `extent` $extent (`team` $team^)? (`while` $text^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The extent of a loop that only its condition ends.
    static constexpr int64_t unbounded = int64_t(1) << 62;
    bool isUnbounded() { return getExtent().getConstant() == unbounded; }
  }];
}

def Kb_WhenOp : Kb_Op<"when", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "a condition around raised statements";
  let description = [{
    `domain` is the condition where it is affine (then exact). Otherwise `text` is a C++ expression with the holes `$0`, `$1`, … for `operands`.
  }];
  let arguments = (ins OptionalAttr<Kb_DomainAttr>:$domain, StrAttr:$text,
                       TypedArrayAttrBase<Kb_OperandAttr, "operands">:$operands);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$text $operands (`where` $domain^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Kb_LetOp : Kb_Op<"let"> {
  let summary = "a scalar of one point or iteration";
  let description = [{
    `type name = text;` with the holes `$0`, `$1`, … of `text` filled by `operands`. Names of other scalars and of kernel
    parameters stand in the text as they are. `reassigns` marks `name = text;` of a scalar that an earlier kb.let declares. A kb.let
    whose variable a later kb.reduce changes gives its initial value.
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$type, StrAttr:$text,
                       TypedArrayAttrBase<Kb_OperandAttr, "operands">:$operands, UnitAttr:$reassigns);
  let assemblyFormat = "$name `:` $type $text $operands (`reassigns` $reassigns^)? attr-dict";
  let hasVerifier = 1;
}

def Kb_ReduceOp : Kb_Op<"reduce"> {
  let summary = "one term of a reduction";
  let description = [{
    Combines the value of `text` into variable `name`, which a kb.let outside the innermost `reduction` dimensions declares.
    `combine` is the C++ expression of the new value, with `%a` for the variable and `%b` for the term: `%a + %b`, `fmaxf(%a, %b)`,
    `%b > %a ? %b : %a`. `reduction` is its kind: add, mul, max, min, and, or, xor. `identity` is a C++ expression of the neutral element.
    Further variables that move with it (the index of a maximum) are kinds `argmax` and `argmin`: `name` is then "value, index" and the term "value, index".
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$reduction, StrAttr:$combine, StrAttr:$identity, StrAttr:$text,
                       TypedArrayAttrBase<Kb_OperandAttr, "operands">:$operands);
  let assemblyFormat = "$name $reduction $combine `identity` $identity $text $operands attr-dict";
  let hasVerifier = 1;
  let hasVerifier = 1;
}

def Kb_StoreOp : Kb_Op<"store"> {
  let summary = "a store of an array element";
  let description = [{
    `target = text;`, or with `atomic` a call `atomic(&target, text)` (`atomicAdd`) whose result is not used. A compound assignment
    `c[i] += x` is raised as a load of the element among `operands`.
  }];
  let arguments = (ins Kb_OperandAttr:$target, StrAttr:$text,
                       TypedArrayAttrBase<Kb_OperandAttr, "operands">:$operands, OptionalAttr<StrAttr>:$atomic);
  let hasVerifier = 1;
  let assemblyFormat = "$target (`atomic` $atomic^)? $text $operands attr-dict";
  let hasVerifier = 1;
}

#endif // KBOPT_IR_KBNEST_TD
