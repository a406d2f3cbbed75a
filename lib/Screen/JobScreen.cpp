//===- JobScreen.cpp - Screening by the judge's own jobs -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way of screening that needs nothing of the device but jobs: results come back and are
// compared here.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Eval/GpuDevice.h"
#include "kb-opt/Plan/OutputSpecs.h"
#include "kb-opt/Screen/Screen.h"

using namespace kbopt;

namespace {

class JobScreen : public ScreenDevice {
public:
  explicit JobScreen(GpuDevice &gpu) : gpu(gpu) {}

  llvm::Expected<ScreenReport> open(const ScreenSubject &subject,
                                    const ScreenRequest &request) override {
    original = subject;
    ScreenReport report;
    for (unsigned set = 0; set != subject.planFolders.size(); ++set) {
      auto specs = outputSpecs(subject.planFolders[set]);
      auto first = run(subject, set, request);
      auto second = run(subject, set, request);
      if (!specs || !first || !second)
        return joined(specs.takeError(), first.takeError(), second.takeError());
      for (const RunResult *each : {&*first, &*second})
        if (!endedWell(*each, set, report))
          return report;
      outputs.push_back(std::move(*specs));
      references.push_back(std::move(first->outputs));
      report.matches.push_back(compare(set, second->outputs));
      if (set == 0)
        takeLaunches(*first, report);
    }
    return report;
  }

  llvm::Expected<ScreenReport> screen(const ScreenSubject &subject,
                                      const ScreenRequest &request) override {
    ScreenReport report;
    for (unsigned set = 0; set != subject.planFolders.size(); ++set) {
      auto ran = run(subject, set, request);
      if (!ran)
        return ran.takeError();
      if (!endedWell(*ran, set, report))
        return report;
      if (ran->outputs.size() != references[set].size()) {
        report.status = RunStatus::Unsupported;
        report.message = "it reads other results back than the original";
        return report;
      }
      report.matches.push_back(compare(set, ran->outputs));
      if (set == 0)
        takeLaunches(*ran, report);
    }
    if (!request.isTimed)
      return report;
    TimingRequest timing = TimingRequest::forSearch();
    timing.apartRatio = request.apartRatio;
    auto timed = gpu.measure({subject.cubinPath, subject.planFolders.front()},
                             {original.cubinPath, original.planFolders.front()}, timing);
    if (!timed)
      return timed.takeError();
    if (timed->status != RunStatus::Ok) {
      report.status = timed->status;
      report.message = timed->message;
      return report;
    }
    report.originalUs = timed->cold.baseline.medianUs;
    report.candidateUs = timed->cold.candidate.medianUs;
    report.samples = timed->cold.candidate.samples;
    return report;
  }

private:
  static llvm::Error joined(llvm::Error a, llvm::Error b, llvm::Error c) {
    return llvm::joinErrors(llvm::joinErrors(std::move(a), std::move(b)), std::move(c));
  }

  llvm::Expected<RunResult> run(const ScreenSubject &subject, unsigned set,
                                const ScreenRequest &request) {
    DeviceImage image;
    image.path = subject.cubinPath;
    RunOptions options;
    options.memoryPoison = set % 2 ? static_cast<uint8_t>(~request.poison) : request.poison;
    options.wallSeconds = std::max(request.leastLimitSeconds, 20 * originalSeconds);
    options.memoryBytes = std::numeric_limits<int64_t>::max(); // a GPU says what does not fit
    auto result = gpu.run(image, subject.planFolders[set], options);
    if (result && references.empty())
      originalSeconds = std::max(originalSeconds, result->wallSeconds);
    return result;
  }

  static bool endedWell(const RunResult &result, unsigned set, ScreenReport &report) {
    const std::vector<std::string> defects = result.defects();
    if (result.status == RunStatus::Ok && defects.empty())
      return true;
    report.status = result.status == RunStatus::Ok ? RunStatus::Fault : result.status;
    report.message = defects.empty() ? result.message : defects.front();
    report.set = set;
    return false;
  }

  static void takeLaunches(const RunResult &result, ScreenReport &report) {
    for (const LaunchRecord &launch : result.launches)
      report.launches.push_back(
          {launch.kernel, 1e6 * launch.wallSeconds * static_cast<double>(launch.repeats)});
  }

  static llvm::ArrayRef<uint8_t> bytesOf(const SharedBytes &bytes) {
    return {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()};
  }

  std::vector<OutputMatch> compare(unsigned set, llvm::ArrayRef<SharedBytes> results) const {
    std::vector<OutputMatch> matches;
    for (size_t i = 0; i != results.size(); ++i)
      matches.push_back(matchOutput(outputs[set][i].name, outputs[set][i].type,
                                    bytesOf(references[set][i]), bytesOf(results[i])));
    return matches;
  }

  GpuDevice &gpu;
  ScreenSubject original;
  double originalSeconds = 0;
  std::vector<std::vector<OutputSpec>> outputs;     ///< by set of inputs
  std::vector<std::vector<SharedBytes>> references; ///< likewise
};

} // namespace

std::unique_ptr<ScreenDevice> kbopt::createJobScreen(GpuDevice &gpu) {
  return std::make_unique<JobScreen>(gpu);
}
