//===- ProfileModelled.cpp - Kernels by the CPU device's counts -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProfileParts.h"
#include "kb-opt/Candidate/HotLines.h"
#include "kb-opt/Source/BuildTarget.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <set>

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

/// Adds what \p run says of the launches of \p mangled.
void addLaunches(Counted &kernel, const std::string &mangled, const ModelledPlan &plan,
                 const RunResult &run) {
  double us = 0;
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    const ModelledLaunch &launch = plan.launches[i];
    if (launch.kernel != mangled)
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
    kernel.longest = mangled;
  }
}

std::vector<Counted> countedKernels(const ParsedProgram &program, const ModelledPlan &plan,
                                    const RunResult &run, const KernelFiles &files) {
  std::vector<Counted> kernels;
  for (const NamedKernel &named : namedKernels(program, files)) {
    Counted kernel;
    kernel.name = named.name;
    for (const std::string &instance : named.instances)
      addLaunches(kernel, instance, plan, run);
    if (kernel.launch)
      kernels.push_back(std::move(kernel));
  }
  llvm::sort(kernels, [](const Counted &a, const Counted &b) {
    return std::tie(b.us, a.name) < std::tie(a.us, b.name);
  });
  return kernels;
}

} // namespace

std::vector<NamedKernel> kbopt::namedKernels(const ParsedProgram &program,
                                             const KernelFiles &files) {
  std::vector<NamedKernel> kernels;
  std::set<std::string> own;
  for (const KernelFact &fact : findKernels(program)) {
    NamedKernel &kernel = kernels.emplace_back(NamedKernel{fact.name, {}});
    for (const KernelFact::Instance &instance : fact.instances) {
      kernel.instances.push_back(instance.mangledName);
      own.insert(instance.mangledName);
    }
  }
  for (const auto &[mangled, file] : files)
    if (!own.count(mangled))
      kernels.push_back({llvm::StringRef(llvm::demangle(mangled)).split('(').first.str() + " in " +
                             llvm::sys::path::filename(file).str(),
                         {mangled}});
  return kernels;
}

llvm::Expected<KernelFiles> kbopt::kernelFilesOf(const Session &session) {
  return session.context.command.deviceUnits().empty() ? KernelFiles()
                                                       : kernelFiles(session.original.bitcodePath);
}

std::string kbopt::launchText(const unsigned (&grid)[3], const unsigned (&block)[3]) {
  return llvm::formatv("grid ({0}, {1}, {2}), block ({3}, {4}, {5})", grid[0], grid[1], grid[2],
                       block[0], block[1], block[2]);
}

llvm::Expected<CountedProgram> kbopt::countProgram(Session &session) {
  auto code = session.judge->code(session.original);
  if (!code)
    return code.takeError();
  auto run = session.judge->count(session.original, countOptions(session.chip));
  if (!run)
    return run.takeError();
  if (run->status != RunStatus::Ok)
    return llvm::make_error<UsageError>(
        "'" + session.context.options.input + "': its launches are not counted: " + run->message,
        "give the program less to do in a workload, or stop it early: program: {limits: "
        "{launches: 100}}",
        ExitStatus::Diagnostics);
  auto plan = modelPlan(*run, *code, session.chip);
  if (!plan)
    return plan.takeError();
  auto files = kernelFilesOf(session);
  if (!files)
    return files.takeError();
  return CountedProgram{std::move(*run), std::move(*plan), std::move(*files)};
}

std::vector<ProfiledKernel> kbopt::modelledKernels(const Context &context,
                                                   const ParsedProgram &program,
                                                   const CountedProgram &counted) {
  std::vector<ProfiledKernel> kernels;
  for (const Counted &kernel : countedKernels(program, counted.plan, counted.run, counted.files)) {
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
    page.measure = measureOf(kernel.launch->limiter).str();
    page.lines = hotLines({context.command, context.text}, kernel.records, kernel.launch->limiter);
  }
  return kernels;
}
