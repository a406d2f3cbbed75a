//===- Declined.h - Why source text is left as it is ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the answer of everything that decides whether text of the user can be
// changed: it is no failure, and ends nothing.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_DECLINED_H
#define KBOPT_SOURCE_DECLINED_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>

namespace kbopt {

/// Why a pass leaves a site as it is, in the user's words. It becomes a missed remark; any other
/// error of a pass is a bug or one of the surroundings, and ends the run.
class Declined : public llvm::ErrorInfo<Declined> {
public:
  static char ID;
  explicit Declined(std::string reason) : reason(std::move(reason)) {}
  void log(llvm::raw_ostream &os) const override { os << reason; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  std::string reason;
};

/// `return decline("why");`
llvm::Error decline(const llvm::Twine &reason);

} // namespace kbopt

#endif // KBOPT_SOURCE_DECLINED_H
