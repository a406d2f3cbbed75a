//===- Timings.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/Timings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Threading.h"

using namespace kbopt;

void Timings::add(llvm::StringRef group, llvm::StringRef part, double seconds) {
  std::lock_guard<std::mutex> lock(mutex);
  Entry &entry = groups[group.str()][part.str()];
  entry.seconds += seconds;
  ++entry.count;
  if (keepsSpans)
    spans.push_back({group.str(), part.str(), realClock().monotonicSeconds() - seconds - start,
                     seconds, llvm::get_threadid()});
}

std::string Timings::trace() const {
  std::lock_guard<std::mutex> lock(mutex);
  constexpr double microseconds = 1e6;
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  json.object([&] {
    json.attributeArray("traceEvents", [&] {
      for (const Span &span : spans)
        json.object([&] {
          json.attribute("name", llvm::StringRef(span.part).trim());
          json.attribute("cat", span.group);
          json.attribute("ph", "X");
          json.attribute("ts", static_cast<int64_t>(microseconds * span.begin));
          json.attribute("dur", static_cast<int64_t>(microseconds * span.seconds));
          json.attribute("pid", 1);
          json.attribute("tid", static_cast<int64_t>(span.thread));
        });
    });
  });
  return text;
}

void Timings::print(llvm::raw_ostream &os, double wallSeconds) const {
  std::lock_guard<std::mutex> lock(mutex);
  os << llvm::formatv(
      "time: {0:f3} s in all; parts contain each other, and add up to more with -j\n", wallSeconds);
  for (const auto &[group, parts] : groups) {
    std::vector<std::pair<std::string, Entry>> sorted(parts.begin(), parts.end());
    llvm::sort(sorted, [](const auto &a, const auto &b) {
      return std::tie(b.second.seconds, a.first) < std::tie(a.second.seconds, b.first);
    });
    os << "  " << group << "\n";
    for (const auto &[part, entry] : sorted)
      os << llvm::formatv("    {0,9:f3} s {1,6:P1} {2,6} x {3,8:f3} s  {4}\n", entry.seconds,
                          wallSeconds > 0 ? entry.seconds / wallSeconds : 0, entry.count,
                          entry.seconds / entry.count, part);
  }
}

llvm::Expected<ProcessResult> TimedProcessRunner::run(const ProcessRequest &request) {
  std::string purpose = request.purpose;
  if (purpose.empty() && !request.argv.empty())
    purpose = llvm::sys::path::filename(request.argv.front()).str();
  TimedPart timed(&timings, "processes", purpose);
  return runner.run(request);
}
