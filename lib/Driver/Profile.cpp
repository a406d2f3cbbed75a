//===- Profile.cpp - --profile --------------------------------------------===//
//
// Owns the way from the counters of the program's own run to the page that
// --profile prints: kernels by their share of the time, source lines, and the
// passes that the knowledge base would try, with what it expects of them.
//
//===----------------------------------------------------------------------===//
#include "Modes.h"
#include "Session.h"
#include "Shape.h"
#include "kb-opt/Eval/CostModel.h"
#include "kb-opt/Knowledge/KnowledgeBase.h"
#include "kb-opt/Report/ProfilePage.h"
#include "kb-opt/Rewrite/PassRegistry.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <set>

using namespace kbopt;

namespace {

constexpr size_t shownLines = 5;
constexpr unsigned shownPasses = 8;

/// One kernel of the source, with the launches of all its instances.
struct Measured {
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

std::vector<HotLine> hotLines(const Measured &kernel, const Weight &weight, const Context &context) {
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
  llvm::SmallVector<llvm::StringRef> text;
  llvm::StringRef(context.text).split(text, '\n');
  std::vector<HotLine> lines;
  for (const auto &[place, sum] : sums) {
    double share = all > 0 ? weight.of(sum) / all : 0;
    if (share < 0.01)
      continue;
    HotLine hot;
    hot.line = place.second;
    hot.share = share;
    hot.note = noteOn(sum);
    bool own = llvm::sys::path::filename(place.first) == llvm::sys::path::filename(context.command.file);
    hot.file = own ? context.command.shownFile : place.first;
    if (own && hot.line && hot.line <= text.size())
      hot.text = text[hot.line - 1].trim().str();
    lines.push_back(std::move(hot));
  }
  llvm::sort(lines, [](const HotLine &a, const HotLine &b) {
    return std::tie(b.share, a.file, a.line) < std::tie(a.share, b.file, b.line);
  });
  if (lines.size() > shownLines)
    lines.resize(shownLines);
  return lines;
}

/// What can be done to \p kernel now, and what the state asks for but cannot be done.
std::vector<PassAdvice> adviceFor(const Measured &kernel, const State &state, llvm::StringRef shape,
                                  const KnowledgeBase &knowledge,
                                  llvm::ArrayRef<Opportunity> opportunities) {
  std::set<std::string> asked;
  for (const RetrievedEntry &entry : knowledge.retrieve(state, shape, shownPasses))
    asked.insert(entry.pass);
  std::map<std::string, PassAdvice> byPass;
  for (const Opportunity &site : opportunities) {
    std::string pass = site.pass->name.str();
    if (site.step.kernel != kernel.name || (!site.applies && !asked.count(pass)))
      continue;
    PassAdvice &advice = byPass[pass];
    advice.pass = pass;
    if (!site.applies) {
      advice.reason = site.reason;
    } else if (!advice.applies) {
      Prediction prediction = knowledge.predict(state, pass, {}, shape);
      advice.applies = true;
      advice.speedup = std::exp(prediction.logGain);
      advice.why = prediction.why;
    }
  }
  std::vector<PassAdvice> result;
  for (auto &[pass, advice] : byPass)
    result.push_back(std::move(advice));
  llvm::sort(result, [](const PassAdvice &a, const PassAdvice &b) {
    return std::tie(b.applies, b.speedup, a.pass) < std::tie(a.applies, a.speedup, b.pass);
  });
  return result;
}

std::vector<Measured> kernelsOf(const ParsedProgram &program, const ModelledPlan &plan,
                                const RunResult &run) {
  std::vector<Measured> kernels;
  for (const KernelFact &fact : findKernels(program)) {
    Measured kernel;
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
  llvm::sort(kernels, [](const Measured &a, const Measured &b) {
    return std::tie(b.us, a.name) < std::tie(a.us, b.name);
  });
  return kernels;
}

std::string launchText(const LaunchRecord &record) {
  return llvm::formatv("grid ({0}, {1}, {2}), block ({3}, {4}, {5})", record.grid[0], record.grid[1],
                       record.grid[2], record.block[0], record.block[1], record.block[2]);
}

} // namespace

static llvm::Expected<KnowledgeBase> knowledgeOf(const Session &session) {
  std::string directory = session.context.options.knowledgeDirectory;
  std::vector<BadLine> bad; // -passes=auto warns of them
  return loadKnowledge(session.chip, "cpu-modelled", session.context.files,
                       {directory.empty() ? userKnowledgeDirectory() : directory}, bad);
}

llvm::Expected<ExitStatus> kbopt::runProfile(Context &context) {
  auto opened = openSession(context);
  if (!opened)
    return opened.takeError();
  Session &session = **opened;
  auto code = session.judge->code(session.original);
  if (!code)
    return code.takeError();
  auto run = session.judge->count(session.original, countOptions(session.chip));
  if (!run)
    return run.takeError();
  auto plan = modelPlan(*run, *code, session.chip);
  if (!plan)
    return plan.takeError();
  auto knowledge = knowledgeOf(session);
  if (!knowledge)
    return knowledge.takeError();
  PipelineOptions options;
  options.parser = &context.parser;
  auto rewrites = RewriteSession::create(context.text, context.command, options);
  if (!rewrites)
    return rewrites.takeError();
  auto opportunities = (*rewrites)->opportunities();
  if (!opportunities)
    return opportunities.takeError();

  ProfilePage page;
  page.program = context.command.shownFile;
  page.chip = session.chip.name;
  page.source = "modelled";
  page.us = plan->us;
  page.limits.push_back("no GPU was used: counts are the CPU device's, times and stalls are modelled from them");
  for (const Measured &kernel : kernelsOf((*rewrites)->parsed(), *plan, *run)) {
    KernelPage &entry = page.kernels.emplace_back();
    entry.kernel = kernel.name;
    entry.launch = launchText(*kernel.record);
    entry.launches = kernel.launches;
    entry.us = kernel.us;
    entry.floorUs = kernel.floorUs;
    entry.share = plan->us > 0 ? kernel.us / plan->us : 0;
    entry.limiter = toString(kernel.launch->limiter).str();
    entry.metrics = kernelMetrics(*plan, kernel.longest);
    State state = StateRules::builtin().classify(entry.metrics);
    entry.state = state.primary + (state.secondary.empty() ? "" : ", then " + state.secondary);
    entry.why = state.why();
    Weight weight = weightFor(kernel.launch->limiter);
    entry.measure = weight.name;
    entry.lines = hotLines(kernel, weight, context);
    entry.advice = adviceFor(kernel, state, shapeOf(**rewrites, kernel.longest), *knowledge, *opportunities);
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  if (context.options.emit == Emit::ProfileJson)
    os << llvm::formatv("{0:2}\n", toJSON(page));
  else
    writeProfile(os, page);
  if (llvm::Error error = writeResult(context, text))
    return std::move(error);
  return ExitStatus::Success;
}
