//===- RecordedCases.cpp --------------------------------------------------===//
#include "kb-opt/Candidate/RecordedCases.h"
#include "CaseData.h"
#include "OtherResults.h"
#include "kb-opt/Candidate/CaseSpace.h"
#include "kb-opt/Candidate/TextConstants.h"
#include "kb-opt/Plan/KeptRecording.h"
#include "kb-opt/Plan/RecordedPlan.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FreeSpace.h"
#include "kb-opt/Support/Parallel.h"
#include "kbrt/QuietEnding.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace kbopt;

static std::string joinPath(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

RecordedCases::RecordedCases(const CandidateTools &tools, Device &device, ProgramArtefacts original,
                             Workload workload, Signature signature, std::string folder)
    : tools(tools), device(device), emitter(tools.runner, tools.limits), first(std::move(original)),
      workload(std::move(workload)), signature(std::move(signature)), root(std::move(folder)),
      recipes(this->workload, this->signature), constants(textConstants(first.text)) {}

std::vector<TestCase> RecordedCases::cases() {
  std::vector<TestCase> all;
  for (const CaseRecipe &recipe : recipes.all())
    if (!recipe.isDry)
      all.push_back(recipe.test);
  return all;
}

std::vector<TestCase> RecordedCases::launchCases() {
  std::vector<TestCase> all;
  for (const CaseRecipe &recipe : recipes.all())
    if (recipe.isDry)
      all.push_back(recipe.test);
  return all;
}

std::vector<TestCase> RecordedCases::casesFor(const ProgramArtefacts &program) {
  constexpr size_t mostOfAKind = 12;
  const ProgramConstants own = textConstants(program.text).without(constants, mostOfAKind);
  std::vector<TestCase> all;
  if (own.empty())
    return all;
  std::lock_guard<std::mutex> lock(mutex);
  auto [known, isNew] = further.try_emplace(describe(own));
  if (isNew)
    known->second = recipes.around(own);
  for (const CaseRecipe &recipe : known->second)
    all.push_back(recipe.test);
  return all;
}

const CaseRecipe *RecordedCases::find(llvm::StringRef name) const {
  if (const CaseRecipe *recipe = recipes.find(name))
    return recipe;
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &[group, ofGroup] : further)
    for (const CaseRecipe &recipe : ofGroup)
      if (recipe.test.name == name)
        return &recipe;
  return nullptr;
}

std::vector<DriverRun> RecordedCases::runsWith(const CaseRecipe &recipe) const {
  if (!recipe.run)
    return {recipe.driverRun()};
  if (recipe.group.empty())
    return CaseRecipes::runsOf(recipes.all());
  std::lock_guard<std::mutex> lock(mutex);
  return CaseRecipes::runsOf(further.at(recipe.group));
}

void RecordedCases::setHostDigest(llvm::StringRef text, Digest host) {
  std::lock_guard<std::mutex> lock(mutex);
  hosts[digestOf(text)] = std::move(host);
}

bool RecordedCases::sharesHost(const ProgramArtefacts &program) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto mine = hosts.find(digestOf(program.text)), its = hosts.find(digestOf(first.text));
  return program.text == first.text ||
         (mine != hosts.end() && its != hosts.end() && mine->second == its->second);
}

llvm::Expected<std::string>
RecordedCases::once(const std::string &key,
                    llvm::function_ref<llvm::Error(const std::string &folder)> body) {
  auto folder = done.get(key, [&]() -> llvm::Expected<std::string> {
    std::string folder = joinPath(root, digestOf(key));
    if (llvm::Error error = tools.files.createDirectories(folder))
      return std::move(error);
    if (llvm::Error error = body(folder))
      return std::move(error);
    return folder;
  });
  if (!folder)
    return folder.takeError();
  return *folder;
}

llvm::Expected<const NotedHost &> RecordedCases::notedHost(const ProgramArtefacts &program) {
  return noted.get(digestOf(program.text), [&]() -> llvm::Expected<NotedHost> {
    const bool isOriginal = program.text == first.text;
    if (isOriginal && workload.kind != WorkloadKind::Program)
      return NotedHost{program.text, {}, {}, {}};
    auto parsed = tools.parser.parse(tools.input.command, program.text);
    if (!parsed)
      return parsed.takeError();
    return isOriginal ? noteSeeds(**parsed) : noteBranches(**parsed, first.text);
  });
}

void RecordedCases::noteTaken(const ProgramArtefacts &program, const Recording &recording,
                              std::set<unsigned> TakenBranches::*in) {
  const std::vector<uint32_t> &numbers = recording.plan.outcome.taken;
  std::lock_guard<std::mutex> lock(mutex);
  (taken[digestOf(program.text)].*in).insert(numbers.begin(), numbers.end());
}

llvm::Expected<bool> RecordedCases::asksOutside(const ProgramArtefacts &program) {
  if (workload.kind != WorkloadKind::Program || !workload.arguments.empty() ||
      !workload.standardInput.empty() || llvm::StringRef(program.text).contains("argv"))
    return true;
  auto host = executable(program, recipes.recorded());
  if (!host)
    return host.takeError();
  return mayCall(*host, {"rand",
                         "lrand48",
                         "drand48",
                         "erand48",
                         "fopen",
                         "open",
                         "fgets",
                         "fread",
                         "scanf",
                         "getenv",
                         "secure_getenv",
                         "time",
                         "clock",
                         "gettimeofday",
                         "getpid",
                         "_ZNSt6chrono",
                         "_ZNSt13basic_filebuf",
                         "_ZNSt14basic_ifstream",
                         "_ZSt3cin",
                         "cudaDeviceGet",
                         "cudaGetDevice",
                         "cudaFuncGetAttributes",
                         "cudaOccupancy",
                         "cudaMemGetInfo",
                         "cudaEventElapsedTime",
                         "cudaPointerGetAttributes",
                         "cudaRuntimeGetVersion",
                         "cudaDriverGetVersion"});
}

llvm::Expected<std::vector<std::string>>
RecordedCases::branchesNotTaken(const ProgramArtefacts &program) {
  if (sharesHost(program))
    return std::vector<std::string>();
  auto host = notedHost(program);
  if (!host)
    return host.takeError();
  auto isOpen = asksOutside(program);
  if (!isOpen)
    return isOpen.takeError();
  std::lock_guard<std::mutex> lock(mutex);
  const TakenBranches &seen = taken[digestOf(program.text)];
  std::vector<std::string> all = sidesNotSeen(*host, seen.run, seen.called, !*isOpen);
  for (const std::string &hidden : host->hidden)
    all.push_back(hidden + " hides a branch");
  return all;
}

llvm::Expected<std::string> RecordedCases::executable(const ProgramArtefacts &program,
                                                      const CaseRecipe &recipe) {
  auto library = findRecordLibrary();
  if (!library)
    return library.takeError();
  bool whole = workload.kind == WorkloadKind::Program;
  std::string key = "host " + digestOf(program.text) +
                    (whole ? "" : " " + (recipe.run ? recipe.group : recipe.test.name));
  auto host = notedHost(program);
  if (!host)
    return host.takeError();
  auto folder = once(key, [&](const std::string &folder) -> llvm::Error {
    std::string text = host->text;
    CompileCommand command = tools.input.command;
    if (!whole) {
      std::string copy = joinPath(folder, llvm::sys::path::filename(program.sourcePath));
      if (llvm::Error error = tools.files.write(copy, text))
        return error;
      // One program for all cases: compiling takes longer than running.
      auto main = generateMain(workload, signature, copy, runsWith(recipe));
      if (!main)
        return main.takeError();
      text = std::move(*main);
      // What the copy includes lies beside the original.
      if (llvm::StringRef(program.text).contains("#include \""))
        command.hostFlags.insert(
            command.hostFlags.end(),
            {"-iquote", llvm::sys::path::parent_path(program.sourcePath).str()});
    }
    return emitter.linkHostProgram(command, text, {}, *library, joinPath(folder, "program"));
  });
  if (!folder)
    return folder.takeError();
  return joinPath(*folder, "program");
}

void RecordedCases::recordOnGpu(DeviceCompiler &compiler, unsigned index, std::string gpu) {
  machine = std::move(gpu);
  gpuCompiler = &compiler;
  gpuIndex = index;
}

llvm::Expected<std::string> RecordedCases::imageFor(const ProgramArtefacts &program) {
  if (!gpuCompiler) {
    auto image = device.build(program, RunMode::Plain);
    if (!image)
      return image.takeError();
    return image->path;
  }
  auto code = gpuCompiler->compileFor(program);
  if (!code)
    return code.takeError();
  if (code->cubinPath.empty())
    return llvm::make_error<ToolError>("recording on a GPU needs machine code, which nvcc makes",
                                       std::vector<std::string>{"nvcc"}, -1, "",
                                       "set CUDA_PATH to a CUDA toolkit");
  return code->cubinPath;
}

llvm::Expected<RecordRequest> RecordedCases::request(const ProgramArtefacts &program,
                                                     const CaseRecipe &recipe,
                                                     std::string executable, std::string image,
                                                     std::string folder) const {
  RecordRequest request;
  if (compiler && !gpuCompiler) {
    auto asks = mayCall(executable, {"cudaFuncGetAttributes", "cudaOccupancy"});
    if (!asks)
      return asks.takeError();
    auto code = *asks ? compiler->compileFor(program) : llvm::Expected<DeviceCode>(DeviceCode());
    if (!code)
      return code.takeError();
    for (const auto &[name, kernel] : code->kernels)
      if (kernel.registers)
        request.registers[name] = *kernel.registers;
  }
  request.name = tools.input.command.shownFile;
  request.executable = std::move(executable);
  request.image = std::move(image);
  request.arguments = recipe.arguments.value_or(workload.arguments);
  request.otherSources = recipe.otherSources;
  if (recipe.run)
    request.arguments = {std::to_string(*recipe.run)};
  request.standardInput = workload.standardInput;
  request.environment = workload.environment;
  std::string sourceFolder = llvm::sys::path::parent_path(tools.input.command.file).str();
  request.workingDirectory =
      workload.workingDirectory.empty() ? sourceFolder : workload.workingDirectory;
  request.folder = std::move(folder);
  if (workload.limitSeconds > 0)
    request.limits.wallSeconds = workload.limitSeconds;
  request.limits.launches = workload.limitLaunches;
  request.deviceIndex = gpuIndex;
  request.kernelTypes = kernelTypes;
  if (gpuCompiler) // real sizes; the GPU's memory is a limit, too
    request.limits.deviceBytes = request.limits.fileBytes = uint64_t{40} << 30;
  if (workload.limitGibibytes > 0)
    request.limits.hostBytes = request.limits.deviceBytes = request.limits.fileBytes =
        static_cast<uint64_t>(workload.limitGibibytes * (uint64_t{1} << 30));
  // A program may take no longer than the search with it, which needs time to say so.
  constexpr double programShare = 0.8;
  if (tools.budgetSeconds > 0)
    request.limits.wallSeconds =
        std::min(std::max(programShare * tools.budgetSeconds, 1.0), request.limits.wallSeconds);
  constexpr double askedSeconds = 30;
  if (recipe.test.asksMore)
    request.limits.wallSeconds = std::min(request.limits.wallSeconds, askedSeconds);
  if (tools.sandbox) // no recording is in sight
    request.sandbox = Sandbox{
        .readable = {sourceFolder, request.workingDirectory}, .writable = {}, .hidden = {root}};
  return request;
}

/// What the generated driver says of a recording's host side, beside its plan.
llvm::Error RecordedCases::writeHostResults(const Recording &recording) const {
  if (workload.kind == WorkloadKind::Program)
    return llvm::Error::success();
  std::string lines;
  llvm::SmallVector<llvm::StringRef> all;
  llvm::StringRef(recording.out).split(all, '\n');
  for (llvm::StringRef line : all)
    if (line.starts_with(hostResultWord))
      lines += line.str() + "\n";
  return tools.files.write(joinPath(recording.folder, hostResultsFileName), lines);
}

llvm::Expected<std::string> RecordedCases::record(const CaseRecipe &recipe) {
  return once("record " + recipe.test.name, [&](const std::string &folder) -> llvm::Error {
    // Neither compile needs the other.
    std::optional<llvm::Expected<std::string>> image, program;
    parallelFor(tools.jobs == 1 ? 1 : 2, 2, [&](size_t which) {
      if (which == 0)
        image.emplace(imageFor(first));
      else
        program.emplace(executable(first, recipe));
    });
    if (!*program && !*image)
      llvm::consumeError(program->takeError());
    if (!*image)
      return image->takeError();
    if (!*program)
      return program->takeError();
    auto recordRequest = request(first, recipe, **program, **image, folder);
    if (!recordRequest)
      return recordRequest.takeError();
    if (recipe.test.name == recipes.recorded().test.name)
      recordRequest->onDraft = onDraft;
    auto recording =
        recordOrReuse(tools.runner, *recordRequest, tools.recordings, tools.digests, machine);
    if (!recording)
      return recording.takeError();
    if (recipe.test.name == recipes.recorded().test.name)
      printed = {recording->exitStatus, recording->out, {}, recording->err};
    {
      std::lock_guard<std::mutex> lock(mutex);
      recordSeconds[recipe.test.name] = recording->wallSeconds;
    }
    if (recording->status != RecordStatus::Good && !recipe.test.recorded)
      recording->message += " on case " + recipe.test.name;
    if (llvm::Error error = recording->asError())
      return error;
    return writeHostResults(*recording);
  });
}

/// Whether \p distribution, which keeps recorded values, has others for uploads of \p kind where
/// they are those that are \p named.
static bool changes(InputDistribution distribution, UploadWords kind, bool isNamed) {
  switch (distribution) {
  case InputDistribution::SprinkledNumbers:
  case InputDistribution::FewSpecial:
    return isNamed && kind == UploadWords::Numbers;
  case InputDistribution::ZeroRuns:
  case InputDistribution::EndRuns:
    return isNamed && (kind == UploadWords::Numbers || kind == UploadWords::Integers);
  case InputDistribution::Shuffled:
  case InputDistribution::FewOfThem:
    return isNamed && (kind == UploadWords::Integers || kind == UploadWords::Records);
  default:
    return isNamed && kind == UploadWords::Integers;
  }
}

llvm::Expected<bool> RecordedCases::changesWords(const CaseRecipe &recipe,
                                                 const std::string &recording) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!words) {
    std::string problem;
    auto plan = kbrt::readPlan(recording, problem);
    if (!plan)
      return llvm::make_error<StoreError>(problem);
    words = uploadWords(*plan, recordSizes(*plan, kernelRecords));
  }
  for (auto [number, kind] : llvm::enumerate(*words))
    if (changes(*recipe.distribution, kind, !recipe.upload || *recipe.upload == number))
      return true;
  return false;
}

llvm::Error RecordedCases::checkSpaceOnce(const std::string &folder) {
  auto enough = hasSpace.get(0, [&]() -> llvm::Expected<bool> {
    std::string problem;
    auto plan = kbrt::readPlan(folder, problem);
    if (!plan)
      return llvm::make_error<StoreError>(problem);
    // Where the session's folder lies.
    const llvm::StringRef place = llvm::sys::path::parent_path(llvm::sys::path::parent_path(root));
    const CaseSpace needed = spaceForCases(*plan, folder);
    constexpr uint64_t muchBytes = uint64_t(1) << 30;
    if (needed.diskBytes + needed.memoryBytes >= muchBytes)
      tools.progress.line("the test cases take " + describe(needed, place));
    if (llvm::Error error = checkSpace(needed, spaceLeft(folder), place, liesInMemory(folder),
                                       tools.input.command.shownFile))
      return std::move(error);
    return true;
  });
  return enough ? llvm::Error::success() : enough.takeError();
}

llvm::Expected<const std::vector<InputFacts> &>
RecordedCases::heldFacts(const std::string &recording) {
  return facts.get(0, [&] { return inputFacts(recording, sorted, workload.uploadFacts); });
}

std::vector<std::string> RecordedCases::reliedOn() {
  auto base = record(recipes.recorded());
  if (!base) {
    llvm::consumeError(base.takeError()); // the gates that need it say so
    return {};
  }
  llvm::Expected<const std::vector<InputFacts> &> held = heldFacts(*base);
  std::vector<std::string> all = recipes.reliedOn();
  if (!held)
    llvm::consumeError(held.takeError());
  else
    for (const InputFacts &each : *held)
      all.push_back(describe(each));
  return all;
}

llvm::Expected<std::string> RecordedCases::varied(const CaseRecipe &recipe) {
  auto base = record(recipes.recorded());
  if (!base)
    return base.takeError();
  if (llvm::Error error = checkSpaceOnce(*base))
    return std::move(error);
  if (keepsRecorded(*recipe.distribution)) {
    llvm::Expected<bool> changes = changesWords(recipe, *base);
    if (!changes)
      return changes.takeError();
    if (!*changes)
      return base; // and nothing is written again
  }
  llvm::Expected<const std::vector<InputFacts> &> held = heldFacts(*base);
  if (!held)
    return held.takeError();
  return once(llvm::formatv("vary {0} {1}", recipe.test.name, lessenings(recipe)),
              [&](const std::string &folder) -> llvm::Error {
                return writeVaried(*base, recipe, lessenings(recipe), kernelRecords, *held,
                                   recipe.constants.empty() ? constants : recipe.constants, folder);
              });
}

void RecordedCases::lessen(const TestCase &test) {
  std::lock_guard<std::mutex> lock(mutex);
  ++lessened[test.name];
}

unsigned RecordedCases::lessenings(const CaseRecipe &recipe) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = lessened.find(recipe.test.name);
  return found == lessened.end() ? 0 : found->second;
}

TestCase RecordedCases::recorded() {
  std::vector<TestCase> all = cases();
  return *llvm::find_if(all, [](const TestCase &test) { return test.recorded; });
}

llvm::Expected<std::string> RecordedCases::original(const TestCase &test) {
  const CaseRecipe *recipe = find(test.name);
  if (!recipe)
    return llvm::make_error<UsageError>("no case '" + test.name + "'");
  if (recipe->isDry)
    return recordCalls(first, *recipe);
  if (recipe->otherSources) {
    auto has = hasSources();
    if (!has)
      return has.takeError();
    return record(*has ? *recipe : recipes.recorded());
  }
  if (recipe->test.feedsOtherResults) {
    auto others = otherResults(*recipe);
    return others ? llvm::Expected<std::string>(others->recording) : others.takeError();
  }
  return recipe->distribution ? varied(*recipe) : record(*recipe);
}

/// What a program does with its last results, such as computing them again, hands nothing over.
static constexpr double quietSeconds = 0.5;

/// A function's driver says at its end what the function returned.
static double quietOf(const Workload &workload) {
  return workload.kind == WorkloadKind::Program ? quietSeconds : 0;
}

llvm::Expected<const RecordedCases::OtherResults &>
RecordedCases::otherResults(const CaseRecipe &recipe) {
  return otherwise.get(0, [&]() -> llvm::Expected<OtherResults> {
    auto base = record(recipes.recorded());
    if (!base)
      return base.takeError();
    llvm::Error lost = llvm::Error::success();
    for (auto [number, factors] : llvm::enumerate(allResultFactors)) {
      OtherResults tried{joinPath(root, "other-results" + std::to_string(number)), *base};
      if (llvm::Error error = tools.files.createDirectories(tried.results))
        return llvm::joinErrors(std::move(lost), std::move(error));
      auto written = writeOtherResults(tools.files, *base, factors, tried.results);
      if (!written || !*written) {
        llvm::consumeError(std::move(lost));
        return written ? llvm::Expected<OtherResults>(tried) : written.takeError();
      }
      auto fed = feed(first, recipe, tried.results, quietOf(workload));
      if (fed) {
        llvm::consumeError(std::move(lost));
        auto isSame = isSameWork(*base, *fed);
        if (!isSame)
          return isSame.takeError();
        if (!*isSame)
          tried.recording = *fed;
        return tried;
      }
      lost = llvm::joinErrors(std::move(lost), fed.takeError());
    }
    return std::move(lost);
  });
}

/// Of the recording of a fed host that may be ended when it is quiet.
static std::string quietKey(const ProgramArtefacts &program, llvm::StringRef test) {
  return ("fed " + digestOf(program.text) + " " + test + " quiet").str();
}

/// Of one that runs to its end.
static std::string wholeKey(const ProgramArtefacts &program, llvm::StringRef test) {
  return ("fed " + digestOf(program.text) + " " + test).str();
}

llvm::Expected<std::string> RecordedCases::feed(const ProgramArtefacts &program,
                                                const CaseRecipe &recordedAs,
                                                const std::string &base, double quietSeconds,
                                                const OtherDevice *elsewhere) {
  std::string name = recordedAs.test.name;
  if (recordedAs.test.feedsOtherResults)
    name += (" " + llvm::sys::path::filename(base)).str();
  const std::string key = quietSeconds > 0 ? quietKey(program, name)
                          : elsewhere      ? (elsewhere->name + digestOf(program.text) + name).str()
                                           : wholeKey(program, name);
  return feedAs(key, program, recordedAs, base, quietSeconds, elsewhere);
}

static llvm::Error cannotFollow(const llvm::Twine &why, llvm::StringRef note = "") {
  return llvm::make_error<CannotFollow>(("the candidate's host cannot be followed: " + why).str(),
                                        note.str());
}

/// The recorder names the program behind the original's file.
static std::string withoutProgram(llvm::StringRef message) {
  auto [program, what] = message.split("': ");
  return (what.empty() ? program : what).str();
}

/// How the reads of \p recording, of a host that was fed the results in \p base, are not those.
static llvm::Expected<std::optional<std::string>> readsOthers(const Recording &recording,
                                                              const std::string &base) {
  if (recording.status == RecordStatus::Mismatch)
    return withoutProgram(recording.message);
  if (recording.status != RecordStatus::Good)
    return std::nullopt;
  std::string problem;
  auto original = kbrt::readPlan(base, problem);
  if (!original)
    return llvm::make_error<StoreError>(problem);
  const uint64_t all = kbrt::observableBytes(*original),
                 own = kbrt::observableBytes(recording.plan);
  if (own == all)
    return std::nullopt;
  return llvm::formatv("it reads {0} bytes of results, the original's {1}", own, all).str();
}

llvm::Expected<RecordRequest> RecordedCases::hostRequest(const ProgramArtefacts &program,
                                                         const CaseRecipe &recordedAs,
                                                         std::string folder, double quietSeconds,
                                                         const OtherDevice *elsewhere) {
  auto host = executable(program, recordedAs);
  if (!host)
    return host.takeError();
  auto image = imageFor(program);
  if (!image)
    return image.takeError();
  auto hostRequest = request(program, recordedAs, *host, *image, std::move(folder));
  if (!hostRequest)
    return hostRequest.takeError();
  hostRequest->quietSeconds = quietSeconds;
  hostRequest->elsewhere = elsewhere;
  std::lock_guard<std::mutex> lock(mutex);
  if (auto known = endless.find(digestOf(program.text)); known != endless.end())
    return known->second.asError();
  constexpr double leastSeconds = 20, timesOriginal = 10;
  hostRequest->limits.wallSeconds =
      std::min(hostRequest->limits.wallSeconds,
               std::max(leastSeconds, timesOriginal * recordSeconds[recordedAs.test.name]));
  return hostRequest;
}

llvm::Error RecordedCases::takeHostRun(const Recording &recording, const std::string &key,
                                       const ProgramArtefacts &program,
                                       const CaseRecipe &recordedAs, const OtherDevice *elsewhere,
                                       bool mayFail) {
  if (recording.status == RecordStatus::TimedOut) {
    Recording end;
    end.status = recording.status;
    end.message = "the candidate's host does not come to its end; " + recording.message;
    std::lock_guard<std::mutex> lock(mutex);
    if (!mayFail)
      endless.emplace(digestOf(program.text), end);
    return end.asError();
  }
  if (recording.status == RecordStatus::Unsupported || recording.status == RecordStatus::Mismatch)
    return cannotFollow(withoutProgram(recording.message), recording.note);
  // A program that checks what it made of others' results may well say that they are wrong.
  const bool ended = recording.plan.outcome.ending == kbrt::Ending::Exit;
  if (recording.status != RecordStatus::Good &&
      !(mayFail && ended && recording.status == RecordStatus::ProgramFailed)) {
    Recording failed = recording;
    failed.message += " on case " + recordedAs.test.name;
    if (elsewhere)
      failed.message += (" with " + elsewhere->name + " and other addresses").str();
    return failed.asError();
  }
  noteTaken(program, recording, &TakenBranches::run);
  {
    std::lock_guard<std::mutex> lock(mutex);
    fedPrinted[key] = {recording.exitStatus, recording.out, {}, recording.err};
  }
  return writeHostResults(recording);
}

llvm::Expected<std::string> RecordedCases::feedAs(const std::string &key,
                                                  const ProgramArtefacts &program,
                                                  const CaseRecipe &recordedAs,
                                                  const std::string &base, double quietSeconds,
                                                  const OtherDevice *elsewhere) {
  return once(key, [&](const std::string &folder) -> llvm::Error {
    auto fedRequest = hostRequest(program, recordedAs, folder, quietSeconds, elsewhere);
    if (!fedRequest)
      return fedRequest.takeError();
    auto recording = recordOracleFed(tools.runner, *fedRequest, base);
    if (!recording)
      return recording.takeError();
    if (auto reads = readsOthers(*recording, base); !reads || *reads) {
      if (!reads)
        return reads.takeError();
      std::lock_guard<std::mutex> lock(mutex);
      otherReaders.insert({digestOf(program.text), recordedAs.test.name});
      return cannotFollow(**reads);
    }
    return takeHostRun(*recording, key, program, recordedAs, elsewhere,
                       recordedAs.test.feedsOtherResults);
  });
}

llvm::Expected<bool> RecordedCases::hasSources() {
  auto base = record(recipes.recorded());
  if (!base)
    return base.takeError();
  constexpr double mostSeconds = 2; // it is run once more, kernels and all
  if (wholeSeconds() > mostSeconds)
    return false;
  auto host = notedHost(first);
  if (!host)
    return host.takeError();
  if (!host->seeds.empty())
    return true;
  auto program = executable(first, recipes.recorded());
  if (!program)
    return program.takeError();
  return mayCall(*program, {"rand", "lrand48", "drand48", "erand48", "fopen", "open",
                            "_ZNSt13basic_filebuf", "_ZNSt14basic_ifstream"});
}

llvm::Error RecordedCases::checkSeeds(const ProgramArtefacts &program) {
  auto own = notedHost(first), its = notedHost(program);
  if (!own || !its)
    return llvm::joinErrors(own.takeError(), its.takeError());
  if (own->seeds == its->seeds)
    return llvm::Error::success();
  return llvm::make_error<CannotFollow>(
      "the candidate seeds its generators of random numbers in other lines", "");
}

llvm::Expected<std::string> RecordedCases::recordCalls(const ProgramArtefacts &program,
                                                       const CaseRecipe &recipe) {
  auto base = record(recipes.recorded()); // says what device there is
  if (!base)
    return base.takeError();
  return once("calls " + digestOf(program.text) + recipe.test.name,
              [&](const std::string &folder) -> llvm::Error {
                auto host = executable(program, recipe);
                if (!host)
                  return host.takeError();
                auto image = imageFor(program);
                if (!image)
                  return image.takeError();
                auto calls = request(program, recipe, *host, *image, folder);
                if (!calls)
                  return calls.takeError();
                // Nothing runs, and a host that touches what it hands over has no business here.
                constexpr double mostSeconds = 3;
                constexpr uint64_t deviceBytes = uint64_t(56) << 30, hostBytes = uint64_t(120)
                                                                                 << 30;
                calls->isDry = true;
                calls->limits.wallSeconds = std::min(calls->limits.wallSeconds, mostSeconds);
                calls->limits.deviceBytes = deviceBytes;
                calls->limits.hostBytes = hostBytes; // of addresses
                auto recording = recordOracleFed(tools.runner, *calls, *base);
                if (!recording)
                  return recording.takeError();
                noteTaken(program, *recording, &TakenBranches::called);
                if (recording->status == RecordStatus::Good)
                  return llvm::Error::success();
                recording->message += " on case " + recipe.test.name;
                if (recording->status == RecordStatus::ProgramFailed ||
                    recording->status == RecordStatus::Crashed)
                  return recording->asError();
                return llvm::make_error<CannotFollow>(recording->message, recording->note);
              });
}

CaseSource::WholeRun RecordedCases::fedRun(const std::string &key) const {
  std::lock_guard<std::mutex> lock(mutex);
  return fedPrinted.at(key);
}

llvm::Expected<CaseSource::WholeRun> RecordedCases::fedHost(const ProgramArtefacts &program) {
  const CaseRecipe &recipe = recipes.recorded();
  auto base = record(recipe);
  if (!base)
    return base.takeError();
  if (auto fed = feed(program, recipe, *base, /*quietSeconds=*/0); !fed)
    return fed.takeError();
  return fedRun(wholeKey(program, recipe.test.name));
}

llvm::Expected<CaseSource::WholeRun> RecordedCases::originalHost(unsigned number) {
  const CaseRecipe &recipe = recipes.recorded();
  auto base = record(recipe);
  if (!base)
    return base.takeError();
  if (number == 0)
    return printed;
  const std::string key = "the original's host " + std::to_string(number);
  if (auto fed = feedAs(key, first, recipe, *base, /*quietSeconds=*/0, /*elsewhere=*/nullptr); !fed)
    return fed.takeError();
  return fedRun(key);
}

llvm::Expected<std::string> RecordedCases::candidate(const ProgramArtefacts &program,
                                                     const TestCase &test) {
  auto oracle = original(test);
  if (!oracle || sharesHost(program))
    return oracle;
  const CaseRecipe &recipe = *find(test.name);
  if (recipe.isDry)
    return recordCalls(program, recipe);
  if (recipe.otherSources)
    if (llvm::Error error = checkSeeds(program))
      return std::move(error);
  if (test.feedsOtherResults) {
    auto others = otherResults(recipe);
    return others ? feed(program, recipe, others->results, quietOf(workload)) : others.takeError();
  }
  const CaseRecipe &recordedAs = recipe.distribution ? recipes.recorded() : recipe;
  auto base = original(recordedAs.test);
  if (!base)
    return base;
  // The host side differs: its plan comes from a run that is fed the oracle's bytes.
  const std::string &name = recordedAs.test.name;
  const bool mayBeQuiet =
      workload.kind == WorkloadKind::Program &&
      (program.exactly ? done.has(quietKey(program, name)) : !done.has(wholeKey(program, name)));
  auto fed = feedAny(program, recordedAs, *base, mayBeQuiet ? quietSeconds : 0);
  if (fed && mayBeQuiet && program.exactly) {
    std::string problem;
    auto plan = kbrt::readPlan(*fed, problem);
    if (!plan || plan->outcome.message == kbrt::quietEnding)
      fed = feedAny(program, recordedAs, *base, 0);
  }
  if (!fed || !recipe.distribution)
    return fed;
  return once(llvm::formatv("varied {0} {1} {2}", *fed, test.name, lessenings(recipe)),
              [&](const std::string &folder) {
                return writeVariedLike(tools.files, *fed, *base, *oracle, folder);
              });
}

llvm::Expected<std::string> RecordedCases::candidateElsewhere(const ProgramArtefacts &program,
                                                              const TestCase &recorded,
                                                              const OtherDevice &other) {
  auto oracle = original(recorded);
  if (!oracle || sharesHost(program))
    return oracle;
  return feedAny(program, *find(recorded.name), *oracle, /*quietSeconds=*/0, &other);
}

llvm::Expected<bool> RecordedCases::asksDevice(const ProgramArtefacts &program) {
  auto host = executable(sharesHost(program) ? first : program, recipes.recorded());
  if (!host)
    return host.takeError();
  return mayCall(*host, {"cudaDeviceGetAttribute", "cudaGetDeviceProperties",
                         "cudaFuncGetAttributes", "cudaOccupancy", "cudaDeviceGetLimit"});
}

std::optional<llvm::Expected<CaseSource::WholeRun>>
RecordedCases::wholeProgram(const ProgramArtefacts &program, llvm::StringRef otherImage,
                            Rounding rounding) {
  if (workload.kind != WorkloadKind::Program)
    return std::nullopt;
  auto run = [&]() -> llvm::Expected<WholeRun> {
    const CaseRecipe &recipe = recipes.recorded();
    auto host = executable(sharesHost(program) ? first : program, recipe);
    if (!host)
      return host.takeError();
    auto image =
        otherImage.empty() ? imageFor(program) : llvm::Expected<std::string>(otherImage.str());
    if (!image)
      return image.takeError();
    std::string folder =
        joinPath(root, "whole" + std::to_string(wholeRuns++)); // several may run at once
    if (llvm::Error error = tools.files.createDirectories(folder))
      return std::move(error);
    auto whole = request(program, recipe, *host, *image, folder);
    if (!whole)
      return whole.takeError();
    whole->rounding = toString(rounding).str();
    auto ended = executeProgram(tools.runner, *whole);
    if (!ended)
      return ended.takeError();
    if (ended->status == RecordStatus::NoDevice) // says nothing about the program
      return ended->asError();
    return WholeRun{ended->exitStatus, ended->out, ended->written, ended->err};
  };
  return run();
}

double RecordedCases::wholeSeconds() {
  std::lock_guard<std::mutex> lock(mutex);
  auto own = recordSeconds.find(recipes.recorded().test.name);
  return own == recordSeconds.end() ? 0 : own->second;
}

std::optional<TestCase> RecordedCases::reseeded(const TestCase &test) {
  const CaseRecipe *recipe = find(test.name);
  // Of the varied cases, any with the same plan and another seed will do.
  for (const CaseRecipe &other : recipes.all())
    if (recipe && other.distribution && !other.test.asksMore && !recipe->test.unseen &&
        other.sizes == recipe->sizes && other.test.name != recipe->test.name)
      return other.test;
  return std::nullopt;
}

Tolerance RecordedCases::tolerance(const TestCase &, unsigned) {
  Tolerance tolerance;
  if (workload.tolerance) {
    tolerance.absolute = workload.tolerance->absolute;
    tolerance.relative = workload.tolerance->relative;
  }
  tolerance.isHeldToFloat64 = workload.isHeldToFloat64;
  return tolerance;
}
