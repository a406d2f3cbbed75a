//===- CandidateSetup.h - One original and what judges candidates -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the list of what a search for candidates of one program works with.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_CANDIDATESETUP_H
#define KBOPT_CANDIDATE_CANDIDATESETUP_H

#include "kb-opt/Candidate/CandidateTools.h"
#include "kb-opt/Candidate/RecordedCases.h"
#include "kb-opt/Eval/Cards.h"
#include "kb-opt/Eval/GpuDevice.h"
#include "kb-opt/Eval/Judge.h"
#include "kb-opt/Store/Journal.h"

namespace kbopt {

/// All that it refers to outlives it and what is made from it.
struct CandidateSetup {
  const CandidateTools &tools;
  const ChipInfo &chip;
  const Workload &workload;
  const ProgramArtefacts &original;
  Digest originalHost; ///< of its host text (HostText.h)
  RecordedCases &cases;
  Judge &judge;
  GpuDevice *gpu;    ///< null: times are modelled
  GpuFacts gpuFacts; ///< of `gpu`
  Journal &journal;
  /// Names all that decides answers and is the same for the whole run: command, workload, chip,
  /// device, passes and versions. Part of every request to the journal.
  Digest run;
  std::string folder;              ///< for files of this run
  std::vector<Card> cards{Card()}; ///< GPUs of this machine that candidates are spread over
};

} // namespace kbopt

#endif // KBOPT_CANDIDATE_CANDIDATESETUP_H
