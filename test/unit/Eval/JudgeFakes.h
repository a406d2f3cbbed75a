//===- JudgeFakes.h - A judge among fakes -----------------------*- C++ -*-===//
//
// Owns what the judge's tests share: a compiler, devices and cases that do as they are
// told, and an original that doubles its input.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_UNIT_EVAL_JUDGEFAKES_H
#define KBOPT_TEST_UNIT_EVAL_JUDGEFAKES_H

#include "kb-opt/Eval/Judge.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <cstring>

namespace kbopt {

inline constexpr unsigned count = 64;

inline std::string floats(std::function<float(unsigned)> at) {
  std::string bytes(count * sizeof(float), 0);
  for (unsigned i = 0; i < count; ++i) {
    float value = at(i);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

/// What a fake program does, by its text.
using Behaviour = std::function<RunResult(RunMode, llvm::StringRef folder, const RunOptions &)>;

struct FakeCompiler : DeviceCompiler {
  std::map<std::string, std::string> ptx; ///< by text; others get a plain kernel
  std::set<std::string> broken;
  std::set<std::string> quickOnly; ///< the user's own compiler gives other code for these
  unsigned compiles = 0;
  bool assembles = true;
  llvm::Expected<std::string> assemble(const std::string &path, const std::string &arch) override {
    return assembles ? path + ".cubin" : DeviceCompiler::assemble(path, arch);
  }
  llvm::Expected<DeviceCode> compileExactly(const ProgramArtefacts &program) override {
    llvm::Expected<DeviceCode> code = compile(program);
    if (code && quickOnly.count(program.text)) {
      code->producer = "nvcc";
      code->digest += "-of-nvcc";
    }
    return code;
  }
  llvm::Expected<DeviceCode> compile(const ProgramArtefacts &program) override {
    ++compiles;
    if (broken.count(program.text))
      return llvm::make_error<ToolError>("k.cu does not compile", std::vector<std::string>{"nvcc"},
                                         1, "k.cu(3): error: no", "", ExitStatus::Diagnostics);
    DeviceCode code;
    code.producer = "fake";
    code.ptx = ptx.count(program.text)
                   ? ptx[program.text]
                   : ".visible .entry k()\n{\nadd.f32 %f1, %f2, %f3;\nret;\n}\n";
    code.digest = digestPtx(code.ptx, code.kernels);
    return code;
  }
};

struct FakeDevice : Device {
  std::map<std::string, Behaviour> programs;
  std::mutex mutex;             ///< of `log`: a judge may have threads
  std::vector<std::string> log; ///< "text mode"
  llvm::StringRef name() const override { return "fake"; }
  llvm::Expected<DeviceImage> build(const ProgramArtefacts &program, RunMode mode) override {
    DeviceImage image;
    image.path = program.text;
    image.mode = mode;
    return image;
  }
  DeviceIdentity identity{"harness", "image"};
  llvm::Expected<DeviceIdentity> identify(const DeviceImage &) override { return identity; }
  llvm::Expected<RunResult> run(const DeviceImage &image, llvm::StringRef folder,
                                const RunOptions &options) override {
    {
      std::lock_guard<std::mutex> lock(mutex);
      log.push_back(image.path + " " + toString(image.mode).str());
    }
    RunResult first = programs.at(image.path)(image.mode, folder, options);
    RunOptions next = options;
    for (unsigned i = 1; i < options.repetitions; ++i) {
      next.seed = options.seed + i;
      if (programs.at(image.path)(image.mode, folder, next).outputs != first.outputs)
        first.variation =
            "execution " + std::to_string(i + 1) + " gives other results than the first";
    }
    return first;
  }
};

struct FakeCases : CaseSource {
  std::string folder;
  std::vector<TestCase> list;
  std::map<std::string, WholeRun> whole;                  ///< by text
  std::optional<WholeRun> wholeRerounded;                 ///< of the original with another image
  std::map<std::string, std::vector<WholeRun>> wholeRuns; ///< one after the other; the last stays
  std::map<std::string, size_t> wholeCalls;
  std::mutex mutex;
  std::string asked;                          ///< the case last asked for
  std::set<std::string> planned;              ///< all that were
  std::map<std::string, std::string> folders; ///< of cases with a plan of their own
  const std::string &folderOf(const TestCase &test) {
    std::lock_guard<std::mutex> lock(mutex);
    asked = test.name;
    planned.insert(test.name);
    auto own = folders.find(test.name);
    return own == folders.end() ? folder : own->second;
  }
  std::vector<TestCase> cases() override { return list; }
  llvm::Expected<std::string> original(const TestCase &test) override { return folderOf(test); }
  llvm::Expected<std::string> candidate(const ProgramArtefacts &program,
                                        const TestCase &test) override {
    if (program.text == "crashes")
      return llvm::make_error<UsageError>("the program crashed: signal 11", "",
                                          ExitStatus::Diagnostics);
    return folderOf(test);
  }
  std::map<std::string, WholeRun> fed; ///< of hosts of their own, by text
  std::vector<WholeRun> hosts;         ///< the original's, by number; the last stays
  bool hasOwnHost(const ProgramArtefacts &program) override { return fed.count(program.text); }
  llvm::Expected<WholeRun> fedHost(const ProgramArtefacts &program) override {
    return fed.at(program.text);
  }
  llvm::Expected<WholeRun> originalHost(unsigned number) override {
    return hosts[std::min<size_t>(number, hosts.size() - 1)];
  }
  double seconds = 0; ///< of the whole program
  double wholeSeconds() override { return seconds; }
  std::optional<llvm::Expected<WholeRun>>
  wholeProgram(const ProgramArtefacts &program, llvm::StringRef image = "",
               Rounding rounding = Rounding::Nearest) override {
    if (!image.empty() && !image.ends_with(".cubin"))
      return llvm::make_error<UsageError>("programs run machine code on a GPU");
    if (!image.empty() || rounding != Rounding::Nearest)
      return wholeRerounded ? std::optional<llvm::Expected<WholeRun>>(*wholeRerounded)
                            : std::nullopt;
    if (!wholeRuns.empty()) {
      const std::vector<WholeRun> &runs = wholeRuns.at(program.text);
      size_t call = wholeCalls[program.text]++;
      return llvm::Expected<WholeRun>(runs[std::min(call, runs.size() - 1)]);
    }
    if (whole.empty())
      return std::nullopt;
    return llvm::Expected<WholeRun>(whole.at(program.text));
  }
  std::optional<TestCase> reseeded(const TestCase &test) override { return std::nullopt; }
  Tolerance stated; ///< by the workload
  Tolerance tolerance(const TestCase &, unsigned) override { return stated; }
};

/// The original doubles its input: out[i] = 2 (i + 1).
struct JudgeTest : testing::Test {
  FakeCompiler compiler;
  FakeDevice device;
  FakeCases cases;
  FakeClock clock;
  std::optional<TemporaryDirectory> temporary;
  JudgeOptions options;
  CandidatePromise promise;
  GpuDevice *gpu = nullptr;

  void SetUp() override {
    auto created = TemporaryDirectory::create("judge-test");
    ASSERT_TRUE(bool(created));
    temporary.emplace(std::move(*created));
    cases.folder = temporary->path().str();
    writeRecording(cases.folder, 1);
    cases.list = {{"n=64", false, true, false},
                  {"recorded", true, false, false},
                  {"n=65", false, true, true}};
    program("original", [](const RunOptions &) { return right(); });
  }

  /// A recording of the original with \p blocks blocks.
  void writeRecording(const std::string &folder, unsigned blocks) {
    ASSERT_FALSE(bool(realFileSystem().createDirectories(folder)));
    kbrt::Plan plan;
    for (int i = 0; i < 2; ++i) {
      kbrt::Buffer buffer;
      buffer.bytes = count * sizeof(float);
      buffer.address = 0x600000000000 + 0x10000 * i;
      buffer.element = kbrt::ElementType::F32;
      plan.buffers.push_back(buffer);
    }
    auto all = [](uint32_t buffer) {
      return kbrt::Region::linear({buffer, 0}, count * sizeof(float));
    };
    plan.steps.push_back(kbrt::AllocStep{0});
    plan.steps.push_back(kbrt::AllocStep{1});
    plan.steps.push_back(kbrt::UploadStep{all(0), 0, 0});
    kbrt::LaunchStep launch;
    launch.kernel = "_Z1kPKfPf";
    launch.grid.x = blocks;
    for (uint32_t buffer : {0, 1}) {
      kbrt::Argument argument;
      argument.bytes.resize(8);
      std::memcpy(argument.bytes.data(), &plan.buffers[buffer].address, 8);
      argument.pointers.push_back({0, {buffer, 0}});
      launch.arguments.push_back(argument);
    }
    plan.steps.push_back(launch);
    plan.steps.push_back(kbrt::ReadStep{all(1), 0, 0, false});
    plan.outcome.ending = kbrt::Ending::Exit;
    std::string error;
    ASSERT_TRUE(kbrt::writePlan(plan, folder, error)) << error;
    ASSERT_FALSE(bool(realFileSystem().write(folder + "/data.bin", input())));
  }

  static std::string input() {
    return floats([](unsigned i) { return i + 1.0f; });
  }
  static std::string right() {
    return floats([](unsigned i) { return 2.0f * (i + 1); });
  }
  /// A program that computes \p output; audited plans also read its input.
  void program(std::string text, std::function<std::string(const RunOptions &)> output,
               std::string inputAfter = input()) {
    device.programs[text] = [=](RunMode, llvm::StringRef folder, const RunOptions &options) {
      std::string error;
      auto plan = kbrt::readPlan(folder.str(), error);
      RunResult result;
      result.launches.emplace_back().kernel = "k";
      for (const kbrt::Step &step : plan->steps)
        if (const auto *read = std::get_if<kbrt::ReadStep>(&step))
          result.outputs.push_back(read->from.at.buffer == 0 ? inputAfter : output(options));
      return result;
    };
  }
  static ProgramArtefacts artefacts(std::string text) {
    ProgramArtefacts result;
    result.name = "k.cu";
    result.text = std::move(text);
    return result;
  }
  /// One step that replaces all of the original.
  static std::vector<JudgedStep> rewritten(std::string text) {
    return {{"pass", "original", text, {{0, 8, "file", 0, 8}}}};
  }
  Verdict verdict(std::string text) { return verdict(text, rewritten(text)); }
  Verdict verdict(std::string text, std::vector<JudgedStep> steps) {
    cases.wholeCalls.clear();
    Judge judge(artefacts("original"), compiler, device, cases, clock, options, gpu);
    auto result = judge.judge(artefacts(std::move(text)), steps, promise);
    if (!result) {
      ADD_FAILURE() << llvm::toString(result.takeError());
      return {};
    }
    return *result;
  }
};

} // namespace kbopt

#endif // KBOPT_TEST_UNIT_EVAL_JUDGEFAKES_H
