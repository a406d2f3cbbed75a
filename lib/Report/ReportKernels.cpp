//===- ReportKernels.cpp - Kernels before and after -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the comparison of the two programs' kernels, in Nsight Compute's words.
//
//===----------------------------------------------------------------------===//
#include "MetricLabels.h"
#include "ReportParts.h"
#include <cmath>

using namespace kbopt;
using namespace kbopt::report;
using llvm::formatv;
using llvm::StringRef;

namespace {

using Value = std::optional<double>;

/// A kernel of the original, of the winner, or of both.
struct Pair {
  const KernelPage *before = nullptr, *after = nullptr;
  StringRef name() const { return before ? before->kernel : after->kernel; }
};

std::vector<Pair> pairsOf(const ReportPage &page) {
  std::vector<Pair> pairs;
  for (const KernelPage &kernel : page.kernelsBefore)
    pairs.push_back({&kernel, nullptr});
  for (const KernelPage &kernel : page.kernelsAfter) {
    auto same =
        llvm::find_if(pairs, [&](const Pair &pair) { return pair.name() == kernel.kernel; });
    if (same != pairs.end())
      same->after = &kernel;
    else
      pairs.push_back({nullptr, &kernel});
  }
  return pairs;
}

Value metric(const KernelPage *kernel, StringRef name, double scale) {
  if (!kernel)
    return std::nullopt;
  auto found = kernel->metrics.find(name.str());
  return found == kernel->metrics.end() || !std::isfinite(found->second) ? Value()
                                                                         : found->second * scale;
}

void writeValue(llvm::raw_ostream &os, Value value) {
  os << "<td class=\"n\">"
     << (!value            ? ""
         : *value >= 10000 ? grouped(static_cast<uint64_t>(*value + 0.5))
                           : shownMetric(*value))
     << "</td>";
}

void writeRow(llvm::raw_ostream &os, StringRef label, StringRef unit, Value before, Value after) {
  std::string change;
  if (before && after && *before > 0 && *after > 0 && std::abs(std::log(*after / *before)) > 0.005)
    change =
        formatv("{0}{1:f0} %", *after > *before ? "+" : "−", std::abs(100 * (*after / *before - 1)))
            .str();
  os << formatv("<tr><td>{0}</td><td class=\"soft\">{1}</td>", escaped(label), unit);
  writeValue(os, before);
  writeValue(os, after);
  os << formatv("<td class=\"n soft\">{0}</td></tr>\n", change);
}

void writeGroup(llvm::raw_ostream &os, StringRef title) {
  os << formatv("<tr class=\"group\"><th colspan=\"5\">{0}</th></tr>\n", title);
}

void writeMetrics(llvm::raw_ostream &os, const Pair &pair) {
  os << "<div class=\"scroll\"><table class=\"keep\"><thead><tr><th>metric, per "
        "launch</th><th></th><th class=\"n\">before</th>"
        "<th class=\"n\">after</th><th class=\"n\">change</th></tr></thead><tbody>\n";
  for (const MetricSection &section : metricSections()) {
    bool titled = false;
    for (const MetricRow &row : section.rows) {
      Value before = metric(pair.before, row.metric, row.factor),
            after = metric(pair.after, row.metric, row.factor);
      // What is nothing in both says nothing.
      if (before.value_or(0) == 0 && after.value_or(0) == 0)
        continue;
      if (!titled)
        writeGroup(os, section.title);
      titled = true;
      writeRow(os, row.label, row.unit, before, after);
    }
  }
  auto stallsOf = [](const KernelPage *kernel) {
    return kernel ? warpStalls(kernel->metrics) : std::vector<std::pair<std::string, double>>();
  };
  auto before = stallsOf(pair.before), after = stallsOf(pair.after);
  auto find = [](const auto &stalls, StringRef label) {
    for (const auto &[name, value] : stalls)
      if (name == label)
        return Value(value);
    return Value();
  };
  if (!before.empty() || !after.empty())
    writeGroup(os, "Warp State (cycles per issue)");
  for (const auto &[label, value] : before)
    writeRow(os, label, "cycle", value, find(after, label));
  for (const auto &[label, value] : after)
    if (!find(before, label))
      writeRow(os, label, "cycle", std::nullopt, value);
  os << "</tbody></table></div>\n";
}

void writeSide(llvm::raw_ostream &os, StringRef when, const KernelPage *kernel) {
  if (!kernel)
    return;
  os << formatv("<p><b>{0}</b>: {1}", when, micros(kernel->us));
  if (kernel->share > 0)
    os << formatv(", {0:f0} % of the program", 100 * kernel->share);
  if (!kernel->launch.empty())
    os << formatv(", {0} launch{1}, {2}", kernel->launches, kernel->launches == 1 ? "" : "es",
                  escaped(kernel->launch));
  if (!kernel->limiter.empty())
    os << ", limited by " << escaped(kernel->limiter);
  if (kernel->floorUs > 0 && kernel->us > 0)
    os << formatv(", {0:f0} % of the roofline", 100 * kernel->floorUs / kernel->us);
  os << formatv(". State <code>{0}</code>", escaped(kernel->state));
  if (!kernel->why.empty())
    os << " <span class=\"soft\">" << escaped(kernel->why) << "</span>";
  os << "</p>\n";
}

} // namespace

bool report::writeKernels(llvm::raw_ostream &os, const ReportPage &page) {
  std::vector<Pair> pairs = pairsOf(page);
  if (pairs.empty())
    return false;
  os << "<section id=\"kernels\">\n<h2>Kernels before and after</h2>\n";
  for (size_t i = 0; i != pairs.size(); ++i) {
    const Pair &pair = pairs[i];
    os << formatv("<h3><code>{0}</code></h3>\n", escaped(pair.name()));
    writeSide(os, "before", pair.before);
    writeSide(os, "after", pair.after);
    os << formatv("<details{0}><summary>Metrics</summary>\n", i == 0 ? " open=\"open\"" : "");
    writeMetrics(os, pair);
    os << "</details>\n";
  }
  os << "</section>\n";
  return true;
}
