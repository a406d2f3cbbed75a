//===- JudgeGpuFakes.h - A GPU for tests of the judge ----------*- C++ -*-===//
//
// Owns the GPU that tests of the judge are given, and the fixture with one.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_UNIT_EVAL_JUDGEGPUFAKES_H
#define KBOPT_TEST_UNIT_EVAL_JUDGEGPUFAKES_H

#include "JudgeFakes.h"
#include "llvm/Support/Path.h"

namespace kbopt {

/// Executes what the CPU's fake would, and says what it is told of times and traces.
struct FakeGpu : GpuDevice {
  explicit FakeGpu(std::map<std::string, Behaviour> &programs) : programs(programs) {}
  std::map<std::string, Behaviour> &programs;
  std::mutex mutex; ///< of `log`
  std::vector<std::string> log;
  void note(std::string line) {
    std::lock_guard<std::mutex> lock(mutex);
    log.push_back(std::move(line));
  }
  bool takesPtx = true;
  double ownUs = 100;                                        ///< of the original by itself
  std::function<TimingReport(const TimingRequest &)> timing; ///< of a candidate
  std::function<TimingReport(const TimingRequest &)> own;    ///< of the original against itself
  ExecutionAudit trace;
  std::map<std::string, SanitizerReport> sanitizer; ///< by text
  GpuProfile counters;
  std::map<std::string, GpuProfile> otherCounters; ///< by text, where they are not those

  llvm::StringRef name() const override { return "gpu"; }
  llvm::Expected<DeviceImage> build(const ProgramArtefacts &program, RunMode mode) override {
    EXPECT_EQ(mode, RunMode::Plain) << "a GPU neither checks nor counts";
    DeviceImage image;
    image.path = program.text;
    return image;
  }
  llvm::Expected<DeviceIdentity> identify(const DeviceImage &image) override {
    return DeviceIdentity{"harness", image.path};
  }
  llvm::Expected<RunResult> run(const DeviceImage &image, llvm::StringRef folder,
                                const RunOptions &options) override {
    RunOptions actual = options;
    std::string text = image.path;
    if (llvm::sys::path::extension(text) == ".ptx") {
      note("ptx " + llvm::sys::path::stem(text).str());
      if (!takesPtx)
        return llvm::make_error<ToolError>("the driver is older than this PTX",
                                           std::vector<std::string>{"kb-run"}, 3, "");
      actual.rounding = llvm::sys::path::stem(text) == "up"     ? Rounding::Up
                        : llvm::sys::path::stem(text) == "down" ? Rounding::Down
                                                                : Rounding::Zero;
      // A mixture of directions, or a draw, is another order of threads to these programs.
      llvm::StringRef mixture = llvm::sys::path::stem(text);
      mixture.consume_front("narrow-");
      unsigned pattern = 0;
      const bool isDrawn = mixture.consume_front("drawn-");
      if ((isDrawn || mixture.consume_front("mixed-")) && !mixture.getAsInteger(10, pattern))
        actual.seed = (isDrawn ? 80 : 70) + pattern;
      if (llvm::StringRef(text).contains("narrow-"))
        actual.seed += 1000;
      text = "original";
    } else {
      note("run " + text);
    }
    RunResult first = programs.at(text)(RunMode::Plain, folder, actual);
    for (unsigned i = 1; i < options.repetitions; ++i) {
      actual.seed = options.seed + i;
      actual.memoryPoison = i % 2 ? ~options.memoryPoison : options.memoryPoison;
      if (programs.at(text)(RunMode::Plain, folder, actual).outputs != first.outputs)
        first.variation =
            "execution " + std::to_string(i + 1) + " gives other results than the first";
    }
    return first;
  }
  llvm::Expected<GpuFacts> facts() override { return GpuFacts(); }
  static TimingReport report(double baselineUs, double candidateUs) {
    TimingReport report;
    report.cold.baseline = {30, baselineUs, baselineUs, baselineUs, 0.001};
    report.cold.candidate = {30, candidateUs, candidateUs, candidateUs, 0.001};
    report.cold.ratio = baselineUs / candidateUs;
    report.cold.ratioLowerBound = report.cold.ratio * 0.99;
    report.cold.decision =
        report.cold.ratio > 1.01 ? TimingDecision::Faster : TimingDecision::Inconclusive;
    report.outputsChecked = 60;
    return report;
  }
  llvm::Expected<TimingReport> measure(const GpuSubject &candidate, const GpuSubject &baseline,
                                       const TimingRequest &request) override {
    EXPECT_EQ(baseline.cubinPath, "original");
    note("time " + candidate.cubinPath);
    if (candidate.cubinPath == "original")
      return own ? own(request) : report(ownUs, ownUs);
    return timing ? timing(request) : report(ownUs, ownUs / 2);
  }
  llvm::Expected<GpuProfile> profile(const GpuSubject &subject, llvm::StringRef, bool) override {
    note("profile");
    auto other = otherCounters.find(subject.cubinPath);
    return other == otherCounters.end() ? counters : other->second;
  }
  llvm::Expected<ExecutionAudit> audit(const GpuSubject &) override { return trace; }
  llvm::Expected<SanitizerReport> sanitize(const GpuSubject &subject,
                                           llvm::ArrayRef<llvm::StringRef>, double) override {
    note("sanitize " + subject.cubinPath);
    return sanitizer[subject.cubinPath];
  }
  long count(llvm::StringRef line) const { return llvm::count(log, line.str()); }
};

struct JudgeGpuTest : JudgeTest {
  FakeGpu fake{device.programs};
  ChipInfo chip;

  void SetUp() override {
    JudgeTest::SetUp();
    gpu = &fake;
    TracedLaunch launch;
    launch.kernel = "_Z1kPKfPf";
    launch.stream = 7;
    fake.trace.launches = {launch};
    auto loaded = loadChip("h200");
    ASSERT_TRUE(bool(loaded));
    chip = *loaded;
    options.chip = &chip;
    good("good");
  }
  void good(std::string text) {
    // Machine code of its own.
    compiler.ptx[text] =
        ".visible .entry k()\n{\nadd.f32 %f1, %f2, %f3;\nadd.s32 %r1, %r1, %r2;\nret;\n}\n";
    program(text, [](const RunOptions &) { return right(); });
  }
  GateRecord gate(GateId id, std::string text = "good") {
    Verdict result = verdict(std::move(text));
    for (const GateRecord &record : result.gates)
      if (record.gate == id)
        return record;
    ADD_FAILURE() << "no record of " << kbopt::toString(id).str() << ": " << result.summary();
    return {};
  }
  /// The original does not end on the CPU device's checks and counts.
  void slowOnCpu(RunStatus status = RunStatus::Timeout) {
    Behaviour plain = device.programs["original"];
    device.programs["original"] = [=](RunMode mode, llvm::StringRef folder,
                                      const RunOptions &options) {
      RunResult result = plain(mode, folder, options);
      if (mode != RunMode::Plain) {
        result.status = status;
        result.message = "no end";
        result.outputs.clear();
      }
      return result;
    };
  }
};

/// Counters of one launch of \p threads threads that store one float each.
inline LaunchMetrics counted(unsigned threads, double fadd, double ffma) {
  LaunchMetrics launch;
  launch.block[0] = threads;
  launch.metrics = {{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", fadd * threads},
                    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", ffma * threads},
                    {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", threads / 8.0},
                    {"smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct", 100}};
  return launch;
}

} // namespace kbopt

#endif // KBOPT_TEST_UNIT_EVAL_JUDGEGPUFAKES_H
