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

/// Whether threads wait for each other or exchange values.
static bool cooperates(ThreadProgram &program) {
  bool does = false;
  walk(program.body, [&](Statement &each) {
    does |= each.kind == Statement::Barrier;
    forEachOperand(each, [&](Operand &operand) {
      does |= operand.kind == Operand::Collective || operand.base.memory == Base::Shared;
    });
    return !does;
  });
  return does;
}

/// \p nest, of which no proof shows that its points are independent, where that follows from what
/// the kernel does being defined: each point is one thread, or one block, and nothing orders these.
/// Null, and the nest erased, where that does not do.
static kb::NestOp restOnRaces(ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions,
                              kb::KernelOp kernel, mlir::OpBuilder &builder) {
  kb::NestOp nest = emitNest(program, dimensions, kernel, builder);
  if (!nest)
    return nullptr;
  // Points of one thread are in order; they may differ along one dimension if they are apart there.
  std::vector<Poly> known = program.requirements;
  bool isApart = false;
  for (auto &[variable, condition] : program.onePoint) {
    auto *at =
        llvm::find_if(dimensions, [&, id = variable](auto &each) { return each.variable == id; });
    if (isApart || at == dimensions.end() ||
        !isApartAlong(nest, at - dimensions.begin(), mostSeconds))
      program.requirements.push_back(condition);
    else
      isApart = true;
  }
  if (program.requirements.size() > known.size()) {
    nest.erase();
    nest = emitNest(program, dimensions, kernel, builder);
    program.requirements = std::move(known);
    if (!nest)
      return nullptr;
  }
  if (auto shared = basesThatMayMeet(nest, mostSeconds)) {
    llvm::SmallVector<llvm::StringRef> names(shared->begin(), shared->end());
    nest.setRacefreeAttr(builder.getStrArrayAttr(names));
    if (isLegalNest(nest, mostSeconds).proven())
      return nest;
  }
  nest.erase();
  return nullptr;
}

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
  step([&] { keepOwnSums(program); });
  bool exchanges = cooperates(program);
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
    if (program.isPointWhole && (!exchanges || program.isPointBlock))
      if (kb::NestOp racefree = restOnRaces(program, dimensions, kernel, builder))
        return racefree;
    program.reason = doubtful.empty() || legal.reason == tooLongToCompare ? legal.reason : doubtful;
  }
  return nullptr;
}

mlir::Operation *kbopt::raiseKernel(ImportedProgram &imported, kb::KernelOp kernel) {
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(&imported.program.getBody().front());
  ThreadProgram program;
  mlir::Operation *racefree = nullptr; // the first one
  auto isRaised = [&](mlir::Operation *nest) {
    if (!nest || mlir::cast<kb::NestOp>(nest).getRacefree()) {
      if (racefree && nest)
        nest->erase();
      else if (nest)
        racefree = nest;
      return false;
    }
    if (racefree)
      racefree->erase();
    return true;
  };
  if (mlir::Operation *nest = raiseSide(imported, kernel, LaunchSide::Both, builder, program);
      isRaised(nest))
    return nest;
  for (LaunchSide side : {LaunchSide::Then, LaunchSide::Else})
    if (ThreadProgram half; program.hasLaunchChoice)
      if (mlir::Operation *nest = raiseSide(imported, kernel, side, builder, half); isRaised(nest))
        return nest;
  if (ThreadProgram whole; program.dividesSizes)
    if (mlir::Operation *nest = raiseSide(imported, kernel, LaunchSide::Multiples, builder, whole);
        isRaised(nest))
      return nest;
  if (racefree)
    return racefree;
  return kb::UnraisedOp::create(builder, kernel.getLoc(), kernel.getSymName(), program.reason);
}

void kbopt::raiseProgram(ImportedProgram &program) {
  for (kb::KernelOp kernel : program.kernels())
    raiseKernel(program, kernel);
}
