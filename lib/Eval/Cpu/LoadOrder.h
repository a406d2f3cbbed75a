//===- LoadOrder.h - Which loads can wait together --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is statically known of a load's neighbours: whether a store that may change what it
// reads keeps it behind another load, and whether the iterations of its loop stay apart.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_LOADORDER_H
#define KBOPT_LIB_EVAL_CPU_LOADORDER_H

#include "Accesses.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/LoopInfo.h"

namespace kbopt::cpu {

struct LoadOrder {
  /// Loads of one loop body between which no store may alias share a number of the image, from 1
  /// on.
  unsigned group = 0;
  /// The compiler cannot let loads of several iterations wait together: a store of the loop may
  /// alias, or a pragma keeps the loop as it is.
  bool isAlone = false;
};

/// Of the loads of \p function. \p groups numbers on from call to call.
llvm::DenseMap<const llvm::Instruction *, LoadOrder> loadOrders(llvm::Function &function,
                                                                const llvm::LoopInfo &loops,
                                                                llvm::ArrayRef<Access> accesses,
                                                                unsigned &groups);

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_LOADORDER_H
