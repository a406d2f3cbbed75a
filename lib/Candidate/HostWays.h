//===- HostWays.h - The ways that hosts were seen to take -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the notes of the branches of candidates' hosts, and which of them runs took.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_HOSTWAYS_H
#define KBOPT_LIB_CANDIDATE_HOSTWAYS_H

#include "kb-opt/Candidate/CandidateTools.h"
#include "kb-opt/Candidate/HostBranches.h"
#include "kb-opt/Eval/Judge.h"
#include "kb-opt/Support/OnceMap.h"
#include <mutex>

namespace kbopt {

/// Whether a run counts, or only the calls that it made: nothing was computed in it.
enum class HostRunKind : uint8_t { Whole, CallsAlone };

/// Thread-safe.
class HostWays {
public:
  /// \p original is a whole program, or the file of a function that drivers call.
  HostWays(const CandidateTools &tools, std::string original, bool isProgram)
      : tools(tools), original(std::move(original)), isProgram(isProgram) {}

  /// The host side of the program \p text, with the notes of its branches.
  llvm::Expected<const NotedHost &> noted(const std::string &text);
  /// A run of \p text took the branches of these numbers.
  void take(const std::string &text, llvm::ArrayRef<uint32_t> numbers, HostRunKind kind);
  /// What runs of \p text have not taken, in words. \p isClosed: sidesNotSeen's.
  llvm::Expected<std::vector<std::string>> notTaken(const std::string &text, bool isClosed);

private:
  struct Taken {
    std::set<unsigned> run, called;
  };
  const CandidateTools &tools;
  const std::string original;
  const bool isProgram;
  OnceMap<Digest, NotedHost> hosts; ///< by text
  std::mutex mutex;                 ///< of what follows
  std::map<Digest, Taken> taken;    ///< by text
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_HOSTWAYS_H
