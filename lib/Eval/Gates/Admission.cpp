//===- Admission.cpp - Gate G5: which cases count -------------------------===//
//
// Owns what the decoys of a case are made of: inputs, memory before the run, the
// answer to other inputs. The decoys themselves are in Decoys.cpp.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace llvm;

namespace kbopt {

/// By read, whether it gives the very bytes of one before it: decoys of that one stand for both.
static std::vector<bool> repeatedReads(const RunResult &run) {
  std::vector<bool> repeated;
  std::set<const char *> seen;
  for (const SharedBytes &output : run.outputs)
    repeated.push_back(!output.empty() && !seen.insert(output.data()).second);
  return repeated;
}

/// What \p recorded puts into the region of each read before its first computation, and
/// its uploads as candidates for copies; of reads that are \p isRepeated nothing.
static void describeInputs(const RecordedPlan &recorded, uint8_t poison, const std::vector<bool> &isRepeated,
                           std::vector<std::vector<uint8_t>> &before,
                           std::vector<ArrayRef<uint8_t>> &inputs) {
  const kbrt::Plan &plan = recorded.plan;
  const StringRef data = recorded.data();
  // Of what the host reads back; inputs may be many and large.
  std::set<uint32_t> isRead;
  for (const kbrt::Step &step : plan.steps)
    if (const auto *read = std::get_if<kbrt::ReadStep>(&step))
      isRead.insert(read->from.at.buffer);
  std::map<uint32_t, std::vector<uint8_t>> content;
  auto memory = [&](uint32_t buffer) -> std::vector<uint8_t> & {
    auto [entry, isNew] = content.try_emplace(buffer);
    if (isNew)
      entry->second.assign(plan.buffers[buffer].bytes, poison);
    return entry->second;
  };
  auto eachRow = [&](const kbrt::Region &region, auto body) {
    for (uint64_t row = 0; row < region.height; ++row)
      body(region.at.offset + row * region.pitch, row * region.width, region.width);
  };
  for (const kbrt::Step &step : plan.steps) {
    if (std::holds_alternative<kbrt::LaunchStep>(step) ||
        std::holds_alternative<kbrt::MatmulStep>(step))
      break;
    if (const auto *upload = std::get_if<kbrt::UploadStep>(&step)) {
      if (upload->data + upload->to.bytes() > data.size())
        continue;
      if (isRead.count(upload->to.at.buffer)) {
        std::vector<uint8_t> &bytes = memory(upload->to.at.buffer);
        eachRow(upload->to, [&](uint64_t at, uint64_t from, uint64_t count) {
          if (at + count <= bytes.size())
            std::memcpy(bytes.data() + at, data.data() + upload->data + from, count);
        });
      }
      inputs.push_back({reinterpret_cast<const uint8_t *>(data.data()) + upload->data,
                        static_cast<size_t>(upload->to.bytes())});
    } else if (const auto *fill = std::get_if<kbrt::FillStep>(&step);
               fill && isRead.count(fill->to.at.buffer)) {
      std::vector<uint8_t> &bytes = memory(fill->to.at.buffer);
      eachRow(fill->to, [&](uint64_t at, uint64_t, uint64_t count) {
        if (at + count <= bytes.size())
          std::memset(bytes.data() + at, fill->value, count);
      });
    }
  }
  for (const kbrt::Step &step : plan.steps) {
    const auto *read = std::get_if<kbrt::ReadStep>(&step);
    if (!read)
      continue;
    const size_t index = before.size();
    std::vector<uint8_t> &region = before.emplace_back();
    if (index < isRepeated.size() && isRepeated[index])
      continue;
    region.resize(read->from.bytes());
    std::vector<uint8_t> &bytes = memory(read->from.at.buffer);
    eachRow(read->from, [&](uint64_t at, uint64_t to, uint64_t count) {
      if (at + count <= bytes.size())
        std::memcpy(region.data() + to, bytes.data() + at, count);
    });
  }
}

Expected<Admission> Judge::Impl::admission(const TestCase &test, const CandidatePromise &promise, Spread spread) {
  std::string key = formatv("{0}|{1}|{2}", test.name, toString(promise.result), static_cast<int>(spread));
  for (const std::string &declared : promise.declares)
    key += "|" + declared;
  Expected<const Admission &> known =
      admissions.get(key, [&] { return decideAdmission(test, promise, spread); });
  if (!known)
    return known.takeError();
  return *known;
}

Expected<Admission> Judge::Impl::decideAdmission(const TestCase &test,
                                                 const CandidatePromise &promise, Spread spread) {
  Expected<const Reference *> known = reference(test, spread);
  if (!known)
    return known.takeError();
  const Reference &reference = **known;
  Admission admission;
  if (reference.run->status != RunStatus::Ok) {
    admission.admitted = false;
    admission.reason = "the original fails on it";
    return admission;
  }
  TimedPart timed = this->timed("decoys", test);
  Expected<RecordedPlan> recorded = readRecordedPlan(reference.planFolder);
  if (!recorded)
    return recorded.takeError();
  std::vector<std::vector<uint8_t>> before;
  std::vector<ArrayRef<uint8_t>> inputs;
  const std::vector<bool> isRepeated = repeatedReads(*reference.run);
  describeInputs(*recorded, RunOptions().memoryPoison, isRepeated, before, inputs);

  RunPointer other;
  std::optional<TestCase> seed = cases.reseeded(test);
  if (seed) {
    // Integer inputs are not varied: the same inputs are no other seed.
    Expected<std::string> folder = this->plan(baselineProgram, *seed);
    if (!folder)
      return folder.takeError();
    Expected<RecordedPlan> varied = readRecordedPlan(*folder);
    if (!varied)
      return varied.takeError();
    if (varied->data() == recorded->data())
      seed.reset();
  }
  if (seed) {
    Expected<RunPointer> run = this->run(baselineProgram, *seed, RunMode::Plain, runOptions());
    if (!run)
      return run.takeError();
    if ((*run)->status == RunStatus::Ok && (*run)->outputs.size() == reference.outputs.size())
      other = *run;
  }
  std::vector<AdmissionOutput> outputs;
  for (unsigned i = 0; i < reference.outputs.size(); ++i) {
    if (isRepeated[i])
      continue;
    AdmissionOutput output;
    output.view = viewOf(reference, i);
    output.tolerance = toleranceFor(promise, cases, test, reference, i);
    if (i < before.size())
      output.before = before[i];
    output.inputs = inputs;
    if (other)
      output.otherSeed = bytesOf(other->outputs[i]);
    if (!output.view.oracle.empty())
      outputs.push_back(std::move(output));
  }
  return admitCase(outputs);
}

Expected<GateRecord> runAdmission(GateContext &context) {
  Judge::Impl &judge = context.judge;
  unsigned admitted = 0, looked = 0;
  std::vector<std::string> refused;
  for (const TestCase &test : judge.seenCases(context.caseCount)) {
    ++looked;
    Expected<Admission> admission = judge.admission(test, context.promise, context.spread);
    if (!admission)
      return admission.takeError();
    if (admission->admitted)
      ++admitted;
    else
      refused.push_back("case " + test.name + " does not count: " + admission->reason);
  }
  if (admitted == 0)
    return GateRecord::undecided(
        GateId::G5, refused.empty() ? "there is no test case" : refused.front(), refused);
  GateRecord record =
      GateRecord::pass(GateId::G5, formatv("{0} of {1} cases count", admitted, looked), looked);
  record.details = std::move(refused);
  return record;
}

} // namespace kbopt
