//===- Opportunities.cpp - Where passes could act -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns asking passes about every site of a program.
//
//===----------------------------------------------------------------------===//
#include "SessionState.h"
#include "kb-opt/Rewrite/DataPass.h"
#include "kb-opt/Support/Interrupt.h"

using namespace kbopt;
using llvm::StringRef;

llvm::Expected<SiteChoices> RewriteSession::State::choicesAt(const RewritePass &pass,
                                                             const PassInfo &info, const Site &site,
                                                             bool &applies) {
  if (pass.composes())
    return applies ? pass.choices(*passContext, site) : SiteChoices();
  SiteChoices choices;
  for (std::string &choice : pass.choices(*passContext, site).values) {
    PassOptions options(info);
    llvm::cantFail(options.set(choiceOption, choice));
    llvm::Expected<const Answer &> answer = ask(pass, info, site, options);
    if (!answer)
      return answer.takeError();
    if (answer->rewrite)
      choices.values.push_back(std::move(choice));
  }
  applies |= !choices.values.empty();
  return choices;
}

llvm::Expected<std::map<std::string, std::string>>
RewriteSession::State::triedValuesAt(const RewritePass &pass, const PassInfo &info,
                                     const Site &site) {
  for (const OptionInfo &option : info.options) {
    auto usual = llvm::find(option.tuning, option.defaultValue);
    std::vector<StringRef> order(std::make_reverse_iterator(usual),
                                 std::make_reverse_iterator(option.tuning.begin()));
    order.insert(order.end(), usual, option.tuning.end());
    for (StringRef value : order) {
      if (value == option.defaultValue)
        continue;
      PassOptions options(info);
      llvm::cantFail(options.set(option.name, value));
      llvm::Expected<const Answer &> answer = ask(pass, info, site, options);
      if (!answer)
        return answer.takeError();
      if (answer->rewrite)
        return std::map<std::string, std::string>{{option.name.str(), value.str()}};
    }
  }
  return std::map<std::string, std::string>();
}

llvm::Expected<Opportunity> RewriteSession::State::opportunityAt(const RewritePass &pass,
                                                                 const PassInfo &info,
                                                                 const Site &site, bool askable) {
  Opportunity result;
  result.pass = &info;
  result.step.pass = info.name.str();
  result.step.kernel = site.kernel->name().str();
  std::optional<std::string> comment = suppressedAt(info, site);
  const std::string refusal = info.refusalFor(command.arch);
  const bool tooOld = !refusal.empty();
  if (comment || tooOld) {
    result.reason = comment ? *comment : refusal;
  } else {
    llvm::Expected<const Answer &> answer = ask(pass, info, site, PassOptions(info));
    if (!answer)
      return answer.takeError();
    result.applies = answer->rewrite.has_value();
    result.reason = answer->reason;
    auto choices = choicesAt(pass, info, site, result.applies);
    if (!choices)
      return choices.takeError();
    result.choices = std::move(choices->values);
    result.facts = std::move(choices->facts);
    if (!result.applies && !pass.composes()) {
      auto tried = triedValuesAt(pass, info, site);
      if (!tried)
        return tried.takeError();
      result.step.parameters = std::move(*tried);
    }
  }
  result.applies |= !result.step.parameters.empty();
  result.assisted = askable && !comment && !tooOld;
  LineColumn place = lineColumn(*parsed, site.range.getBegin());
  result.file = command.shownFile;
  result.line = place.line;
  result.column = place.column;
  result.endLine = std::max(place.line, lineColumn(*parsed, site.range.getEnd()).line);
  return result;
}

llvm::Expected<RewriteSession::State &>
RewriteSession::State::programFor(const RewritePass &pass, const RecordedLaunches &launches) {
  State *from = this;
  if (pass.composes() && run) {
    llvm::Expected<State &> before = scheduled();
    if (!before)
      return before.takeError();
    from = &*before;
  }
  // What is estimated from launches may be answered otherwise.
  if (launches || from->recorded)
    from->answers.clear();
  from->recorded = launches;
  return *from;
}

llvm::Expected<std::vector<Opportunity>>
RewriteSession::State::opportunities(bool assisted, const RecordedLaunches &launches) {
  if (llvm::Error error = import())
    return std::move(error);
  std::vector<Opportunity> result;
  for (const PassRegistration &registration : registry().passes()) {
    const PassInfo &info = *registration.info;
    if (!info.deterministic && !assisted)
      continue;
    std::unique_ptr<RewritePass> pass = registration.create();
    llvm::Expected<State &> from = programFor(*pass, launches);
    if (!from)
      return from.takeError();
    for (const KernelView &kernel : from->passContext->kernels()) {
      if (kernel.isInHeader() && !takesHeaders(*pass, info.site))
        continue;
      if (options.stop())
        return interruption();
      unsigned number = 0;
      // A rule finds its own sites; a model is asked where the matcher finds something.
      bool askable =
          info.assisted && (!info.deterministic || info.assisted->matcher.empty() || !assisted ||
                            !DataPass(info).sites(*from->passContext, kernel).empty());
      for (Site &site : pass->sites(*from->passContext, kernel)) {
        llvm::Expected<Opportunity> each = from->opportunityAt(*pass, info, site, askable);
        if (!each)
          return each.takeError();
        each->step.site = ++number;
        result.push_back(std::move(*each));
      }
    }
  }
  return result;
}

llvm::Expected<bool> RewriteSession::State::appliesAnywhere(const RewritePass &pass,
                                                            const PassInfo &info) {
  llvm::Expected<State &> from = programFor(pass, {});
  if (!from)
    return from.takeError();
  for (const KernelView &kernel : from->passContext->kernels()) {
    if (kernel.isInHeader() && !takesHeaders(pass, info.site))
      continue;
    if (options.stop())
      return interruption();
    for (Site &site : pass.sites(*from->passContext, kernel)) {
      llvm::Expected<Opportunity> each = from->opportunityAt(pass, info, site, false);
      if (!each)
        return each.takeError();
      if (each->applies)
        return true;
    }
  }
  return false;
}

llvm::Expected<std::vector<std::string>> RewriteSession::State::passesThatApply() {
  if (llvm::Error error = import())
    return std::move(error);
  std::vector<std::string> result;
  for (const PassRegistration &registration : registry().passes()) {
    if (!registration.info->deterministic)
      continue;
    llvm::Expected<bool> applies = appliesAnywhere(*registration.create(), *registration.info);
    if (!applies)
      return applies.takeError();
    if (*applies)
      result.push_back(registration.info->name.str());
  }
  return result;
}
