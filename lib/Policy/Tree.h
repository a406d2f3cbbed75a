//===- Tree.h - STARK's tree search -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the strategy `tree`: one move at a time to the fastest program so far or,
// with probability epsilon, to any leaf; the original has few children, and a
// program whose children all fail is left alone (STARK, section 4.2).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_POLICY_TREE_H
#define KBOPT_LIB_POLICY_TREE_H

#include "kb-opt/Policy/Search.h"

namespace kbopt {

class TreeStrategy : public Strategy {
protected:
  llvm::Expected<SearchEnd> explore(Explorer &explorer) override;
};

} // namespace kbopt

#endif // KBOPT_LIB_POLICY_TREE_H
