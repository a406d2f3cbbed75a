//===- ReadEffects.cpp - Calls that stand alone ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of calls for what they do: barriers, atomics, stores.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "llvm/ADT/StringSet.h"

using namespace clang;

namespace kbopt::raise {

bool ThreadReader::readCall(const CallExpr *call, Body &out) {
  llvm::StringRef name = calleeName(call);
  Statement result;
  if (name == "__syncthreads" || name == "__syncwarp" || name == "sync") {
    const FunctionDecl *callee = call->getDirectCallee();
    if (name == "sync" &&
        callee->getQualifiedNameAsString().find("cooperative_groups") == std::string::npos)
      return false;
    result.kind = Statement::Barrier;
    result.function = name.str();
    if (const auto *member = llvm::dyn_cast<CXXMemberCallExpr>(call))
      result.value.text = sourceText(member->getImplicitObjectArgument());
    out.push_back(std::move(result));
    return true;
  }
  if (name.starts_with("atomic") && call->getNumArgs() == 2)
    return readAtomic(call, name, out);
  static const llvm::StringSet<> stores = {"__stcs", "__stcg", "__stwb", "__stwt"};
  if (stores.contains(name) && call->getNumArgs() == 2) {
    std::optional<Pointer> pointer = evaluatePointer(call->getArg(0));
    if (!pointer)
      return false;
    if (pointer->parts > 1)
      return storeVector(*pointer, call->getArg(1), out);
    result.kind = Statement::Store;
    result.target = elementAt(*pointer);
    result.value = textOf(call->getArg(1), out);
    out.push_back(std::move(result));
    return true;
  }
  return readSineCosine(call, name, out) || inlineCall(call, out).has_value();
}

/// `sincosf(x, &s, &c)` sets s and c.
bool ThreadReader::readSineCosine(const CallExpr *call, llvm::StringRef name, Body &out) {
  bool isFloat = name == "sincosf" || name == "__sincosf", isDouble = name == "sincos";
  const FunctionDecl *callee = call->getDirectCallee();
  if ((!isFloat && !isDouble) || call->getNumArgs() != 3 ||
      !ast.getSourceManager().isInSystemHeader(callee->getLocation()))
    return false;
  std::string prefix = name.starts_with("__") ? "__" : "", suffix = isFloat ? "f" : "";
  Statement angle;
  angle.kind = Statement::Let;
  angle.type = isFloat ? "float" : "double";
  angle.value = textOf(call->getArg(0), out);
  Body results;
  for (unsigned i : {1, 2}) {
    const auto *address = llvm::dyn_cast<UnaryOperator>(strip(call->getArg(i)));
    const VarDecl *variable =
        address && address->getOpcode() == UO_AddrOf ? variableOf(address->getSubExpr()) : nullptr;
    auto at = values.find(variable);
    if (failed() || !variable || at == values.end() || at->second.kind != Value::Scalar)
      return false;
    Statement set;
    set.kind = Statement::Assign;
    set.name = at->second.name;
    set.value.text = prefix + (i == 1 ? "sin" : "cos") + suffix + "(";
    results.push_back(std::move(set));
  }
  angle.name = uniqueName("angle");
  for (Statement &set : results)
    set.value.text += angle.name + ")";
  out.push_back(std::move(angle));
  for (Statement &set : results)
    out.push_back(std::move(set));
  return true;
}

bool ThreadReader::readAtomic(const CallExpr *call, llvm::StringRef name, Body &out) {
  std::optional<Pointer> pointer = evaluatePointer(call->getArg(0));
  if (!pointer)
    return false;
  Statement result;
  result.kind = Statement::Atomic;
  result.function = name.str();
  result.target = elementAt(*pointer);
  result.value = textOf(call->getArg(1), out);
  if (name == "atomicAdd") {
    result.reduction = "add";
    result.combine = "%a + %b";
    result.identity = "0";
  }
  out.push_back(std::move(result));
  return true;
}

} // namespace kbopt::raise
