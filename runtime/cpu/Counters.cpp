//===- Counters.cpp - sums of counters ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/Counters.h"

namespace kbrt {

void AccessCounters::add(const AccessCounters &o, double f) {
  requests += o.requests * f;
  lanes += o.lanes * f;
  bytesRequested += o.bytesRequested * f;
  bytesUsed += o.bytesUsed * f;
  sectors += o.sectors * f;
  idealSectors += o.idealSectors * f;
  l1HitSectors += o.l1HitSectors * f;
  lineWavefronts += o.lineWavefronts * f;
  sharedWavefronts += o.sharedWavefronts * f;
  idealSharedWavefronts += o.idealSharedWavefronts * f;
  atomicSerialisation += o.atomicSerialisation * f;
}

void LineCounters::add(const LineCounters &o, double f) {
  for (auto field :
       {&LineCounters::warpInstructions, &LineCounters::threadInstructions, &LineCounters::branches,
        &LineCounters::divergentBranches, &LineCounters::globalRequests,
        &LineCounters::globalSectors, &LineCounters::idealGlobalSectors,
        &LineCounters::sharedWavefronts, &LineCounters::idealSharedWavefronts})
    this->*field += o.*field * f;
}

void KernelCounters::add(const KernelCounters &o, double f) {
  for (auto field : {&KernelCounters::warpInstructions, &KernelCounters::threadInstructions,
                     &KernelCounters::branches, &KernelCounters::divergentBranches,
                     &KernelCounters::integerOperations, &KernelCounters::fp16Operations,
                     &KernelCounters::fp32Operations, &KernelCounters::fp64Operations,
                     &KernelCounters::tensorOperations})
    this->*field += o.*field * f;
  for (auto field : {&TrafficCounters::l1LoadSectors, &TrafficCounters::l1LoadHitSectors,
                     &TrafficCounters::l2ReadBytes, &TrafficCounters::l2WriteBytes,
                     &TrafficCounters::l2AtomicBytes})
    traffic.*field += o.traffic.*field * f;
  for (unsigned op = 0; op < opCount; ++op) {
    warpInstructionsByOp[op] += o.warpInstructionsByOp[op] * f;
    threadInstructionsByOp[op] += o.threadInstructionsByOp[op] * f;
  }
  for (auto field :
       {&KernelCounters::globalLoad, &KernelCounters::globalStore, &KernelCounters::globalAtomic,
        &KernelCounters::sharedLoad, &KernelCounters::sharedStore, &KernelCounters::sharedAtomic,
        &KernelCounters::localLoad, &KernelCounters::localStore, &KernelCounters::constantLoad})
    (this->*field).add(o.*field, f);
}

} // namespace kbrt
