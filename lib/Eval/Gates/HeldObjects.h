//===- HeldObjects.h - What hosts do not give back --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_EVAL_GATES_HELDOBJECTS_H
#define KBOPT_LIB_EVAL_GATES_HELDOBJECTS_H

#include "kbrt/Plan.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace kbopt {

/// How two programs ended, on a case of one call and on one of several calls of the same sizes.
struct HeldByCalls {
  const kbrt::Outcome &originalOnce, &original, &candidateOnce, &candidate;
  unsigned calls;
};

/// What the candidate's function takes in each call and keeps, as a sentence's end ("device memory:
/// …"); nothing if it keeps no more from call to call than the original does. What it keeps once is
/// left out.
std::optional<std::string> findHeldByCalls(const HeldByCalls &ends);

/// The same of whole programs, by memory, streams and events that come again and again between
/// launches.
std::optional<std::string> findHeldByLaunches(const kbrt::Outcome &original,
                                              const kbrt::Outcome &candidate);

/// The lines of \p candidate that make objects of the kind \p what, those that \p original has not
/// before all others: "line 12", "lines 12 and 15"; empty if there is none.
std::string linesThatMake(llvm::StringRef what, llvm::StringRef original,
                          llvm::StringRef candidate);

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_GATES_HELDOBJECTS_H
