//===- DeviceUnits.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "DeviceUnits.h"
#include "kb-opt/Source/BuildTarget.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
using namespace llvm;

static bool isKernel(const GlobalValue &global) {
  const auto *function = dyn_cast<Function>(&global);
  return function && function->getCallingConv() == CallingConv::PTX_Kernel;
}

/// Whether a host may ask for \p global by its name.
static bool isShared(const GlobalValue &global) {
  if (isa<Function>(global))
    return isKernel(global);
  return isa<GlobalVariable>(global) && global.hasExternalLinkage();
}

/// What files have of themselves is theirs alone; of \p relocatable ones nvlink shares what is
/// external.
static void hideOwn(Module &module, bool relocatable) {
  for (GlobalValue &global : module.global_values())
    if (!global.isDeclaration() && !isShared(global) && !global.hasAppendingLinkage() &&
        !(relocatable && global.hasExternalLinkage()) && !global.getName().starts_with("llvm.")) {
      global.setLinkage(GlobalValue::InternalLinkage);
      if (auto *object = dyn_cast<GlobalObject>(&global))
        object->setComdat(nullptr);
    }
}

/// Whether \p a and \p b consist of the same instructions, as far as their opcodes and types tell.
static bool lookAlike(const Function &a, const Function &b) {
  auto first = instructions(a), second = instructions(b);
  return std::equal(first.begin(), first.end(), second.begin(), second.end(),
                    [](const Instruction &x, const Instruction &y) {
                      return x.getOpcode() == y.getOpcode() && x.getType() == y.getType();
                    });
}

/// Whether two files have the kernel from one place: an instance of a template, or a kernel of a
/// header. Clang makes both external where device code is not relocatable.
static bool isOneKernel(const GlobalValue &a, const GlobalValue &b) {
  const auto *first = dyn_cast<Function>(&a), *second = dyn_cast<Function>(&b);
  const DISubprogram *one = first ? first->getSubprogram() : nullptr,
                     *other = second ? second->getSubprogram() : nullptr;
  return one && other && one->getLine() == other->getLine() &&
         one->getFilename() == other->getFilename() && lookAlike(*first, *second);
}

Expected<std::map<std::string, std::string>> kbopt::kernelFiles(StringRef path) {
  Expected<std::string> bitcode = realFileSystem().read(path);
  if (!bitcode)
    return bitcode.takeError();
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module =
      parseBitcodeFile(MemoryBufferRef(*bitcode, path), context);
  if (!module)
    return module.takeError();
  std::map<std::string, std::string> files;
  for (const Function &function : **module)
    if (const DISubprogram *program = function.getSubprogram();
        program && program->getUnit() && function.getCallingConv() == CallingConv::PTX_Kernel) {
      const DICompileUnit &unit = *program->getUnit();
      SmallString<128> file(unit.getFilename());
      sys::path::make_absolute(unit.getDirectory(), file);
      sys::path::remove_dots(file, /*remove_dot_dot=*/true);
      files[function.getName().str()] = file.str().str();
    }
  return files;
}

/// The last part of the name of \p global as the source has it; empty where that is no identifier.
static std::string identifierOf(const GlobalValue &global) {
  std::string name = demangle(global.getName());
  name.resize(std::min(name.find('('), name.size()));
  if (const size_t colons = name.rfind("::"); colons != std::string::npos)
    name.erase(0, colons + 2);
  const bool isIdentifier =
      llvm::all_of(name, [](char c) { return isAlnum(c) || c == '_'; }) && !name.empty();
  return isIdentifier ? name : "";
}

Expected<std::vector<std::vector<std::string>>> kbopt::takenNames(ArrayRef<DeviceUnit> units) {
  std::vector<std::vector<std::string>> taken(units.size());
  StringSet<> known;
  for (const auto &[number, unit] : enumerate(units)) {
    LLVMContext context;
    Expected<std::unique_ptr<Module>> module =
        parseBitcodeFile(MemoryBufferRef(unit.bitcode, unit.name), context);
    if (!module)
      return module.takeError();
    for (const GlobalValue &global : (*module)->global_values()) {
      if (global.isDeclaration() || !global.hasExternalLinkage() || isKernel(global) ||
          known.insert(global.getName()).second)
        continue;
      if (std::string name = identifierOf(global);
          !name.empty() && !is_contained(taken[number], name))
        taken[number].push_back(std::move(name));
    }
  }
  return taken;
}

/// Fails where \p module, all that the build links, uses a function of C++ that it does not have.
static Error checkResolved(const Module &module, StringRef name) {
  for (const Function &function : module)
    if (function.isDeclaration() && !function.use_empty() && function.getName().starts_with("_Z"))
      return make_error<UsageError>(
          "'" + name.str() + "' and the files that it is linked with use '" +
              demangle(function.getName()) + "', which none of them defines",
          "kb-opt takes device code from the CUDA files of the build, not from libraries",
          ExitStatus::Diagnostics);
  return Error::success();
}

Expected<std::string> kbopt::linkDeviceUnits(ArrayRef<DeviceUnit> units) {
  LLVMContext context;
  std::unique_ptr<Module> all;
  StringMap<StringRef> owners; ///< of kernels and variables, by name
  for (const DeviceUnit &unit : units) {
    Expected<std::unique_ptr<Module>> module =
        parseBitcodeFile(MemoryBufferRef(unit.bitcode, unit.name), context);
    if (!module)
      return module.takeError();
    hideOwn(**module, unit.relocatable);
    for (GlobalValue &global : (*module)->global_values()) {
      if (global.isDeclaration() || !global.hasExternalLinkage())
        continue;
      auto [known, isNew] = owners.try_emplace(global.getName(), unit.name);
      if (isNew)
        continue;
      if (!isOneKernel(*all->getNamedValue(global.getName()), global))
        return make_error<UsageError>(
            "'" + demangle(global.getName()) + "' is defined in '" + known->second.str() +
                "' and in '" + unit.name + "'",
            "give them different names: kb-opt puts the device code of a program together",
            ExitStatus::Diagnostics);
      cast<Function>(global).deleteBody();
    }
    if (!all)
      all = std::move(*module);
    else if (Linker::linkModules(*all, std::move(*module)))
      return make_error<ToolError>("cannot link the device code of '" + unit.name + "'",
                                   std::vector<std::string>{}, -1, "", "", ExitStatus::Diagnostics);
  }
  if (units.front().relocatable)
    if (Error error = checkResolved(*all, units.front().name))
      return std::move(error);
  std::string bytes;
  raw_string_ostream os(bytes);
  WriteBitcodeToFile(*all, os);
  return bytes;
}
