//===- Admission.cpp - Gate G5: which cases count -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the decoys of a case are made of: inputs, memory before the run, the
// answer to other inputs. The decoys themselves are in Decoys.cpp.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/STLExtras.h"
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

namespace {

/// What lies in a plan's buffers before its first computation, and what it uploads. Buffers may be
/// large, and decoys look at little of them: nothing is laid out.
class MemoryBefore {
public:
  MemoryBefore(const RecordedPlan &recorded, uint8_t poison)
      : data(recorded.data()), poison(poison) {
    bool hasComputed = false;
    for (auto [number, step] : enumerate(recorded.plan.steps)) {
      hasComputed |= std::holds_alternative<kbrt::LaunchStep>(step) ||
                     std::holds_alternative<kbrt::MatmulStep>(step);
      if (const auto *upload = std::get_if<kbrt::UploadStep>(&step);
          upload && upload->data + upload->to.bytes() <= data.size()) {
        uploaded.push_back({number, upload});
        if (!hasComputed)
          writes[upload->to.at.buffer].push_back({upload->to, data.data() + upload->data, 0});
      } else if (const auto *fill = std::get_if<kbrt::FillStep>(&step); fill && !hasComputed) {
        writes[fill->to.at.buffer].push_back({fill->to, nullptr, fill->value});
      }
    }
  }

  /// From byte \p begin to byte \p end of what \p from gathers.
  std::vector<uint8_t> part(const kbrt::Region &from, size_t begin, size_t end) const {
    std::vector<uint8_t> bytes(end - begin, poison);
    auto its = writes.find(from.at.buffer);
    if (its == writes.end() || from.width == 0)
      return bytes;
    for (uint64_t row = begin / from.width; row * from.width < end; ++row) {
      const uint64_t first = std::max<uint64_t>(begin, row * from.width),
                     last = std::min<uint64_t>(end, (row + 1) * from.width);
      for (const Write &write : its->second)
        write.put(from.at.offset + row * from.pitch + first % from.width,
                  {bytes.data() + (first - begin), static_cast<size_t>(last - first)});
    }
    return bytes;
  }

  /// The data of uploads before the first computation.
  std::vector<ArrayRef<uint8_t>> uploads() const {
    std::vector<ArrayRef<uint8_t>> result;
    for (const auto &[buffer, all] : writes)
      for (const Write &write : all)
        if (write.data)
          result.push_back({reinterpret_cast<const uint8_t *>(write.data),
                            static_cast<size_t>(write.to.bytes())});
    return result;
  }

  /// The data of uploads before the step \p number, the latest of them.
  std::vector<ArrayRef<uint8_t>> uploadsBefore(size_t number) const {
    constexpr size_t most = 256;
    auto end = llvm::partition_point(uploaded, [&](auto &each) { return each.first < number; });
    auto begin = end - std::min<ptrdiff_t>(most, end - uploaded.begin());
    std::vector<ArrayRef<uint8_t>> result;
    for (const auto &[step, upload] : llvm::make_range(begin, end))
      result.push_back({reinterpret_cast<const uint8_t *>(data.data() + upload->data),
                        static_cast<size_t>(upload->to.bytes())});
    return result;
  }

private:
  struct Write {
    kbrt::Region to;
    const char *data; ///< null: \c value everywhere
    uint8_t value;

    /// Puts what is written from \p begin on, an offset in the buffer, into \p bytes.
    void put(uint64_t begin, MutableArrayRef<uint8_t> bytes) const {
      const uint64_t end = begin + bytes.size();
      const uint64_t pitch = std::max<uint64_t>(1, to.pitch);
      for (uint64_t row = begin > to.at.offset ? (begin - to.at.offset) / pitch : 0;
           row < to.height; ++row) {
        const uint64_t start = to.at.offset + row * pitch;
        if (start >= end)
          return;
        const uint64_t first = std::max(begin, start), last = std::min(end, start + to.width);
        if (first >= last)
          continue;
        if (data)
          std::memcpy(bytes.data() + (first - begin), data + row * to.width + (first - start),
                      last - first);
        else
          std::memset(bytes.data() + (first - begin), value, last - first);
      }
    }
  };

  const StringRef data;
  const uint8_t poison;
  std::map<uint32_t, std::vector<Write>> writes;                     ///< by buffer, in order
  std::vector<std::pair<size_t, const kbrt::UploadStep *>> uploaded; ///< by number of the step
};

} // namespace

static std::string keyOf(const TestCase &test, const CandidatePromise &promise, Spread spread) {
  std::string key =
      formatv("{0}|{1}|{2}", test.name, promiseName(promise.result), static_cast<int>(spread));
  for (const std::string &declared : promise.declares)
    key += "|" + declared;
  return key;
}

Expected<Admission> Judge::Impl::admission(const TestCase &test, const CandidatePromise &promise,
                                           Spread spread) {
  Expected<const Admission &> known =
      admissions.get(keyOf(test, promise, spread), [&]() -> Expected<Admission> {
        Expected<const Reference *> reference = this->reference(test, spread);
        if (!reference)
          return reference.takeError();
        return decideAdmission(test, promise, **reference);
      });
  if (!known)
    return known.takeError();
  return *known;
}

Expected<Admission> Judge::Impl::admissionByOracle(const TestCase &test,
                                                   const CandidatePromise &promise, Spread spread,
                                                   const Reference &reference) {
  Expected<const Admission &> known =
      admissions.get(keyOf(test, promise, spread) + "|float64",
                     [&] { return decideAdmission(test, promise, reference); });
  if (!known)
    return known.takeError();
  return *known;
}

Expected<Admission> Judge::Impl::decideAdmission(const TestCase &test,
                                                 const CandidatePromise &promise,
                                                 const Reference &reference) {
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
  const MemoryBefore memory(*recorded, RunOptions().memoryPoison);
  std::vector<std::pair<size_t, kbrt::Region>> reads; ///< number of the step, and what is read
  for (auto [number, step] : enumerate(recorded->plan.steps))
    if (const auto *read = std::get_if<kbrt::ReadStep>(&step))
      reads.push_back({number, read->from});
  const std::vector<bool> isRepeated = repeatedReads(*reference.run);

  RunPointer other;
  std::optional<RecordedPlan> otherPlan;
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
    else
      otherPlan = std::move(*varied);
  }
  if (seed) {
    Expected<RunPointer> run = this->run(baselineProgram, *seed, RunMode::Plain, runOptions());
    if (!run)
      return run.takeError();
    if ((*run)->status == RunStatus::Ok && (*run)->outputs.size() == reference.outputs.size())
      other = *run;
  }
  std::optional<MemoryBefore> otherMemory;
  if (other && otherPlan)
    otherMemory.emplace(*otherPlan, RunOptions().memoryPoison);
  std::vector<AdmissionOutput> outputs;
  for (unsigned i = 0; i < reference.outputs.size(); ++i) {
    if (isRepeated[i])
      continue;
    AdmissionOutput output;
    output.view = viewOf(reference, i);
    output.tolerance = toleranceFor(promise, cases, test, reference, i);
    if (i < reads.size() && reads[i].second.bytes() == output.view.oracle.size())
      output.before = [&memory, from = reads[i].second](size_t begin, size_t end) {
        return memory.part(from, begin, end);
      };
    const size_t readAt = i < reads.size() ? reads[i].first : recorded->plan.steps.size();
    output.inputs = memory.uploads();
    output.uploads = memory.uploadsBefore(readAt);
    if (other)
      output.otherSeed = bytesOf(other->outputs[i]);
    if (otherMemory)
      output.otherUploads = otherMemory->uploadsBefore(readAt);
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
