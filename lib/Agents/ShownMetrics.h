//===- ShownMetrics.h - The figures that roles are shown --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which figures of a kernel a prompt holds, in which words and unit. The state's
// own sentence has those that decided it; these say what else to heed.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_AGENTS_SHOWNMETRICS_H
#define KBOPT_LIB_AGENTS_SHOWNMETRICS_H

#include "kb-opt/Knowledge/State.h"

namespace kbopt {

/// At most ten figures with their units, those that matter in \p state first: "31 registers a
/// thread". A figure that is unknown, or zero, is left out.
std::vector<std::string> shownMetrics(const State &state, const MetricMap &metrics);

} // namespace kbopt

#endif // KBOPT_LIB_AGENTS_SHOWNMETRICS_H
