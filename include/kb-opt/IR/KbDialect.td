//===- KbDialect.td - The kb dialect ---------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the dialect itself and the base classes of its operations and
// attributes.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_IR_KBDIALECT_TD
#define KBOPT_IR_KBDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Kb_Dialect : Dialect {
  let name = "kb";
  let cppNamespace = "::kbopt::kb";
  let summary = "What matters for the speed of a CUDA program, and nothing else";
  let description = [{
    One operation per fact: a loop, a memory access, a barrier, a branch. The
    operations carry no values and cannot be executed; they stand in the order
    of the program text, nested as its loops are nested, and the location of
    each is the exact source range it was found at (a call-site location where
    a device function was inlined: the callee's range at the caller's).

    What is not known is absent or says `unknown`. A consumer treats unknown as
    "does not apply", never as "probably fine".

    ### Index space

    Addresses, conditions and trip counts are affine expressions over one index
    space per kernel:

    | dimension | meaning |
    |---|---|
    | `tid.x`, `tid.y`, `tid.z` | `threadIdx` |
    | `bid.x`, `bid.y`, `bid.z` | `blockIdx` |
    | the names after `over` | iteration numbers (0, 1, 2, …) of the enclosing loops, outermost first |

    | symbol | meaning |
    |---|---|
    | `bdim.x` … `bdim.z`, `gdim.x` … `gdim.z` | `blockDim`, `gridDim` |
    | the names after `with` | the kernel's symbols: scalar parameters and values that are the same for all threads of a block |

    A loop whose source variable starts at 0 and counts up by 1 has an
    iteration number of the same name (`i`); otherwise the name is `i.iter` and the
    loop's `value` says what the variable is. Products of a dimension and
    symbols are allowed, products of two dimensions are not. Offsets count
    bytes.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Kb_Op<string mnemonic, list<Trait> traits = []> : Op<Kb_Dialect, mnemonic, traits>;

class Kb_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Kb_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

class Kb_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::kbopt::kb";
  let genSpecializedAttr = 0;
}

#endif // KBOPT_IR_KBDIALECT_TD
