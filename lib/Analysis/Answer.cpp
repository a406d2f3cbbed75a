//===- Answer.cpp - Three-valued answers -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the names of the three values.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Analysis/Answer.h"

namespace kbopt {

llvm::StringRef truthName(Truth truth) {
  switch (truth) {
  case Truth::Proven:
    return "proven";
  case Truth::Refuted:
    return "refuted";
  case Truth::Unknown:
    return "unknown";
  }
  llvm_unreachable("three values");
}

} // namespace kbopt
