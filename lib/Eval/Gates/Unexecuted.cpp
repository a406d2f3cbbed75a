//===- Unexecuted.cpp - Code that no case executes (G7) -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the rule that nothing is known of code which never ran: lines of a candidate's kernels that
// are not the original's own, and that none of its checked runs came to.
//
//===----------------------------------------------------------------------===//
#include "InputSearch.h"
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

/// The places that a launch of the recorded case may come to, whatever the data are; nothing if
/// that is not known.
static Expected<std::optional<std::set<kbrt::SourcePosition>>> liveCode(GateContext &context) {
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
  return livePlaces(*bitcode, recorded->plan);
}

/// Makes the checked runs on the usual cases, which gates whose answers are kept have not made this
/// time, until \p isDone.
static Error runUsualCases(GateContext &context, function_ref<bool()> isDone) {
  Judge::Impl &judge = context.judge;
  for (const TestCase &test : judge.seenCases(context.caseCount)) {
    if (isDone())
      break;
    Expected<std::optional<std::string>> refusal = judge.cpuRefusal(test);
    if (!refusal)
      return refusal.takeError();
    if (*refusal)
      continue;
    Expected<RunPointer> run =
        judge.run(context.candidate, test, RunMode::Check, judge.cpuOptions(context.candidate));
    if (!run)
      return run.takeError();
  }
  return Error::success();
}

/// Holds the candidate to the cases around its own constants, those that there was no time for
/// before among them, until \p isDone.
static Expected<GateRecord> holdToOwnCases(GateContext &context, function_ref<bool()> isDone) {
  GateRecord record = GateRecord::pass(GateId::G7);
  for (const TestCase &test : context.judge.cases.casesFor(*context.candidate.program)) {
    if (isDone())
      break;
    if (isOfUploadsAlone(context, test))
      continue;
    Expected<bool> allowed = consents(context.judge, test);
    if (!allowed)
      return allowed.takeError();
    if (!*allowed)
      continue;
    Expected<GateRecord> held = holdTo(context, test);
    if (!held || held->stops())
      return held;
    ++record.cases;
    llvm::append_range(record.details, held->details);
    record.details.push_back("held to " + test.name + " as well");
  }
  return record;
}

static GateRecord undecidedAt(unsigned line, StringRef text, const InputSearch &search) {
  std::string reason =
      formatv("no case executes line {0}, '{1}': nothing is known of what it does", line, text);
  if (search.wasRefused())
    reason += ", and the original does not allow the inputs that were found to lead there";
  else if (search.tried())
    reason += formatv(", and none of {0} further inputs leads there", search.tried());
  return GateRecord::undecided(GateId::G7, std::move(reason));
}

Expected<GateRecord> searchUnexecuted(GateContext &context) {
  GateRecord record = GateRecord::pass(GateId::G7);
  if (context.promise.guardsItsWays)
    return record;
  JudgedProgram &candidate = context.candidate;
  const OwnLines own(context.judge.original.text, candidate.program->text);
  std::optional<std::set<kbrt::SourcePosition>> live;
  // What is still missing where \p more is executed as well.
  auto missing = [&](const kbrt::Coverage &more) {
    kbrt::Coverage executed = more;
    std::lock_guard<std::mutex> lock(candidate.mutex);
    executed.reached.insert(candidate.executed.reached.begin(), candidate.executed.reached.end());
    executed.unreached = candidate.executed.unreached;
    if (live)
      std::erase_if(executed.unreached,
                    [&](const auto &position) { return !live->count(position); });
    for (const kbrt::SourcePosition &position : more.reached)
      executed.unreached.erase(position);
    return own.firstMissing(executed);
  };
  if (Error error = runUsualCases(context, [&] { return !missing({}); }))
    return std::move(error);
  if (!missing({}))
    return record;
  Expected<std::optional<std::set<kbrt::SourcePosition>>> known = liveCode(context);
  if (!known)
    return known.takeError();
  live = std::move(*known);
  Expected<GateRecord> ownCases = holdToOwnCases(context, [&] { return !missing({}); });
  if (!ownCases || ownCases->stops())
    return ownCases;
  record = std::move(*ownCases);
  InputSearch search(context);
  while (const std::optional<kbrt::SourcePosition> place = missing({})) {
    Expected<std::vector<TestCase>> found = search.find(
        *place, [&](const kbrt::Coverage &executed) { return missing(executed) != place; });
    if (!found)
      return found.takeError();
    if (found->empty())
      return undecidedAt(place->first, own.text(*place), search);
    for (const TestCase &test : *found) {
      Expected<GateRecord> held = holdTo(context, test);
      if (!held || held->stops())
        return held;
      ++record.cases;
      llvm::append_range(record.details, held->details);
      record.details.push_back(formatv("held to {0} as well: it leads to line {1}, and {2} inputs "
                                       "were tried until then",
                                       test.name, place->first, search.tried()));
    }
  }
  return record;
}

} // namespace kbopt
