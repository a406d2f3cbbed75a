//===- Rules.cpp - What findings can say ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Core/Step.h"
#include "kb-opt/Findings/Finding.h"

using namespace kbopt;

static constexpr FindingRule rules[] = {
    {"uncoalesced-access",
     "Neighbouring threads access memory far apart",
     {"coalesce-accesses", "schedule", "aos-to-soa", "stage-transpose-in-shared"},
     ""},
    {"bank-conflict",
     "Threads of a warp wait for one bank of shared memory",
     {"pad-shared-array", "swizzle-shared-array"},
     ""},
    {"possible-race", "Two threads may access the same element without order", {}, ""},
    {"benign-race", "Threads store the same value to one element without order", {}, ""},
    {"single-thread", "One thread does all the work of a launch", {}, ""},
    {"redundant-barrier",
     "A barrier orders nothing",
     {"remove-redundant-barrier"},
     "this barrier orders nothing: no two threads meet around it"},
    {"missing-restrict",
     "Pointers that never overlap are not declared so",
     {"add-restrict-const"},
     "the compiler must assume that this pointer overlaps with the kernel's others",
     "__restrict__"},
    {"double-arithmetic",
     "A double literal makes float code compute in double",
     {"fix-double-literals"},
     "a double literal makes this float expression compute in double precision"},
    {"private-atomics",
     "Atomics on global memory that each block could combine first",
     {"privatize-atomics"},
     "each block could combine these atomics in shared memory first"},
    {"warp-atomics",
     "Atomics that each warp could combine first",
     {"aggregate-atomics-in-warp"},
     "the threads of a warp could combine this atomic first",
     // Of a constant at one address nvcc makes one atomic itself; where the addresses of lanes
     // differ, looking for equal ones costs more than it saves.
     "__reduce_",
     "__match_any_sync"},
    {"contended-atomics", "Atomics of a block that all update one element", {}, ""},
    {"divergent-branch",
     "Threads of a warp take both sides of a short branch",
     {"branch-to-select"},
     "threads of a warp may take both sides of this branch"},
    {"launches-in-loop",
     "Launches in a loop that could be one",
     {"batch-launches"},
     "the launches of this loop could be one"},
};

llvm::ArrayRef<FindingRule> kbopt::findingRules() { return rules; }

const FindingRule *kbopt::findingRule(llvm::StringRef id) {
  const auto *rule = llvm::find_if(rules, [&](const FindingRule &each) { return each.id == id; });
  return rule == std::end(rules) ? nullptr : rule;
}

std::string ProgramFinding::pipeline() const {
  if (pass.empty())
    return "";
  Step step;
  step.pass = pass;
  step.kernel = kernel;
  return step.text();
}
