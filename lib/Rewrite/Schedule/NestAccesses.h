//===- NestAccesses.h - What a nest loads and stores ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns questions about the array elements of a nest that several launches become: which loads
// and stores there are, and whether anything but the launches sees them.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_NESTACCESSES_H
#define KBOPT_LIB_REWRITE_SCHEDULE_NESTACCESSES_H

#include "LaunchedNest.h"
#include <set>

namespace kbopt {

bool isElement(kb::OperandAttr operand);

/// Calls \p visit for each array element that \p op itself loads.
void forEachLoad(mlir::Operation *op, llvm::function_ref<void(kb::OperandAttr)> visit);

/// The arrays of which \p nest loads elements.
std::set<std::string> loadedNames(kb::NestOp nest);

/// The stores of \p nest to the array \p name.
std::vector<kb::StoreOp> storesOf(kb::NestOp nest, llvm::StringRef name);

/// Whether the parameter \p name points to memory that nothing but \p launches uses and no other
/// one points to.
bool isUsedOnlyBy(const PassContext &context, llvm::ArrayRef<LaunchText> launches,
                  llvm::ArrayRef<PassedParameter> parameters, llvm::StringRef name);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_NESTACCESSES_H
