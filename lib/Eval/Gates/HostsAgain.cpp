//===- HostsAgain.cpp - Hosts that read what their own steps compute --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the cases on which each of the two hosts runs again until it has read what the steps that it
// asks for compute. They judge candidates whose hosts read other results than the original's:
// results that both read are compared as everywhere, and what the hosts make of the others is
// compared where they print it.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "Expectation.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace llvm;

namespace kbopt {

/// Rounds until a host reads what its own steps compute: a factor that is made from one result and
/// handed over before the next is read takes one more.
static constexpr unsigned mostRounds = 6;

TestCase runAgainOn(const TestCase &test) {
  if (!test.runsAgainOn.empty())
    return test;
  TestCase again = test;
  again.runsAgainOn = test.name;
  again.name += ", hosts run again";
  return again;
}

static TestCase usualCase(const TestCase &again) {
  TestCase test = again;
  test.name = again.runsAgainOn;
  test.runsAgainOn.clear();
  return test;
}

Expected<std::string> Judge::Impl::writeResults(const std::string &planFolder,
                                                ArrayRef<SharedBytes> outputs) {
  Expected<std::string> folder = scratchFile("results" + std::to_string(scratchCount++));
  if (!folder)
    return folder.takeError();
  FileSystem &files = realFileSystem();
  if (Error error = files.createDirectories(*folder))
    return std::move(error);
  Expected<std::string> plan = files.read(planFolder + "/" + kbrt::planFileName);
  if (!plan)
    return plan.takeError();
  std::string bytes;
  for (const SharedBytes &output : outputs)
    bytes += output.str();
  if (Error error = files.write(*folder + "/" + kbrt::planFileName, *plan))
    return std::move(error);
  if (Error error = files.write(*folder + "/" + kbrt::observablesFileName, bytes))
    return std::move(error);
  return *folder;
}

Expected<const CaseSource::HostRun &> Judge::Impl::hostAgain(JudgedProgram &program,
                                                             const TestCase &test) {
  return program.hostsAgain.get(test.name, [&]() -> Expected<CaseSource::HostRun> {
    const TestCase usual = usualCase(test);
    Expected<std::string> first = plan(program, usual);
    if (!first)
      return first.takeError();
    Expected<const DeviceImage *> built = image(program, RunMode::Plain);
    if (!built)
      return built.takeError();
    CaseSource::HostRun now{*first, {}};
    for (unsigned round = 0; round < mostRounds; ++round) {
      Expected<RunResult> result =
          deviceFor(RunMode::Plain, Where::Usual).run(**built, now.folder, runOptions());
      if (!result)
        return result.takeError();
      if (result->status != RunStatus::Ok)
        return now; // the run of this plan says it
      Expected<std::string> results = writeResults(now.folder, result->outputs);
      if (!results)
        return results.takeError();
      Expected<CaseSource::HostRun> next = cases.runAgain(*program.program, usual, *results);
      (void)sys::fs::remove_directories(*results);
      if (!next)
        return next.takeError();
      Expected<bool> isSame = isSameWork(now.folder, next->folder);
      if (!isSame)
        return isSame.takeError();
      now = std::move(*next);
      if (*isSame)
        return now;
    }
    return make_error<CannotFollow>("what the host hands over changes each time that it reads what "
                                    "came of it, on case " +
                                        test.name,
                                    "");
  });
}

Expected<RunResult> Judge::Impl::executeWithHost(
    const TestCase &test, std::string folder,
    function_ref<Expected<RunResult>(const std::string &planFolder)> execute) {
  Expected<RunResult> result = execute(folder);
  for (unsigned round = 1; result && result->status == RunStatus::Ok && round < mostRounds;
       ++round) {
    Expected<std::string> results = writeResults(folder, result->outputs);
    if (!results)
      return results.takeError();
    Expected<CaseSource::HostRun> next = cases.runAgain(original, usualCase(test), *results);
    (void)sys::fs::remove_directories(*results);
    if (!next) { // it takes another way there
      Expected<GateRecord> own = blameProgram(next.takeError(), GateId::G6, FailureClass::Runtime);
      return own ? std::move(result) : Expected<RunResult>(own.takeError());
    }
    Expected<bool> isSame = isSameWork(folder, next->folder);
    if (!isSame)
      return isSame.takeError();
    if (*isSame)
      break;
    folder = next->folder;
    result = execute(folder);
  }
  return result;
}

/// \p text without the hashes in lines of what a function returned, which say nothing of by how
/// much numbers differ.
static std::string withoutHashes(StringRef text) {
  std::string result;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    SmallVector<StringRef> words;
    line.split(words, ' ', /*MaxSplit=*/3);
    if (words.size() > 2 && words[0] == "kb-result")
      words.erase(words.begin() + 2);
    result += join(words, " ") + "\n";
  }
  return result;
}

namespace {
/// What a host printed, for comparisons.
struct Printed {
  std::string out, err;
  explicit Printed(const CaseSource::WholeRun &run) : out(withoutHashes(run.out)), err(run.err) {}
};

/// The original's host on one case, as often as it takes.
class OriginalHost {
public:
  OriginalHost(GateContext &context, const TestCase &test) : context(context), test(test) {}

  /// With the results of its own run, and, once \p isMeasured, of those under other roundings, and
  /// printed three times, for what changes by itself.
  Error run(bool isMeasured) {
    Judge::Impl &judge = context.judge;
    if (!isMeasured) {
      Expected<const CaseSource::HostRun &> own = judge.hostAgain(judge.baselineProgram, test);
      if (!own)
        return own.takeError();
      folder = own->folder;
      same.push_back(Printed(own->printed));
      return Error::success();
    }
    Expected<RunPointer> usual =
        judge.run(judge.baselineProgram, test, RunMode::Plain, judge.runOptions());
    if (!usual)
      return usual.takeError();
    for (unsigned i = 0; i < 2; ++i)
      if (Error error = add(**usual, same))
        return error;
    if (!judge.baseline->deterministic)
      for (unsigned order = 1; order <= judge.options.shuffles + 1; ++order) {
        RunOptions shuffled = judge.runOptions();
        shuffled.seed = order;
        Expected<RunPointer> other =
            judge.run(judge.baselineProgram, test, RunMode::Plain, shuffled);
        if (!other)
          return other.takeError();
        if (Error error = add(**other, moved))
          return error;
      }
    if (context.promise.result == Promise::Bitwise)
      return Error::success();
    for (const Rerounding &rounding :
         {Rerounding(Rounding::Up), Rerounding(Rounding::Down), Rerounding(Rounding::Zero),
          Rerounding::mixed(1), Rerounding::mixed(2)}) {
      std::string limits; // without such a run the comparison is the stricter one
      Expected<RunPointer> other = judge.directedRun(test, rounding, limits);
      if (!other)
        return other.takeError();
      if (*other && (*other)->status == RunStatus::Ok)
        if (Error error = add(**other, moved))
          return error;
    }
    return Error::success();
  }

  /// How \p printed differs.
  std::optional<GateRecord> compare(const Printed &printed, Closeness closeness) const {
    for (auto [stream, what] :
         {std::pair(&Printed::out, StringRef("what the host prints or returns")),
          {&Printed::err, "what the host writes to standard error"}}) {
      std::vector<StringRef> texts;
      for (const Printed &each : same)
        texts.push_back(each.*stream);
      Expectation expectation(texts);
      for (const Printed &each : moved)
        expectation.addRerounded(each.*stream);
      if (auto failure = expectation.compare(printed.*stream, closeness,
                                             (what + " on case " + test.name).str()))
        return failure;
    }
    return std::nullopt;
  }

private:
  /// The host that reads the results of \p run; nothing is added where it does not stand them.
  Error add(const RunResult &run, std::vector<Printed> &to) {
    Judge::Impl &judge = context.judge;
    Expected<std::string> results = judge.writeResults(folder, run.outputs);
    if (!results)
      return results.takeError();
    Expected<CaseSource::HostRun> host =
        judge.cases.runAgain(judge.original, usualCase(test), *results);
    (void)sys::fs::remove_directories(*results);
    if (!host) {
      Expected<GateRecord> own =
          blameProgram(host.takeError(), GateId::G7, FailureClass::Correctness);
      return own ? Error::success() : own.takeError();
    }
    to.push_back(Printed(host->printed));
    return Error::success();
  }

  GateContext &context;
  const TestCase &test;
  std::string folder;
  std::vector<Printed> same, moved;
};
} // namespace

Expected<std::optional<GateRecord>> compareHostsAgain(GateContext &context, const TestCase &test,
                                                      GateId gate) {
  Judge::Impl &judge = context.judge;
  Expected<const CaseSource::HostRun &> own = judge.hostAgain(judge.baselineProgram, test),
                                        its = judge.hostAgain(context.candidate, test);
  if (!own || !its)
    return joinErrors(own.takeError(), its.takeError());
  context.casesRunAgain += !test.recorded && !test.elsewhere;
  if (own->printed.exitStatus != its->printed.exitStatus)
    return GateRecord::fail(gate, FailureClass::Correctness,
                            formatv("the program ends with status {0} on case {1}, the original "
                                    "with {2}",
                                    its->printed.exitStatus, test.name, own->printed.exitStatus));
  const Closeness closeness =
      context.promise.result == Promise::LowerPrecision ? Closeness::Roughly
      : context.promise.result == Promise::Bitwise && judge.baseline->deterministic
          ? Closeness::Exactly
          : Closeness::ButForRoundings;
  const Printed printed(its->printed);
  OriginalHost original(context, test);
  std::optional<GateRecord> failure;
  for (bool isMeasured : {false, true}) {
    if (Error error = original.run(isMeasured))
      return std::move(error);
    failure = original.compare(printed, closeness);
    if (!failure)
      return std::nullopt;
  }
  failure->gate = gate;
  return failure;
}

std::vector<std::optional<unsigned>> pairResults(const Reference &reference,
                                                 const RunResult &candidate,
                                                 const CandidatePromise &promise, CaseSource &cases,
                                                 const TestCase &test) {
  const std::vector<SharedBytes> &its = reference.run->outputs, &own = candidate.outputs;
  std::vector<std::optional<unsigned>> pairs(its.size());
  std::vector<bool> taken(own.size());
  // Of so many comparisons the rest is left to the sizes.
  uint64_t comparisons = 1 << 16;
  for (unsigned i = 0; i < its.size(); ++i) {
    const Tolerance tolerance = toleranceFor(promise, cases, test, reference, i);
    for (unsigned earlier = 0; earlier < i && !pairs[i]; ++earlier)
      if (pairs[earlier] && its[earlier] == its[i]) // read twice
        pairs[i] = pairs[earlier];
    for (unsigned k = 0; k < own.size() && !pairs[i] && comparisons; ++k)
      if (!taken[k] && own[k].size() == its[i].size()) {
        --comparisons;
        if (compareOutput(viewOf(reference, i), bytesOf(own[k]), tolerance).accepted) {
          pairs[i] = k;
          taken[k] = true;
        }
      }
  }
  std::map<uint64_t, std::pair<std::vector<unsigned>, std::vector<unsigned>>> left; // by size
  for (unsigned i = 0; i < its.size(); ++i)
    if (!pairs[i])
      left[its[i].size()].first.push_back(i);
  for (unsigned k = 0; k < own.size(); ++k)
    if (!taken[k])
      left[own[k].size()].second.push_back(k);
  for (const auto &[size, numbers] : left)
    if (numbers.first.size() == numbers.second.size())
      for (size_t i = 0; i < numbers.first.size(); ++i)
        pairs[numbers.first[i]] = numbers.second[i];
  return pairs;
}

/// Where a number is moved to: programs branch at zero, and go on while something is not.
enum class Far : uint8_t { Up, Down, Zero };

/// A number of type \p T at \p at becomes a far larger or smaller one, or zero; \p typical is the
/// largest magnitude beside it.
template <typename T> static void moveFar(char *at, double typical, Far to) {
  T value;
  std::memcpy(&value, at, sizeof value);
  const bool isUp = to == Far::Up;
  if (to == Far::Zero)
    value = 0;
  else if constexpr (std::is_floating_point_v<T>)
    value = static_cast<T>((isUp ? 1000 : -1000) * (1 + typical));
  else
    value = static_cast<T>(isUp ? value + (sizeof(T) < 4 ? 100 : 1 << 20)
                                : value - (sizeof(T) < 4 ? 100 : 1 << 20));
  std::memcpy(at, &value, sizeof value);
}

/// False for types of which nothing is known.
static bool moveFar(char *at, kbrt::ElementType type, double typical, Far to) {
  using kbrt::ElementType;
  switch (type) {
  case ElementType::F32:
    return moveFar<float>(at, typical, to), true;
  case ElementType::F64:
    return moveFar<double>(at, typical, to), true;
  case ElementType::I8:
  case ElementType::U8:
    return moveFar<uint8_t>(at, typical, to), true;
  case ElementType::I16:
  case ElementType::U16:
    return moveFar<uint16_t>(at, typical, to), true;
  case ElementType::I32:
  case ElementType::U32:
    return moveFar<uint32_t>(at, typical, to), true;
  case ElementType::I64:
  case ElementType::U64:
    return moveFar<uint64_t>(at, typical, to), true;
  default:
    return false;
  }
}

namespace {
/// Tells which elements of the original's results show in what its host prints.
class VisibleResults {
public:
  VisibleResults(Judge::Impl &judge, const TestCase &test, const Reference &reference)
      : judge(judge), test(test), reference(reference) {}

  /// Whether the host hands over something else, or (unless \p isHandedOver) prints something else,
  /// for another number in the place of \p element of \p output.
  Expected<bool> shows(unsigned output, uint64_t element, bool isHandedOver) {
    const kbrt::ElementType type = reference.outputs[output].type;
    const SharedBytes &recorded = reference.run->outputs[output];
    const uint64_t width = std::max<uint64_t>(1, kbrt::elementBytes(type));
    double typical = 0;
    for (uint64_t i = 0; kbrt::isFloatingPoint(type) && i < recorded.size() / width; ++i)
      if (double value = std::fabs(elementAsDouble(type, bytesOf(recorded), i));
          std::isfinite(value))
        typical = std::max(typical, value);
    while (usual.size() < 2) {
      Expected<std::optional<CaseSource::HostRun>> own = run(reference.run->outputs);
      if (!own)
        return own.takeError();
      if (!*own)
        return false;
      usual.push_back(std::move(**own));
    }
    for (Far to : {Far::Up, Far::Down, Far::Zero}) {
      std::string bytes = recorded.str().str();
      if (!moveFar(bytes.data() + element * width, type, typical, to))
        return false;
      std::vector<SharedBytes> outputs = reference.run->outputs;
      outputs[output] = SharedBytes(std::move(bytes));
      Expected<std::optional<CaseSource::HostRun>> other = run(outputs);
      if (!other)
        return other.takeError();
      if (!*other) // it fails, or goes another way
        return true;
      Expected<bool> isSame = isSameWork(usual[0].folder, (*other)->folder);
      if (!isSame)
        return isSame.takeError();
      if (!*isSame)
        return true;
      const Printed before(usual[0].printed), again(usual[1].printed), now((*other)->printed);
      for (auto stream : {&Printed::out, &Printed::err})
        if (!isHandedOver && Expectation({before.*stream, again.*stream})
                                 .compare(now.*stream, Closeness::Exactly, ""))
          return true;
    }
    return false;
  }

  /// The first of some elements of \p output that does not show; nothing if all do.
  Expected<std::optional<uint64_t>> hidden(unsigned output, bool isHandedOver) {
    constexpr size_t elementsOfEach = 5; // each costs some runs of the host
    const uint64_t count =
        reference.run->outputs[output].size() /
        std::max<uint64_t>(1, kbrt::elementBytes(reference.outputs[output].type));
    std::set<uint64_t> elements;
    for (size_t k = 0; k < elementsOfEach && count; ++k)
      elements.insert(k * (count - 1) / (elementsOfEach - 1));
    for (uint64_t element : elements) {
      Expected<bool> isShown = shows(output, element, isHandedOver);
      if (!isShown)
        return isShown.takeError();
      if (!*isShown)
        return element;
    }
    return std::nullopt;
  }

private:
  /// Nothing if the host does not stand \p outputs.
  Expected<std::optional<CaseSource::HostRun>> run(ArrayRef<SharedBytes> outputs) {
    Expected<std::string> results = judge.writeResults(reference.planFolder, outputs);
    if (!results)
      return results.takeError();
    Expected<CaseSource::HostRun> host = judge.cases.runAgain(judge.original, test, *results);
    (void)sys::fs::remove_directories(*results);
    if (host)
      return std::optional<CaseSource::HostRun>(std::move(*host));
    Expected<GateRecord> own =
        blameProgram(host.takeError(), GateId::G6, FailureClass::Correctness);
    if (!own)
      return own.takeError();
    return std::nullopt;
  }

  Judge::Impl &judge;
  const TestCase &test;
  const Reference &reference;
  std::vector<CaseSource::HostRun> usual;
};
} // namespace

Expected<const std::set<unsigned> &> handedOverResults(GateContext &context) {
  return context.handedOver.get(0, [&]() -> Expected<std::set<unsigned>> {
    const TestCase test = context.judge.recordedCase();
    Expected<const Reference *> reference = context.judge.reference(test, context.spread);
    if (!reference)
      return reference.takeError();
    VisibleResults visible(context.judge, test, **reference);
    std::set<unsigned> handedOver;
    constexpr unsigned mostResults = 8;
    for (unsigned i = 0; i < std::min<size_t>(mostResults, (*reference)->outputs.size()); ++i) {
      Expected<std::optional<uint64_t>> hidden = visible.hidden(i, /*isHandedOver=*/true);
      if (!hidden)
        return hidden.takeError();
      if (!*hidden)
        handedOver.insert(i);
    }
    return handedOver;
  });
}

Expected<std::optional<GateRecord>> checkUnreadResults(GateContext &context, GateId gate) {
  Judge::Impl &judge = context.judge;
  const TestCase test = judge.recordedCase();
  Expected<const Reference *> reference = judge.reference(test, context.spread);
  if (!reference)
    return reference.takeError();
  Expected<RunPointer> run = judge.run(context.candidate, test, RunMode::Plain, judge.runOptions());
  if (!run)
    return run.takeError();
  const std::vector<std::optional<unsigned>> pairs =
      pairResults(**reference, **run, context.promise, judge.cases, test);
  std::vector<unsigned> unread;
  for (unsigned i = 0; i < pairs.size(); ++i)
    if (!pairs[i])
      unread.push_back(i);
  // Each costs some runs of the host; of more, as of the rounds of a loop, these stand for all.
  constexpr size_t mostResults = 6;
  VisibleResults visible(judge, test, **reference);
  for (size_t i = 0; i < std::min(mostResults, unread.size()); ++i) {
    const unsigned output = unread[i * unread.size() / std::min(mostResults, unread.size())];
    Expected<std::optional<uint64_t>> hidden = visible.hidden(output, /*isHandedOver=*/false);
    if (!hidden)
      return hidden.takeError();
    if (*hidden)
      return GateRecord::undecided(
          gate, formatv("the original's host reads {0} bytes as {1} that the candidate's does not "
                        "read, and neither what it prints nor what it hands over shows element {2} "
                        "of them",
                        (*reference)->run->outputs[output].size(),
                        (*reference)->outputs[output].name, **hidden));
  }
  return std::nullopt;
}

} // namespace kbopt
