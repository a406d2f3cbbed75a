//===- Installation.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/Installation.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

std::optional<std::string> kbopt::findBeside(llvm::StringRef program) {
  static int anchor;
  std::string self = llvm::sys::fs::getMainExecutable(nullptr, &anchor);
  llvm::SmallString<128> sibling(llvm::sys::path::parent_path(self));
  llvm::sys::path::append(sibling, program);
  if (llvm::sys::fs::can_execute(sibling))
    return sibling.str().str();
  return std::nullopt;
}

std::optional<std::string> kbopt::findKbRun() {
  if (auto beside = findBeside("kb-run"))
    return beside;
  if (auto found = llvm::sys::findProgramByName("kb-run"))
    return *found;
  return std::nullopt;
}
