//===- RowsPrinter.h - The text of a kernel for rows ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what printing a `rows` kernel has found out so far. Rows.cpp prints what a team does for a
// point, RowsKernel.cpp the kernel around it. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_ROWSPRINTER_H
#define KBOPT_LIB_SCHEDULE_ROWSPRINTER_H

#include "RowsNest.h"
#include "RowsOnline.h"
#include "Team.h"
#include "kb-opt/Schedule/Sketch.h"

namespace kbopt {

/// Every element that \p root, a statement or a loop, touches; the operands of stores as well,
/// which are marked.
llvm::SmallVector<std::pair<kb::OperandAttr, bool>> accessesOf(mlir::Operation *root);

/// The type of the variable that \p reduce changes.
llvm::StringRef typeOf(kb::NestOp nest, kb::ReduceOp reduce);

/// Prints one kernel.
class RowsPrinter {
public:
  RowsPrinter(kb::NestOp nest, llvm::StringRef name, const ChipInfo &chip)
      : nest(nest), chip(chip), schedule(nest.getScheduleAttr()), name(name.str()), text(nest),
        team(text, schedule.integer("team", 32), name), code(1) {}

  llvm::Expected<GeneratedKernel> run();

private:
  kb::NestOp nest;
  const ChipInfo &chip;
  Schedule schedule;
  std::string name;
  CudaText text;
  Team team;
  Needs needs;
  CodeLines code;
  LaneShape shape;
  RowCache cache;
  std::vector<Stream> held;                         ///< streams of the cache
  std::vector<std::pair<Stream, std::string>> sums; ///< of all rows of a block
  llvm::SmallVector<kb::OverOp> lanes;
  std::vector<OnlinePair> online;               ///< that one loop forms
  llvm::SmallPtrSet<mlir::Operation *, 8> done; ///< printed before their turn
  int64_t size = 32, rows = 1;
  /// Variables of sums that the team combines after a loop around the one that forms them, with
  /// those of a thread.
  std::map<std::string, std::string> deferred;
  bool reassociates = false, lanesAreUsed = false;
  int64_t registers = 32, exchanged = 0; ///< bytes of shared memory in which sums change hands
  /// What the team has touched since its last barrier: bases by key, "" for what is not one loop's
  /// own.
  std::map<std::string, std::map<std::string, bool>> touched;

  std::string whyNot();
  void nameThings();
  void chooseVectors();
  /// Words of a row that a thread keeps.
  int64_t heldElements();
  void printPoint(mlir::Block &block);
  bool isDeferred(kb::OverOp over);
  void laneLoop(kb::OverOp over);
  /// The two loops of \p pair as one.
  void onlineLoop(const OnlinePair &pair);
  void fillCache(kb::OverOp over, llvm::ArrayRef<Stream> streams, llvm::StringRef extent);
  void serialLoop(kb::OverOp over);
  void storesOfFirstLane(llvm::ArrayRef<kb::StoreOp> stores);
  std::string partialFor(kb::OverOp over, kb::ReduceOp reduce);
  /// Declares what each thread sums of \p reduces before \p over, and combines it afterwards.
  void startSums(kb::OverOp over, llvm::ArrayRef<kb::ReduceOp> reduces,
                 std::map<std::string, std::string> &partial);
  void endSums(llvm::ArrayRef<kb::ReduceOp> reduces,
               const std::map<std::string, std::string> &partial);
  llvm::SmallVector<kb::ReduceOp> sumsUntilEndOf(kb::OverOp over);
  void touch(llvm::ArrayRef<std::pair<kb::OperandAttr, bool>> accesses, kb::OverOp owner);
  bool isVectorLoop(kb::OverOp over);
  std::string comment(llvm::StringRef of) const;
  std::string launchBounds();
  int64_t blocksPerSm();
};

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_ROWSPRINTER_H
