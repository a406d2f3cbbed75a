//===- LaunchMap.cpp --------------------------------------------------------===//
#include "kb-opt/Rewrite/LaunchMap.h"
#include "HostEvaluator.h"
#include "LaunchSites.h"
#include "kb-opt/Source/ProgramFacts.h"

using namespace kbopt;
using namespace kbopt::hostmap;

namespace {

/// Where recorded launches are those of a site.
struct Match {
  const LaunchSite *site;
  std::vector<RecordedValues> values; ///< of each part
  std::vector<size_t> ends;           ///< steps of the plan behind the launches of each part
};

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

  std::string lineOf(const LaunchSite &site) const {
    return std::to_string(
        lineColumn(original, site.parts.front().launches.front()->getBeginLoc()).line);
  }

  /// The launches of \p plan from \p at on as those of \p part; \p at moves behind them.
  std::optional<RecordedValues> matchPart(const LaunchSite &site, const LaunchSite::Part &part,
                                          const kbrt::Plan &plan, size_t &at) {
    RecordedValues values(facts);
    for (const clang::CUDAKernelCallExpr *launch : part.launches) {
      const auto *step =
          at < plan.steps.size() ? std::get_if<kbrt::LaunchStep>(&plan.steps[at]) : nullptr;
      if (!step || !values.addLaunch(launch, site.originalHost, *step, original.context()))
        return std::nullopt;
      ++at;
    }
    HostState nothing{MappedMemory({}), {}, {}};
    if (!HostEvaluator(original, site.originalHost, {}, values, facts, nothing, false)
             .confirmsValues())
      return std::nullopt;
    return values;
  }

  /// The launches of \p plan from \p at on as those of \p site.
  std::optional<Match> match(const LaunchSite &site, const kbrt::Plan &plan, size_t at) {
    Match result{&site, {}, {}};
    for (const LaunchSite::Part &part : site.parts) {
      while (!result.ends.empty() && at < plan.steps.size() && isBetweenLaunches(plan.steps[at]))
        ++at;
      std::optional<RecordedValues> values = matchPart(site, part, plan, at);
      if (!values)
        return std::nullopt;
      result.values.push_back(std::move(*values));
      result.ends.push_back(at);
    }
    return result;
  }

  /// By step of \p plan, the matches of the launch there with which all launches that follow have a
  /// match as well.
  std::map<size_t, std::vector<Match>> findMatches(const kbrt::Plan &plan) {
    std::map<size_t, std::vector<Match>> matches;
    std::vector<bool> isPossible(plan.steps.size() + 1, true); // from there on
    for (size_t at = plan.steps.size(); at-- > 0;) {
      if (!std::holds_alternative<kbrt::LaunchStep>(plan.steps[at])) {
        isPossible[at] = isPossible[at + 1];
        continue;
      }
      std::vector<Match> &here = matches[at];
      for (const LaunchSite &site : sites.sites)
        if (std::optional<Match> found = match(site, plan, at);
            found && isPossible[found->ends.back()])
          here.push_back(std::move(*found));
      isPossible[at] = !here.empty();
    }
    return matches;
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
                              match.values[i], facts, mapped.state, sites.hasAllocationTest);
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
  for (size_t at = 0; at < recorded.steps.size();) {
    const kbrt::Step &step = recorded.steps[at];
    if (const auto *error = std::get_if<kbrt::ErrorStep>(&step);
        error && llvm::StringRef(error->call).starts_with("cudaLaunch")) {
      whyNot = "a launch of the original fails";
      return std::nullopt;
    }
    if (!std::holds_alternative<kbrt::LaunchStep>(step)) {
      state.memory.perform(step);
      plan.steps.push_back(step);
      ++at;
      continue;
    }
    std::optional<Mapped> mapped = impl->evaluateAll(matches.at(at), recorded, at, state, whyNot);
    if (!mapped)
      return std::nullopt;
    for (kbrt::Step &each : mapped->steps)
      plan.steps.push_back(std::move(each));
    state = std::move(mapped->state);
    at = mapped->end;
  }
  plan.buffers = std::move(state.memory.buffers);
  renumberBuffers(plan);
  return plan;
}
