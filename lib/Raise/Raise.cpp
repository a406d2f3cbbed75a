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
static std::optional<TileBlock> undoTiles(const clang::FunctionDecl *kernel, const Reading &reading,
                                          ThreadProgram &program,
                                          analysis::LaunchRanges &launches) {
  ThreadProgram tiled = readThread(kernel, true, reading);
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

/// What of \p kernel \p reading reads. Null where \p program got a reason.
static kb::NestOp raiseReading(ImportedProgram &imported, kb::KernelOp kernel,
                               const Reading &reading, mlir::OpBuilder &builder,
                               ThreadProgram &program) {
  program = readThread(imported.declOf(kernel), false, reading);
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
    block = undoTiles(imported.declOf(kernel), reading, program, launches);
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
  step([&] { joinLoops(program); });
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

/// What \p kernel, or the body of it that \p reading reads, computes at every launch, or at those
/// where branches that go the same way in the whole launch take one side. Null where \p reason says
/// why not.
static kb::NestOp raiseSides(ImportedProgram &imported, kb::KernelOp kernel, Reading reading,
                             mlir::OpBuilder &builder, std::string &reason) {
  ThreadProgram program;
  kb::NestOp racefree; // the first one
  auto isRaised = [&](kb::NestOp nest) {
    if (!nest || nest.getRacefree()) {
      if (racefree && nest)
        nest.erase();
      else if (nest)
        racefree = nest;
      return false;
    }
    if (racefree)
      racefree.erase();
    return true;
  };
  if (kb::NestOp nest = raiseReading(imported, kernel, reading, builder, program); isRaised(nest))
    return nest;
  llvm::SmallVector<LaunchSide> sides;
  if (program.hasLaunchChoice)
    sides = {LaunchSide::Then, LaunchSide::Else};
  if (program.dividesSizes)
    sides.push_back(LaunchSide::Multiples);
  for (LaunchSide side : sides) {
    ThreadProgram part;
    reading.side = side;
    if (kb::NestOp nest = raiseReading(imported, kernel, reading, builder, part); isRaised(nest))
      return nest;
  }
  reason = program.reason;
  return racefree;
}

/// What \p kernel is whose last block ends the work, as \p split says. Null where \p reason says
/// why not.
static kb::SequenceOp raiseSequence(ImportedProgram &imported, kb::KernelOp kernel,
                                    const LastBlock &split, mlir::OpBuilder &builder,
                                    std::string &reason) {
  auto sequence =
      kb::SequenceOp::create(builder, kernel.getLoc(), kernel.getSymName(), split.counter);
  mlir::OpBuilder inside = mlir::OpBuilder::atBlockEnd(&sequence.getBody().emplaceBlock());
  std::string why;
  if (!raiseSides(imported, kernel, {LaunchSide::Both, &split, false}, inside, why)) {
    reason = "of what all its blocks do: " + why;
  } else if (kb::NestOp last =
                 raiseSides(imported, kernel, {LaunchSide::Both, &split, true}, inside, why);
             !last) {
    reason = "of what its last block does: " + why;
  } else if (last.getFilled()) {
    reason = "its last block may read what the block left in shared memory before";
  } else {
    return sequence;
  }
  sequence.erase();
  return nullptr;
}

mlir::Operation *kbopt::raiseKernel(ImportedProgram &imported, kb::KernelOp kernel) {
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(&imported.program.getBody().front());
  std::string reason;
  if (kb::NestOp nest = raiseSides(imported, kernel, {}, builder, reason))
    return nest;
  const clang::FunctionDecl *function = imported.declOf(kernel);
  if (std::optional<LastBlock> split = function ? findLastBlock(function) : std::nullopt)
    if (kb::SequenceOp sequence = raiseSequence(imported, kernel, *split, builder, reason))
      return sequence;
  return kb::UnraisedOp::create(builder, kernel.getLoc(), kernel.getSymName(), reason);
}

void kbopt::raiseProgram(ImportedProgram &program) {
  for (kb::KernelOp kernel : program.kernels())
    raiseKernel(program, kernel);
}
