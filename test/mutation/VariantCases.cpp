//===- VariantCases.cpp ---------------------------------------------------===//
#include "VariantCases.h"
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
    all.push_back(test);
  }
  return all;
}

std::optional<TestCase> VariantCases::reseeded(const TestCase &test) {
  TestCase other;
  other.name = test.name == "normal" ? "recorded" : "normal";
  return other;
}

Expected<std::string> VariantCases::record(const ProgramArtefacts &program, StringRef oracle) {
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
  if (Error error = emitter.linkHostProgram(command, program.text, {}, *library, request.executable))
    return std::move(error);
  Expected<Recording> recording =
      oracle.empty() ? recordProgram(realProcessRunner(), request)
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
    Expected<VariedInputs> inputs = varyInputs(*plan, *data, 7, distribution);
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

Expected<std::string> VariantCases::original(const TestCase &test) {
  auto found = done.find(test.name);
  if (found != done.end())
    return found->second;
  Expected<std::string> made = "";
  if (test.name == "recorded") {
    made = record(first, "");
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
  if (test.name == "recorded") {
    Expected<std::string> oracle = original(recorded);
    if (!oracle)
      return oracle;
    made = record(program, *oracle);
  } else {
    Expected<std::string> base = candidate(program, recorded);
    if (!base)
      return base;
    made = vary(*base, test);
  }
  if (made)
    done[key] = *made;
  return made;
}

} // namespace kbopt
