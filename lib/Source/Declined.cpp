//===- Declined.cpp - Why source text is left as it is --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/Declined.h"

using namespace kbopt;

char Declined::ID;

llvm::Error kbopt::decline(const llvm::Twine &reason) {
  return llvm::make_error<Declined>(reason.str());
}
