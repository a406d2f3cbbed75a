//===- ProfileModelled.cpp - Kernels by the CPU device's counts -----------===//
#include "ProfileParts.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace kbopt;

namespace {

/// One kernel of the source, with the launches of all its instances.
struct Counted {
  std::string name;
  std::string longest; ///< mangled; the instance that took most time
  double us = 0, floorUs = 0, longestUs = 0;
  unsigned launches = 0;
  const ModelledLaunch *launch = nullptr; ///< the longest one
  const LaunchRecord *record = nullptr;   ///< of it
  std::vector<const LaunchRecord *> records;
};

/// What the share of a source line is a share of: the resource that limits.
struct Weight {
  std::string name;
  double (*of)(const kbrt::LineCounters &);
};

Weight weightFor(Limiter limiter) {
  switch (limiter) {
  case Limiter::Dram:
  case Limiter::L2:
  case Limiter::L1Wavefronts:
  case Limiter::Latency:
  case Limiter::Atomics:
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
    notes.push_back(llvm::formatv("{0:f1} shared wavefronts where 1 suffices",
                                  line.sharedWavefronts / std::max(1.0, line.idealSharedWavefronts)));
  if (line.divergentBranches > 0 && line.branches > 0)
    notes.push_back(llvm::formatv("{0:f0} % of the branches diverge",
                                  100 * line.divergentBranches / line.branches));
  return llvm::join(notes, "; ");
}

std::vector<HotLine> hotLines(const Counted &kernel, const Weight &weight, const Context &context) {
  std::map<std::pair<std::string, unsigned>, kbrt::LineCounters> sums;
  double all = 0;
  for (const LaunchRecord *record : kernel.records)
    for (const kbrt::LineCounters &line : record->counters->lines) {
      kbrt::LineCounters &sum = sums[{line.file, line.line}];
      auto add = [&](double kbrt::LineCounters::*field) {
        sum.*field += record->repeats * (line.*field);
      };
      for (auto field : {&kbrt::LineCounters::warpInstructions, &kbrt::LineCounters::branches,
                         &kbrt::LineCounters::divergentBranches, &kbrt::LineCounters::globalRequests,
                         &kbrt::LineCounters::globalSectors, &kbrt::LineCounters::idealGlobalSectors,
                         &kbrt::LineCounters::sharedWavefronts,
                         &kbrt::LineCounters::idealSharedWavefronts})
        add(field);
      all += record->repeats * weight.of(line);
    }
  std::vector<HotLine> lines;
  for (const auto &[place, sum] : sums) {
    double share = all > 0 ? weight.of(sum) / all : 0;
    if (share < 0.01)
      continue;
    lines.push_back(hotLine(context, place.first, place.second, share, noteOn(sum)));
  }
  keepHottest(lines);
  return lines;
}

std::vector<Counted> countedKernels(const ParsedProgram &program, const ModelledPlan &plan,
                                const RunResult &run) {
  std::vector<Counted> kernels;
  for (const KernelFact &fact : findKernels(program)) {
    Counted kernel;
    kernel.name = fact.name;
    for (const KernelFact::Instance &instance : fact.instances) {
      double us = 0;
      for (size_t i = 0; i < plan.launches.size(); ++i) {
        const ModelledLaunch &launch = plan.launches[i];
        if (launch.kernel != instance.mangledName)
          continue;
        us += launch.us * launch.repeats;
        kernel.floorUs += launch.floorUs * launch.repeats;
        kernel.launches += launch.repeats;
        kernel.records.push_back(&run.launches[i]);
        if (!kernel.launch || launch.us > kernel.launch->us) {
          kernel.launch = &launch;
          kernel.record = &run.launches[i];
        }
      }
      kernel.us += us;
      if (us > kernel.longestUs) {
        kernel.longestUs = us;
        kernel.longest = instance.mangledName;
      }
    }
    if (kernel.launch)
      kernels.push_back(std::move(kernel));
  }
  llvm::sort(kernels, [](const Counted &a, const Counted &b) {
    return std::tie(b.us, a.name) < std::tie(a.us, b.name);
  });
  return kernels;
}

} // namespace

std::string kbopt::launchText(const unsigned (&grid)[3], const unsigned (&block)[3]) {
  return llvm::formatv("grid ({0}, {1}, {2}), block ({3}, {4}, {5})", grid[0], grid[1], grid[2], block[0],
                       block[1], block[2]);
}

HotLine kbopt::hotLine(const Context &context, llvm::StringRef file, unsigned line, double share,
                       std::string note) {
  HotLine hot;
  hot.line = line;
  hot.share = share;
  hot.note = std::move(note);
  bool own = llvm::sys::path::filename(file) == llvm::sys::path::filename(context.command.file);
  hot.file = own ? context.command.shownFile : file.str();
  llvm::SmallVector<llvm::StringRef> text;
  llvm::StringRef(context.text).split(text, '\n');
  if (own && line && line <= text.size())
    hot.text = text[line - 1].trim().str();
  return hot;
}

void kbopt::keepHottest(std::vector<HotLine> &lines) {
  constexpr size_t shownLines = 5;
  llvm::sort(lines, [](const HotLine &a, const HotLine &b) {
    return std::tie(b.share, a.file, a.line) < std::tie(a.share, b.file, b.line);
  });
  if (lines.size() > shownLines)
    lines.resize(shownLines);
}

llvm::Expected<CountedProgram> kbopt::countProgram(Session &session) {
  auto code = session.judge->code(session.original);
  if (!code)
    return code.takeError();
  auto run = session.judge->count(session.original, countOptions(session.chip));
  if (!run)
    return run.takeError();
  auto plan = modelPlan(*run, *code, session.chip);
  if (!plan)
    return plan.takeError();
  return CountedProgram{std::move(*run), std::move(*plan)};
}

std::vector<ProfiledKernel> kbopt::modelledKernels(const Context &context, const ParsedProgram &program,
                                                   const CountedProgram &counted) {
  std::vector<ProfiledKernel> kernels;
  for (const Counted &kernel : countedKernels(program, counted.plan, counted.run)) {
    ProfiledKernel &result = kernels.emplace_back();
    result.longest = kernel.longest;
    KernelPage &page = result.page;
    page.kernel = kernel.name;
    page.launch = launchText(kernel.record->grid, kernel.record->block);
    page.launches = kernel.launches;
    page.us = kernel.us;
    page.floorUs = kernel.floorUs;
    page.limiter = toString(kernel.launch->limiter).str();
    page.metrics = kernelMetrics(counted.plan, kernel.longest);
    Weight weight = weightFor(kernel.launch->limiter);
    page.measure = weight.name;
    page.lines = hotLines(kernel, weight, context);
  }
  return kernels;
}
