//===- NodeSites.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "NodeSites.h"
#include "kb-opt/Findings/Finding.h"
#include "kb-opt/Rewrite/RewritePass.h"

using namespace kbopt;

namespace {

/// The sites of one program, one for each pass and kernel.
class SiteList {
public:
  void add(const Opportunity &site, bool assisted) {
    if (seen.emplace(site.step.pass, site.step.kernel).second)
      sites.push_back({site.step.pass, site.step.kernel, assisted, site.step.parameters,
                       assisted ? std::vector<std::string>() : site.choices,
                       assisted ? NestFacts() : site.facts});
  }
  std::vector<SiteRecord> sites;

private:
  std::set<std::pair<std::string, std::string>> seen;
};

} // namespace

llvm::Expected<std::vector<SiteRecord>> NodeSites::compute(const NodeId &id) {
  TimedPart timed(&setup.tools.timings, "effects", "sites");
  auto unused = launches.idleKernels();
  if (!unused)
    return unused.takeError();
  launches.lookUp(id);
  const NodeProgram &program = nodes.program(id);
  SiteList list;
  auto look = [&](RewriteSession &open) -> llvm::Error {
    // Passes that compose see the program before the first of them, the others do not ask. The
    // session keeps the answerer for later rewrites, which other calls than this one make: it owns
    // its text.
    std::string before = program.run ? program.run->base : program.text;
    auto opportunities =
        open.opportunities(assisted, [&launches = launches, before](llvm::StringRef kernel) {
          return launches.find(before, kernel);
        });
    if (!opportunities)
      return opportunities.takeError();
    std::set<std::string> left =
        id == nodes.root() ? std::set<std::string>() : launches.kernelsLeft(program, open.parsed());
    auto isLaunched = [&](const Opportunity &site) {
      return !unused->count(site.step.kernel) && (left.empty() || left.count(site.step.kernel));
    };
    for (bool byDefault : {true, false})
      for (const Opportunity &site : *opportunities)
        if (site.applies && site.step.parameters.empty() == byDefault && isLaunched(site))
          list.add(site, /*assisted=*/false);
    // A model is asked where no rule does it.
    for (const Opportunity &site : *opportunities)
      if (site.assisted && assisted && isLaunched(site))
        list.add(site, /*assisted=*/true);
    return llvm::Error::success();
  };
  if (llvm::Error error = nodes.withSession(id, look))
    return std::move(error);
  return std::move(list.sites);
}

static std::vector<ParameterRange> rangesOf(const PassInfo &info) {
  std::vector<ParameterRange> ranges;
  for (const OptionInfo &option : info.options)
    if (!option.tuning.empty()) {
      ParameterRange range;
      range.name = option.name.str();
      range.defaultValue = option.defaultValue.str();
      for (llvm::StringRef value : option.tuning)
        range.values.push_back(value.str());
      ranges.push_back(std::move(range));
    }
  return ranges;
}

static Action actionAt(const SiteRecord &site, const PassRegistration &pass) {
  Action action;
  action.pass = site.pass;
  action.kernel = site.kernel;
  action.composes = pass.make && pass.create()->composes();
  action.assisted = site.assisted;
  action.isNamed =
      llvm::any_of(findingRules(), [&](const FindingRule &rule) { return rule.names(site.pass); });
  action.isRecipe = pass.info->recipe;
  if (!action.assisted)
    action.ranges = rangesOf(*pass.info);
  for (ParameterRange &range : action.ranges)
    if (auto begin = site.values.find(range.name); begin != site.values.end())
      range.defaultValue = begin->second;
  if (!site.choices.empty()) {
    action.sketch = action.composes;
    if (action.sketch)
      action.ranges.clear();
    action.ranges.push_back({choiceOption.str(), site.choices, site.choices.front()});
    action.facts = site.facts;
  }
  return action;
}

llvm::Expected<std::vector<Action>> NodeSites::actions(const NodeId &id) {
  auto sites = answers.ask<std::vector<SiteRecord>>(
      "sites", answers.request({id, assisted ? "assisted" : "", promiseName(setup.tools.weakest)}),
      [&] { return compute(id); });
  if (!sites)
    return sites.takeError();
  std::vector<Action> actions;
  for (const SiteRecord &site : *sites)
    if (const PassRegistration *pass = setup.tools.passes.lookup(site.pass))
      actions.push_back(actionAt(site, *pass));
  return actions;
}

//===-- Why nothing applies -----------------------------------------------===//

llvm::Expected<std::vector<Opportunity>> NodeSites::opportunities() {
  std::vector<Opportunity> found;
  if (llvm::Error error =
          nodes.withSession(nodes.root(), [&](RewriteSession &program) -> llvm::Error {
            auto opportunities = program.opportunities();
            if (!opportunities)
              return opportunities.takeError();
            found = std::move(*opportunities);
            return llvm::Error::success();
          }))
    return std::move(error);
  return found;
}

llvm::Expected<bool> NodeSites::appliesAnywhere() {
  auto found = opportunities();
  if (!found)
    return found.takeError();
  return llvm::any_of(*found, [](const Opportunity &each) { return each.applies; });
}

llvm::Expected<std::vector<Remark>> NodeSites::missed() {
  auto found = opportunities();
  if (!found)
    return found.takeError();
  std::vector<Remark> remarks;
  for (Opportunity &each : *found)
    if (!each.applies)
      remarks.push_back({RemarkKind::Missed,
                         each.step.pass,
                         each.step.kernel,
                         each.step.site,
                         each.file,
                         each.line,
                         each.column,
                         each.reason,
                         {}});
  return remarks;
}

llvm::Expected<std::string> NodeSites::whyUnscheduled(llvm::StringRef kernel) {
  const PassRegistration *schedule = setup.tools.passes.lookup("schedule");
  if (!schedule)
    return "";
  std::string reason;
  auto look = [&](const PassContext &passes) -> llvm::Error {
    std::unique_ptr<RewritePass> pass = schedule->create();
    for (const KernelView &view : passes.kernels())
      if (view.name() == kernel)
        for (const Site &site : pass->sites(passes, view)) {
          llvm::Expected<Rewrite> rewrite =
              pass->rewrite(passes, site, PassOptions(*schedule->info));
          reason = rewrite ? "" : llvm::toString(rewrite.takeError());
        }
    return llvm::Error::success();
  };
  if (llvm::Error error = nodes.withSession(
          nodes.root(), [&](RewriteSession &program) { return program.withPassContext(look); }))
    return std::move(error);
  return reason;
}
