//===- Numerics.cpp - Gates G5, G6, G7 and G15: outputs on cases ----------===//
#include "../JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace llvm;

namespace kbopt {

static ArrayRef<uint8_t> bytesOf(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

Tolerance toleranceFor(const CandidatePromise &promise, CaseSource &cases, const TestCase &test,
                       unsigned output) {
  Tolerance tolerance = cases.tolerance(test, output);
  tolerance.promise = promise.result;
  if (promise.declares.count("bf16"))
    tolerance.computePrecision = Precision::BFloat16;
  else if (promise.declares.count("half"))
    tolerance.computePrecision = Precision::Half;
  else if (promise.declares.count("tf32"))
    tolerance.computePrecision = Precision::TF32;
  else if (promise.declares.count("float"))
    tolerance.computePrecision = Precision::Float32;
  return tolerance;
}

static OutputView viewOf(const Reference &reference, unsigned index) {
  OutputView view;
  view.name = reference.outputs[index].name;
  view.type = reference.outputs[index].type;
  view.oracle = view.baseline = bytesOf(reference.run->outputs[index]);
  for (const RunPointer &run : reference.spread)
    if (run->outputs[index].size() == view.oracle.size())
      view.spread.push_back(bytesOf(run->outputs[index]));
  return view;
}

GateRecord compareWithReference(const Reference &reference, const RunResult &candidate,
                                const TestCase &test, const CandidatePromise &promise,
                                CaseSource &cases, GateId gate) {
  std::string on = " on case " + test.name;
  if (reference.run->status != RunStatus::Ok)
    return GateRecord::undecided(gate, "the original fails" + on + ": " + reference.run->message);
  if (candidate.outputs.size() != reference.run->outputs.size())
    return GateRecord::fail(gate, FailureClass::Correctness,
                            formatv("the host reads {0} results, of the original {1}{2}",
                                    candidate.outputs.size(), reference.run->outputs.size(), on));
  for (unsigned i = 0; i < candidate.outputs.size(); ++i) {
    Tolerance tolerance = toleranceFor(promise, cases, test, i);
    // Where the original's own bits depend on the order of threads, a bitwise
    // promise means: no further off than the original is from itself.
    if (!reference.deterministic && tolerance.promise == ResultPromise::Bitwise)
      tolerance.promise = ResultPromise::Reassociates;
    Comparison comparison =
        compareOutput(viewOf(reference, i), bytesOf(candidate.outputs[i]), tolerance);
    if (comparison.accepted)
      continue;
    std::vector<std::string> details = {
        formatv("case {0}, {1} ({2}), promise {3}", test.name, reference.outputs[i].name,
                kbrt::elementTypeName(reference.outputs[i].type), toString(promise.result)),
        formatv("{0} of {1} elements out of bounds", comparison.differing, comparison.elements)};
    return GateRecord::fail(gate, FailureClass::Correctness, comparison.reason + on,
                            std::move(details));
  }
  return GateRecord::pass(gate);
}

std::optional<std::string> firstDifference(const std::vector<OutputSpec> &specs,
                                           const RunResult &a, const RunResult &b) {
  if (a.outputs.size() != b.outputs.size())
    return formatv("{0} results against {1}", a.outputs.size(), b.outputs.size()).str();
  for (unsigned i = 0; i < a.outputs.size(); ++i) {
    if (a.outputs[i] == b.outputs[i])
      continue;
    OutputView view;
    view.name = i < specs.size() ? specs[i].name : "output " + std::to_string(i);
    view.type = i < specs.size() ? specs[i].type : kbrt::ElementType::Unknown;
    view.oracle = view.baseline = bytesOf(a.outputs[i]);
    Comparison comparison = compareOutput(view, bytesOf(b.outputs[i]), {});
    if (!comparison.accepted)
      return comparison.reason;
  }
  return std::nullopt;
}

/// What the plan in \p folder puts into the region of read \p number before
/// the first launch, and the uploads of \p data as candidates for copies.
static void describeInputs(const kbrt::Plan &plan, const std::string &data, uint8_t poison,
                           std::vector<std::vector<uint8_t>> &before,
                           std::vector<ArrayRef<uint8_t>> &inputs) {
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
    if (std::holds_alternative<kbrt::LaunchStep>(step))
      break;
    if (const auto *upload = std::get_if<kbrt::UploadStep>(&step)) {
      if (upload->data + upload->to.bytes() > data.size())
        continue;
      std::vector<uint8_t> &bytes = memory(upload->to.at.buffer);
      eachRow(upload->to, [&](uint64_t at, uint64_t from, uint64_t count) {
        if (at + count <= bytes.size())
          std::memcpy(bytes.data() + at, data.data() + upload->data + from, count);
      });
      inputs.push_back({reinterpret_cast<const uint8_t *>(data.data()) + upload->data,
                        static_cast<size_t>(upload->to.bytes())});
    } else if (const auto *fill = std::get_if<kbrt::FillStep>(&step)) {
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
    std::vector<uint8_t> &bytes = memory(read->from.at.buffer);
    std::vector<uint8_t> &region = before.emplace_back(read->from.bytes());
    eachRow(read->from, [&](uint64_t at, uint64_t to, uint64_t count) {
      if (at + count <= bytes.size())
        std::memcpy(region.data() + to, bytes.data() + at, count);
    });
  }
}

Expected<Admission> Judge::Impl::admission(const TestCase &test, const CandidatePromise &promise) {
  std::string key = test.name + "|" + toString(promise.result).str();
  for (const std::string &declared : promise.declares)
    key += "|" + declared;
  Expected<const Admission &> known =
      admissions.get(key, [&] { return decideAdmission(test, promise); });
  if (!known)
    return known.takeError();
  return *known;
}

Expected<Admission> Judge::Impl::decideAdmission(const TestCase &test,
                                                 const CandidatePromise &promise) {
  Expected<const Reference *> known = reference(test, promise.result != ResultPromise::Bitwise);
  if (!known)
    return known.takeError();
  const Reference &reference = **known;
  Admission admission;
  if (reference.run->status != RunStatus::Ok) {
    admission.admitted = false;
    admission.reason = "the original fails on it";
    return admission;
  }
  std::string error;
  std::optional<kbrt::Plan> plan = kbrt::readPlan(reference.planFolder, error);
  if (!plan)
    return make_error<StoreError>(error);
  std::string data;
  std::string dataPath = reference.planFolder + "/" + kbrt::dataFileName;
  if (realFileSystem().exists(dataPath)) {
    Expected<std::string> bytes = realFileSystem().read(dataPath);
    if (!bytes)
      return bytes.takeError();
    data = std::move(*bytes);
  }
  std::vector<std::vector<uint8_t>> before;
  std::vector<ArrayRef<uint8_t>> inputs;
  describeInputs(*plan, data, RunOptions().memoryPoison, before, inputs);

  RunPointer other;
  std::optional<TestCase> seed = cases.reseeded(test);
  if (seed) {
    // Integer inputs are not varied: the same inputs are no other seed.
    Expected<std::string> folder = this->plan(baselineProgram, *seed);
    if (!folder)
      return folder.takeError();
    std::string otherPath = *folder + "/" + kbrt::dataFileName, otherData;
    if (realFileSystem().exists(otherPath)) {
      Expected<std::string> bytes = realFileSystem().read(otherPath);
      if (!bytes)
        return bytes.takeError();
      otherData = std::move(*bytes);
    }
    if (otherData == data)
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
    AdmissionOutput output;
    output.view = viewOf(reference, i);
    output.tolerance = toleranceFor(promise, cases, test, i);
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
  unsigned count = context.effort == JudgeEffort::Search ? judge.options.searchCases + 1
                                                         : judge.options.maxCases;
  for (const TestCase &test : judge.seenCases(count)) {
    ++looked;
    Expected<Admission> admission = judge.admission(test, context.promise);
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

/// Runs the candidate once on each of \p tests and compares.
static Expected<GateRecord> compareOnCases(GateContext &context, ArrayRef<TestCase> tests,
                                           GateId gate) {
  Judge::Impl &judge = context.judge;
  const bool spread = context.promise.result != ResultPromise::Bitwise;
  unsigned cases = 0;
  for (const TestCase &test : tests) {
    Expected<const Reference *> reference = judge.reference(test, spread);
    if (!reference)
      return reference.takeError();
    if ((*reference)->run->status != RunStatus::Ok)
      continue; // the original cannot do this case either: nothing to hold against
    ++cases;
    Expected<RunPointer> run =
        judge.run(context.candidate, test, RunMode::Plain, judge.runOptions());
    if (!run)
      return blameProgram(run.takeError(), gate, FailureClass::Runtime);
    if (std::optional<GateRecord> failure = failureOf(**run, gate, test.name))
      return std::move(*failure);
    GateRecord record =
        compareWithReference(**reference, **run, test, context.promise, judge.cases, gate);
    if (record.stops())
      return record;
  }
  return GateRecord::pass(gate, "", cases);
}

/// Bytes of every upload of the plan in \p folder, by digest, and whether it
/// launches anything.
struct HostWork {
  std::set<Digest> uploads;
  bool launches = false;
};

static Expected<HostWork> hostWork(const std::string &folder) {
  std::string error;
  std::optional<kbrt::Plan> plan = kbrt::readPlan(folder, error);
  if (!plan)
    return make_error<StoreError>(error);
  HostWork work;
  std::string data, path = folder + "/" + kbrt::dataFileName;
  if (realFileSystem().exists(path)) {
    Expected<std::string> bytes = realFileSystem().read(path);
    if (!bytes)
      return bytes.takeError();
    data = std::move(*bytes);
  }
  for (const kbrt::Step &step : plan->steps) {
    work.launches |= std::holds_alternative<kbrt::LaunchStep>(step);
    if (const auto *upload = std::get_if<kbrt::UploadStep>(&step))
      if (upload->data + upload->to.bytes() <= data.size())
        work.uploads.insert(digestOf(StringRef(data).substr(upload->data, upload->to.bytes())));
  }
  return work;
}

/// A candidate's host code may rearrange launches; the work must stay on the
/// device, and no answer may come from the host.
static Expected<std::optional<GateRecord>> auditHost(GateContext &context) {
  TestCase test = context.judge.recordedCase();
  Expected<std::string> original = context.judge.plan(context.judge.baselineProgram, test);
  if (!original)
    return original.takeError();
  Expected<std::string> candidate = context.judge.plan(context.candidate, test);
  if (!candidate) {
    Expected<GateRecord> record =
        blameProgram(candidate.takeError(), GateId::G6, FailureClass::Runtime);
    if (!record)
      return record.takeError();
    return std::optional<GateRecord>(std::move(*record));
  }
  if (*original == *candidate)
    return std::nullopt;
  Expected<HostWork> before = hostWork(*original), after = hostWork(*candidate);
  if (!before || !after)
    return joinErrors(before.takeError(), after.takeError());
  if (before->launches && !after->launches)
    return GateRecord::fail(GateId::G6, FailureClass::Constraints,
                            "the candidate launches no kernel");
  for (const Digest &upload : after->uploads)
    if (!before->uploads.count(upload))
      return GateRecord::fail(GateId::G6, FailureClass::Constraints,
                              "the candidate's host uploads bytes that the original does not");
  return std::nullopt;
}

Expected<GateRecord> runNumerics(GateContext &context) {
  Expected<std::optional<GateRecord>> audit = auditHost(context);
  if (!audit)
    return audit.takeError();
  if (*audit)
    return std::move(**audit);
  return compareOnCases(context, {context.judge.recordedCase()}, GateId::G6);
}

Expected<GateRecord> runBreadth(GateContext &context) {
  unsigned count = context.effort == JudgeEffort::Search ? context.judge.options.searchCases + 1
                                                         : context.judge.options.maxCases;
  std::vector<TestCase> tests = context.judge.seenCases(count);
  tests.pop_back(); // the recorded one was G6's
  if (tests.empty())
    return GateRecord::notRun(GateId::G7, "there is only the recorded case");
  return compareOnCases(context, tests, GateId::G7);
}

Expected<GateRecord> runUnseenShapes(GateContext &context) {
  std::vector<TestCase> tests;
  for (const TestCase &test : context.judge.cases.cases())
    if (test.unseen && tests.size() < context.judge.options.maxCases)
      tests.push_back(test);
  if (tests.empty())
    return GateRecord::notRun(GateId::G15, "a program without shapes has no unseen ones");
  return compareOnCases(context, tests, GateId::G15);
}

} // namespace kbopt
