//===- NestAccesses.cpp - What a nest loads and stores ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "NestAccesses.h"
#include "FuseNests.h"
#include "NestJoin.h"
#include "kb-opt/Analysis/LaunchArguments.h"

using namespace kbopt;
using llvm::StringRef;

bool kbopt::isElement(kb::OperandAttr operand) {
  return operand.getKind() == kb::OperandKind::Element;
}

void kbopt::forEachLoad(mlir::Operation *op, llvm::function_ref<void(kb::OperandAttr)> visit) {
  if (auto operands = op->getAttrOfType<mlir::ArrayAttr>("operands"))
    for (auto operand : operands.getAsRange<kb::OperandAttr>())
      if (isElement(operand))
        visit(operand);
}

std::set<std::string> kbopt::loadedNames(kb::NestOp nest) {
  std::set<std::string> names;
  nest.walk([&](mlir::Operation *op) {
    forEachLoad(op,
                [&](kb::OperandAttr operand) { names.insert(operand.getBase().getName().str()); });
  });
  return names;
}

std::vector<kb::StoreOp> kbopt::storesOf(kb::NestOp nest, StringRef name) {
  std::vector<kb::StoreOp> stores;
  nest.walk([&](kb::StoreOp store) {
    if (store.getTarget().getBase().getName() == name)
      stores.push_back(store);
  });
  return stores;
}

bool kbopt::isUsedOnlyBy(const PassContext &context, llvm::ArrayRef<LaunchText> launches,
                         llvm::ArrayRef<PassedParameter> parameters, StringRef name) {
  std::vector<const clang::CallExpr *> users;
  for (const LaunchText &each : launches)
    users.push_back(each.fact().call);
  const PassedParameter *parameter = llvm::find_if(
      parameters, [&](const PassedParameter &each) { return each.parameter.getName() == name; });
  if (parameter == parameters.end() || !parameter->meaning.expr)
    return false;
  const clang::VarDecl *variable = ast::variableOf(parameter->meaning.expr->IgnoreParenCasts());
  bool isAlone = variable && llvm::none_of(parameters, [&](const PassedParameter &other) {
                   return &other != parameter && other.meaning.expr &&
                          ast::mentions(other.meaning.expr, variable);
                 });
  return isAlone &&
         isOnlyUsedBy(context.parsed(), launches.back().fact(), parameter->meaning.expr, users)
             .proven();
}

//===-- Stores that nothing sees ---------------------------------------------===//

/// Removes a store of an element that a later statement of \p block stores again.
static void dropOverwritten(mlir::Block &block) {
  NamedPolys polys;
  for (mlir::Operation &op : llvm::make_early_inc_range(block)) {
    auto store = mlir::dyn_cast<kb::StoreOp>(op);
    if (!store || store.getAtomic())
      continue;
    kb::OperandAttr target = store.getTarget();
    for (mlir::Operation *next = op.getNextNode(); next; next = next->getNextNode()) {
      bool isUsed = false;
      next->walk([&](mlir::Operation *each) {
        forEachLoad(each,
                    [&](kb::OperandAttr load) { isUsed |= load.getBase() == target.getBase(); });
      });
      auto other = mlir::dyn_cast<kb::StoreOp>(next);
      if (isUsed || (other && other.getAtomic()))
        break;
      if (other && other.getTarget().getBase() == target.getBase() &&
          other.getTarget().getBytes() == target.getBytes() &&
          polys.polyOf(other.getTarget().getOffset()) == polys.polyOf(target.getOffset())) {
        store.erase();
        break;
      }
    }
  }
}

std::vector<std::string> kbopt::dropDeadStores(const PassContext &context, LaunchedNest &fused) {
  dropOverwritten(fused.nest.getBody().front());
  fused.nest.walk([](kb::OverOp over) { dropOverwritten(over.getBody().front()); });
  std::set<std::string> loaded = loadedNames(fused.nest);
  std::vector<std::string> dropped;
  for (const PassedParameter &each : fused.parameters) {
    std::string name = each.parameter.getName().str();
    std::vector<kb::StoreOp> stores = storesOf(fused.nest, name);
    if (stores.empty() || loaded.count(name) ||
        llvm::any_of(stores, [](kb::StoreOp store) { return store.getAtomic().has_value(); }))
      continue;
    if (!isUsedOnlyBy(context, fused.launches, fused.parameters, name))
      continue;
    for (kb::StoreOp store : stores)
      store.erase();
    dropped.push_back(each.meaning.text);
  }
  fused.dropUnused();
  return dropped;
}
