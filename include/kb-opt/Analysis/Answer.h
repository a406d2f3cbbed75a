//===- Answer.h - Three-valued answers --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the answer to a yes-or-no question that analysis may be unable to
// decide, with the reason in words.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_ANALYSIS_ANSWER_H
#define KBOPT_ANALYSIS_ANSWER_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace kbopt {

/// `Proven`: yes, always. `Refuted`: no, there is a counterexample.
/// `Unknown`: neither could be shown; treat as the unsafe one of the two.
enum class Truth { Proven, Refuted, Unknown };

/// "proven", "refuted", "unknown".
llvm::StringRef truthName(Truth truth);

/// A truth and why: lower case, no full stop, names the user's objects, fit for
/// a missed remark.
struct Answer {
  Truth truth = Truth::Unknown;
  std::string reason;

  bool proven() const { return truth == Truth::Proven; }
  bool refuted() const { return truth == Truth::Refuted; }
  bool unknown() const { return truth == Truth::Unknown; }

  static Answer yes(std::string reason = "") { return {Truth::Proven, std::move(reason)}; }
  static Answer no(std::string reason) { return {Truth::Refuted, std::move(reason)}; }
  static Answer dontKnow(std::string reason) { return {Truth::Unknown, std::move(reason)}; }
};

} // namespace kbopt

#endif // KBOPT_ANALYSIS_ANSWER_H
