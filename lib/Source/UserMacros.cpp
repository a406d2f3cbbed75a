//===- UserMacros.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "UserMacros.h"

#include "llvm/ADT/STLFunctionalExtras.h"

using namespace kbopt;
using llvm::StringRef;

/// The user's macros are in no file: messages and analyses see them where clang's own are.
static constexpr llvm::StringLiteral head = "#pragma once\n#line 1 \"<command line>\"\n";

/// The lines that stand for -D or -U (\p letter) of \p value; empty where the flag stays a flag.
static std::string linesFor(char letter, StringRef value) {
  const StringRef name = value.take_until([](char c) { return c == '=' || c == '('; });
  if (name.empty() || name.starts_with("_") || name.starts_with("CUDA_") || name == "NDEBUG")
    return "";
  const std::string removal = ("#undef " + name + "\n").str();
  if (letter == 'U')
    return removal;
  const auto [macro, body] = value.split('=');
  const StringRef meaning = value.contains('=') ? body.split('\n').first : "1";
  return removal + ("#define " + macro + " " + meaning + "\n").str();
}

/// Calls \p onMacro with the lines of each macro in \p flags that the header defines, and \p onFlag
/// with every other word.
static void forEachFlag(llvm::ArrayRef<std::string> flags,
                        llvm::function_ref<void(std::string)> onMacro,
                        llvm::function_ref<void(StringRef)> onFlag) {
  for (size_t i = 0; i < flags.size(); ++i) {
    const StringRef flag = flags[i];
    const bool isMacro = flag.starts_with("-D") || flag.starts_with("-U");
    const bool takesNext = flag == "-D" || flag == "-U" || flag == "-Xclang" || flag == "-mllvm";
    const bool hasNext = takesNext && i + 1 < flags.size();
    const StringRef value = hasNext ? StringRef(flags[i + 1]) : flag.drop_front(isMacro ? 2 : 0);
    if (std::string lines = isMacro ? linesFor(flag[1], value) : ""; !lines.empty()) {
      onMacro(std::move(lines));
    } else {
      onFlag(flag);
      if (hasNext)
        onFlag(value);
    }
    i += hasNext;
  }
}

std::string kbopt::userMacrosText(const CompileCommand &command) {
  std::string text = head.str();
  auto add = [&](llvm::ArrayRef<std::string> flags) {
    forEachFlag(flags, [&](const std::string &lines) { text += lines; }, [](StringRef) {});
  };
  add(command.clangFlags);
  text += "#ifndef __CUDA_ARCH__\n";
  add(command.hostFlags);
  text += "#endif\n";
  return text;
}

std::vector<std::string> kbopt::withoutUserMacros(llvm::ArrayRef<std::string> flags) {
  std::vector<std::string> others;
  forEachFlag(
      flags, [](const std::string &) {}, [&](StringRef flag) { others.push_back(flag.str()); });
  return others;
}
