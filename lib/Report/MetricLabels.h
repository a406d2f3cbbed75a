//===- MetricLabels.h - Metrics in Nsight Compute's words -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the one table from metric names to the labels and units that users know.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REPORT_METRICLABELS_H
#define KBOPT_LIB_REPORT_METRICLABELS_H

#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace kbopt {

struct MetricRow {
  llvm::StringLiteral label, unit, metric;
  double factor = 1; ///< from the metric to the unit
};
struct MetricSection {
  llvm::StringLiteral title;
  std::vector<MetricRow> rows;
};
const std::vector<MetricSection> &metricSections();

/// Cycles that a warp waits per issue, by label ("Stall Long Scoreboard"); largest first,
/// what is below 2 % of their sum left out.
std::vector<std::pair<std::string, double>>
warpStalls(const std::map<std::string, double> &metrics);

/// Two decimals; very small ones with an exponent.
std::string shownMetric(double value);

} // namespace kbopt

#endif // KBOPT_LIB_REPORT_METRICLABELS_H
