//===- FedHost.cpp - Gate G14: what a host makes of the original's results -===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the comparison of what a candidate's own host prints with what the original's prints when
// both read the same results: no tolerance stands between them.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "Expectation.h"
#include "kb-opt/Support/Error.h"

using namespace llvm;

namespace kbopt {
namespace {

/// Runs of the original's host until what it prints is known to differ by itself: times in few
/// digits may be the same twice. The recorded one (0) comes after one that is fed, which does not
/// print what kernels print.
constexpr unsigned hostNumbers[] = {1, 0, 2, 3, 4};

using Stream = std::string CaseSource::WholeRun::*;

std::vector<StringRef> texts(ArrayRef<const CaseSource::WholeRun *> hosts, Stream stream) {
  std::vector<StringRef> all;
  for (const CaseSource::WholeRun *host : hosts)
    all.push_back(host->*stream);
  return all;
}

/// Whether both print as many lines: kernels that print do so in the recorded run alone.
bool haveSameLines(const CaseSource::WholeRun &one, const CaseSource::WholeRun &other) {
  return llvm::all_of(
      std::initializer_list<Stream>{&CaseSource::WholeRun::out, &CaseSource::WholeRun::err},
      [&](Stream stream) {
        return StringRef(one.*stream).count('\n') == StringRef(other.*stream).count('\n');
      });
}

std::optional<GateRecord> compareHosts(ArrayRef<const CaseSource::WholeRun *> originals,
                                       const CaseSource::WholeRun &fed) {
  for (auto [stream, what] :
       {std::pair<Stream, StringRef>(&CaseSource::WholeRun::out, "what the host prints"),
        {&CaseSource::WholeRun::err, "what the host writes to standard error"}})
    if (std::optional<GateRecord> failure =
            Expectation(texts(originals, stream))
                .compare(fed.*stream, Closeness::Exactly,
                         (what + ", given the original's results,").str()))
      return failure;
  return std::nullopt;
}

Expected<const CaseSource::WholeRun &> originalHost(Judge::Impl &judge, unsigned number) {
  return judge.hosts.get(number, [&] { return judge.cases.originalHost(number); });
}

} // namespace

Expected<std::optional<GateRecord>> compareFedHost(GateContext &context,
                                                   ArrayRef<const CaseSource::WholeRun *> wholes) {
  Judge::Impl &judge = context.judge;
  const ProgramArtefacts &program = *context.candidate.program;
  // One that reads other results cannot be fed the original's: G6 and G7 compare what it prints.
  if (!judge.cases.hasOwnHost(program) || judge.cases.readsOtherwise(program))
    return std::nullopt;
  Expected<CaseSource::WholeRun> fed = judge.cases.fedHost(program);
  if (!fed) {
    Expected<GateRecord> blamed = blameProgram(fed.takeError(), GateId::G14, FailureClass::Runtime);
    if (!blamed)
      return blamed.takeError();
    return std::move(*blamed);
  }
  std::optional<GateRecord> failure;
  // Where the original's results are the same each time, whole runs are as good as hosts that are
  // fed, and there already.
  if (judge.baseline->deterministic) {
    Expected<const CaseSource::WholeRun &> recorded = originalHost(judge, 0);
    if (!recorded)
      return recorded.takeError();
    std::vector<const CaseSource::WholeRun *> runs = {&*recorded};
    llvm::append_range(runs, wholes);
    failure = compareHosts(runs, *fed);
    if (!failure)
      return std::nullopt;
  }
  std::vector<const CaseSource::WholeRun *> originals;
  for (unsigned number : hostNumbers) {
    const double seconds = judge.cases.wholeSeconds();
    if (!judge.hosts.has(number) && seconds > judge.timeLeft())
      return GateRecord::notRun(GateId::G14,
                                judge.doesNotFit("running the original's host", seconds));
    Expected<const CaseSource::WholeRun &> host = originalHost(judge, number);
    if (!host)
      return host.takeError();
    if (number == 0 && !haveSameLines(*originals.front(), *host))
      continue;
    originals.push_back(&*host);
    failure = compareHosts(originals, *fed);
    if (!failure)
      return std::nullopt;
  }
  return failure;
}

} // namespace kbopt
