//===- Beam.h - A beam of different families --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the strategy `beam`: the fastest programs of different families go forward
// together, winners are crossed in every round, and a round that brings little is
// the last (after RLM-kernel-optimizer, search/beam_search.py).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_POLICY_BEAM_H
#define KBOPT_LIB_POLICY_BEAM_H

#include "kb-opt/Policy/Search.h"

namespace kbopt {

class BeamStrategy : public Strategy {
protected:
  llvm::Expected<SearchEnd> explore(Explorer &explorer) override;
};

} // namespace kbopt

#endif // KBOPT_LIB_POLICY_BEAM_H
