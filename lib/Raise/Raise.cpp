//===- Raise.cpp - From a kernel to what it computes ------------------------===//

#include "kb-opt/Raise/Raise.h"

using namespace kbopt;

mlir::Operation *kbopt::raiseKernel(ImportedProgram &program, kb::KernelOp kernel) {
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(&program.program.getBody().front());
  return kb::UnraisedOp::create(builder, kernel.getLoc(), kernel.getSymName(), "raising is not written yet");
}

void kbopt::raiseProgram(ImportedProgram &program) {
  for (kb::KernelOp kernel : program.kernels())
    raiseKernel(program, kernel);
}
