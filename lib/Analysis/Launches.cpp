//===- Launches.cpp - What all launches of a kernel have in common ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Analysis/Launches.h"
#include "HostValues.h"
#include "kb-opt/Analysis/Legality.h"
#include "kb-opt/Source/ParsedProgram.h"

using namespace kbopt;

analysis::LaunchRanges kbopt::launchRangesOf(const ImportedProgram &program, kb::KernelOp kernel) {
  std::vector<LaunchFact> launches;
  for (kb::LaunchOp launch : program.launchesOf(kernel))
    launches.push_back(*program.factOf(launch));
  if (isNamedOutsideLaunches(program.source(), program.declOf(kernel)))
    return {};
  return analysis::launchRanges(program.source().context(), launches, kernel.getSymName());
}
