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

void LineCounters::scale(double f) {
  for (double *value :
       {&warpInstructions, &threadInstructions, &branches, &divergentBranches, &globalRequests,
        &globalSectors, &idealGlobalSectors, &sharedWavefronts, &idealSharedWavefronts})
    *value *= f;
}

void KernelCounters::scale(double f) {
  for (double *value : {&warpInstructions, &threadInstructions, &branches, &divergentBranches,
                        &integerOperations, &fp16Operations, &fp32Operations, &fp64Operations,
                        &tensorOperations, &traffic.l1LoadSectors, &traffic.l1LoadHitSectors,
                        &traffic.l2ReadBytes, &traffic.l2WriteBytes, &traffic.l2AtomicBytes})
    *value *= f;
  for (unsigned op = 0; op < opCount; ++op) {
    warpInstructionsByOp[op] *= f;
    threadInstructionsByOp[op] *= f;
  }
  for (AccessCounters *access :
       {&globalLoad, &globalStore, &globalAtomic, &sharedLoad, &sharedStore, &sharedAtomic,
        &localLoad, &localStore, &constantLoad}) {
    AccessCounters once = *access;
    *access = {};
    access->add(once, f);
  }
}

} // namespace kbrt
