//===- LockFlags.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Lock/LockFlags.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using llvm::StringRef;

/// Whether clang's \p flag says where headers lie or what the compiler prints, and not what the
/// program means;
/// \p takesNext: its value is the next word.
static bool isAboutBuild(StringRef flag, bool &takesNext) {
  for (StringRef name : {"-isystem", "-include", "-iquote", "-idirafter", "-I", "-isysroot"})
    if (flag.starts_with(name)) {
      takesNext = flag == name;
      return true;
    }
  for (StringRef name :
       {"-ftemplate-depth=", "-W", "-w", "-g", "-pedantic", "-fdiagnostics", "-fcolor-diagnostics",
        "-fno-color-diagnostics", "-fPIC", "-fpic", "-fPIE", "-O", "-pipe"})
    if (flag.starts_with(name))
      return true;
  return false;
}

std::vector<std::string> kbopt::lockedFlags(const CompileCommand &command) {
  std::vector<std::string> flags;
  for (size_t i = 0; i < command.clangFlags.size(); ++i) {
    bool takesNext = false;
    if (!isAboutBuild(command.clangFlags[i], takesNext))
      flags.push_back(command.clangFlags[i]);
    i += takesNext;
  }
  if (!command.preciseDivision)
    flags.push_back("-prec-div=false");
  if (!command.preciseRoot)
    flags.push_back("-prec-sqrt=false");
  llvm::sort(flags);
  flags.erase(llvm::unique(flags), flags.end());
  return flags;
}

/// Adds the architectures that \p value names: "compute_90", "arch=compute_80,code=[sm_80,sm_86]",
/// "native".
static void addNames(StringRef value, std::vector<std::string> &names) {
  llvm::SmallVector<StringRef> words;
  llvm::SplitString(value, words, ",=[]\"' ");
  for (StringRef word : words) {
    if (word == "native" || word == "all" || word == "all-major")
      names.push_back(word.str());
    if (word.consume_front("sm_") || word.consume_front("compute_") || word.consume_front("lto_") ||
        llvm::all_of(word, llvm::isDigit))
      names.push_back("sm_" + word.str());
  }
}

std::vector<std::string> kbopt::lockedArchitectures(const CompileCommand &command) {
  std::vector<std::string> names;
  llvm::ArrayRef<std::string> all = command.original;
  for (size_t i = 0; i < all.size(); ++i)
    for (StringRef name : {"gpu-architecture", "arch", "gpu-code", "code", "generate-code",
                           "gencode", "cuda-gpu-arch", "offload-arch"}) {
      StringRef flag = all[i];
      if (!flag.consume_front("-"))
        break;
      flag.consume_front("-");
      if (flag == name && i + 1 < all.size())
        addNames(all[i + 1], names);
      else if (flag.consume_front(name) && flag.consume_front("="))
        addNames(flag, names);
    }
  if (names.empty())
    names.push_back(command.arch);
  llvm::sort(names);
  names.erase(llvm::unique(names), names.end());
  return names;
}
