//===- Secrets.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/Secrets.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace kbopt;

std::string kbopt::defaultKeyFile() {
  llvm::SmallString<128> path;
  auto base = llvm::sys::Process::GetEnv("XDG_CONFIG_HOME");
  if (base && llvm::sys::path::is_absolute(*base)) {
    path = *base;
  } else {
    llvm::sys::path::home_directory(path);
    llvm::sys::path::append(path, ".config");
  }
  llvm::sys::path::append(path, "kb-opt", "keys");
  return path.str().str();
}

bool kbopt::isSecretVariable(llvm::StringRef name) {
  return name == "KBOPT_LLM_KEY" || name.ends_with("_API_KEY") || name == "API_KEY";
}
