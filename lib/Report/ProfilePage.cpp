//===- ProfilePage.cpp - Sections and labels of a profile -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the page's form as text and as JSON.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Report/ProfilePage.h"
#include "MetricLabels.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
namespace json = llvm::json;

namespace {

void writeRow(llvm::raw_ostream &os, llvm::StringRef label, llvm::StringRef unit, double value) {
  os << llvm::formatv("    {0,-32}{1,-6}{2,14}\n", label, unit, shownMetric(value));
}

/// Words of \p text in lines of at most 98 columns, each after \p indent.
void writeWrapped(llvm::raw_ostream &os, llvm::StringRef indent, llvm::StringRef first,
                  llvm::StringRef text) {
  constexpr size_t width = 98;
  std::string line = (indent + first).str();
  const std::string next = (indent + std::string(first.size(), ' ')).str();
  bool empty = true;
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    if (!empty && line.size() + 1 + word.size() > width) {
      os << line << "\n";
      line = next;
      empty = true;
    }
    line += (empty ? "" : " ") + word.str();
    empty = false;
  }
  os << line << "\n";
}

void writeSections(llvm::raw_ostream &os, const KernelPage &kernel) {
  for (const MetricSection &section : metricSections()) {
    bool titled = false;
    for (const MetricRow &row : section.rows) {
      auto found = kernel.metrics.find(row.metric.str());
      if (found == kernel.metrics.end())
        continue;
      if (!titled)
        os << "  " << section.title << "\n";
      titled = true;
      writeRow(os, row.label, row.unit, found->second * row.factor);
    }
  }
}

void writeStalls(llvm::raw_ostream &os, const KernelPage &kernel) {
  auto stalls = warpStalls(kernel.metrics);
  if (stalls.empty())
    return;
  os << "  Warp State (cycles per issue)\n";
  for (const auto &[label, value] : stalls)
    writeRow(os, label, "cycle", value);
}

void writeLines(llvm::raw_ostream &os, const KernelPage &kernel) {
  if (kernel.lines.empty())
    return;
  os << "  Source (share of " << kernel.measure << ")\n";
  constexpr size_t shown = 60;
  for (const HotLine &line : kernel.lines) {
    const llvm::StringRef text = line.text;
    os << llvm::formatv("    {0,5:f1} %  {1}:{2}: {3}{4}\n", 100 * line.share, line.file, line.line,
                        text.take_front(shown), text.size() > shown ? "…" : "");
    if (!line.note.empty())
      writeWrapped(os, "             ", "", line.note);
    if (!line.sites.empty())
      writeWrapped(os, "             ", "sites: ", llvm::join(line.sites, ", "));
  }
}

void writeAdvice(llvm::raw_ostream &os, const KernelPage &kernel) {
  if (kernel.advice.empty())
    return;
  os << "  Passes (estimated speedup of this kernel)\n";
  for (const PassAdvice &advice : kernel.advice) {
    os << llvm::formatv("    {0,-26} ", advice.pass);
    if (advice.applies)
      os << llvm::formatv("{0:f2} x  {1}\n", advice.speedup, advice.why);
    else
      os << "does not apply: " << advice.reason << "\n";
  }
}

} // namespace

void kbopt::writeProfile(llvm::raw_ostream &os, const ProfilePage &page) {
  os << llvm::formatv("{0}: {1:f2} us in kernels, {2} {3}\n", page.program, page.us, page.source,
                      page.device.empty() ? "for " + page.chip : "on " + page.device);
  for (const std::string &limit : page.limits)
    os << "note: " << limit << "\n";
  for (const KernelPage &kernel : page.kernels) {
    os << llvm::formatv("\n{0}: {1:f1} % of the kernel time, {2:f2} us in {3} launch{4}; {5}\n",
                        kernel.kernel, 100 * kernel.share, kernel.us, kernel.launches,
                        kernel.launches == 1 ? "" : "es", kernel.launch);
    os << "  state: " << kernel.state << "\n";
    if (!kernel.why.empty())
      writeWrapped(os, "    ", "why: ", kernel.why);
    if (!kernel.limiter.empty())
      os << "  limited by: " << kernel.limiter;
    if (kernel.floorUs > 0 && kernel.us > 0)
      os << llvm::formatv("{0}{1:f1} % of the roofline ({2:f2} us)",
                          kernel.limiter.empty() ? "  " : "; ", 100 * kernel.floorUs / kernel.us,
                          kernel.floorUs);
    os << "\n";
    writeSections(os, kernel);
    writeStalls(os, kernel);
    writeLines(os, kernel);
    writeAdvice(os, kernel);
  }
}

static json::Value toJSON(const KernelPage &kernel) {
  json::Object metrics;
  for (const auto &[name, value] : kernel.metrics)
    metrics[name] = value;
  json::Array lines, advice;
  for (const HotLine &line : kernel.lines)
    lines.push_back(json::Object{{"file", line.file},
                                 {"line", line.line},
                                 {"share", line.share},
                                 {"note", line.note},
                                 {"sites", json::Array(line.sites)}});
  for (const PassAdvice &a : kernel.advice)
    advice.push_back(json::Object{{"pass", a.pass},
                                  {"applies", a.applies},
                                  {"reason", a.reason},
                                  {"speedup", a.speedup},
                                  {"why", a.why}});
  return json::Object{{"kernel", kernel.kernel},     {"launch", kernel.launch},
                      {"launches", kernel.launches}, {"us", kernel.us},
                      {"share", kernel.share},       {"floorUs", kernel.floorUs},
                      {"limiter", kernel.limiter},   {"state", kernel.state},
                      {"why", kernel.why},           {"metrics", std::move(metrics)},
                      {"measure", kernel.measure},   {"lines", std::move(lines)},
                      {"advice", std::move(advice)}};
}

json::Value kbopt::toJSON(const ProfilePage &page) {
  json::Array kernels;
  for (const KernelPage &kernel : page.kernels)
    kernels.push_back(::toJSON(kernel));
  return json::Object{{"version", 1},          {"program", page.program},
                      {"chip", page.chip},     {"source", page.source},
                      {"device", page.device}, {"limits", json::Array(page.limits)},
                      {"us", page.us},         {"kernels", std::move(kernels)}};
}
