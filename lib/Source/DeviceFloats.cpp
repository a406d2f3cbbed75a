//===- DeviceFloats.cpp - nvcc's floating-point defaults ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "DeviceSettling.h"

#include "ClangFlags.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace kbopt;

/// The name that a call of __nvvm_reflect asks for; empty if it cannot be told.
static llvm::StringRef askedName(const llvm::CallInst &call) {
  const auto *global =
      llvm::dyn_cast<llvm::GlobalVariable>(call.getArgOperand(0)->stripPointerCasts());
  if (!global || !global->hasInitializer())
    return "";
  const auto *data = llvm::dyn_cast<llvm::ConstantDataSequential>(global->getInitializer());
  if (!data || !data->isString())
    return "";
  return data->getAsString().rtrim('\0');
}

static uint64_t answerFor(llvm::StringRef name, const llvm::Module &module,
                          const CompileCommand &command) {
  if (name == "__CUDA_FTZ") {
    const auto *flag = llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(
        module.getModuleFlag("nvvm-reflect-ftz"));
    return flag ? flag->getZExtValue() : 0;
  }
  if (name == "__CUDA_PREC_SQRT")
    return command.preciseRoot;
  if (name == "__CUDA_PREC_DIV")
    return command.preciseDivision;
  if (name == "__CUDA_ARCH")
    return archNumber(command.arch) * 10;
  // What libdevice does not define is 0, as in LLVM's own pass.
  return 0;
}

static void answerReflection(llvm::Module &module, const CompileCommand &command) {
  llvm::Function *reflect = module.getFunction("__nvvm_reflect");
  if (!reflect)
    return;
  for (llvm::User *user : llvm::make_early_inc_range(reflect->users())) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(user);
    if (!call || call->getCalledFunction() != reflect)
      continue;
    call->replaceAllUsesWith(
        llvm::ConstantInt::get(call->getType(), answerFor(askedName(*call), module, command)));
    call->eraseFromParent();
  }
  if (reflect->use_empty())
    reflect->eraseFromParent();
}

static void allowApproximateDivision(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (instruction.getOpcode() == llvm::Instruction::FDiv &&
          instruction.getType()->getScalarType()->isFloatTy())
        instruction.setHasApproxFunc(true);
}

/// Instructions tell whether products and sums may become one, but inline PTX cannot: arithmetic
/// of half and bf16 is nothing else.
static void noteContraction(llvm::Module &module, const CompileCommand &command) {
  bool isOff = false;
  for (llvm::StringRef flag : command.clangFlags)
    if (flag.starts_with("-ffp-contract="))
      isOff = flag == "-ffp-contract=off";
  if (isOff && !module.getModuleFlag("kb-fmad-off"))
    module.addModuleFlag(llvm::Module::Override, "kb-fmad-off", 1);
}

void kbopt::settleFloats(llvm::Module &module, const CompileCommand &command) {
  answerReflection(module, command);
  noteContraction(module, command);
  if (!command.preciseDivision)
    allowApproximateDivision(module);
}

/// Removes clang's internal numbers of places from inline assembly: they depend
/// on how the headers were read, and the output must not.
static void dropPlaceNumbers(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      instruction.setMetadata("srcloc", nullptr);
}

llvm::Expected<std::string> kbopt::settleDeviceBitcode(llvm::StringRef bitcode,
                                                       const CompileCommand &command) {
  llvm::LLVMContext context;
  llvm::Expected<std::unique_ptr<llvm::Module>> module =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, command.shownFile), context);
  if (!module)
    return module.takeError();
  settleFloats(**module, command);
  makeAccessesPlain(**module);
  dropPlaceNumbers(**module);
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  llvm::WriteBitcodeToFile(**module, os);
  return bytes;
}
