//===- Step.h - One element of a pipeline -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the step as a value, and its text: what a search tries, what a pipeline
// lists, what a session applies and what is replayed are all steps. Parsing
// needs the passes and stands in kb-opt/Pipeline/PipelineText.h.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CORE_STEP_H
#define KBOPT_CORE_STEP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>

namespace kbopt {

/// A pass with its options at the sites that it is limited to: `pass{option=value kernel=name
/// site=2}`, or with a model's reply `pass{PARAMETER=value reply=digest kernel=name}`.
struct Step {
  /// The pass's own name, never an alias.
  std::string pass;
  /// Only this kernel, by its name in the source; empty for all.
  std::string kernel = {};
  /// Only this site, from 1 in source order among the selected kernels' sites; 0 for all.
  unsigned site = 0;
  /// Options that differ from their default; with a reply the values of the reply's parameters.
  std::map<std::string, std::string> parameters = {};
  /// Name of the reply file that the pass's assisted form applies; empty: the pass's own rule.
  std::string reply = {};

  auto operator<=>(const Step &) const = default;
  /// As a pipeline writes it. Values that the syntax would cut are quoted.
  std::string text() const;
};

/// The text that parses to \p steps: `a,b{width=8 kernel=k}`.
std::string printPipeline(llvm::ArrayRef<Step> steps);

} // namespace kbopt

#endif // KBOPT_CORE_STEP_H
