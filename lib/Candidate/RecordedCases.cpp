//===- RecordedCases.cpp --------------------------------------------------===//
#include "kb-opt/Candidate/RecordedCases.h"
#include "kb-opt/Candidate/CaseSpace.h"
#include "kb-opt/Plan/KeptRecording.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FreeSpace.h"
#include "kb-opt/Support/Parallel.h"
#include "kbrt/QuietEnding.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FileOutputBuffer.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace kbopt;

/// EVALUATION.md, G7.
static constexpr uint64_t variedSeeds = 5;

static std::string joinPath(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

static std::string sizeText(const SizeMap &sizes) {
  std::string text;
  for (const auto &[name, value] : sizes)
    text += (text.empty() ? "" : " ") + std::string(name) + "=" + std::to_string(value);
  return text;
}

RecordedCases::RecordedCases(const CandidateTools &tools, Device &device, ProgramArtefacts original,
                             Workload workload, Signature signature, std::string folder)
    : tools(tools), device(device), emitter(tools.runner, tools.limits), first(std::move(original)),
      workload(std::move(workload)), signature(std::move(signature)), root(std::move(folder)) {
  const Workload &w = this->workload;
  Recipe recorded;
  recorded.test.name = "recorded";
  recorded.test.recorded = true;
  recorded.sizes = w.sizes;
  recipes.push_back(recorded);
  auto addSizes = [&](const std::vector<SizeMap> &all, bool unseen) {
    for (const SizeMap &sizes : all) {
      Recipe recipe;
      recipe.sizes = sizes;
      recipe.seed = recipes.size();
      recipe.test.name = sizeText(sizes) + " seed=" + std::to_string(recipe.seed);
      recipe.test.unseen = unseen;
      recipes.push_back(recipe);
    }
  };
  addSizes(w.testSizes, false);
  for (uint64_t seed = 1; seed <= variedSeeds; ++seed)
    for (InputDistribution distribution : allInputDistributions) {
      // Every distribution once, and every seed.
      if (seed > 1 && distribution != InputDistribution::Normal)
        continue;
      Recipe recipe = recorded;
      recipe.test.recorded = false;
      recipe.test.variesRecorded = true;
      recipe.test.mostLessenings = mostLessenings(distribution);
      recipe.test.hasExactSums = distribution == InputDistribution::WholeNumbers;
      recipe.seed = seed;
      recipe.distribution = distribution;
      recipe.test.name = "seed=" + std::to_string(seed) + " " + toString(distribution).str();
      recipes.push_back(recipe);
    }
  addSizes(w.unseenSizes, true);
  addLayouts();
  addIntegers();
  addCalls();
  numberRuns();
}

RecordedCases::Recipe RecordedCases::derived(llvm::StringRef name) const {
  Recipe recipe = recipes.front();
  recipe.test.name = name.str();
  recipe.test.recorded = false;
  return recipe;
}

/// Integers and records are not any numbers: the original is asked first whether it stands others.
void RecordedCases::addIntegers() {
  constexpr unsigned mostUploads = 6;
  auto add = [&](llvm::StringRef name, InputDistribution distribution,
                 std::optional<unsigned> upload) {
    Recipe recipe = derived(name);
    recipe.test.asksMore = recipe.test.variesRecorded = true;
    recipe.distribution = distribution;
    recipe.upload = upload;
    recipe.seed = 1;
    recipes.push_back(recipe);
  };
  for (InputDistribution distribution : recordedDistributions)
    add(("integers " + toString(distribution)).str(), distribution, std::nullopt);
  // One by one: indices among them, which a program stands in another order or not at all, keep the
  // rest from it.
  for (InputDistribution distribution :
       {InputDistribution::Shuffled, InputDistribution::AnyBits, InputDistribution::AnyIndex})
    for (unsigned upload = 0; upload < mostUploads; ++upload)
      add(llvm::formatv("upload {0} {1}", upload + 1, toString(distribution)).str(), distribution,
          upload);
}

static int64_t primeBelow(int64_t limit) {
  auto isPrime = [](int64_t n) {
    for (int64_t d = 2; d * d <= n; ++d)
      if (n % d == 0)
        return false;
    return n > 1;
  };
  while (limit > 2 && !isPrime(limit))
    --limit;
  return std::max<int64_t>(1, limit);
}

/// The next size at which tiles of a power of two have no tail: the largest power that is no more
/// than \p size, and no more than 128.
static int64_t wholeTiles(int64_t size) {
  constexpr uint64_t mostTile = 128;
  if (size <= 0)
    return size;
  const uint64_t tile = std::min(mostTile, llvm::bit_floor(static_cast<uint64_t>(size)));
  return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(size), tile));
}

void RecordedCases::addCalls() {
  if (workload.kind == WorkloadKind::Program)
    return;
  const SizeMap base = workload.sizes;
  auto add = [&](Recipe recipe, bool asksMore) {
    recipe.test.asksMore = asksMore;
    if (auto text = generateMain(workload, signature, "k.cu", recipe.driverRun()))
      recipes.push_back(std::move(recipe));
    else
      llvm::consumeError(text.takeError()); // the workload has nothing of that size
  };
  Recipe again = derived("called three times");
  again.calls = {{base, 11}, {base, 12}, {base, 13}};
  add(again, false);
  if (hasOtherScalars(workload)) {
    Recipe scalars = derived("other scalars");
    scalars.calls = {{base, 14, true}};
    add(scalars, true);
  }
  if (takesStream(workload, signature)) {
    Recipe stream = derived("a stream of its own");
    stream.ownStream = true;
    add(stream, false);
  }
  if (base.empty())
    return;
  SizeMap more = base, prime = base, twice = base, whole = base;
  for (auto &[name, value] : more)
    ++value;
  for (auto &[name, value] : twice)
    value *= 2;
  for (auto &[name, value] : whole)
    value = wholeTiles(value);
  int64_t limit = std::numeric_limits<int64_t>::max();
  for (auto &[name, value] : prime) // different ones, as far as there are any
    limit = value = primeBelow(std::min(value * 3 / 4, limit - 1));
  auto addSizes = [&](const SizeMap &sizes, BufferLayout layout = BufferLayout::Separate) {
    Recipe recipe =
        derived(sizeText(sizes) + (layout == BufferLayout::Misaligned ? " misaligned" : ""));
    recipe.sizes = sizes;
    recipe.seed = 20 + recipes.size();
    recipe.layout = layout;
    if (!llvm::any_of(recipes,
                      [&](const Recipe &other) { return other.test.name == recipe.test.name; }))
      add(recipe, true);
  };
  addSizes(prime);
  addSizes(more);
  addSizes(more, BufferLayout::Misaligned);
  if (whole != base) // else the recorded case has no part of a tile
    addSizes(whole);
  constexpr size_t mostDoubled = 2, mostZeros = 3;
  if (base.size() <= mostDoubled)
    addSizes(twice);
  for (const auto &[name, value] : base)
    if (SizeMap none = base; recipes.size() && none.size() <= mostZeros) {
      none[name] = 0;
      addSizes(none);
    }
  Recipe growing = derived("called with other sizes");
  growing.calls = {{prime, 15}, {more, 16}, {prime, 17}, {base, 18}};
  add(growing, true);
}

void RecordedCases::numberRuns() {
  if (workload.kind == WorkloadKind::Program)
    return;
  size_t count = 0;
  for (Recipe &recipe : recipes) {
    if (recipe.distribution)
      continue;
    if (auto text = generateMain(workload, signature, "k.cu", recipe.driverRun()))
      recipe.run = count++;
    else
      llvm::consumeError(text.takeError()); // whoever asks for the case is told
  }
}

/// Where the workload stands for a caller, that caller may hand over any pointers.
/// A whole program's own host code has chosen them.
void RecordedCases::addLayouts() {
  if (workload.kind == WorkloadKind::Program)
    return;
  auto add = [&](llvm::StringRef name, BufferLayout layout, Assumption broken) {
    Recipe recipe = derived(name);
    recipe.test.breaks = broken;
    recipe.layout = layout;
    recipes.push_back(recipe);
  };
  add("misaligned buffers", BufferLayout::Misaligned, Assumption::Aligned);
  auto pairs = overlappingBuffers(workload, signature, workload.sizes);
  if (!pairs)
    llvm::consumeError(pairs.takeError()); // the recorded case says it, with its place
  else if (!pairs->empty())
    add("results in the place of inputs", BufferLayout::Overlapping, Assumption::NoAlias);
}

std::vector<TestCase> RecordedCases::cases() {
  std::vector<TestCase> all;
  for (const Recipe &recipe : recipes)
    all.push_back(recipe.test);
  return all;
}

const RecordedCases::Recipe *RecordedCases::find(llvm::StringRef name) const {
  for (const Recipe &recipe : recipes)
    if (recipe.test.name == name)
      return &recipe;
  return nullptr;
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

llvm::Expected<std::string> RecordedCases::executable(const ProgramArtefacts &program,
                                                      const Recipe &recipe) {
  auto library = findRecordLibrary();
  if (!library)
    return library.takeError();
  bool whole = workload.kind == WorkloadKind::Program;
  std::string key =
      "host " + digestOf(program.text) + (whole || recipe.run ? "" : " " + recipe.test.name);
  auto folder = once(key, [&](const std::string &folder) -> llvm::Error {
    std::string text = program.text;
    CompileCommand command = tools.input.command;
    if (!whole) {
      std::string copy = joinPath(folder, llvm::sys::path::filename(program.sourcePath));
      if (llvm::Error error = tools.files.write(copy, text))
        return error;
      // One program for all cases: compiling takes longer than running.
      std::vector<DriverRun> runs;
      for (const Recipe &each : recipes)
        if (each.run)
          runs.push_back(each.driverRun());
      if (!recipe.run)
        runs = {recipe.driverRun()};
      auto main = generateMain(workload, signature, copy, runs);
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

RecordRequest RecordedCases::request(const Recipe &recipe, std::string executable,
                                     std::string image, std::string folder) const {
  RecordRequest request;
  request.name = tools.input.command.shownFile;
  request.executable = std::move(executable);
  request.image = std::move(image);
  request.arguments = workload.arguments;
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

llvm::Expected<std::string> RecordedCases::record(const Recipe &recipe) {
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
    auto recording = recordOrReuse(tools.runner, request(recipe, **program, **image, folder),
                                   tools.recordings, tools.digests, machine);
    if (!recording)
      return recording.takeError();
    if (recipe.test.name == recipes.front().test.name)
      output = recording->out;
    {
      std::lock_guard<std::mutex> lock(mutex);
      recordSeconds[recipe.test.name] = recording->wallSeconds;
    }
    if (llvm::Error error = recording->asError())
      return error;
    return writeHostResults(*recording);
  });
}

RecordSizes RecordedCases::recordSizes(const kbrt::Plan &plan) const {
  RecordSizes sizes(plan.buffers.size());
  for (const kbrt::Step &step : plan.steps) {
    const auto *launch = std::get_if<kbrt::LaunchStep>(&step);
    auto known = launch ? kernelRecords.find(launch->kernel) : kernelRecords.end();
    if (known == kernelRecords.end())
      continue;
    for (size_t i = 0; i < launch->arguments.size() && i < known->second.size(); ++i)
      for (const kbrt::PointerWord &word : launch->arguments[i].pointers)
        sizes[word.target.buffer] = known->second[i];
  }
  return sizes;
}

/// Uploads of the same bytes at the same places of the data.
static bool uploadsAlike(const kbrt::Plan &a, const kbrt::Plan &b) {
  auto places = [](const kbrt::Plan &plan) {
    std::vector<std::pair<uint64_t, uint64_t>> all;
    for (const kbrt::Step &step : plan.steps)
      if (const auto *upload = std::get_if<kbrt::UploadStep>(&step))
        all.push_back({upload->data, upload->to.bytes()});
    return all;
  };
  return places(a) == places(b);
}

/// The data of the recording in \p folder, mapped; null if nothing is uploaded.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> mapData(llvm::StringRef folder) {
  const std::string path = joinPath(folder, kbrt::dataFileName);
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (file)
    return std::move(*file);
  if (file.getError() == std::errc::no_such_file_or_directory)
    return nullptr;
  return llvm::make_error<StoreError>("cannot read '" + path + "': " + file.getError().message());
}

/// The data of the recording \p from as those of \p folder, too: one file under two names, which
/// nobody writes to. False where the file system has no such links.
static bool sharesData(llvm::StringRef from, llvm::StringRef folder) {
  return !llvm::sys::fs::create_hard_link(joinPath(from, kbrt::dataFileName),
                                          joinPath(folder, kbrt::dataFileName));
}

llvm::Error RecordedCases::writeVariedLike(const std::string &recording, const std::string &base,
                                           const std::string &varied,
                                           const std::string &folder) const {
  std::string problem;
  auto original = kbrt::readPlan(base, problem), plan = kbrt::readPlan(recording, problem);
  if (!original || !plan)
    return llvm::make_error<StoreError>(problem);
  std::unique_ptr<llvm::MemoryBuffer> files[3];
  llvm::StringRef data[3];
  const std::string *folders[] = {&base, &varied, &recording};
  for (size_t i = 0; i < std::size(folders); ++i) {
    auto mapped = mapData(*folders[i]);
    if (!mapped)
      return mapped.takeError();
    files[i] = std::move(*mapped);
    data[i] = files[i] ? files[i]->getBuffer() : "";
  }
  // Where a candidate uploads what the original does, its varied data are the original's.
  if (uploadsAlike(*original, *plan) && data[0] == data[2] && sharesData(varied, folder)) {
    if (!kbrt::writePlan(*plan, folder, problem))
      return llvm::make_error<StoreError>(problem);
    return llvm::Error::success();
  }
  auto changed = varyLike(*original, data[0], data[1], *plan, data[2]);
  if (!changed)
    return changed.takeError();
  if (!kbrt::writePlan(*plan, folder, problem))
    return llvm::make_error<StoreError>(problem);
  return tools.files.write(joinPath(folder, kbrt::dataFileName), *changed);
}

static llvm::Error cannotWrite(const std::string &path, llvm::Error why) {
  return llvm::make_error<StoreError>("cannot write '" + path +
                                          "': " + llvm::toString(std::move(why)),
                                      "free some space, or name another folder with TMPDIR");
}

llvm::Error RecordedCases::writeVaried(const std::string &recording, const Recipe &recipe,
                                       const std::string &folder) const {
  std::string problem;
  auto plan = kbrt::readPlan(recording, problem);
  if (!plan)
    return llvm::make_error<StoreError>(problem);
  auto mapped = mapData(recording);
  if (!mapped)
    return mapped.takeError();
  const llvm::StringRef data = *mapped ? (*mapped)->getBuffer() : "";
  if (!kbrt::writePlan(*plan, folder, problem))
    return llvm::make_error<StoreError>(problem);
  // The values are made where they stay: a program may upload gigabytes.
  const std::string path = joinPath(folder, kbrt::dataFileName);
  auto out = llvm::FileOutputBuffer::create(path, data.size());
  if (!out)
    return cannotWrite(path, out.takeError());
  const llvm::MutableArrayRef<uint8_t> bytes((*out)->getBufferStart(), data.size());
  auto uploads =
      keepsRecorded(*recipe.distribution)
          ? varyRecorded(*plan, data, bytes, recipe.seed, *recipe.distribution, recipe.upload,
                         recordSizes(*plan))
          : varyInputs(*plan, data, bytes, recipe.seed, *recipe.distribution, lessenings(recipe));
  if (!uploads)
    return uploads.takeError();
  if (!uploads->uploadsVaried && *mapped && sharesData(recording, folder))
    return llvm::Error::success();
  if (llvm::Error error = (*out)->commit())
    return cannotWrite(path, std::move(error));
  return llvm::Error::success();
}

llvm::Expected<bool> RecordedCases::changesWords(const Recipe &recipe,
                                                 const std::string &recording) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!words) {
    std::string problem;
    auto plan = kbrt::readPlan(recording, problem);
    if (!plan)
      return llvm::make_error<StoreError>(problem);
    words = uploadWords(*plan, recordSizes(*plan));
  }
  const bool takesRecords = *recipe.distribution == InputDistribution::Shuffled ||
                            *recipe.distribution == InputDistribution::FewOfThem;
  for (auto [number, kind] : llvm::enumerate(*words))
    if ((!recipe.upload || *recipe.upload == number) &&
        (kind == UploadWords::Integers || (kind == UploadWords::Records && takesRecords)))
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

llvm::Expected<std::string> RecordedCases::varied(const Recipe &recipe) {
  auto base = record(recipes.front());
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
  return once(
      llvm::formatv("vary {0} {1}", recipe.test.name, lessenings(recipe)),
      [&](const std::string &folder) -> llvm::Error { return writeVaried(*base, recipe, folder); });
}

void RecordedCases::lessen(const TestCase &test) {
  std::lock_guard<std::mutex> lock(mutex);
  ++lessened[test.name];
}

unsigned RecordedCases::lessenings(const Recipe &recipe) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = lessened.find(recipe.test.name);
  return found == lessened.end() ? 0 : found->second;
}

TestCase RecordedCases::recorded() {
  std::vector<TestCase> all = cases();
  return *llvm::find_if(all, [](const TestCase &test) { return test.recorded; });
}

llvm::Expected<std::string> RecordedCases::original(const TestCase &test) {
  const Recipe *recipe = find(test.name);
  if (!recipe)
    return llvm::make_error<UsageError>("no case '" + test.name + "'");
  return recipe->distribution ? varied(*recipe) : record(*recipe);
}

/// Of the recording of a fed host that may be ended when it is quiet.
static std::string quietKey(const ProgramArtefacts &program, llvm::StringRef test) {
  return ("fed " + digestOf(program.text) + " " + test + " quiet").str();
}

llvm::Expected<std::string> RecordedCases::feed(const ProgramArtefacts &program,
                                                const Recipe &recordedAs, const std::string &base,
                                                double quietSeconds, bool isElsewhere) {
  const std::string key = quietSeconds > 0
                              ? quietKey(program, recordedAs.test.name)
                              : (isElsewhere ? "elsewhere " : "fed ") + digestOf(program.text) +
                                    " " + recordedAs.test.name;
  return once(key, [&](const std::string &folder) -> llvm::Error {
    auto host = executable(program, recordedAs);
    if (!host)
      return host.takeError();
    auto image = imageFor(program);
    if (!image)
      return image.takeError();
    RecordRequest fedRequest = request(recordedAs, *host, *image, folder);
    fedRequest.quietSeconds = quietSeconds;
    fedRequest.isElsewhere = isElsewhere;
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (auto known = endless.find(digestOf(program.text)); known != endless.end())
        return known->second.asError();
      // It runs no kernels.
      constexpr double leastSeconds = 20, timesOriginal = 10;
      fedRequest.limits.wallSeconds =
          std::min(fedRequest.limits.wallSeconds,
                   std::max(leastSeconds, timesOriginal * recordSeconds[recordedAs.test.name]));
    }
    auto recording = recordOracleFed(tools.runner, fedRequest, base);
    if (!recording)
      return recording.takeError();
    if (recording->status == RecordStatus::TimedOut) {
      Recording end;
      end.status = recording->status;
      end.message = "the candidate's host does not come to its end; " + recording->message;
      std::lock_guard<std::mutex> lock(mutex);
      endless.emplace(digestOf(program.text), end);
      return end.asError();
    }
    if (recording->status == RecordStatus::Unsupported ||
        recording->status == RecordStatus::Mismatch) {
      // The recorder names the program behind the original's file.
      auto [program, what] = llvm::StringRef(recording->message).split("': ");
      return llvm::make_error<CannotFollow>(
          ("the candidate's host cannot be followed: " + (what.empty() ? program : what)).str(),
          recording->note);
    }
    if (llvm::Error error = recording->asError())
      return error;
    return writeHostResults(*recording);
  });
}

llvm::Expected<std::string> RecordedCases::candidate(const ProgramArtefacts &program,
                                                     const TestCase &test) {
  auto oracle = original(test);
  if (!oracle || sharesHost(program))
    return oracle;
  const Recipe &recipe = *find(test.name);
  const Recipe &recordedAs = recipe.distribution ? recipes.front() : recipe;
  auto base = original(recordedAs.test);
  if (!base)
    return base;
  // The host side differs: its plan comes from a run that is fed the oracle's bytes.
  // What a program does with its results, such as computing them again, is left to the final check.
  constexpr double quiet = 0.5;
  const bool mayBeQuiet = workload.kind == WorkloadKind::Program &&
                          (!program.exactly || done.has(quietKey(program, recordedAs.test.name)));
  auto fed = feed(program, recordedAs, *base, mayBeQuiet ? quiet : 0);
  if (fed && mayBeQuiet && program.exactly) {
    std::string problem;
    auto plan = kbrt::readPlan(*fed, problem);
    if (!plan || plan->outcome.message == kbrt::quietEnding)
      fed = feed(program, recordedAs, *base, 0);
  }
  if (!fed || !recipe.distribution)
    return fed;
  return once(
      llvm::formatv("varied {0} {1} {2}", *fed, test.name, lessenings(recipe)),
      [&](const std::string &folder) { return writeVariedLike(*fed, *base, *oracle, folder); });
}

llvm::Expected<std::string> RecordedCases::candidateElsewhere(const ProgramArtefacts &program,
                                                              const TestCase &recorded) {
  auto oracle = original(recorded);
  if (!oracle || sharesHost(program))
    return oracle;
  return feed(program, *find(recorded.name), *oracle, /*quietSeconds=*/0, /*isElsewhere=*/true);
}

std::optional<llvm::Expected<CaseSource::WholeRun>>
RecordedCases::wholeProgram(const ProgramArtefacts &program, llvm::StringRef otherImage,
                            Rounding rounding) {
  if (workload.kind != WorkloadKind::Program)
    return std::nullopt;
  auto run = [&]() -> llvm::Expected<WholeRun> {
    const Recipe &recipe = recipes.front();
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
    RecordRequest whole = request(recipe, *host, *image, folder);
    whole.rounding = toString(rounding).str();
    auto ended = executeProgram(tools.runner, whole);
    if (!ended)
      return ended.takeError();
    if (ended->status == RecordStatus::NoDevice) // says nothing about the program
      return ended->asError();
    return WholeRun{ended->exitStatus, ended->out, ended->written};
  };
  return run();
}

double RecordedCases::wholeSeconds() {
  std::lock_guard<std::mutex> lock(mutex);
  auto own = recordSeconds.find(recipes.front().test.name);
  return own == recordSeconds.end() ? 0 : own->second;
}

std::optional<TestCase> RecordedCases::reseeded(const TestCase &test) {
  const Recipe *recipe = find(test.name);
  // Of the varied cases, any with the same plan and another seed will do.
  for (const Recipe &other : recipes)
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
  return tolerance;
}
