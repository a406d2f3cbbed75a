//===- OracleOperations.cpp - Calls that have a float64 counterpart -------===//
// SPDX-License-Identifier: Apache-2.0
#include "OracleLanes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using kbrt::OracleOperation;

namespace kbopt::cpu {

std::optional<OracleOperation> libraryOperation(StringRef name) {
  if (!name.consume_front("__nv_"))
    return std::nullopt;
  name.consume_front("fast_");
  auto operation = [](StringRef plain) {
    return StringSwitch<std::optional<OracleOperation>>(plain)
        .Case("exp", OracleOperation::Exp)
        .Case("exp2", OracleOperation::Exp2)
        .Case("exp10", OracleOperation::Exp10)
        .Case("expm1", OracleOperation::Expm1)
        .Case("log", OracleOperation::Log)
        .Case("log2", OracleOperation::Log2)
        .Case("log10", OracleOperation::Log10)
        .Case("log1p", OracleOperation::Log1p)
        .Case("sin", OracleOperation::Sin)
        .Case("cos", OracleOperation::Cos)
        .Case("tan", OracleOperation::Tan)
        .Case("sinh", OracleOperation::Sinh)
        .Case("cosh", OracleOperation::Cosh)
        .Case("tanh", OracleOperation::Tanh)
        .Case("asin", OracleOperation::Asin)
        .Case("acos", OracleOperation::Acos)
        .Case("atan", OracleOperation::Atan)
        .Case("erf", OracleOperation::Erf)
        .Case("erfc", OracleOperation::Erfc)
        .Case("cbrt", OracleOperation::Cbrt)
        .Case("pow", OracleOperation::Pow)
        .Case("atan2", OracleOperation::Atan2)
        .Case("hypot", OracleOperation::Hypot)
        .Default(std::nullopt);
  };
  if (std::optional<OracleOperation> ofFloat64 = operation(name))
    return ofFloat64;
  return name.consume_back("f") ? operation(name) : std::nullopt;
}

/// "add", "fma", "ex2", …: PTX's names, and LLVM's.
static std::optional<NamedOperation> operationOf(StringRef name) {
  using N = NamedOperation;
  auto computed = [](OracleOperation operation) { return N{N::Computed, operation}; };
  return StringSwitch<std::optional<N>>(name)
      .Case("add", N{N::Add})
      .Cases({"fma", "fmuladd"}, N{N::Fma})
      .Cases({"fmin", "minnum", "minimum", "minimumnum"}, N{N::Minimum})
      .Cases({"fmax", "maxnum", "maximum", "maximumnum"}, N{N::Maximum})
      .Case("fabs", N{N::Abs})
      .Case("neg", N{N::Negate})
      .Case("copysign", N{N::CopySign})
      .Cases({"arithmetic", "ssa"}, N{N::Same}) // arithmetic.fence, ssa.copy
      .Case("mul", computed(OracleOperation::Multiply))
      .Case("div", computed(OracleOperation::Divide))
      .Case("rcp", computed(OracleOperation::Reciprocal))
      .Case("sqrt", computed(OracleOperation::Sqrt))
      .Case("rsqrt", computed(OracleOperation::ReciprocalSqrt))
      .Cases({"ex2", "exp2"}, computed(OracleOperation::Exp2))
      .Cases({"lg2", "log2"}, computed(OracleOperation::Log2))
      .Case("exp", computed(OracleOperation::Exp))
      .Case("log", computed(OracleOperation::Log))
      .Case("sin", computed(OracleOperation::Sin))
      .Case("cos", computed(OracleOperation::Cos))
      .Case("tanh", computed(OracleOperation::Tanh))
      .Case("pow", computed(OracleOperation::Pow))
      .Cases({"d2f", "f2h", "f2bf16", "f2f16"}, computed(OracleOperation::Convert))
      .Case("trunc", computed(OracleOperation::Convert)) // of a helper; see below
      .Default(std::nullopt);
}

std::optional<NamedOperation> namedOperation(const Function &callee) {
  StringRef name = callee.getName();
  if (std::optional<OracleOperation> known = libraryOperation(name))
    return NamedOperation{NamedOperation::Computed, *known};
  const bool isHelper = name.consume_front("kb.directed.");
  if (isHelper)
    name.consume_front("ptx.");
  else if (!name.consume_front("llvm.nvvm.") && !name.consume_front("llvm."))
    return std::nullopt;
  StringRef first = name.split('.').first;
  if (first == "trunc" && !isHelper) // to an integral value
    return std::nullopt;
  // mul.hi and its like are integers'.
  return callee.getReturnType()->isFPOrFPVectorTy() ? operationOf(first) : std::nullopt;
}

} // namespace kbopt::cpu
