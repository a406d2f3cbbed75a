//===- Trajectory.h - Evidence as data for training ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what `kb-knowledge export` writes: every attempt as a supervised pair and
// as a reward-labelled step that names the step before it, one JSON object per
// line. The schema is docs/schemas/trajectory.schema.json.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_TRAJECTORY_H
#define KBOPT_KNOWLEDGE_TRAJECTORY_H

#include "kb-opt/Knowledge/EvidenceLog.h"

namespace kbopt {

/// Where an attempt stands in its search.
struct TrajectoryStep {
  Digest previous;               ///< the attempt that made the program it starts from; empty: none
  std::optional<unsigned> depth; ///< 0 from the original; nothing: what was before is not there
  std::string next;              ///< state that it led to, where a later attempt names it
};

/// Of every attempt of \p evidence that counts as an experiment of its own. A step follows
/// a correct one of the same program, chip and device with its pass and code; of
/// several the one with the least depth, then the smallest id.
std::map<Digest, TrajectoryStep> trajectories(const EvidenceSet &evidence);

/// Lines, pairs first, each in the order of ids.
std::string exportTrajectories(const EvidenceSet &evidence, bool pairs, bool steps);

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_TRAJECTORY_H
