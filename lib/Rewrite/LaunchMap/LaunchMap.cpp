//===- LaunchMap.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Rewrite/LaunchMap.h"
#include "HostEvaluator.h"
#include "LaunchSites.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "llvm/ADT/Hashing.h"
#include <unordered_map>

using namespace kbopt;
using namespace kbopt::hostmap;

namespace {

/// Names a site and the recorded launches that are taken for its own, with the number of steps in
/// front of each part; equal launches have one number.
using MatchKey = std::vector<size_t>;

/// Where recorded launches are those of a site.
struct Match {
  const LaunchSite *site;
  MatchKey key;
  std::vector<size_t> ends; ///< steps of the plan behind the launches of each part
  std::shared_ptr<const std::vector<RecordedValues>> values; ///< of each part
};

/// By step of \p plan, the first launch that is equal to the one there.
std::vector<size_t> numberLaunches(const kbrt::Plan &plan) {
  std::unordered_multimap<size_t, size_t> known; // by hash
  std::vector<size_t> numbers(plan.steps.size());
  for (size_t at = 0; at < plan.steps.size(); ++at) {
    const auto *launch = std::get_if<kbrt::LaunchStep>(&plan.steps[at]);
    if (!launch)
      continue;
    llvm::hash_code hash = llvm::hash_combine(launch->kernel, launch->grid.x, launch->block.x);
    for (const kbrt::Argument &argument : launch->arguments)
      hash = llvm::hash_combine(
          hash, llvm::hash_combine_range(argument.bytes.begin(), argument.bytes.end()));
    auto [first, last] = known.equal_range(hash);
    auto same = std::find_if(first, last, [&](const auto &each) {
      return std::get<kbrt::LaunchStep>(plan.steps[each.second]) == *launch;
    });
    numbers[at] = same == last ? at : same->second;
    if (same == last)
      known.emplace(hash, at);
  }
  return numbers;
}

/// What the candidate does in the place of a match.
struct Mapped {
  size_t end = 0; ///< step of the original's plan
  std::vector<kbrt::Step> steps;
  HostState state; ///< afterwards
  bool changesState = false;
};

bool isSameStep(const kbrt::Step &a, const kbrt::Step &b) {
  const auto *left = std::get_if<kbrt::LaunchStep>(&a), *right = std::get_if<kbrt::LaunchStep>(&b);
  return left && right && *left == *right;
}

bool isSameMapping(const Mapped &a, const Mapped &b) {
  return a.end == b.end && !a.changesState && !b.changesState &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), isSameStep);
}

/// What a recording has between launches that follow each other: memory of the host enters it when
/// the first kernel is given it.
bool isBetweenLaunches(const kbrt::Step &step) {
  return std::holds_alternative<kbrt::AllocStep>(step) ||
         std::holds_alternative<kbrt::UploadStep>(step);
}

} // namespace

struct LaunchMap::Impl {
  Impl(const ParsedProgram &original, const ParsedProgram &candidate)
      : original(original), candidate(candidate),
        sites(findLaunchSites(original, candidate, facts)) {}

  const ParsedProgram &original, &candidate;
  ExprFacts facts;
  LaunchSites sites;
  /// Of the plan that is derived: the values of matches, null for those that are none.
  std::map<MatchKey, std::shared_ptr<const std::vector<RecordedValues>>> matches;

  std::string lineOf(const LaunchSite &site) const {
    return std::to_string(
        lineColumn(original, site.parts.front().launches.front()->getBeginLoc()).line);
  }

  /// The values that \p steps, launches of \p plan, give the launches of \p part.
  std::optional<RecordedValues> valuesAt(const LaunchSite &site, const LaunchSite::Part &part,
                                         const kbrt::Plan &plan, llvm::ArrayRef<size_t> steps) {
    RecordedValues values(facts);
    for (auto [launch, step] : llvm::zip_equal(part.launches, steps))
      if (!values.addLaunch(launch, site.originalHost, std::get<kbrt::LaunchStep>(plan.steps[step]),
                            original.context()))
        return std::nullopt;
    HostState nothing{MappedMemory({}), {}, {}};
    const std::set<std::string> none;
    HostEvaluator evaluator(original, site.originalHost, none, values, facts, nothing,
                            AddedFunctions());
    return evaluator.confirmsValues() ? std::optional(std::move(values)) : std::nullopt;
  }

  /// The launches of \p plan from \p at on as those of \p site.
  std::optional<Match> match(const LaunchSite &site, const kbrt::Plan &plan,
                             llvm::ArrayRef<size_t> numbers, size_t at) {
    Match result{&site, {static_cast<size_t>(&site - sites.sites.data())}, {}, nullptr};
    std::vector<size_t> steps; // of the launches
    for (const LaunchSite::Part &part : site.parts) {
      const size_t end = at;
      while (!result.ends.empty() && at < plan.steps.size() && isBetweenLaunches(plan.steps[at]))
        ++at;
      result.key.push_back(at - end);
      for (const clang::CUDAKernelCallExpr *launch : part.launches) {
        const auto *step =
            at < plan.steps.size() ? std::get_if<kbrt::LaunchStep>(&plan.steps[at]) : nullptr;
        const clang::FunctionDecl *kernel = launch->getDirectCallee();
        if (!step || !kernel || facts.mangledName(kernel) != step->kernel)
          return std::nullopt;
        steps.push_back(at);
        result.key.push_back(numbers[at++]);
      }
      result.ends.push_back(at);
    }
    auto [known, isNew] = matches.try_emplace(result.key);
    if (isNew) {
      auto values = std::make_shared<std::vector<RecordedValues>>();
      llvm::ArrayRef<size_t> rest = steps;
      for (const LaunchSite::Part &part : site.parts) {
        auto each = valuesAt(site, part, plan, rest.take_front(part.launches.size()));
        if (!each)
          return std::nullopt;
        values->push_back(std::move(*each));
        rest = rest.drop_front(part.launches.size());
      }
      known->second = std::move(values);
    }
    result.values = known->second;
    return result.values ? std::optional(std::move(result)) : std::nullopt;
  }

  /// By step of \p plan, the matches of the launch there with which all launches that follow have a
  /// match as well.
  std::map<size_t, std::vector<Match>> findMatches(const kbrt::Plan &plan) {
    matches.clear();
    const std::vector<size_t> numbers = numberLaunches(plan);
    std::map<size_t, std::vector<Match>> found;
    std::vector<bool> isPossible(plan.steps.size() + 1, true); // from there on
    for (size_t at = plan.steps.size(); at-- > 0;) {
      if (!std::holds_alternative<kbrt::LaunchStep>(plan.steps[at])) {
        isPossible[at] = isPossible[at + 1];
        continue;
      }
      std::vector<Match> &here = found[at];
      for (const LaunchSite &site : sites.sites)
        if (std::optional<Match> each = match(site, plan, numbers, at);
            each && isPossible[each->ends.back()])
          here.push_back(std::move(*each));
      isPossible[at] = !here.empty();
    }
    return found;
  }

  /// What takes the place of \p match, which begins at step \p at of \p recorded.
  std::optional<Mapped> evaluate(const Match &match, const kbrt::Plan &recorded, size_t at,
                                 const HostState &state, std::string &whyNot) {
    Mapped mapped{match.ends.back(), {}, state, false};
    for (size_t i = 0; i < match.ends.size(); ++i) {
      for (; at < match.ends[i]; ++at) {
        const kbrt::Step &step = recorded.steps[at];
        if (const auto *launch = std::get_if<kbrt::LaunchStep>(&step)) {
          uint64_t &limit = mapped.state.sharedLimits[launch->kernel];
          limit = std::max(limit, launch->sharedBytes);
          continue;
        }
        mapped.state.memory.perform(step);
        mapped.steps.push_back(step);
      }
      HostEvaluator evaluator(candidate, match.site->host, match.site->changedNames,
                              (*match.values)[i], facts, mapped.state, sites.added);
      if (!evaluator.run(match.site->parts[i].replacement)) {
        whyNot = evaluator.whyNot;
        return std::nullopt;
      }
      for (kbrt::Step &step : evaluator.steps)
        mapped.steps.push_back(std::move(step));
      mapped.changesState |= evaluator.changesState;
    }
    return mapped;
  }

  /// The same of all of \p matches, which must agree.
  std::optional<Mapped> evaluateAll(const std::vector<Match> &matches, const kbrt::Plan &recorded,
                                    size_t at, const HostState &state, std::string &whyNot) {
    if (matches.empty()) {
      whyNot = "no launch in the text is the recorded one of '" +
               std::get<kbrt::LaunchStep>(recorded.steps[at]).kernel + "'";
      return std::nullopt;
    }
    std::optional<Mapped> result;
    for (const Match &match : matches) {
      std::optional<Mapped> mapped = evaluate(match, recorded, at, state, whyNot);
      if (!mapped)
        return std::nullopt;
      if (result && !isSameMapping(*result, *mapped)) {
        whyNot = "it is not known whether the launch at line " + lineOf(*matches.front().site) +
                 " or that at line " + lineOf(*match.site) + " of the original was recorded";
        return std::nullopt;
      }
      if (!result)
        result = std::move(mapped);
    }
    return result;
  }
};

LaunchMap::LaunchMap(const ParsedProgram &original, const ParsedProgram &candidate)
    : impl(std::make_unique<Impl>(original, candidate)) {}
LaunchMap::~LaunchMap() = default;

const std::string &LaunchMap::obstacle() const { return impl->sites.obstacle; }

std::optional<kbrt::Plan> LaunchMap::derivePlan(const kbrt::Plan &recorded, std::string &whyNot) {
  if (!obstacle().empty()) {
    whyNot = obstacle();
    return std::nullopt;
  }
  kbrt::Plan plan;
  plan.streams = recorded.streams;
  plan.outcome = recorded.outcome;
  HostState state{MappedMemory(recorded), {}, {}};
  const std::map<size_t, std::vector<Match>> matches = impl->findMatches(recorded);
  // What is launched in the place of equal launches while the same memory is there.
  std::map<MatchKey, std::vector<kbrt::Step>> known;
  for (size_t at = 0; at < recorded.steps.size();) {
    const kbrt::Step &step = recorded.steps[at];
    if (const auto *error = std::get_if<kbrt::ErrorStep>(&step);
        error && llvm::StringRef(error->call).starts_with("cudaLaunch")) {
      whyNot = "a launch of the original fails";
      return std::nullopt;
    }
    if (!std::holds_alternative<kbrt::LaunchStep>(step)) {
      if (std::holds_alternative<kbrt::AllocStep>(step) ||
          std::holds_alternative<kbrt::FreeStep>(step))
        known.clear();
      state.memory.perform(step);
      plan.steps.push_back(step);
      ++at;
      continue;
    }
    const std::vector<Match> &here = matches.at(at);
    MatchKey key;
    for (const Match &match : here)
      llvm::append_range(key, match.key);
    if (auto same = known.find(key); same != known.end()) {
      llvm::append_range(plan.steps, same->second);
      at = here.front().ends.back();
      continue;
    }
    std::optional<Mapped> mapped = impl->evaluateAll(here, recorded, at, state, whyNot);
    if (!mapped)
      return std::nullopt;
    if (mapped->changesState || llvm::any_of(mapped->steps, isBetweenLaunches))
      known.clear();
    else
      known[key] = mapped->steps;
    for (kbrt::Step &each : mapped->steps)
      plan.steps.push_back(std::move(each));
    state = std::move(mapped->state);
    at = mapped->end;
  }
  plan.buffers = std::move(state.memory.buffers);
  renumberBuffers(plan);
  return plan;
}
