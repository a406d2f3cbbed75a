//===- Session.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Session.h"
#include "Modes.h"
#include "Version.h"
#include "kb-opt/Candidate/DefaultArguments.h"
#include "kb-opt/Candidate/HostText.h"
#include "kb-opt/Candidate/KernelParameters.h"
#include "kb-opt/Eval/CpuDevice.h"
#include "kb-opt/Source/DeviceText.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "kb-opt/Source/Toolkit.h"
#include "llvm/Support/Threading.h"
#include <cstdlib>

using namespace kbopt;

/// The device code of the input and of the files that go into programs with it. Of the programs of
/// tests those are left out whose code cannot be put together with the others'.
static llvm::Expected<std::string> emitOriginal(Session &session) {
  Context &context = session.context;
  CodeEmitter emitter(context.runner, compileLimits(context));
  if (llvm::Error error = emitter.separateNames(context.command, context.text))
    return std::move(error);
  CompileCommand command = context.command;
  auto all = emitter.emitDeviceBitcode(command, context.text);
  if (all || command.others.empty())
    return all;
  llvm::consumeError(all.takeError());
  command.others.clear();
  for (const CompileCommand &other : context.command.others) {
    command.others.push_back(other);
    auto with = emitter.emitDeviceBitcode(command, context.text);
    if (with)
      continue;
    command.others.pop_back();
    context.err << "kb-opt: warning: the tests with program '"
                << llvm::sys::path::filename(other.program)
                << "' are not run: " << llvm::toString(with.takeError()) << "\n";
    llvm::erase_if(session.workload.tests,
                   [&](const ProgramRun &run) { return run.program == other.program; });
  }
  context.command.others = command.others;
  return emitter.emitDeviceBitcode(context.command, context.text);
}

/// The original as the judge sees it, with its bitcode on disk.
static llvm::Error compileOriginal(Session &session) {
  Context &context = session.context;
  auto bitcode = emitOriginal(session);
  if (!bitcode)
    return bitcode.takeError();
  ProgramArtefacts &original = session.original;
  original.name = context.command.shownFile;
  original.sourcePath = context.command.file;
  original.text = context.text;
  original.workingDirectory = context.command.directory;
  original.flags = context.command.nvccFlags;
  original.arch = context.command.arch;
  original.otherArchs = context.command.otherArchs;
  original.bitcodePath = session.folder.file("original.bc");
  for (const CompileCommand *unit : context.command.deviceUnits()) {
    auto text = context.files.read(unit->file);
    if (!text)
      return text.takeError();
    ProgramArtefacts &other = original.units.emplace_back();
    other.name = unit->shownFile;
    other.sourcePath = unit->file;
    other.text = std::move(*text);
    other.workingDirectory = unit->directory;
    other.flags = unit->nvccFlags;
    other.arch = context.command.arch;
  }
  return context.files.write(original.bitcodePath, *bitcode);
}

static llvm::Error parseOriginal(Session &session) {
  Context &context = session.context;
  auto parsed = context.parser.parse(context.command, context.text);
  if (!parsed)
    return parsed.takeError();
  if (findKernels(**parsed).empty())
    return llvm::make_error<UsageError>("no kernels in '" + context.options.input + "'",
                                        "kb-opt optimizes __global__ functions",
                                        ExitStatus::Diagnostics);
  auto workload = openWorkload(context, **parsed, session.signature);
  if (!workload)
    return workload.takeError();
  session.workload = std::move(*workload);
  if (session.workload.kind == WorkloadKind::Program && session.workload.arguments.empty())
    session.workload.defaultArguments = defaultArguments(**parsed);
  session.original.slice = [slice = deviceSlice(**parsed)] { return slice; };
  session.originalHost = digestOf(hostText(**parsed));
  session.kernelTypes = kernelTypes(**parsed);
  session.kernelRecords = kernelRecords(**parsed);
  session.sortedArrays = sortedArrays(**parsed);
  return llvm::Error::success();
}

/// That run programs beside each other on one GPU. Each keeps up to three opened devices of half a
/// gigabyte, and opening one takes longer than most programs.
static constexpr unsigned mostServers = 5;

static llvm::Expected<std::unique_ptr<JobChannel>> openChannel(Session &session) {
  Context &context = session.context;
  NoticeFunction notice = [&context](const std::string &text) {
    context.progress.line("gpu: " + text);
  };
  if (context.options.device == DeviceKind::Spool) {
    SpoolChannelOptions spool;
    spool.directory = context.options.spoolFolder;
    spool.notice = std::move(notice);
    return createSpoolChannel(std::move(spool));
  }
  if (session.cluster)
    return session.cluster->channel("cuda", 0);
  auto open = [&](const std::string &name, const Card &card) {
    ProcessChannelOptions process;
    process.directory = session.folder.file(name + card.name);
    process.sandboxed = context.options.sandbox;
    process.card = card.name;
    process.notice = notice;
    return createProcessChannel(std::move(process));
  };
  if (!context.options.cards.empty()) {
    auto any = open("gpu-any", Card());
    if (!any)
      return any.takeError();
    auto facts = CudaDevice(session.compiler, std::move(*any), CudaDeviceOptions()).facts();
    if (!facts)
      return facts.takeError();
    const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
    auto named = cardsOf(context.options.cards, facts->count, visible ? visible : "");
    if (!named)
      return named.takeError();
    session.cards = std::move(*named);
  }
  const unsigned jobs = context.options.jobs;
  std::vector<std::vector<std::unique_ptr<JobChannel>>> cards;
  for (const Card &card : session.cards) {
    cards.emplace_back();
    for (unsigned i = 0; i < (jobs ? std::min(jobs, mostServers) : mostServers); ++i) {
      auto channel = open("gpu" + std::to_string(i) + "-", card);
      if (!channel)
        return channel.takeError();
      cards.back().push_back(std::move(*channel));
    }
  }
  auto counting = open("gpu-counters", session.cards.front());
  if (!counting)
    return counting.takeError();
  return createParallelChannel(std::move(cards), std::move(*counting));
}

/// The workers that the options name; decides whether times are measured. Null where they name
/// none.
static llvm::Expected<std::unique_ptr<QueueChannels>> openCluster(Context &context) {
  if (context.options.device != DeviceKind::Cluster)
    return nullptr;
  QueueChannelOptions options;
  options.url = context.options.clusterUrl;
  options.notice = [&context](const std::string &text) {
    context.progress.line("cluster: " + text);
  };
  auto cluster = QueueChannels::open(std::move(options));
  if (!cluster)
    return cluster;
  auto hasGpu = (*cluster)->hasGpu();
  if (!hasGpu)
    return hasGpu.takeError();
  if (context.options.clusterDevice == "cuda" && !*hasGpu)
    return llvm::make_error<ToolError>(
        "no worker of '" + context.options.clusterUrl + "' has a GPU",
        std::vector<std::string>{"kb-run", "serve", context.options.clusterUrl}, 3, "",
        "start 'kb-run serve " + context.options.clusterUrl + "' where the GPU is");
  context.options.clusterHasGpu = *hasGpu && context.options.clusterDevice != "cpu";
  context.progress.line(context.options.clusterHasGpu
                            ? "cluster: times are measured on one GPU of its workers"
                            : "cluster: its workers run the CPU device, and times are modelled");
  return cluster;
}

/// The GPU that the options name; it decides architecture and chip where the user does not.
static llvm::Error openGpu(Session &session) {
  Context &context = session.context;
  auto channel = openChannel(session);
  if (!channel)
    return channel.takeError();
  CudaDeviceOptions options;
  options.notice = [&context](const std::string &text) { context.progress.line("gpu: " + text); };
  options.timings = &context.timings;
  options.digests = &context.digests;
  session.gpu =
      std::make_unique<CudaDevice>(session.compiler, std::move(*channel), std::move(options));
  auto facts = session.gpu->facts();
  if (!facts)
    return facts.takeError();
  session.gpuFacts = *facts;
  session.gpu->setArch(facts->arch);
  context.command.chooseArch(facts->arch);
  if (!runsOn(context.command.arch, facts->arch))
    return llvm::make_error<ToolError>(
        "machine code for " + context.command.arch + " does not run on the " + facts->name + " (" +
            facts->arch + ")",
        std::vector<std::string>{"kb-run"}, 3, "", "pass --arch=" + facts->arch);
  if (!context.options.chip.empty())
    return llvm::Error::success();
  auto chip = chipOfProduct(facts->name);
  if (!chip)
    return llvm::make_error<ToolError>(
        "no facts about the chip of '" + facts->name + "'", std::vector<std::string>{"kb-run"}, 3,
        "", "name the one most like it with --chip: " + llvm::join(builtinChips(), ", "));
  context.options.chip = *chip;
  return llvm::Error::success();
}

/// Lets workers compile candidates, if one has this toolkit's NVRTC.
static llvm::Error compileThere(Session &session) {
  auto toolkit = findCudaToolkit(ToolkitSearch::fromEnvironment());
  if (!toolkit)
    return toolkit.takeError();
  const std::string device = "compile:" + std::to_string(toolkit->version / 1000) + "." +
                             std::to_string(toolkit->version % 1000 / 10);
  auto isThere = session.cluster->has(device);
  if (!isThere)
    return isThere.takeError();
  if (!*isThere)
    return llvm::Error::success();
  std::shared_ptr<JobChannel> channel = session.cluster->channel(device, 0);
  session.compiler.setRemote([channel](llvm::json::Object request) {
    return compileRemotely(*channel, std::move(request));
  });
  return llvm::Error::success();
}

static llvm::Expected<std::unique_ptr<Journal>> openJournal(const Context &context) {
  if (!context.options.journalPath.empty())
    return Journal::open(context.options.journalPath);
  if (!context.hasCache)
    return Journal::inMemory();
  return Journal::open(userCacheDirectory() + "/journal.sqlite");
}

/// More of them would only wait for each other: a case has few runs that are not the GPU's.
static unsigned judgeThreads() {
  constexpr unsigned most = 8;
  return std::min(most, llvm::heavyweight_hardware_concurrency().compute_thread_count());
}

llvm::Expected<std::unique_ptr<Session>> kbopt::openSession(Context &context) {
  auto cluster = openCluster(context);
  if (!cluster)
    return cluster.takeError();
  if (llvm::Error error = openInput(context))
    return std::move(error);
  if (llvm::Error error = openTarget(context))
    return std::move(error);
  if (!context.options.sandbox)
    context.err << "kb-opt: warning: no sandbox: the program and its candidates run with all your "
                   "rights\n";
  else if (llvm::Error error = checkSandbox(context.runner))
    return std::move(error);
  auto folder = TemporaryDirectory::create("kb-opt");
  if (!folder)
    return folder.takeError();
  auto session = std::make_unique<Session>(context, std::move(*folder));
  session->cluster = std::move(*cluster);
  if (context.options.hasGpu()) {
    session->nvcc.linkUnits();
    if (llvm::Error error = openGpu(*session))
      return std::move(error);
  }
  auto chip = loadChip(modelledChip(context.options));
  if (!chip)
    return chip.takeError();
  session->chip = std::move(*chip);
  if (llvm::Error error = parseOriginal(*session))
    return std::move(error);
  auto journal = openJournal(context);
  if (!journal)
    return journal.takeError();
  session->journal = std::move(*journal);
  if (llvm::Error error = compileOriginal(*session))
    return std::move(error);

  session->compiler.setOriginal(session->original);
  if (session->cluster && session->gpu)
    if (llvm::Error error = compileThere(*session))
      return std::move(error);
  CpuDeviceOptions deviceOptions;
  deviceOptions.directory = session->folder.file("images");
  deviceOptions.sandboxed = context.options.sandbox;
  deviceOptions.staysRunning = true;
  deviceOptions.timings = &context.timings;
  deviceOptions.compiles = context.compiles.get();
  if (session->cluster) {
    auto runsThere = session->cluster->has("cpu");
    if (!runsThere)
      return runsThere.takeError();
    if (*runsThere || !context.options.clusterHasGpu)
      deviceOptions.openChannel = [cluster = session->cluster.get()](uint64_t memoryBytes) {
        return cluster->channel("cpu", memoryBytes);
      };
  }
  auto device = CpuDevice::create(context.runner, deviceOptions);
  if (!device)
    return device.takeError();
  session->device = std::move(*device);
  session->cases = std::make_unique<RecordedCases>(
      session->tools, *session->device, session->original, session->workload, session->signature,
      session->folder.file("cases"));
  session->cases->setHostDigest(context.text, session->originalHost);
  session->cases->setCompiler(session->compiler);
  session->cases->setKernelTypes(session->kernelTypes);
  session->cases->setKernelRecords(session->kernelRecords);
  session->cases->setSortedArrays(session->sortedArrays);
  if (context.options.device == DeviceKind::Cuda) // a spool's GPU is somewhere else
    session->cases->recordOnGpu(session->compiler, session->cards.front().index,
                                session->gpuFacts.name + ", driver " + session->gpuFacts.driver);
  JudgeOptions judgeOptions;
  judgeOptions.chip = &session->chip;
  judgeOptions.timings = &context.timings;
  judgeOptions.digests = &context.digests;
  judgeOptions.threads = judgeThreads();
  session->judge =
      std::make_unique<Judge>(session->original, session->compiler, *session->device,
                              *session->cases, context.clock, judgeOptions, session->gpu.get());
  session->judge->onProgress = [&context](llvm::StringRef text) { context.progress.status(text); };
  return session;
}

/// Names everything about \p session's workload that decides what is run.
static Digest workloadDigest(const Session &session) {
  const Workload &w = session.workload;
  DigestBuilder builder;
  builder.add(static_cast<uint64_t>(w.kind)).add(w.entry).add(w.standardInput);
  for (const std::string &argument : w.arguments)
    builder.add(argument);
  if (!w.file.empty()) {
    if (auto text = session.context.files.read(w.file))
      builder.add(*text);
    else
      llvm::consumeError(text.takeError());
  }
  return builder.finish();
}

/// Names all that decides the answers about \p session's program and stays the same.
static Digest runDigest(const Session &session) {
  const Context &context = session.context;
  DigestBuilder builder;
  builder.add(context.command.digest())
      .add(workloadDigest(session))
      .add(session.chip.name)
      .add(buildDigest());
  if (session.gpu)
    builder.add(session.gpuFacts.name).add(session.gpuFacts.arch).add(session.gpuFacts.driver);
  for (const PassRegistration &pass : context.passes.passes())
    if (pass.storage) { // not part of the build
      builder.add(pass.info->name);
      if (const AssistedForm *assisted = pass.info->assisted)
        builder.add(assisted->matcher).add(assisted->prompt);
      if (const RecipeForm *recipe = pass.info->recipe) {
        builder.add(recipe->before).add(recipe->after);
        for (llvm::StringRef open : recipe->open)
          builder.add(open);
      }
    }
  return builder.finish();
}

CandidateSetup kbopt::candidateSetup(Session &session) {
  return {session.tools,        session.chip,     session.workload,   session.original,
          session.originalHost, *session.cases,   *session.judge,     session.gpu.get(),
          session.gpuFacts,     *session.journal, runDigest(session), session.folder.path().str(),
          session.cards};
}
