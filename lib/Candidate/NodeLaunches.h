//===- NodeLaunches.h - Which kernels programs launch -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what recorded runs tell of the kernels of programs in a search: how each is launched, and
// which are not.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_NODELAUNCHES_H
#define KBOPT_LIB_CANDIDATE_NODELAUNCHES_H

#include "NodePlans.h"
#include "kb-opt/Rewrite/RecordedLaunch.h"
#include <set>

namespace kbopt {

/// Thread-safe.
class NodeLaunches {
public:
  NodeLaunches(const CandidateSetup &setup, NodeTable &nodes, NodePlans &plans)
      : setup(setup), nodes(nodes), plans(plans) {}

  /// Kernels of the original that its recorded run does not launch: nothing done to them shows.
  llvm::Expected<const std::set<std::string> &> idleKernels();
  /// With a GPU: learns how \p id launches its kernels; before its parsed program is used to look
  /// for actions.
  void lookUp(const NodeId &id);
  /// How \p text, or else the original, launches \p kernel (mangled) when it is recorded; null if
  /// they do not.
  const RecordedLaunch *find(llvm::StringRef text, llvm::StringRef kernel);
  /// The kernels that the recorded run of \p program launches, the others being fallbacks; empty if
  /// that is not known. \p parsed: the program.
  std::set<std::string> kernelsLeft(const NodeProgram &program, const ParsedProgram &parsed);
  /// A kernel of \p code that the program \p before does not have, where no such kernel is among
  /// the \p launched ones (mangled); empty where one is, where there is none, and where that is not
  /// known.
  std::string idleAddition(const NodeId &before, const DeviceCode &code,
                           const std::set<std::string> &launched);

private:
  using Launches = llvm::StringMap<RecordedLaunch>;
  llvm::Expected<Launches> record(llvm::StringRef text);

  const CandidateSetup &setup;
  NodeTable &nodes;
  NodePlans &plans;
  OnceMap<unsigned, std::set<std::string>> idle; ///< idleKernels
  OnceMap<Digest, Launches> launches; ///< by text; those of the largest launch of each kernel
};

/// Why a candidate that adds the kernel \p idle is refused.
std::string idleReason(llvm::StringRef idle);

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_NODELAUNCHES_H
