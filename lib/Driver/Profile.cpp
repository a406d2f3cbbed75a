//===- Profile.cpp - --profile --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from a program's own run to the page that --profile prints: kernels
// by their share of the time, their states, source lines, and the passes that the
// knowledge base would try, with what it expects of them.
//
//===----------------------------------------------------------------------===//
#include "Modes.h"
#include "ProfileParts.h"
#include "kb-opt/Candidate/HotLines.h"
#include "kb-opt/Candidate/Shape.h"
#include "kb-opt/Knowledge/KnowledgeBase.h"
#include "kb-opt/Rewrite/PassRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <set>

using namespace kbopt;

constexpr unsigned shownPasses = 8;

/// What can be done to \p kernel now, and what the state asks for but cannot be done.
static std::vector<PassAdvice> adviceFor(llvm::StringRef kernel, const State &state,
                                         llvm::StringRef shape, const KnowledgeBase &knowledge,
                                         llvm::ArrayRef<Opportunity> opportunities) {
  std::set<std::string> asked;
  for (const RetrievedEntry &entry : knowledge.retrieve(state, shape, shownPasses))
    asked.insert(entry.pass);
  std::map<std::string, PassAdvice> byPass;
  for (const Opportunity &site : opportunities) {
    std::string pass = site.pass->name.str();
    if (site.step.kernel != kernel || (!site.applies && !asked.count(pass)))
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

/// The sites in \p kernel that stand around \p line and where their pass applies. Sites of the
/// whole kernel, its parameters and launches say nothing of one line.
static std::vector<std::string> sitesAround(const HotLine &line, llvm::StringRef kernel,
                                            llvm::ArrayRef<Opportunity> opportunities) {
  constexpr size_t shownSites = 4;
  std::vector<std::pair<unsigned, std::string>> bySize;
  for (const Opportunity &site : opportunities)
    if (site.applies && site.step.kernel == kernel && site.file == line.file &&
        site.line <= line.line && line.line <= site.endLine &&
        llvm::is_contained({SiteKind::Loop, SiteKind::Access, SiteKind::Shared}, site.pass->site))
      bySize.emplace_back(site.endLine - site.line, printPipeline(site.step));
  llvm::sort(bySize);
  std::vector<std::string> sites;
  for (auto &[size, text] : llvm::ArrayRef(bySize).take_front(shownSites))
    sites.push_back(text);
  return sites;
}

static llvm::Expected<KnowledgeBase> knowledgeOf(const Session &session) {
  std::string directory = session.context.options.knowledgeDirectory;
  std::vector<BadLine> bad; // -passes=auto warns of them
  return loadKnowledge(session.chip, session.timeSource(), session.context.files,
                       {directory.empty() ? userKnowledgeDirectory() : directory}, bad);
}

/// Kernels by modelled times.
static llvm::Expected<std::vector<ProfiledKernel>>
fromCpu(Session &session, const ParsedProgram &program, ProfilePage &page) {
  auto counted = countProgram(session);
  if (!counted)
    return counted.takeError();
  page.source = "modelled";
  page.limits.push_back(
      "no GPU was used: counts are the CPU device's, times and stalls are modelled from them");
  return modelledKernels(session.context, program, *counted);
}

/// Kernels by measured times and counters, as far as the GPU gives them.
static llvm::Expected<std::vector<ProfiledKernel>>
fromGpu(Session &session, const ParsedProgram &program, ProfilePage &page) {
  auto code = session.judge->code(session.original);
  if (!code)
    return code.takeError();
  if (code->cubinPath.empty())
    return llvm::make_error<ToolError>("a GPU needs machine code, which nvcc makes",
                                       std::vector<std::string>{"nvcc"}, -1, "",
                                       "set CUDA_PATH to a CUDA toolkit");
  auto folder = session.cases->original(session.cases->recorded());
  if (!folder)
    return folder.takeError();
  auto profile = session.gpu->profile({code->cubinPath, *folder}, "ABCD", /*sampleLines=*/true);
  if (!profile)
    return profile.takeError();
  if (profile->status != RunStatus::Ok)
    return llvm::make_error<UsageError>(
        "'" + session.context.options.input + "': " + profile->message,
        "mend the program; a profile is of one that runs", ExitStatus::Diagnostics);
  page.source = "measured";
  page.device = session.gpuFacts.name;
  for (const std::string &sentence : session.gpuFacts.noise)
    page.limits.push_back(sentence);
  if (!profile->degraded.empty())
    page.limits.push_back("degraded, there are no counters: " + profile->degraded);
  if (!profile->noLines.empty())
    page.limits.push_back("no stalls by source line: " + profile->noLines);
  auto counted = countProgram(session);
  if (!counted)
    page.limits.push_back("no waves, occupancy and roofline, the CPU device cannot count: " +
                          llvm::toString(counted.takeError()));
  auto files = kernelFilesOf(session);
  if (!files)
    return files.takeError();
  return measuredKernels(session.context, program, *profile, counted ? &*counted : nullptr, *files);
}

void kbopt::addState(KernelPage &kernel, const State &state) {
  kernel.state = state.fullName() + (state.secondary.empty() ? "" : ", then " + state.secondary);
  kernel.why = state.why();
}

llvm::Expected<std::vector<ProfiledKernel>>
kbopt::profileOriginal(Session &session, const ParsedProgram &program, ProfilePage &page) {
  auto kernels = session.gpu ? fromGpu(session, program, page) : fromCpu(session, program, page);
  if (!kernels)
    return kernels.takeError();
  for (const ProfiledKernel &kernel : *kernels)
    page.us += kernel.page.us;
  for (ProfiledKernel &kernel : *kernels)
    kernel.page.share = page.us > 0 ? kernel.page.us / page.us : 0;
  return kernels;
}

llvm::Expected<ExitStatus> kbopt::runProfile(Context &context) {
  auto opened = openSession(context);
  if (!opened)
    return opened.takeError();
  Session &session = **opened;
  auto knowledge = knowledgeOf(session);
  if (!knowledge)
    return knowledge.takeError();
  PipelineOptions options;
  options.registry = &context.passes;
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
  auto kernels = profileOriginal(session, (*rewrites)->parsed(), page);
  if (!kernels)
    return kernels.takeError();
  for (ProfiledKernel &kernel : *kernels) {
    KernelPage &entry = page.kernels.emplace_back(std::move(kernel.page));
    keepHottest(entry.lines);
    for (HotLine &line : entry.lines)
      line.sites = sitesAround(line, entry.kernel, *opportunities);
    State state = knowledge->classify(entry.metrics);
    addState(entry, state);
    entry.advice = adviceFor(entry.kernel, state, shapeOf(**rewrites, kernel.longest), *knowledge,
                             *opportunities);
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
