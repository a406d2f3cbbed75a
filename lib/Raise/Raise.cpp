//===- Raise.cpp - From a kernel to what it computes ------------------------===//
//
// Owns the way of one kernel through the steps that ThreadProgram.h lists.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Raise/Raise.h"
#include "EmitNest.h"
#include "Teams.h"
#include "ThreadReader.h"
#include "kb-opt/Analysis/Launches.h"
#include "kb-opt/Raise/Legality.h"

using namespace kbopt;
using namespace kbopt::raise;

mlir::Operation *kbopt::raiseKernel(ImportedProgram &imported, kb::KernelOp kernel) {
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(&imported.program.getBody().front());
  ThreadProgram program = readThread(imported.declOf(kernel));
  std::vector<Dimension> dimensions;
  auto step = [&](auto run) {
    if (program.reason.empty())
      run();
  };
  analysis::LaunchRanges launches = launchRangesOf(imported, kernel);
  std::optional<Poly> width;
  step([&] { width = undoCooperation(program, launches); });
  step([&] { dimensions = formPoints(program, launches); });
  if (width)
    restoreBlockWidth(program, dimensions, *width);
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
    Answer legal = isLegalNest(nest, 2, doubtful.empty());
    if (kb::NestOp wider = withLoopsAsDimensions(program, dimensions, kernel, builder)) {
      nest.erase();
      return wider;
    }
    if (legal.proven())
      return nest;
    nest.erase();
    program.reason = doubtful.empty() ? legal.reason : doubtful;
  }
  return kb::UnraisedOp::create(builder, kernel.getLoc(), kernel.getSymName(), program.reason);
}

void kbopt::raiseProgram(ImportedProgram &program) {
  for (kb::KernelOp kernel : program.kernels())
    raiseKernel(program, kernel);
}
