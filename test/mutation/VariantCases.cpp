//===- VariantCases.cpp ---------------------------------------------------===//
#include "VariantCases.h"
#include "kb-opt/Source/DeviceText.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"

using namespace llvm;

namespace kbopt {

/// The cases besides the recorded one: every distribution of gate G7 once.
static std::vector<std::pair<std::string, InputDistribution>> variations() {
  std::vector<std::pair<std::string, InputDistribution>> all;
  for (InputDistribution distribution : allInputDistributions)
    all.push_back({toString(distribution).str(), distribution});
  return all;
}

namespace {
struct Layout {
  const char *name;
  BufferLayout layout;
  Assumption broken;
};
constexpr Layout layouts[] = {
    {"misaligned buffers", BufferLayout::Misaligned, Assumption::Aligned},
    {"results in the place of inputs", BufferLayout::Overlapping, Assumption::NoAlias}};
} // namespace

static BufferLayout layoutOf(const TestCase &test) {
  for (const Layout &each : layouts)
    if (test.name == each.name)
      return each.layout;
  return BufferLayout::Separate;
}

void VariantCases::setWorkload(Workload given) {
  workload = std::move(given);
  // The suites' kernels take pointers to float and whole numbers.
  signature.name = workload.entryName().str();
  signature.isKernel = workload.kind == WorkloadKind::Kernel;
  for (const WorkloadParameter &parameter : workload.parameters)
    signature.parameters.push_back({parameter.name, !parameter.isBuffer          ? "int"
                                                    : parameter.role == Role::In ? "const float *"
                                                                                 : "float *"});
}

Expected<ProgramArtefacts> VariantCases::artefacts(StringRef text) {
  Expected<std::string> bitcode = emitter.emitDeviceBitcode(command, text);
  if (!bitcode)
    return bitcode.takeError();
  ProgramArtefacts program;
  program.name = command.shownFile;
  program.sourcePath = command.file;
  program.text = text.str();
  program.workingDirectory = command.directory;
  program.flags = command.nvccFlags;
  program.arch = command.arch;
  program.bitcodePath = folder + "/" + digestOf(text) + ".bc";
  Expected<std::unique_ptr<ParsedProgram>> parsed = parser.parse(command, text);
  if (!parsed)
    return parsed.takeError();
  program.slice = [slice = deviceSlice(**parsed)] { return slice; };
  if (Error error = realFileSystem().write(program.bitcodePath, *bitcode))
    return std::move(error);
  return program;
}

std::vector<TestCase> VariantCases::cases() {
  TestCase recorded;
  recorded.name = "recorded";
  recorded.recorded = true;
  std::vector<TestCase> all = {recorded};
  for (const auto &[name, distribution] : variations()) {
    TestCase test;
    test.name = name;
    test.mostLessenings = mostLessenings(distribution);
    test.variesRecorded = true;
    test.hasExactSums = distribution == InputDistribution::WholeNumbers;
    all.push_back(test);
  }
  if (workload.kind == WorkloadKind::Program)
    return all;
  for (const Layout &each : layouts) {
    TestCase test;
    test.name = each.name;
    test.breaks = each.broken;
    all.push_back(test);
  }
  return all;
}

void VariantCases::lessen(const TestCase &test) {
  ++lessened[test.name];
  done.erase(test.name);
}

std::optional<TestCase> VariantCases::reseeded(const TestCase &test) {
  TestCase other;
  other.name = test.name == "normal" ? "recorded" : "normal";
  return other;
}

Expected<std::string> VariantCases::record(const ProgramArtefacts &program, BufferLayout layout,
                                           StringRef oracle) {
  Expected<std::string> library = findRecordLibrary();
  if (!library)
    return library.takeError();
  Expected<DeviceImage> image = device.build(program, RunMode::Plain);
  if (!image)
    return image.takeError();
  RecordRequest request;
  request.folder = newFolder();
  request.executable = request.folder + ".program";
  request.image = image->path;
  request.limits.wallSeconds = 60;
  std::string text = program.text;
  if (workload.kind != WorkloadKind::Program) {
    std::string copy = request.folder + ".cu";
    if (Error error = realFileSystem().write(copy, text))
      return std::move(error);
    Expected<std::string> main = generateMain(workload, signature, copy, workload.sizes, 1, layout);
    if (!main)
      return main.takeError();
    text = std::move(*main);
  }
  if (Error error = emitter.linkHostProgram(command, text, *library, request.executable))
    return std::move(error);
  Expected<Recording> recording = oracle.empty()
                                      ? recordProgram(realProcessRunner(), request)
                                      : recordOracleFed(realProcessRunner(), request, oracle);
  if (!recording)
    return recording.takeError();
  if (Error error = recording->asError())
    return std::move(error);
  return request.folder;
}

Expected<std::string> VariantCases::vary(StringRef base, const TestCase &test) {
  std::string error;
  std::optional<kbrt::Plan> plan = kbrt::readPlan(base.str(), error);
  if (!plan)
    return make_error<StoreError>(error);
  FileSystem &files = realFileSystem();
  Expected<std::string> data = files.read((base + "/" + kbrt::dataFileName).str());
  if (!data)
    return data.takeError();
  for (const auto &[name, distribution] : variations()) {
    if (test.name != name)
      continue;
    Expected<VariedInputs> inputs = varyInputs(*plan, *data, 7, distribution, lessened[test.name]);
    if (!inputs)
      return inputs.takeError();
    std::string copy = newFolder();
    if (Error failure = files.createDirectories(copy))
      return std::move(failure);
    if (!kbrt::writePlan(*plan, copy, error))
      return make_error<StoreError>(error);
    if (Error failure = files.write(copy + "/" + kbrt::dataFileName, inputs->data))
      return std::move(failure);
    return copy;
  }
  return make_error<UsageError>("no case '" + test.name + "'");
}

Expected<std::string> VariantCases::varyAs(StringRef base, StringRef recorded, StringRef varied) {
  std::string error;
  std::optional<kbrt::Plan> plan = kbrt::readPlan(base.str(), error),
                            first = kbrt::readPlan(recorded.str(), error);
  if (!plan || !first)
    return make_error<StoreError>(error);
  FileSystem &files = realFileSystem();
  std::string texts[3];
  StringRef folders[] = {base, recorded, varied};
  for (size_t i = 0; i < std::size(texts); ++i) {
    Expected<std::string> data = files.read((folders[i] + "/" + kbrt::dataFileName).str());
    if (!data)
      return data.takeError();
    texts[i] = std::move(*data);
  }
  Expected<std::string> changed = varyLike(*first, texts[1], texts[2], *plan, texts[0]);
  if (!changed)
    return changed.takeError();
  std::string copy = newFolder();
  if (Error failure = files.createDirectories(copy))
    return std::move(failure);
  if (!kbrt::writePlan(*plan, copy, error))
    return make_error<StoreError>(error);
  if (Error failure = files.write(copy + "/" + kbrt::dataFileName, *changed))
    return std::move(failure);
  return copy;
}

Expected<std::string> VariantCases::original(const TestCase &test) {
  auto found = done.find(test.name);
  if (found != done.end())
    return found->second;
  Expected<std::string> made = "";
  if (test.name == "recorded" || test.breaks) {
    made = record(first, layoutOf(test), "");
  } else {
    TestCase recorded;
    recorded.name = "recorded";
    Expected<std::string> base = original(recorded);
    if (!base)
      return base;
    made = vary(*base, test);
  }
  if (made)
    done[test.name] = *made;
  return made;
}

Expected<std::string> VariantCases::candidate(const ProgramArtefacts &program,
                                              const TestCase &test) {
  if (!hostDiffers)
    return original(test);
  std::string key = digestOf(program.text) + test.name;
  auto found = done.find(key);
  if (found != done.end())
    return found->second;
  TestCase recorded;
  recorded.name = "recorded";
  Expected<std::string> made = "";
  if (test.name == "recorded" || test.breaks) {
    Expected<std::string> oracle = original(test);
    if (!oracle)
      return oracle;
    made = record(program, layoutOf(test), *oracle);
  } else {
    Expected<std::string> base = candidate(program, recorded);
    if (!base)
      return base;
    Expected<std::string> varied = original(test), recordedFolder = original(recorded);
    if (!varied || !recordedFolder)
      return joinErrors(varied.takeError(), recordedFolder.takeError());
    made = varyAs(*base, *recordedFolder, *varied);
  }
  if (made)
    done[key] = *made;
  return made;
}

} // namespace kbopt
