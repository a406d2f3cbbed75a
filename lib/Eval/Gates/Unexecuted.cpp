//===- Unexecuted.cpp - Code that no case executes (G7) -------------------===//
//
// Owns the rule that nothing is known of code which never ran: lines of a candidate's kernels that
// are not the original's own, and that none of its checked runs came to.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "SourceSegments.h"
#include "kb-opt/Eval/LiveCode.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

/// \p line without white space and a comment at its end.
static std::string wordsOf(StringRef line) {
  std::string words;
  for (char c : line.split("//").first)
    if (!isSpace(c))
      words += c;
  return words;
}

namespace {

/// The lines of a candidate that its original does not have.
class OwnLines {
public:
  OwnLines(StringRef original, StringRef candidate) : segments(candidate) {
    SmallVector<StringRef> all;
    original.split(all, '\n');
    for (StringRef line : all)
      known.insert(wordsOf(line));
    candidate.split(lines, '\n');
  }
  /// The first place in such a line that is not \p executed, while nothing is that always is with
  /// it; nothing if there is none.
  std::optional<kbrt::SourcePosition> firstMissing(const kbrt::Coverage &executed) const {
    std::set<unsigned> reached;
    for (const kbrt::SourcePosition &position : executed.reached)
      reached.insert(segments.at(position));
    for (const kbrt::SourcePosition &position : executed.unreached)
      if (position.first - 1 < lines.size() && !reached.count(segments.at(position)) &&
          !known.contains(wordsOf(lines[position.first - 1])))
        return position;
    return std::nullopt;
  }
  StringRef text(const kbrt::SourcePosition &position) const {
    return lines[position.first - 1].trim();
  }

private:
  StringSet<> known;
  SourceSegments segments;
  SmallVector<StringRef> lines;
};

} // namespace

void JudgedProgram::note(const kbrt::Coverage &coverage) {
  std::lock_guard<std::mutex> lock(mutex);
  executed.reached.insert(coverage.reached.begin(), coverage.reached.end());
  executed.unreached.insert(coverage.unreached.begin(), coverage.unreached.end());
  for (const kbrt::SourcePosition &position : executed.reached)
    executed.unreached.erase(position);
}

/// Leaves of what no run of \p context's candidate executed that which a launch of the recorded
/// case may come to, whatever the data are.
static Error keepLiveCode(GateContext &context, std::set<kbrt::SourcePosition> &unreached) {
  JudgedProgram &candidate = context.candidate;
  Expected<std::string> folder = context.judge.plan(candidate, context.judge.recordedCase());
  if (!folder)
    return folder.takeError();
  Expected<RecordedPlan> recorded = readRecordedPlan(*folder);
  if (!recorded)
    return recorded.takeError();
  Expected<std::string> bitcode = realFileSystem().read(candidate.program->bitcodePath);
  if (!bitcode)
    return bitcode.takeError();
  Expected<std::optional<std::set<kbrt::SourcePosition>>> live =
      livePlaces(*bitcode, recorded->plan);
  if (!live)
    return live.takeError();
  if (*live)
    std::erase_if(unreached, [&](const auto &position) { return !(*live)->count(position); });
  return Error::success();
}

Expected<std::optional<GateRecord>> findUnexecuted(GateContext &context) {
  if (context.promise.guardsItsWays)
    return std::nullopt;
  Judge::Impl &judge = context.judge;
  JudgedProgram &candidate = context.candidate;
  const OwnLines own(judge.original.text, candidate.program->text);
  auto missing = [&] {
    std::lock_guard<std::mutex> lock(candidate.mutex);
    return own.firstMissing(candidate.executed);
  };
  // Gates whose answers are kept have made no runs this time.
  for (const TestCase &test : judge.seenCases(context.caseCount)) {
    if (!missing())
      return std::nullopt;
    Expected<std::optional<std::string>> refusal = judge.cpuRefusal(test);
    if (!refusal)
      return refusal.takeError();
    if (*refusal)
      continue;
    Expected<RunPointer> run =
        judge.run(candidate, test, RunMode::Check, judge.cpuOptions(candidate));
    if (!run)
      return run.takeError();
  }
  if (!missing())
    return std::nullopt;
  kbrt::Coverage executed = candidate.executed;
  if (Error error = keepLiveCode(context, executed.unreached))
    return std::move(error);
  const std::optional<kbrt::SourcePosition> position = own.firstMissing(executed);
  if (!position)
    return std::nullopt;
  return GateRecord::undecided(
      GateId::G7, formatv("no case executes line {0}, '{1}': nothing is known of what it does",
                          position->first, own.text(*position)));
}

} // namespace kbopt
