//===- LaunchMap.cpp --------------------------------------------------------===//
#include "kb-opt/Rewrite/LaunchMap.h"
#include "HostEvaluator.h"
#include "LaunchSites.h"
#include "kb-opt/Source/ProgramFacts.h"

using namespace kbopt;
using namespace kbopt::hostmap;

namespace {

/// What the candidate does in the place of launches.
struct Mapped {
  size_t launches = 0; ///< of the original
  std::vector<kbrt::Step> steps;
  HostState state; ///< afterwards
  bool changesState = false;
};

bool isSameStep(const kbrt::Step &a, const kbrt::Step &b) {
  const auto *left = std::get_if<kbrt::LaunchStep>(&a), *right = std::get_if<kbrt::LaunchStep>(&b);
  return left && right && *left == *right;
}

bool isSameMapping(const Mapped &a, const Mapped &b) {
  return a.launches == b.launches && !a.changesState && !b.changesState &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), isSameStep);
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
    return std::to_string(lineColumn(original, site.launches.front()->getBeginLoc()).line);
  }

  /// The values that the launches of \p plan from \p first on give \p site; nothing if they are not
  /// of that site.
  std::optional<RecordedValues> valuesAt(const LaunchSite &site, const kbrt::Plan &plan,
                                         size_t first) {
    RecordedValues values(facts);
    if (site.launches.size() > plan.steps.size() - first)
      return std::nullopt;
    for (size_t i = 0; i < site.launches.size(); ++i) {
      const auto *step = std::get_if<kbrt::LaunchStep>(&plan.steps[first + i]);
      if (!step ||
          !values.addLaunch(site.launches[i], site.originalHost, *step, original.context()))
        return std::nullopt;
    }
    return values;
  }

  /// For each step of \p plan, and its end, whether all launches from there on are those of some
  /// sites.
  std::vector<bool> findBeginnings(const kbrt::Plan &plan) {
    std::vector<bool> areSites(plan.steps.size() + 1, true);
    for (size_t at = plan.steps.size(); at-- > 0;)
      areSites[at] = std::holds_alternative<kbrt::LaunchStep>(plan.steps[at])
                         ? llvm::any_of(sites.sites,
                                        [&](const LaunchSite &site) {
                                          return at + site.launches.size() < areSites.size() &&
                                                 areSites[at + site.launches.size()] &&
                                                 valuesAt(site, plan, at);
                                        })
                         : areSites[at + 1];
    return areSites;
  }

  /// What takes the place of the launch at \p first and of those that its site has with it.
  std::optional<Mapped> mapLaunch(const kbrt::Plan &recorded, size_t first,
                                  const std::vector<bool> &areSites, const HostState &state,
                                  std::string &whyNot) {
    std::optional<Mapped> result;
    const LaunchSite *known = nullptr;
    for (const LaunchSite &site : sites.sites) {
      const size_t end = first + site.launches.size();
      std::optional<RecordedValues> values =
          end < areSites.size() && areSites[end] ? valuesAt(site, recorded, first) : std::nullopt;
      if (!values)
        continue;
      Mapped mapped{site.launches.size(), {}, state, false};
      HostEvaluator evaluator(candidate, site, *values, facts, mapped.state,
                              sites.hasAllocationTest);
      if (!evaluator.run()) {
        whyNot = evaluator.whyNot;
        return std::nullopt;
      }
      mapped.steps = std::move(evaluator.steps);
      mapped.changesState = evaluator.changesState;
      if (result && !isSameMapping(*result, mapped)) {
        whyNot = "it is not known whether the launch at line " + lineOf(*known) +
                 " or that at line " + lineOf(site) + " of the original was recorded";
        return std::nullopt;
      }
      known = &site;
      result = std::move(mapped);
    }
    if (!result)
      whyNot = "no launch in the text is the recorded one of '" +
               std::get<kbrt::LaunchStep>(recorded.steps[first]).kernel + "'";
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
  const std::vector<bool> areSites = impl->findBeginnings(recorded);
  for (size_t at = 0; at < recorded.steps.size();) {
    const kbrt::Step &step = recorded.steps[at];
    if (const auto *error = std::get_if<kbrt::ErrorStep>(&step);
        error && llvm::StringRef(error->call).starts_with("cudaLaunch")) {
      whyNot = "a launch of the original fails";
      return std::nullopt;
    }
    const auto *launch = std::get_if<kbrt::LaunchStep>(&step);
    if (!launch) {
      state.memory.perform(step);
      plan.steps.push_back(step);
      ++at;
      continue;
    }
    uint64_t &sharedLimit = state.sharedLimits[launch->kernel];
    sharedLimit = std::max(sharedLimit, launch->sharedBytes);
    std::optional<Mapped> mapped = impl->mapLaunch(recorded, at, areSites, state, whyNot);
    if (!mapped)
      return std::nullopt;
    for (kbrt::Step &each : mapped->steps)
      plan.steps.push_back(std::move(each));
    state = std::move(mapped->state);
    at += mapped->launches;
  }
  plan.buffers = std::move(state.memory.buffers);
  renumberBuffers(plan);
  return plan;
}
