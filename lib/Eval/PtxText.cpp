//===- PtxText.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/PtxText.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;

/// Whether \p line declares the entry \p kernel, with or without `.visible` and the like.
static bool isEntryOf(llvm::StringRef line, llvm::StringRef kernel) {
  size_t entry = line.find(".entry ");
  if (entry == llvm::StringRef::npos)
    return false;
  return line.drop_front(entry + 7).trim().take_while(
             [](char c) { return c != '(' && !llvm::isSpace(c); }) == kernel;
}

static bool saysNothing(llvm::StringRef line) {
  return line.empty() || line.starts_with("//") || line.starts_with(".loc") ||
         line.starts_with(".reg") || line.starts_with(".pragma") || line.starts_with("$L__tmp") ||
         line.starts_with("$L__func");
}

std::string kbopt::kernelPtx(llvm::StringRef ptx, llvm::StringRef kernel, unsigned maxLines) {
  std::string text;
  unsigned lines = 0, leftOut = 0;
  bool inside = false;
  while (!ptx.empty()) {
    auto [line, rest] = ptx.split('\n');
    ptx = rest;
    inside = inside || isEntryOf(line, kernel);
    if (!inside)
      continue;
    llvm::StringRef bare = line.split("//").first.trim();
    if (!saysNothing(bare)) {
      if (lines++ < maxLines)
        text += (bare + "\n").str();
      else
        ++leftOut;
    }
    if (bare == "}")
      break;
  }
  if (leftOut)
    text += "... " + std::to_string(leftOut) + " more lines\n";
  return text;
}
