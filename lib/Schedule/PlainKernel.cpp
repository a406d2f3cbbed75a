//===- PlainKernel.cpp - A nest with one thread for each point --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Schedule/PlainKernel.h"
#include "Points.h"

using namespace kbopt;

/// Threads of a block: what most kernels are written with.
static constexpr const char *threads = "256";

llvm::Expected<GeneratedKernel> kbopt::printPlain(kb::NestOp nest, llvm::StringRef name,
                                                  llvm::StringRef comment) {
  if (std::string reason = whyNoBox(nest); !reason.empty())
    return llvm::createStringError(reason);
  CudaText text(nest);
  Needs needs;
  if (std::string reason = requireInts(text, needs); !reason.empty())
    return llvm::createStringError(reason);
  Box box(nest);
  if (box.size() == 0)
    return llvm::createStringError("it has a single point");
  GeneratedKernel kernel;
  kernel.name = name.str();
  std::string count = box.count(text, needs);
  bool isFactor = CudaText::isAtom(count) || llvm::StringRef(count).contains(" * ");
  kernel.gridX = "(" + (isFactor ? count : "(" + count + ")") + " + 255) / " + threads;
  kernel.blockX = threads;

  CodeLines code(1);
  std::string point = box.size() == 1 ? box.names.front().str() : text.freshName("point");
  code.line("const int " + point + " = blockIdx.x * blockDim.x + threadIdx.x;");
  code.line("if (" + point + " >= " + box.total(text) + ")").indent().line("return;").outdent();
  CodeLines statements(1);
  StatementPrinter{text, statements}.print(nest.getBody().front());
  std::string body = statements.take();
  if (box.size() > 1)
    box.declare(text, code, point, box.names.back(),
                [&](llvm::StringRef dim) { return mentions(body, dim); });
  llvm::StringSet<> unaliased = keepApart(text, needs);
  kernel.definition = comment.str() + "\n__global__ void " + kernel.name + "(" +
                      text.parameters(unaliased) + ") {\n" + code.take() + body + "}\n";
  kernel.extraParameters = text.extraParameters();
  kernel.conditions = needs.conditions;
  kernel.threads = 256;
  return kernel;
}
