//===- HeldObjects.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HeldObjects.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>
#include <set>

using namespace llvm;

namespace kbopt {

/// By kind.
static std::map<std::string, uint64_t> countHeld(const kbrt::Outcome &outcome) {
  std::map<std::string, uint64_t> counts;
  for (const kbrt::HeldObjects &held : outcome.held)
    counts[held.what] += held.count;
  return counts;
}

std::optional<std::string> findHeldByCalls(const HeldByCalls &ends) {
  std::map<std::string, uint64_t> own = countHeld(ends.original), its = countHeld(ends.candidate),
                                  ownOnce = countHeld(ends.originalOnce),
                                  itsOnce = countHeld(ends.candidateOnce);
  for (const auto &[what, count] : its) {
    const uint64_t grown = count - std::min(count, itsOnce[what]),
                   allowed = own[what] - std::min(own[what], ownOnce[what]);
    // One for each further call; what a second call alone adds is kept.
    if (grown >= allowed + ends.calls - 1)
      return formatv("{0}: after {1} calls it holds {2} of them, after one call {3}; the original "
                     "holds {4} and {5}",
                     what, ends.calls, count, itsOnce[what], own[what], ownOnce[what])
          .str();
  }
  return std::nullopt;
}

/// How often objects of each kind came again between launches.
static std::map<std::string, uint64_t> countReturns(const kbrt::Outcome &outcome) {
  std::map<std::string, uint64_t> returns;
  for (const kbrt::HeldObjects &held : outcome.held)
    returns[held.what] += held.moments - 1;
  return returns;
}

std::optional<std::string> findHeldByLaunches(const kbrt::Outcome &original,
                                              const kbrt::Outcome &candidate) {
  // Programs that end without giving back a few things are none the worse for it.
  constexpr uint64_t leastReturns = 8;
  std::map<std::string, uint64_t> own = countReturns(original);
  for (const auto &[what, count] : countReturns(candidate))
    if (count >= own[what] + leastReturns)
      return formatv("{0}: when it ends it holds {1} that came one after the other between "
                     "launches; the original holds {2}",
                     what, count + 1, own[what] ? own[what] + 1 : 0)
          .str();
  return std::nullopt;
}

std::string linesThatMake(StringRef what, StringRef original, StringRef candidate) {
  const StringRef call = what == "streams"  ? "cudaStreamCreate"
                         : what == "events" ? "cudaEventCreate"
                                            : "lloc";
  SmallVector<StringRef> lines, old;
  original.split(old, '\n');
  candidate.split(lines, '\n');
  std::set<StringRef> known;
  for (StringRef line : old)
    known.insert(line.trim());
  std::vector<std::string> all, fresh;
  for (auto [index, line] : enumerate(lines))
    if (line.contains(call) && line.contains("cuda")) {
      all.push_back(std::to_string(index + 1));
      if (!known.count(line.trim()))
        fresh.push_back(all.back());
    }
  const std::vector<std::string> &shown = fresh.empty() ? all : fresh;
  constexpr size_t most = 4; // of more, none is the one
  if (shown.empty() || shown.size() > most)
    return "";
  return (shown.size() > 1 ? "lines " : "line ") + join(shown, ", ");
}

} // namespace kbopt
