//===- KernelNames.cpp - Names of second kernels --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how a kernel that a pass writes beside another is called, and telling such names from the
// user's.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/Dispatch.h"

using namespace kbopt;
using llvm::StringRef;

std::string kbopt::derivedName(const PassContext &context, StringRef base, StringRef suffix) {
  base = base.rsplit("::").second.empty() ? base : base.rsplit("::").second;
  if (base.contains('_'))
    return context.freshName((base + "_" + suffix).str());
  std::string capital = suffix.str();
  capital[0] = llvm::toUpper(capital[0]);
  return context.freshName(base.str() + capital);
}

bool kbopt::isDerivedName(StringRef name, StringRef base) {
  if (name == base)
    return false;
  for (StringRef word : {"_kernel", "Kernel"}) // joined kernels have it at the end
    base.consume_back(word);
  if (!name.consume_front(base))
    return false;
  // What a user numbers is a kernel of its own: scan2, scan_v2.
  StringRef number = name.ltrim("_vV");
  for (StringRef word : {"_kernel", "Kernel"})
    number.consume_back(word);
  return number.empty() ? name.empty() : !llvm::all_of(number, llvm::isDigit);
}
