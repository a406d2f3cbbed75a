//===- Raise.cpp - From a kernel to what it computes ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way of one kernel through the steps that ThreadProgram.h lists.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Raise/Raise.h"
#include "EmitNest.h"
#include "NestSystem.h"
#include "Online.h"
#include "SharedSums.h"
#include "Teams.h"
#include "ThreadReader.h"
#include "Tiles.h"
#include "kb-opt/Analysis/Launches.h"
#include "kb-opt/Raise/Legality.h"

using namespace kbopt;
using namespace kbopt::raise;

/// Reads \p kernel once more where its threads fill tiles together: \p program, which has a reason,
/// becomes what they compute without the tiles, or keeps the reason that says more.
static std::optional<TileBlock> undoTiles(const clang::FunctionDecl *kernel, LaunchSide side,
                                          ThreadProgram &program,
                                          analysis::LaunchRanges &launches) {
  ThreadProgram tiled = readThread(kernel, true, side);
  if (tiled.shared.empty())
    return std::nullopt;
  TileBlock block;
  analysis::LaunchRanges arranged = launches;
  auto step = [&](auto run) {
    if (tiled.reason.empty())
      run();
  };
  step([&] { forwardTiles(tiled, launches, block); });
  step([&] { cleanScalars(tiled); });
  step([&] { rollOutputs(tiled); });
  step([&] { cleanScalars(tiled); });
  step([&] { joinTileLoops(tiled); });
  step([&] { cleanScalars(tiled); });
  step([&] { arrangeBlock(tiled, block, arranged); });
  if (tiled.reason.empty()) {
    program = std::move(tiled);
    launches = arranged;
    return block;
  }
  llvm::StringRef before = program.reason;
  if (before.ends_with("in two dimensions") || before.starts_with("threads store to"))
    program.reason = tiled.reason;
  return std::nullopt;
}

/// How long the memory of one kernel may be compared.
static constexpr double mostSeconds = 2;

/// What \p kernel is where branches that go the same way in the whole launch take \p side. Null
/// where \p program got a reason.
static mlir::Operation *raiseSide(ImportedProgram &imported, kb::KernelOp kernel, LaunchSide side,
                                  mlir::OpBuilder &builder, ThreadProgram &program) {
  program = readThread(imported.declOf(kernel), false, side);
  std::vector<Dimension> dimensions;
  auto step = [&](auto run) {
    if (program.reason.empty())
      run();
  };
  analysis::LaunchRanges launches = launchRangesOf(imported, kernel);
  std::optional<Poly> width;
  step([&] { splitOnlineLoops(program); });
  step([&] { forwardSharedSums(program); });
  step([&] { width = undoCooperation(program, launches); });
  std::optional<TileBlock> block;
  if (!program.reason.empty())
    block = undoTiles(imported.declOf(kernel), side, program, launches);
  step([&] { dimensions = formPoints(program, launches); });
  if (width)
    restoreBlockWidth(program, dimensions, *width);
  if (block)
    restoreBlock(program, dimensions, *block);
  step([&] { reshapeLoops(program, dimensions); });
  step([&] { scalarize(program); });
  std::string doubtful;
  step([&] { doubtful = checkDependences(program, dimensions); });
  if (!doubtful.empty())
    requireRowLengths(program, dimensions);
  kb::NestOp nest;
  step([&] { nest = emitNest(program, dimensions, kernel, builder); });
  if (nest) {
    // The one proof knows products of sizes, the other one conditions.
    double begin = threadSeconds();
    Answer legal = isLegalNest(nest, mostSeconds, doubtful.empty());
    double left = std::max(0.0, mostSeconds - (threadSeconds() - begin));
    if (kb::NestOp wider = withLoopsAsDimensions(program, dimensions, kernel, builder, left)) {
      nest.erase();
      return wider;
    }
    if (legal.proven())
      return nest;
    nest.erase();
    program.reason = doubtful.empty() || legal.reason == tooLongToCompare ? legal.reason : doubtful;
  }
  return nullptr;
}

mlir::Operation *kbopt::raiseKernel(ImportedProgram &imported, kb::KernelOp kernel) {
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(&imported.program.getBody().front());
  ThreadProgram program;
  if (mlir::Operation *nest = raiseSide(imported, kernel, LaunchSide::Both, builder, program))
    return nest;
  for (LaunchSide side : {LaunchSide::Then, LaunchSide::Else})
    if (ThreadProgram half; program.hasLaunchChoice)
      if (mlir::Operation *nest = raiseSide(imported, kernel, side, builder, half))
        return nest;
  if (ThreadProgram whole; program.dividesSizes)
    if (mlir::Operation *nest = raiseSide(imported, kernel, LaunchSide::Multiples, builder, whole))
      return nest;
  return kb::UnraisedOp::create(builder, kernel.getLoc(), kernel.getSymName(), program.reason);
}

void kbopt::raiseProgram(ImportedProgram &program) {
  for (kb::KernelOp kernel : program.kernels())
    raiseKernel(program, kernel);
}
