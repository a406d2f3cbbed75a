//===- NodeLaunches.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "NodeLaunches.h"
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "kbrt/CubinTable.h"
#include "llvm/Demangle/Demangle.h"

using namespace kbopt;

/// The largest launch of each kernel in \p plan.
static llvm::StringMap<RecordedLaunch> largestLaunches(const kbrt::Plan &plan) {
  llvm::StringMap<RecordedLaunch> largest;
  llvm::StringMap<uint64_t> threads;
  for (const kbrt::Step &step : plan.steps) {
    const auto *launch = std::get_if<kbrt::LaunchStep>(&step);
    if (!launch)
      continue;
    uint64_t count = uint64_t(launch->grid.x) * launch->grid.y * launch->grid.z * launch->block.x *
                     launch->block.y * launch->block.z;
    if (count <= threads[launch->kernel])
      continue;
    threads[launch->kernel] = count;
    RecordedLaunch &kept = largest[launch->kernel];
    kept.grid = {launch->grid.x, launch->grid.y, launch->grid.z};
    kept.block = {launch->block.x, launch->block.y, launch->block.z};
    kept.arguments.clear();
    for (const kbrt::Argument &argument : launch->arguments)
      kept.arguments.emplace_back(argument.bytes.begin(), argument.bytes.end());
  }
  return largest;
}

/// Of the plan in \p folder.
static llvm::Expected<llvm::StringMap<RecordedLaunch>>
largestLaunchesIn(const std::string &folder) {
  auto plan = readPlanFrom(folder);
  if (!plan)
    return plan.takeError();
  return largestLaunches(*plan);
}

llvm::Expected<NodeLaunches::Launches> NodeLaunches::record(llvm::StringRef text) {
  ProgramArtefacts program = setup.original;
  program.text = text.str();
  if (!setup.tools.hasOwnGpu) // hosts are recorded on the CPU device
    if (llvm::Error error = nodes.addBitcode(program))
      return std::move(error);
  const TestCase recorded = setup.cases.recorded();
  auto folder = text == setup.original.text ? setup.cases.original(recorded)
                                            : setup.cases.candidate(program, recorded);
  if (!folder)
    return folder.takeError();
  return largestLaunchesIn(*folder);
}

void NodeLaunches::lookUp(const NodeId &id) {
  if (!setup.gpu || id == nodes.root())
    return;
  auto known = launches.get(digestOf(nodes.program(id).text), [&]() -> llvm::Expected<Launches> {
    auto folder = plans.folder(id, nodes.source(id), setup.cases.recorded());
    if (!folder)
      return folder.takeError();
    return largestLaunchesIn(*folder);
  });
  if (!known)
    llvm::consumeError(known.takeError()); // the host cannot be followed: the judge says so
}

const RecordedLaunch *NodeLaunches::find(llvm::StringRef text, llvm::StringRef kernel) {
  // A kernel that the program does not launch any more is one that the original launched.
  for (llvm::StringRef program : {text, llvm::StringRef(setup.original.text)}) {
    auto known = launches.get(digestOf(program), [&] { return record(program); });
    if (!known) {
      llvm::consumeError(known.takeError()); // the host cannot be followed: the judge says so
      continue;
    }
    if (auto found = known->find(kernel); found != known->end())
      return &found->second;
  }
  return nullptr;
}

llvm::Expected<const std::set<std::string> &> NodeLaunches::idleKernels() {
  return idle.get(0, [&]() -> llvm::Expected<std::set<std::string>> {
    auto folder = setup.cases.original(setup.cases.recorded());
    if (!folder)
      return folder.takeError();
    auto plan = readPlanFrom(*folder);
    if (!plan)
      return plan.takeError();
    const std::vector<std::string> launched = launchedKernels(*plan);
    std::set<std::string> names;
    if (llvm::Error error =
            nodes.withSession(nodes.root(), [&](RewriteSession &program) -> llvm::Error {
              for (const KernelFact &kernel : findKernels(program.parsed()))
                if (llvm::none_of(kernel.instances, [&](const KernelFact::Instance &instance) {
                      return llvm::is_contained(launched, instance.mangledName);
                    }))
                  names.insert(kernel.name);
              return llvm::Error::success();
            }))
      return std::move(error);
    if (!names.empty())
      setup.tools.progress.line("left alone, as the workload does not launch them: " +
                                llvm::join(names, ", "));
    return names;
  });
}

std::set<std::string> NodeLaunches::kernelsLeft(const NodeProgram &program,
                                                const ParsedProgram &parsed) {
  std::set<std::string> left;
  std::vector<std::string> texts{program.text};
  if (program.run) // passes that compose work on its kernels
    texts.push_back(program.run->base);
  for (const std::string &text : texts) {
    auto known = launches.get(digestOf(text), [&] { return record(text); });
    if (!known) {
      llvm::consumeError(known.takeError()); // the host cannot be followed: the judge says so
      return {};
    }
    for (const KernelFact &kernel : findKernels(parsed))
      if (llvm::any_of(kernel.instances, [&](const KernelFact::Instance &each) {
            return known->count(each.mangledName);
          }))
        left.insert(kernel.name);
  }
  return left;
}

std::string NodeLaunches::idleAddition(const NodeId &before, const DeviceCode &code,
                                       const std::set<std::string> &launched) {
  auto program = nodes.artefacts(before);
  auto known = program ? setup.judge.code(*program)
                       : llvm::Expected<const DeviceCode &>(program.takeError());
  if (!known) {
    llvm::consumeError(known.takeError());
    return "";
  }
  std::set<std::string> taken;
  for (const std::string &name : launched)
    taken.insert(kbrt::linkageFreeName(name));
  std::string idle;
  for (const auto &[name, kernel] : code.kernels) {
    auto same = known->kernels.find(name);
    if (same != known->kernels.end() && same->second.code == kernel.code)
      continue;
    if (taken.count(kbrt::linkageFreeName(name)))
      return "";
    if (idle.empty())
      idle = llvm::demangle(name);
  }
  // `void shift_wide<4>(float *)` is known by its name alone.
  llvm::StringRef text =
      llvm::StringRef(idle).take_until([](char c) { return c == '(' || c == '<'; });
  return text.substr(text.rfind(' ') + 1).str();
}

std::string kbopt::idleReason(llvm::StringRef idle) {
  return ("the workload never launches '" + idle +
          "': its conditions hold at none of the recorded launches")
      .str();
}
