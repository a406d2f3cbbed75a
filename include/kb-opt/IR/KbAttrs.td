//===- KbAttrs.td - Attributes of the kb dialect ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the attributes: expressions over the index space, symbols, parameters,
// bases of addresses, and the enumerations.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_IR_KBATTRS_TD
#define KBOPT_IR_KBATTRS_TD

include "kb-opt/IR/KbDialect.td"

def Kb_AccessKind : Kb_Enum<"AccessKind", "what an access does", [
  I32EnumAttrCase<"Load", 0, "load">, I32EnumAttrCase<"Store", 1, "store">,
  I32EnumAttrCase<"Atomic", 2, "atomic">]>;
def Kb_AccessKindAttr : EnumAttr<Kb_Dialect, Kb_AccessKind, "access_kind">;

def Kb_MemorySpace : Kb_Enum<"MemorySpace", "where the accessed memory lies", [
  I32EnumAttrCase<"Generic", 0, "generic">, I32EnumAttrCase<"Global", 1, "global">,
  I32EnumAttrCase<"Shared", 2, "shared">, I32EnumAttrCase<"Constant", 3, "constant">,
  I32EnumAttrCase<"Local", 4, "local">, I32EnumAttrCase<"Param", 5, "param">]>;
def Kb_MemorySpaceAttr : EnumAttr<Kb_Dialect, Kb_MemorySpace, "space">;

def Kb_Uniformity : Kb_Enum<"Uniformity", "whether the threads of a block agree", [
  I32EnumAttrCase<"Uniform", 0, "uniform">, I32EnumAttrCase<"Divergent", 1, "divergent">,
  I32EnumAttrCase<"Unknown", 2, "unknown">]>;
def Kb_UniformityAttr : EnumAttr<Kb_Dialect, Kb_Uniformity, "uniformity">;

def Kb_BarrierScope : Kb_Enum<"BarrierScope", "which threads a barrier joins", [
  I32EnumAttrCase<"Block", 0, "block">, I32EnumAttrCase<"Warp", 1, "warp">,
  I32EnumAttrCase<"Named", 2, "named">, I32EnumAttrCase<"Cluster", 3, "cluster">,
  I32EnumAttrCase<"Fence", 4, "fence">, I32EnumAttrCase<"Async", 5, "async">]>;
def Kb_BarrierScopeAttr : EnumAttr<Kb_Dialect, Kb_BarrierScope, "barrier_scope">;

def Kb_SymbolOrigin : Kb_Enum<"SymbolOrigin", "where a symbol's value comes from", [
  I32EnumAttrCase<"Param", 0, "param">, I32EnumAttrCase<"Invariant", 1, "invariant">,
  I32EnumAttrCase<"Varying", 2, "varying">]>;

def Kb_BaseKind : Kb_Enum<"BaseKind", "what an address is relative to", [
  I32EnumAttrCase<"Argument", 0, "argument">, I32EnumAttrCase<"Global", 1, "global">,
  I32EnumAttrCase<"Local", 2, "local">, I32EnumAttrCase<"Loaded", 3, "loaded">,
  I32EnumAttrCase<"Unknown", 4, "unknown">]>;

def Kb_ExprAttr : Kb_Attr<"Expr", "expr"> {
  let summary = "an affine expression over the index space";
  let description = [{
    `#kb.expr<over [i] with [n] : (i * n + tid.x) * 4>`. The map has the six
    thread and block dimensions, then one per loop; the six `bdim`/`gdim` symbols,
    then one per named symbol; and one result.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$loops,
                        ArrayRefParameter<"::mlir::StringAttr">:$symbols,
                        "::mlir::AffineMap":$map);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::mlir::AffineExpr getExpr() const { return getMap().getResult(0); }
    /// The value if the expression is a constant.
    std::optional<int64_t> getConstant() const;
    /// The expression as text, in the names of the index space.
    std::string str() const;
  }];
}

def Kb_DomainAttr : Kb_Attr<"Domain", "domain"> {
  let summary = "affine conditions under which an operation is reached";
  let description = [{
    `#kb.domain<with [n] : n - tid.x - 1 >= 0>`: a conjunction of conditions, each
    `expression >= 0` or `expression == 0`. Every condition holds whenever the
    operation runs; other conditions may guard it as well, unless `exact` is written
    after the list. `#kb.domain<: unknown>` stands for conditions of which none is affine. An
    operation without a domain runs whenever its kernel or loop body does.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$loops,
                        ArrayRefParameter<"::mlir::StringAttr">:$symbols,
                        "::mlir::IntegerSet":$set,
                        "bool":$exact);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// There are conditions, but none is affine.
    bool isUnknown() const;
    static DomainAttr unknown(::mlir::MLIRContext *context, ::llvm::ArrayRef<::mlir::StringAttr> loops,
                              ::llvm::ArrayRef<::mlir::StringAttr> symbols);
  }];
}

def Kb_SymbolAttr : Kb_Attr<"Symbol", "symbol"> {
  let summary = "a named value that all threads of a block share";
  let description = [{
    `param`: the scalar kernel argument `argument`, or the field at `byteOffset` of a
    struct argument, `bits` wide. `invariant`: the same for the whole launch, computed.
    `varying`: the same for all threads of a block at one time, but another in
    other blocks or iterations.
  }];
  let parameters = (ins StringRefParameter<>:$name, "::kbopt::kb::SymbolOrigin":$origin,
                        DefaultValuedParameter<"int64_t", "-1">:$argument,
                        DefaultValuedParameter<"int64_t", "0">:$byteOffset,
                        DefaultValuedParameter<"int64_t", "32">:$bits,
                        DefaultValuedParameter<"bool", "true">:$isSigned);
  let assemblyFormat = "`<` $name $origin (`argument` $argument^)? (`offset` $byteOffset^)? (`bits` $bits^)? (`signed` $isSigned^)? `>`";
}

def Kb_ParamAttr : Kb_Attr<"Param", "param"> {
  let summary = "a parameter of a kernel";
  let description = [{
    Name, type as written, size in bytes. For a pointer: the size of what it points to (0 where
    that is incomplete), and its qualifiers.
  }];
  let parameters = (ins StringRefParameter<>:$name, StringRefParameter<>:$type,
                        "int64_t":$bytes,
                        DefaultValuedParameter<"bool", "false">:$isPointer,
                        DefaultValuedParameter<"int64_t", "0">:$elementBytes,
                        DefaultValuedParameter<"bool", "false">:$isConst,
                        DefaultValuedParameter<"bool", "false">:$isRestrict);
  let assemblyFormat = "`<` $name `:` $type `bytes` $bytes (`pointer` $isPointer^)? (`element` $elementBytes^)? (`const` $isConst^)? (`restrict` $isRestrict^)? `>`";
}

def Kb_BaseAttr : Kb_Attr<"Base", "base"> {
  let summary = "what an address is relative to";
  let description = [{
    `argument`: the pointer in kernel argument `argument` (at `byteOffset` of a struct argument).
    `global`: a `__shared__`, `__constant__` or `__device__` variable. `local`: a variable of the thread.
    `loaded`: a pointer that was itself read from memory or computed. Two bases with the
    same kind, name, argument and offset are the same memory, `loaded` and `unknown` ones excepted.
  }];
  let parameters = (ins "::kbopt::kb::BaseKind":$kind, StringRefParameter<>:$name,
                        DefaultValuedParameter<"int64_t", "-1">:$argument,
                        DefaultValuedParameter<"int64_t", "0">:$byteOffset);
  let assemblyFormat = "`<` $kind $name (`argument` $argument^)? (`offset` $byteOffset^)? `>`";
}

#endif // KBOPT_IR_KBATTRS_TD
