//===- HotLines.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/HotLines.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace kbopt;

namespace {

/// What the share of a source line is a share of: the resource that limits.
struct Weight {
  llvm::StringLiteral name;
  double (*of)(const kbrt::LineCounters &);
};

Weight weightFor(Limiter limiter) {
  switch (limiter) {
  case Limiter::Dram:
  case Limiter::L2:
  case Limiter::L1Wavefronts:
  case Limiter::Latency:
  case Limiter::Atomics:
  case Limiter::BlockStarts:
    return {"global sectors", [](const kbrt::LineCounters &l) { return l.globalSectors; }};
  case Limiter::SharedWavefronts:
    return {"shared wavefronts", [](const kbrt::LineCounters &l) { return l.sharedWavefronts; }};
  default:
    return {"issued instructions", [](const kbrt::LineCounters &l) { return l.warpInstructions; }};
  }
}

std::string noteOn(const kbrt::LineCounters &line) {
  std::vector<std::string> notes;
  if (line.globalRequests > 0 && line.globalSectors > 1.2 * line.idealGlobalSectors)
    notes.push_back(llvm::formatv("{0:f1} sectors per request where {1:f1} suffice",
                                  line.globalSectors / line.globalRequests,
                                  line.idealGlobalSectors / line.globalRequests));
  if (line.sharedWavefronts > 1.2 * line.idealSharedWavefronts)
    notes.push_back(
        llvm::formatv("{0:f1} shared wavefronts where 1 suffices",
                      line.sharedWavefronts / std::max(1.0, line.idealSharedWavefronts)));
  if (line.divergentBranches > 0 && line.branches > 0)
    notes.push_back(llvm::formatv("{0:f0} % of the branches diverge",
                                  100 * line.divergentBranches / line.branches));
  return llvm::join(notes, "; ");
}

} // namespace

llvm::StringRef kbopt::measureOf(Limiter limiter) { return weightFor(limiter).name; }

std::vector<HotLine> kbopt::hotLines(const InputFile &input,
                                     llvm::ArrayRef<const LaunchRecord *> records,
                                     Limiter limiter) {
  const Weight weight = weightFor(limiter);
  std::map<std::pair<std::string, unsigned>, kbrt::LineCounters> sums;
  double all = 0;
  for (const LaunchRecord *record : records)
    for (const kbrt::LineCounters &line : record->counters->lines) {
      kbrt::LineCounters &sum = sums[{line.file, line.line}];
      auto add = [&](double kbrt::LineCounters::*field) {
        sum.*field += record->repeats * (line.*field);
      };
      for (auto field :
           {&kbrt::LineCounters::warpInstructions, &kbrt::LineCounters::branches,
            &kbrt::LineCounters::divergentBranches, &kbrt::LineCounters::globalRequests,
            &kbrt::LineCounters::globalSectors, &kbrt::LineCounters::idealGlobalSectors,
            &kbrt::LineCounters::sharedWavefronts, &kbrt::LineCounters::idealSharedWavefronts})
        add(field);
      all += record->repeats * weight.of(line);
    }
  std::vector<HotLine> lines;
  for (const auto &[place, sum] : sums) {
    double share = all > 0 ? weight.of(sum) / all : 0;
    if (share < 0.01)
      continue;
    lines.push_back(hotLine(input, place.first, place.second, share, noteOn(sum)));
  }
  sortLines(lines);
  return lines;
}

/// "long_scoreboard 71 %, wait 12 %".
static std::string stallText(const SampledLine &line) {
  std::vector<std::pair<uint64_t, std::string>> stalls;
  for (const auto &[reason, count] : line.stalls)
    stalls.emplace_back(count, reason);
  llvm::sort(stalls, [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::string text;
  for (const auto &[count, reason] : llvm::ArrayRef(stalls).take_front(3))
    if (100 * count >= 5 * line.samples)
      text += llvm::formatv("{0}{1} {2:f0} %", text.empty() ? "" : ", ", reason,
                            100.0 * static_cast<double>(count) / static_cast<double>(line.samples));
  return text;
}

std::vector<HotLine> kbopt::sampledLines(const InputFile &input, const GpuProfile &profile,
                                         llvm::StringRef kernel) {
  std::vector<HotLine> lines;
  auto found = profile.lines.find(kernel.str());
  if (found == profile.lines.end())
    return lines;
  uint64_t all = 0;
  for (const SampledLine &line : found->second)
    all += line.samples;
  for (const SampledLine &line : found->second)
    if (line.samples && 100 * line.samples >= all)
      lines.push_back(hotLine(input, line.file, line.line,
                              static_cast<double>(line.samples) / static_cast<double>(all),
                              stallText(line)));
  sortLines(lines);
  return lines;
}

/// \p file, a header or another file of the program, as debug information names it: without the
/// folders that it shares with \p directory, where the compiler ran. Null where there is none.
static std::unique_ptr<llvm::MemoryBuffer> openFile(llvm::StringRef file,
                                                    llvm::StringRef directory) {
  for (llvm::StringRef above = directory; !above.empty();
       above = llvm::sys::path::parent_path(above)) {
    llvm::SmallString<128> path(file);
    llvm::sys::path::make_absolute(above, path);
    if (auto buffer = llvm::MemoryBuffer::getFile(path))
      return std::move(*buffer);
  }
  return nullptr;
}

HotLine kbopt::hotLine(const InputFile &input, llvm::StringRef file, unsigned line, double share,
                       std::string note) {
  HotLine hot;
  hot.line = line;
  hot.share = share;
  hot.note = std::move(note);
  bool own = llvm::sys::path::filename(file) == llvm::sys::path::filename(input.command.file);
  hot.file = own ? input.command.shownFile : file.str();
  const std::unique_ptr<llvm::MemoryBuffer> other =
      own ? nullptr : openFile(file, input.command.directory);
  llvm::SmallVector<llvm::StringRef> text;
  (other ? other->getBuffer() : llvm::StringRef(own ? input.text : "")).split(text, '\n');
  if (line && line <= text.size())
    hot.text = text[line - 1].trim().str();
  return hot;
}

void kbopt::sortLines(std::vector<HotLine> &lines) {
  llvm::sort(lines, [](const HotLine &a, const HotLine &b) {
    return std::tie(b.share, a.file, a.line) < std::tie(a.share, b.file, b.line);
  });
}

double kbopt::takeForeign(const InputFile &input, std::vector<HotLine> &lines) {
  double taken = 0;
  llvm::erase_if(lines, [&](const HotLine &line) {
    const bool isForeign = line.file != input.command.shownFile &&
                           (line.file.empty() || input.command.isForeignHeader(line.file));
    taken += isForeign ? line.share : 0;
    return isForeign;
  });
  return taken;
}

void kbopt::keepHottest(std::vector<HotLine> &lines) {
  constexpr size_t shownLines = 5;
  if (lines.size() > shownLines)
    lines.resize(shownLines);
}

/// "line 14: 61 % of the kernel's global sectors; 32.0 sectors per request where 4.0 suffice".
static std::string sentence(const InputFile &input, const HotLine &line, llvm::StringRef measure) {
  bool own = line.file == input.command.shownFile;
  return llvm::formatv("line {0}{1}: {2:f0} % of the kernel's {3}{4}{5}", line.line,
                       own ? "" : " of " + line.file, 100 * line.share, measure,
                       line.note.empty() ? "" : "; ", line.note)
      .str();
}

std::vector<std::string> kbopt::sentences(const InputFile &input, llvm::ArrayRef<HotLine> lines,
                                          llvm::StringRef measure) {
  std::vector<std::string> all;
  for (const HotLine &line : lines)
    all.push_back(sentence(input, line, measure));
  return all;
}

std::vector<std::string> kbopt::sentencesForModel(const InputFile &input,
                                                  std::vector<HotLine> lines,
                                                  llvm::StringRef measure) {
  const double foreign = takeForeign(input, lines);
  keepHottest(lines);
  std::vector<std::string> all = sentences(input, lines, measure);
  constexpr double leastTold = 0.05;
  if (foreign >= leastTold)
    all.push_back(
        llvm::formatv("functions of the toolkit that it calls: {0:f0} % of the kernel's {1}",
                      100 * foreign, measure));
  return all;
}
