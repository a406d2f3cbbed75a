//===- WholeProgram.cpp - Gate G14: what the program prints ---------------===//
//
// Owns the comparison of the rebuilt program's exit status and output with the
// original's. Programs print times, dates and addresses: what differs between
// runs of the original itself is not compared, and nothing else is left out.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Parallel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstdlib>

using namespace llvm;

namespace kbopt {
namespace {

/// Relative difference of printed numbers that a pass without a bitwise promise
/// may cause; the numbers themselves were G6's.
constexpr double printedTolerance = 1e-3;
/// Runs of the original at first, and as many as it takes before a difference is
/// blamed on the candidate: a time that is printed in few digits may well be the
/// same twice.
constexpr size_t firstRuns = 2, mostRuns = 5;

std::vector<StringRef> linesOf(StringRef text) {
  SmallVector<StringRef, 64> lines;
  text.split(lines, '\n');
  return {lines.begin(), lines.end()};
}

/// Numbers with sign and exponent, words, and every other character but white
/// space by itself.
std::vector<StringRef> tokensOf(StringRef line) {
  std::vector<StringRef> tokens;
  auto isWord = [](char c) { return isAlnum(c) || c == '_' || c == '.'; };
  for (size_t at = 0; at < line.size();) {
    if (isSpace(line[at])) {
      ++at;
      continue;
    }
    size_t end = at + 1;
    bool isSign = (line[at] == '-' || line[at] == '+') && end < line.size() &&
                  (isDigit(line[end]) || line[end] == '.') && (at == 0 || !isWord(line[at - 1]));
    if (isSign || isWord(line[at])) {
      const bool isNumber = isSign || isDigit(line[at]) || line[at] == '.';
      auto continues = [&] {
        char c = line[end];
        bool isExponentSign = isNumber && (c == '-' || c == '+') &&
                              (line[end - 1] == 'e' || line[end - 1] == 'E');
        return isWord(c) || isExponentSign;
      };
      while (end < line.size() && continues())
        ++end;
    }
    tokens.push_back(line.slice(at, end));
    at = end;
  }
  return tokens;
}

/// Counts and indices; a floating-point number that is printed without a point has six digits at least
/// before one in the last of them means nothing.
bool isWholeNumber(StringRef token) {
  token.consume_front("-");
  return !token.empty() && all_of(token, isDigit);
}

bool sameToken(StringRef a, StringRef b, bool exact) {
  if (a == b)
    return true;
  double x, y;
  if (long long n, m; !exact && isWholeNumber(a) && isWholeNumber(b) && !a.getAsInteger(10, n) && !b.getAsInteger(10, m))
    return std::abs(n) >= 100000 && (n - m == 1 || m - n == 1);
  if (exact || a.getAsDouble(x) || b.getAsDouble(y) || !std::isfinite(x) || !std::isfinite(y))
    return false;
  return std::fabs(x - y) <= printedTolerance * std::max(std::fabs(x), std::fabs(y));
}

/// The original's output, and what of it several runs agree on.
class Expectation {
public:
  explicit Expectation(ArrayRef<const CaseSource::WholeRun *> runs)
      : lines(linesOf(runs.front()->out)) {
    tokens.reserve(lines.size());
    for (StringRef line : lines)
      tokens.push_back(tokensOf(line));
    varies.resize(lines.size());
    for (size_t i = 0; i < lines.size(); ++i)
      varies[i].resize(tokens[i].size());
    for (const std::vector<StringRef> &line : tokens)
      moved.emplace_back(line.size());
    wholeLine.resize(lines.size());
    for (const CaseSource::WholeRun *run : runs.drop_front())
      addRun(run->out);
  }

  /// Numbers that \p output, of the original with its operations rounded otherwise, has else: an error that is printed, or
  /// a small difference of large numbers.
  void addRerounded(StringRef output);
  /// How \p output differs; nothing if it does not.
  std::optional<GateRecord> compare(StringRef output, bool exact) const;
  /// What is not compared, for the record; empty if everything is.
  std::string omitted() const {
    if (lineCountVaries)
      return "the original prints another number of lines each time: its output is not compared";
    size_t masked = 0, whole = count(wholeLine, true);
    for (const std::vector<bool> &line : varies)
      masked += count(line, true);
    if (masked + whole == 0)
      return "";
    return formatv("{0} words and {1} lines that change by themselves are not compared", masked,
                   whole);
  }

private:
  void addRun(StringRef output);

  std::vector<StringRef> lines;
  std::vector<std::vector<StringRef>> tokens;
  std::vector<std::vector<bool>> varies; ///< by line and token
  /// The largest magnitude of a number that another rounding moves; 0: none does.
  std::vector<std::vector<double>> moved;
  std::vector<bool> wholeLine; ///< has another number of tokens each time
  bool lineCountVaries = false;
};

void Expectation::addRun(StringRef output) {
  std::vector<StringRef> other = linesOf(output);
  if (other.size() != lines.size()) {
    lineCountVaries = true;
    return;
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    if (other[i] == lines[i])
      continue;
    std::vector<StringRef> words = tokensOf(other[i]);
    if (words.size() != tokens[i].size()) {
      wholeLine[i] = true;
      continue;
    }
    for (size_t k = 0; k < words.size(); ++k)
      if (words[k] != tokens[i][k])
        varies[i][k] = true;
  }
}

void Expectation::addRerounded(StringRef output) {
  std::vector<StringRef> other = linesOf(output);
  if (other.size() != lines.size())
    return;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::vector<StringRef> words = tokensOf(other[i]);
    if (words.size() != tokens[i].size())
      continue;
    for (size_t k = 0; k < words.size(); ++k) {
      double x, y;
      if (words[k] == tokens[i][k] || isWholeNumber(words[k]) || words[k].getAsDouble(x) || tokens[i][k].getAsDouble(y) ||
          !std::isfinite(x) || !std::isfinite(y))
        continue;
      moved[i][k] = std::max({moved[i][k], std::fabs(x), std::fabs(y)});
    }
  }
}

/// Whether \p token is a number of the size of those that other roundings give, or a smaller one.
static bool isAsSmall(StringRef token, double largest) {
  constexpr double room = 10; // another order of sums has another error
  double value;
  return largest > 0 && !token.getAsDouble(value) && std::fabs(value) <= room * largest;
}

std::optional<GateRecord> Expectation::compare(StringRef output, bool exact) const {
  if (lineCountVaries)
    return std::nullopt;
  std::vector<StringRef> got = linesOf(output);
  if (got.size() != lines.size())
    return GateRecord::fail(GateId::G14, FailureClass::Correctness,
                            formatv("the program prints {0} lines, the original {1}", got.size(),
                                    lines.size()));
  for (size_t i = 0; i < lines.size(); ++i) {
    if (got[i] == lines[i] || wholeLine[i])
      continue;
    std::vector<StringRef> words = tokensOf(got[i]);
    bool same = words.size() == tokens[i].size();
    for (size_t k = 0; same && k < words.size(); ++k)
      same = varies[i][k] || sameToken(tokens[i][k], words[k], exact) || (!exact && isAsSmall(words[k], moved[i][k]));
    // Where nothing varies, white space counts too.
    if (exact && same && !is_contained(varies[i], true))
      same = false;
    if (!same)
      return GateRecord::fail(GateId::G14, FailureClass::Correctness,
                              formatv("line {0} of the program's output differs", i + 1),
                              {("original:  " + lines[i]).str(), ("candidate: " + got[i]).str()});
  }
  return std::nullopt;
}

/// Run \p number of the original; null if the workload has no main.
Expected<const CaseSource::WholeRun *> originalRun(Judge::Impl &judge, unsigned number) {
  auto known = judge.wholeOriginals.get(
      number, [&]() -> Expected<std::optional<CaseSource::WholeRun>> {
        std::optional<Expected<CaseSource::WholeRun>> run =
            judge.cases.wholeProgram(judge.original);
        if (!run)
          return std::nullopt;
        if (!*run)
          return run->takeError();
        return std::move(**run);
      });
  if (!known)
    return known.takeError();
  return *known ? &**known : nullptr;
}

/// The original once more, with its operations rounded in one direction; null where that cannot be run.
Expected<const CaseSource::WholeRun *> reroundedRun(Judge::Impl &judge, Rounding direction) {
  auto known = judge.wholeRerounded.get(direction, [&]() -> Expected<std::optional<CaseSource::WholeRun>> {
    std::string path; // the CPU device rounds all operations alike by itself
    if (judge.gpu) {
      Expected<const DeviceImage &> image = judge.directedImages.get(direction, [&] { return judge.directedImage(direction); });
      if (!image) {
        consumeError(image.takeError()); // without it the comparison is the stricter one
        return std::nullopt;
      }
      path = image->path;
    }
    std::optional<Expected<CaseSource::WholeRun>> run =
        judge.cases.wholeProgram(judge.original, path, judge.gpu ? Rounding::Nearest : direction);
    if (run && *run)
      return std::move(**run);
    if (run)
      consumeError(run->takeError());
    return std::nullopt;
  });
  if (!known)
    return known.takeError();
  return *known ? &**known : nullptr;
}

/// How \p output differs from \p expectation where numbers that other roundings of the original move may be as large as those.
Expected<std::optional<GateRecord>> compareRerounded(Judge::Impl &judge, Expectation expectation, StringRef output) {
  for (Rounding direction : {Rounding::Up, Rounding::Down}) {
    Expected<const CaseSource::WholeRun *> moved = reroundedRun(judge, direction);
    if (!moved)
      return moved.takeError();
    if (*moved)
      expectation.addRerounded((*moved)->out);
  }
  return expectation.compare(output, /*exact=*/false);
}

} // namespace

/// The first runs of the original beside the candidate's own, where there are threads: the host's part takes what it
/// takes. What goes wrong is said by who asks for them.
static std::optional<Expected<CaseSource::WholeRun>> runBeside(GateContext &context) {
  Judge::Impl &judge = context.judge;
  std::optional<Expected<CaseSource::WholeRun>> run;
  parallelFor(judge.options.threads, judge.options.threads > 1 ? 1 + firstRuns : 1, [&](size_t i) {
    if (i == 0)
      run = judge.cases.wholeProgram(*context.candidate.program);
    else if (auto own = originalRun(judge, static_cast<unsigned>(i - 1)); !own)
      consumeError(own.takeError());
  });
  return run;
}

Expected<GateRecord> runWholeProgram(GateContext &context) {
  Judge::Impl &judge = context.judge;
  const bool exact = context.promise.result == Promise::Bitwise;
  const double seconds = judge.cases.wholeSeconds() * (judge.options.threads > 1 ? 1 : 1 + firstRuns);
  if (seconds > judge.timeLeft())
    return GateRecord::notRun(GateId::G14, judge.doesNotFit("running the whole program", seconds));
  std::optional<Expected<CaseSource::WholeRun>> run = runBeside(context);
  if (!run)
    return GateRecord::notRun(GateId::G14, "the workload has no main");
  if (!*run)
    return blameProgram(run->takeError(), GateId::G14, FailureClass::Runtime);
  std::vector<const CaseSource::WholeRun *> originals;
  std::optional<GateRecord> failure;
  while (originals.size() < mostRuns) {
    Expected<const CaseSource::WholeRun *> original = originalRun(judge, originals.size());
    if (!original)
      return original.takeError();
    if (!*original)
      return GateRecord::notRun(GateId::G14, "the workload has no main");
    originals.push_back(*original);
    const int expected = originals.front()->exitStatus, actual = (*run)->exitStatus;
    if (actual != expected)
      return GateRecord::fail(
          GateId::G14, FailureClass::Correctness,
          formatv("the program ends with status {0}, the original with {1}", actual, expected));
    if (originals.size() < firstRuns)
      continue;
    Expectation expectation(originals);
    failure = expectation.compare((*run)->out, exact);
    if (failure && !exact) {
      Expected<std::optional<GateRecord>> again = compareRerounded(judge, expectation, (*run)->out);
      if (!again)
        return again.takeError();
      failure = std::move(*again);
    }
    if (failure)
      continue;
    GateRecord record = GateRecord::pass(GateId::G14, "", 1);
    if (std::string omitted = expectation.omitted(); !omitted.empty())
      record.details.push_back(std::move(omitted));
    return record;
  }
  return std::move(*failure);
}

} // namespace kbopt
