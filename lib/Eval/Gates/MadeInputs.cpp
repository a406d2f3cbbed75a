//===- MadeInputs.cpp - Other values in what a program's first kernels make -===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the plan of the case that replaces inputs which no host uploads: a program that fills its
// buffers by a kernel has one set of values, and a rewrite may be right for these alone.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Random.h"
#include "kbrt/Memory.h"

using namespace llvm;

namespace kbopt {
namespace {

/// More than that is not read back and put into a plan.
constexpr uint64_t mostBytes = uint64_t(64) << 20;
constexpr uint64_t seed = 77;

Error notApplicable(const Twine &why) {
  return make_error<UsageError>(why.str(), "", ExitStatus::Diagnostics);
}

/// The first launches of a plan that take nothing but fresh memory, and what they may write.
struct Makers {
  std::vector<size_t> steps;
  std::set<uint32_t> made;
};

Makers makersOf(const kbrt::Plan &plan) {
  Makers makers;
  std::set<uint32_t> filled;
  for (const auto &[number, step] : enumerate(plan.steps)) {
    if (const auto *upload = std::get_if<kbrt::UploadStep>(&step))
      filled.insert(upload->to.at.buffer);
    if (std::holds_alternative<kbrt::CopyStep>(step) ||
        std::holds_alternative<kbrt::ReadStep>(step) ||
        std::holds_alternative<kbrt::MatmulStep>(step) ||
        std::holds_alternative<kbrt::FreeStep>(step))
      break;
    const auto *launch = std::get_if<kbrt::LaunchStep>(&step);
    if (!launch)
      continue;
    std::optional<std::vector<bool>> constants = kbrt::constPointerParameters(launch->kernel);
    std::set<uint32_t> written;
    bool reads = false;
    for (const auto &[i, argument] : enumerate(launch->arguments))
      for (const kbrt::PointerWord &word : argument.pointers) {
        const uint32_t buffer = word.target.buffer;
        const bool isConst = constants && i < constants->size() && (*constants)[i];
        reads |= isConst || filled.count(buffer) || makers.made.count(buffer);
        written.insert(buffer);
      }
    if (reads || written.empty())
      break;
    makers.steps.push_back(number);
    makers.made.insert(written.begin(), written.end());
  }
  return makers;
}

/// \p bytes with other values.
void replaceValues(std::string &bytes, kbrt::ElementType type, uint64_t stream) {
  MutableArrayRef<uint8_t> memory(reinterpret_cast<uint8_t *>(bytes.data()), bytes.size());
  const uint64_t size = kbrt::elementBytes(type) ? kbrt::elementBytes(type) : 4;
  memory = memory.take_front(memory.size() / size * size);
  if (kbrt::isFloatingPoint(type))
    return fillDistribution(memory, type, InputDistribution::Normal, seed + stream);
  Random random(seed + stream);
  for (uint64_t i = memory.size() / size; i > 1; --i)
    for (uint64_t byte = 0, other = random.below(i); byte < size; ++byte)
      std::swap(memory[(i - 1) * size + byte], memory[other * size + byte]);
}

} // namespace

Expected<std::string> Judge::Impl::remadePlan(JudgedProgram &program) {
  Expected<std::string> own = plan(baselineProgram, recordedCase()),
                        its = plan(program, recordedCase());
  if (!own || !its)
    return joinErrors(own.takeError(), its.takeError());
  Expected<RecordedPlan> original = readRecordedPlan(*own), recorded = readRecordedPlan(*its);
  if (!original || !recorded)
    return joinErrors(original.takeError(), recorded.takeError());
  const Makers makers = makersOf(original->plan), others = makersOf(recorded->plan);
  if (makers.steps.empty())
    return notApplicable("no kernel of the program makes its inputs");
  Expected<const DeviceCode &> before = code(this->original), after = code(*program.program);
  if (!before || !after)
    return joinErrors(before.takeError(), after.takeError());
  for (size_t i = 0; i < makers.steps.size(); ++i) {
    const auto &launch = std::get<kbrt::LaunchStep>(original->plan.steps[makers.steps[i]]);
    const KernelResources *kernel = before->find(launch.kernel), *same = after->find(launch.kernel);
    if (i >= others.steps.size() ||
        !(launch == std::get<kbrt::LaunchStep>(recorded->plan.steps[others.steps[i]])) || !kernel ||
        !same || kernel->code != same->code)
      return notApplicable("the kernels that make the inputs are not the original's");
  }
  // What the original's makers leave.
  const size_t end = makers.steps.back() + 1;
  kbrt::Plan probe = original->plan;
  probe.steps.resize(end);
  uint64_t total = 0;
  for (uint32_t buffer : makers.made) {
    probe.steps.push_back(
        kbrt::ReadStep{kbrt::Region::linear({buffer, 0}, probe.buffers[buffer].bytes), total});
    total += probe.buffers[buffer].bytes;
  }
  if (total > mostBytes || original->data().size() > mostBytes ||
      recorded->data().size() > mostBytes)
    return notApplicable("the kernels make too much");
  Expected<std::string> probeFolder = writeCopy(probe, original->data());
  if (!probeFolder)
    return probeFolder.takeError();
  Expected<const DeviceImage *> built = image(baselineProgram, RunMode::Plain);
  if (!built)
    return built.takeError();
  Expected<RunResult> made =
      deviceFor(RunMode::Plain, Where::Usual).run(**built, *probeFolder, runOptions());
  if (!made)
    return made.takeError();
  if (made->status != RunStatus::Ok || made->outputs.size() != makers.made.size())
    return notApplicable("the kernels that make the inputs fail");
  kbrt::Plan changed = recorded->plan;
  std::string data = recorded->data().str();
  size_t at = others.steps[makers.steps.size() - 1] + 1, output = 0;
  for (uint32_t buffer : makers.made) {
    std::string bytes = made->outputs[output++].str().str();
    replaceValues(bytes, original->plan.buffers[buffer].element, buffer);
    kbrt::UploadStep upload;
    upload.to = kbrt::Region::linear({buffer, 0}, bytes.size());
    upload.data = data.size();
    data += bytes;
    changed.steps.insert(changed.steps.begin() + static_cast<ptrdiff_t>(at++), upload);
  }
  return writeCopy(changed, data);
}

} // namespace kbopt
