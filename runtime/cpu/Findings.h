//===- Findings.h - collecting defects --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the merging of findings by kind and sites during one launch.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_FINDINGS_H
#define KBRT_FINDINGS_H

#include "Machine.h"

namespace kbrt::findings {

/// Forgets everything; called when a launch starts.
void begin();

/// True if (kind, site, other site) is new and there is room: then the caller fills a Finding and
/// calls add. Otherwise the occurrence has been counted (a benign one that turns out not to be is
/// raised to \p severity).
bool isNew(FindingKind kind, uint32_t site, uint32_t otherSite, Severity severity);
/// Adds a finding; its place and other's place give the key.
void add(Finding finding);
/// A finding of the running thread at \p site with kernel, place and array filled in. There must be
/// one: what is found when a block has ended names its thread.
Finding make(FindingKind kind, uint32_t site);
Finding make(FindingKind kind, uint32_t site, const Thread &thread);
/// Takes the findings in order of first occurrence.
std::vector<Finding> take();
/// Adds \p note to the launch's notes once.
void note(const std::string &text);

} // namespace kbrt::findings
#endif
