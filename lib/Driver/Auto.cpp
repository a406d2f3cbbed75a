//===- Auto.cpp - -passes=auto --------------------------------------------===//
//
// Owns the run of a search from the program as given to the patch: opens what
// the search needs, tells what happens, and keeps what was learnt.
//
//===----------------------------------------------------------------------===//
#include "HostText.h"
#include "Modes.h"
#include "ProgramEnvironment.h"
#include "SearchReport.h"
#include "Version.h"
#include "kb-opt/Eval/CpuDevice.h"
#include "kb-opt/Policy/Search.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Threading.h"

using namespace kbopt;

namespace {

/// Everything between the command line and the search, in order of making.
struct Session {
  Session(Context &context, TemporaryDirectory folder)
      : context(context), folder(std::move(folder)),
        compiler(context.runner, this->folder.path().str(), context.options.sandbox) {}

  Context &context;
  TemporaryDirectory folder;
  NvccCompiler compiler;
  ChipInfo chip;
  ProgramArtefacts original;
  Digest originalHost;
  Workload workload;
  Signature signature;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<Device> device;
  std::unique_ptr<RecordedCases> cases;
  std::unique_ptr<Judge> judge;
};

} // namespace

/// The original as the judge sees it, with its bitcode on disk.
static llvm::Error compileOriginal(Session &session) {
  Context &context = session.context;
  auto bitcode = CodeEmitter(context.runner).emitDeviceBitcode(context.command, context.text);
  if (!bitcode)
    return bitcode.takeError();
  ProgramArtefacts &original = session.original;
  original.name = context.command.shownFile;
  original.sourcePath = context.command.file;
  original.text = context.text;
  original.workingDirectory = context.command.directory;
  original.flags = context.command.nvccFlags;
  original.arch = context.command.arch;
  original.bitcodePath = session.folder.file("original.bc");
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
  session.originalHost = digestOf(hostText(**parsed));
  return llvm::Error::success();
}

static llvm::Expected<std::unique_ptr<Session>> openSession(Context &context) {
  if (llvm::Error error = openInput(context))
    return std::move(error);
  if (!context.options.sandbox)
    context.err << "kb-opt: warning: no sandbox: the program and its candidates run with all your "
                   "rights\n";
  else if (llvm::Error error = checkSandbox(context.runner))
    return std::move(error);
  auto chip = loadChip(context.options.chip);
  if (!chip)
    return chip.takeError();
  auto folder = TemporaryDirectory::create("kb-opt");
  if (!folder)
    return folder.takeError();
  auto session = std::make_unique<Session>(context, std::move(*folder));
  session->chip = std::move(*chip);
  if (llvm::Error error = parseOriginal(*session))
    return std::move(error);
  std::string path = context.options.journalPath;
  if (path.empty())
    path = userCacheDirectory() + "/journal.sqlite";
  auto journal = Journal::open(path);
  if (!journal)
    return journal.takeError();
  session->journal = std::move(*journal);
  if (llvm::Error error = compileOriginal(*session))
    return std::move(error);

  CpuDeviceOptions deviceOptions;
  deviceOptions.directory = session->folder.file("images");
  deviceOptions.sandboxed = context.options.sandbox;
  deviceOptions.timings = &context.timings;
  auto device = CpuDevice::create(context.runner, deviceOptions);
  if (!device)
    return device.takeError();
  session->device = std::move(*device);
  session->cases = std::make_unique<RecordedCases>(context, *session->device, session->original,
                                                   session->workload, session->signature,
                                                   session->folder.file("cases"));
  session->cases->setHostDigest(context.text, session->originalHost);
  session->judge = std::make_unique<Judge>(session->original, session->compiler, *session->device,
                                           *session->cases, context.clock);
  session->judge->onProgress = [&context](llvm::StringRef text) { context.progress.status(text); };
  return session;
}

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

static SearchOptions searchOptions(const Session &session, double startSeconds) {
  const Options &options = session.context.options;
  SearchOptions search;
  search.trajectories = options.trajectories;
  search.steps = options.steps;
  search.jobs = options.jobs ? options.jobs : llvm::heavyweight_hardware_concurrency().compute_thread_count();
  search.seed = options.seed;
  search.budgetCandidates = options.budgetCandidates;
  if (options.budgetSeconds > 0) {
    double spent = session.context.clock.monotonicSeconds() - startSeconds;
    search.budgetSeconds = std::max(0.001, options.budgetSeconds - spent);
  }
  search.stop = interrupted;
  search.program = digestOf(session.context.text);
  search.versions = {{"kb-opt", kbOptVersion().str()}};
  return search;
}

/// Keeps what \p result taught; returns how many records are new.
static llvm::Expected<size_t> keepEvidence(Context &context, const KnowledgeBase &knowledge,
                                           const std::string &directory, const SearchResult &result) {
  std::vector<Evidence> fresh;
  for (const Evidence &record : result.evidence)
    if (!knowledge.evidence().records().count(record.id()))
      fresh.push_back(record);
  if (fresh.empty())
    return size_t(0);
  if (llvm::Error error = context.files.createDirectories(directory))
    return std::move(error);
  if (llvm::Error error = appendEvidence(context.files, evidenceLog(directory), fresh))
    return std::move(error);
  return fresh.size();
}

static llvm::Expected<ExitStatus> search(Context &context) {
  double startSeconds = context.clock.monotonicSeconds();
  auto strategy = createStrategy(context.options.strategy);
  if (!strategy)
    return strategy.takeError();
  auto opened = openSession(context);
  if (!opened)
    return opened.takeError();
  Session &session = **opened;

  std::string directory = context.options.knowledgeDirectory;
  if (directory.empty())
    directory = userKnowledgeDirectory();
  std::vector<BadLine> bad;
  auto knowledge = loadKnowledge(session.chip, "cpu-modelled", context.files, {directory}, bad);
  if (!knowledge)
    return knowledge.takeError();
  for (const BadLine &line : bad)
    context.progress.line("warning: " + line.file + ":" + std::to_string(line.line) + ": " +
                          line.reason + "; the line is skipped and stays in the file");

  ProgramEnvironment environment(context, session.chip, *session.journal, *session.judge,
                                 *session.cases, session.original, session.originalHost,
                                 workloadDigest(session), session.folder.path().str());
  SearchReport report(context, session.chip);
  report.opened(knowledge->evidence().size(), directory);

  auto result = (*strategy)->run(environment, *knowledge, searchOptions(session, startSeconds),
                                 context.clock, &report);
  if (!result)
    return result.takeError();
  auto kept = keepEvidence(context, *knowledge, directory, *result);
  double seconds = context.clock.monotonicSeconds() - startSeconds;
  auto status = report.finish(environment, *session.journal, *result, kept ? *kept : 0,
                              evidenceLog(directory), seconds);
  if (context.options.timePasses)
    context.timings.print(context.err, seconds);
  // The result is written even where there is no place for what it taught.
  if (!kept)
    return llvm::joinErrors(kept.takeError(), status.takeError());
  return status;
}

llvm::Expected<ExitStatus> kbopt::runAuto(Context &context) {
  auto status = search(context);
  if (status || context.text.empty())
    return status;
  if (llvm::Error error = dropInterruptions(status.takeError()))
    return std::move(error);
  // The user ended it before the original was known to be right.
  if (llvm::Error error = writeProgram(context, context.text))
    return std::move(error);
  context.progress.line("stopped: interrupted; the program stays as it is");
  return ExitStatus::Budget;
}

llvm::Expected<ExitStatus> kbopt::emitPlan(Context &context) {
  auto session = openSession(context);
  if (!session)
    return session.takeError();
  auto folder = (*session)->cases->original((*session)->cases->cases().front());
  llvm::SmallVector<llvm::StringRef> printed;
  (*session)->cases->originalOutput().trim().split(printed, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : printed)
    context.progress.line("program: " + line.str());
  if (!folder)
    return folder.takeError();
  auto plan = context.files.read(*folder + "/" + kbrt::planFileName);
  if (!plan)
    return plan.takeError();
  if (llvm::Error error = writeResult(context, *plan))
    return std::move(error);
  return ExitStatus::Success;
}
