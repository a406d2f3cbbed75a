//===- LiveCode.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/LiveCode.h"
#include "Steps.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;

namespace kbopt {
namespace cpu {
namespace {

/// cudaMalloc's: CUDA C++ Programming Guide, "Device Memory Accesses".
constexpr uint64_t allocationAlign = 256;

/// A special register of a launch: its value, or the end of what it may be.
struct Register {
  std::optional<uint32_t> value, end;
};

Register registerOf(StringRef name, const kbrt::LaunchStep &launch) {
  if (!name.consume_front("llvm.nvvm.read.ptx.sreg."))
    return {};
  auto dimension = [&](const kbrt::Dim3 &of) {
    return name.ends_with(".x") ? of.x : name.ends_with(".y") ? of.y : of.z;
  };
  const StringRef kind = name.split('.').first;
  if (kind == "ntid")
    return {dimension(launch.block), std::nullopt};
  if (kind == "nctaid")
    return {dimension(launch.grid), std::nullopt};
  if (kind == "tid")
    return {std::nullopt, dimension(launch.block)};
  if (kind == "ctaid")
    return {std::nullopt, dimension(launch.grid)};
  return {};
}

/// Puts what \p launch says of its shape in the place of special registers.
void fixShape(Module &module, const kbrt::LaunchStep &launch) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      auto *call = dyn_cast<CallInst>(&instruction);
      const Function *callee = call ? call->getCalledFunction() : nullptr;
      if (!callee)
        continue;
      const Register known = registerOf(callee->getName(), launch);
      if (known.value) {
        call->replaceAllUsesWith(ConstantInt::get(call->getType(), *known.value));
        call->eraseFromParent();
      } else if (known.end) {
        call->addRangeRetAttr(ConstantRange(APInt(32, 0), APInt(32, *known.end)));
      }
    }
}

/// The alignment of the pointer that the first word of \p argument is; 1 where it is not known.
uint64_t alignmentOf(const kbrt::Argument &argument, const kbrt::Plan &plan) {
  if (argument.pointers.size() != 1)
    return 1;
  const kbrt::Location &target = argument.pointers.front().target;
  if (plan.buffers[target.buffer].kind == kbrt::BufferKind::Symbol)
    return 1;
  return target.offset ? std::min(allocationAlign, target.offset & (~target.offset + 1))
                       : allocationAlign;
}

/// Puts the numbers that \p launch passes in the place of \p kernel's parameters.
void fixArguments(Function &kernel, const kbrt::LaunchStep &launch, const kbrt::Plan &plan) {
  for (auto [parameter, argument] : zip(kernel.args(), launch.arguments)) {
    Type *type = parameter.getType();
    if (type->isPointerTy() && !parameter.hasByValAttr()) {
      if (const uint64_t align = alignmentOf(argument, plan); align > 1) {
        parameter.removeAttr(Attribute::Alignment);
        parameter.addAttr(Attribute::getWithAlignment(kernel.getContext(), Align(align)));
      }
      continue;
    }
    const uint64_t bytes = kernel.getParent()->getDataLayout().getTypeStoreSize(type);
    if (bytes > argument.bytes.size() || bytes > sizeof(uint64_t) || !argument.pointers.empty())
      continue;
    uint64_t bits = 0;
    memcpy(&bits, argument.bytes.data(), bytes); // little endian
    if (type->isIntegerTy())
      parameter.replaceAllUsesWith(
          ConstantInt::get(type, APInt(type->getIntegerBitWidth(), bits, false, true)));
    else if (type->isFloatTy() || type->isDoubleTy())
      parameter.replaceAllUsesWith(ConstantFP::get(
          type, APFloat(type->getFltSemantics(), APInt(type->getScalarSizeInBits(), bits))));
  }
}

/// Leaves \p name as the only kernel; null if there is none of that name.
Function *keepKernel(ImageContext &context, StringRef name) {
  Function *kept = nullptr;
  for (Kernel &kernel : context.kernels)
    if (kernel.name == name) {
      kept = kernel.function;
    } else {
      kernel.function->deleteBody();
      kernel.function->setCallingConv(CallingConv::C);
    }
  erase_if(context.kernels, [&](const Kernel &kernel) { return kernel.name != name; });
  return kept;
}

} // namespace
} // namespace cpu

/// The places that \p launch may come to.
static Expected<std::set<kbrt::SourcePosition>>
placesOf(StringRef bitcode, const kbrt::LaunchStep &launch, const kbrt::Plan &plan) {
  LLVMContext llvmContext;
  SMDiagnostic problem;
  std::unique_ptr<Module> module =
      parseIR(MemoryBufferRef(bitcode, "device code"), problem, llvmContext);
  if (!module || !module->getTargetTriple().isNVPTX())
    return make_error<UsageError>("the device code is not readable", "", ExitStatus::Diagnostics);
  cpu::ImageContext context(*module, kbrt::ImageMode::Check);
  cpu::collectMetadata(context);
  Function *kernel = cpu::keepKernel(context, launch.kernel);
  if (!kernel)
    return make_error<UsageError>("no kernel '" + launch.kernel + "'", "", ExitStatus::Diagnostics);
  cpu::prepareDevice(context);
  cpu::translateInlineAsm(context);
  cpu::expandMemoryIntrinsics(context);
  cpu::fixShape(*module, launch);
  cpu::fixArguments(*kernel, launch, plan);
  if (Error error = cpu::optimizeDevice(context))
    return std::move(error);
  std::set<kbrt::SourcePosition> places;
  for (const Function &function : *module)
    for (const BasicBlock &block : function)
      places.merge(cpu::executedPlaces(context, block));
  return places;
}

/// What is known of \p launch, as words: equal ones reach the same.
static std::string knownOf(const kbrt::LaunchStep &launch, const kbrt::Plan &plan) {
  std::string known = launch.kernel;
  raw_string_ostream os(known);
  for (const kbrt::Dim3 &shape : {launch.grid, launch.block})
    os << ' ' << shape.x << ' ' << shape.y << ' ' << shape.z;
  for (const kbrt::Argument &argument : launch.arguments)
    if (argument.pointers.empty())
      os << ' ' << toHex(argument.bytes);
    else
      os << " a" << cpu::alignmentOf(argument, plan);
  return known;
}

Expected<std::optional<std::set<kbrt::SourcePosition>>> livePlaces(StringRef bitcode,
                                                                   const kbrt::Plan &plan) {
  constexpr size_t mostKinds = 32;
  std::set<std::string> kinds;
  std::set<kbrt::SourcePosition> all;
  for (const kbrt::Step &step : plan.steps) {
    const auto *launch = std::get_if<kbrt::LaunchStep>(&step);
    if (!launch || !kinds.insert(knownOf(*launch, plan)).second)
      continue;
    if (kinds.size() > mostKinds)
      return std::nullopt;
    Expected<std::set<kbrt::SourcePosition>> places = placesOf(bitcode, *launch, plan);
    if (!places)
      return places.takeError();
    all.merge(*places);
  }
  return all;
}

} // namespace kbopt
