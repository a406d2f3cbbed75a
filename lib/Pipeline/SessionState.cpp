//===- SessionState.cpp - One program under rewriting ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SessionState.h"
#include "kb-opt/Schedule/ScheduleText.h"
#include "kb-opt/Source/CodeEmission.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Target/CodeLimits.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using llvm::StringRef;

RewriteSession::State::State(const CompileCommand &command, const PipelineOptions &options,
                             std::shared_ptr<mlir::MLIRContext> context)
    : command(command), options(options),
      mlirContext(
          context ? std::move(context)
                  : std::make_shared<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED)) {
  if (!this->options.parser) {
    ownParser = std::make_unique<ProgramParser>();
    this->options.parser = ownParser.get();
  }
}

llvm::Error RewriteSession::State::start(StringRef text) {
  TimedPart timed(options.timings, "rewriting", "parse");
  auto program = options.parser->parse(command, text);
  if (!program)
    return program.takeError();
  // The IR refers to the AST, the context to both.
  answers.clear();
  schedules.clear();
  passContext.reset();
  imported.reset();
  parsed = std::move(*program);
  return llvm::Error::success();
}

llvm::Expected<std::string> RewriteSession::State::bitcodeOf(StringRef text) {
  if (!compiled.first.empty() && compiled.first == text)
    return compiled.second;
  if (options.bitcode)
    return options.bitcode(text);
  return CodeEmitter(realProcessRunner()).emitDeviceBitcode(command, text);
}

llvm::Error RewriteSession::State::import() {
  if (imported)
    return llvm::Error::success();
  llvm::Expected<std::string> bitcode = bitcodeOf(parsed->text());
  if (!bitcode)
    return bitcode.takeError();
  TimedPart timed(options.timings, "rewriting", "import");
  auto program = importProgram(*parsed, *bitcode, *mlirContext, options.stop);
  if (!program)
    return program.takeError();
  auto chip = loadChip(options.target.empty() ? StringRef(defaultChip) : StringRef(options.target));
  if (!chip)
    return chip.takeError();
  target = limitedTo(std::move(*chip), command.arch, command.otherArchs.empty());
  imported.emplace(std::move(*program));
  passContext.emplace(*parsed, *imported, capabilityOf(command.arch), target,
                      [this](StringRef kernel) { return recorded ? recorded(kernel) : nullptr; });
  passContext->setWeakestPromise(options.weakest);
  passContext->setEntryValues(options.entry);
  ++generation;
  return llvm::Error::success();
}

bool RewriteSession::State::hasKernel(StringRef name) const {
  return llvm::any_of(passContext->kernels(),
                      [&](const KernelView &kernel) { return isNamed(kernel.name(), name); });
}

bool kbopt::takesHeaders(const RewritePass &pass, SiteKind site) {
  return pass.composes() || site == SiteKind::Launch;
}

auto RewriteSession::State::selectSites(const RewritePass &pass, const Step &step)
    -> llvm::Expected<std::vector<Found>> {
  std::vector<Found> found;
  bool anyKernel = false;
  std::vector<StringRef> names;
  for (const KernelView &kernel : passContext->kernels()) {
    names.push_back(kernel.name());
    if (!step.kernel.empty() && !isNamed(kernel.name(), step.kernel))
      continue;
    anyKernel = true;
    if (kernel.isInHeader() && !takesHeaders(pass, registry().lookup(step.pass)->info->site))
      continue;
    for (Site &site : pass.sites(*passContext, kernel))
      found.push_back({&kernel, site});
  }
  if (!step.kernel.empty() && !anyKernel) {
    std::optional<std::string> near = nearestName(step.kernel, names);
    return llvm::make_error<UsageError>(
        "'" + command.shownFile + "' has no kernel '" + step.kernel + "', which '" +
            printPipeline(step) + "' names",
        near            ? "did you mean '" + *near + "'?"
        : names.empty() ? "it has no kernels at all"
                        : "its kernels are " + llvm::join(names, ", "));
  }
  if (step.site > found.size())
    return llvm::make_error<UsageError>(
        "'" + printPipeline(step) + "' names site " + std::to_string(step.site) + ", but there " +
            (found.size() == 1 ? "is 1 site" : "are " + std::to_string(found.size()) + " sites"),
        "leave site= out to see a remark for every site");
  return found;
}

Remark RewriteSession::State::remarkAt(const PassInfo &info, const Found &found, unsigned number,
                                       const PassOptions &values) const {
  Remark remark;
  remark.pass = info.name.str();
  remark.kernel = found.kernel->name().str();
  remark.site = number;
  remark.file = command.shownFile;
  LineColumn place = lineColumn(*parsed, found.site.range.getBegin());
  remark.line = place.line;
  remark.column = place.column;
  remark.options = values.all();
  return remark;
}

std::string kbopt::suppressionText(unsigned line) {
  return "suppressed by the NOKBOPT comment for line " + std::to_string(line);
}

std::optional<std::string> RewriteSession::State::suppressedAt(const PassInfo &info,
                                                               const Site &site) const {
  const Suppressions &comments = parsed->suppressions();
  for (clang::SourceLocation location :
       {site.range.getBegin(), site.kernel->function()->getLocation()}) {
    unsigned line = lineColumn(*parsed, location).line;
    if (line && comments.covers(line, info.name))
      return suppressionText(line);
  }
  return std::nullopt;
}

std::optional<std::string> RewriteSession::State::suppressedEdit(const PassInfo &info,
                                                                 const Edits &edits) const {
  const Suppressions &comments = parsed->suppressions();
  if (comments.empty())
    return std::nullopt;
  StringRef text = parsed->text();
  for (const Edit &edit : edits) {
    unsigned first = 1 + text.take_front(edit.offset).count('\n');
    unsigned last = first + text.substr(edit.offset, edit.length).count('\n');
    for (unsigned line = first; line <= last; ++line)
      if (comments.covers(line, info.name))
        return suppressionText(line);
  }
  return std::nullopt;
}

llvm::Error kbopt::unparsableAfter(StringRef pass, llvm::Error error) {
  std::string words = llvm::toString(std::move(error));
  return llvm::make_error<ToolError>(
      ("after pass '" + pass + "' the program no longer parses").str(), std::vector<std::string>{},
      1, words, "this is a bug of the pass; leave it out of the pipeline", ExitStatus::Internal);
}

llvm::Expected<StepResult> RewriteSession::State::apply(const Step &step) {
  std::string edited;
  llvm::Expected<StepResult> result = rewrite(step, edited);
  if (!result || result->rewritten == 0)
    return result;
  if (llvm::Error error = start(edited))
    return unparsableAfter(step.pass, std::move(error));
  run = result->run;
  if (!run || (base && base->parsed->text() != run->base))
    base.reset();
  if (options.afterStep)
    options.afterStep(step, parsed->text());
  return result;
}

llvm::Expected<StepResult> RewriteSession::State::rewrite(const Step &step, std::string &edited) {
  const PassRegistration *registration = registry().lookup(step.pass);
  if (!registration)
    return llvm::make_error<UsageError>("there is no pass '" + step.pass + "'");
  const PassInfo &info = *registration->info;
  if (!step.reply.empty())
    return rewriteFromReply(step, info, edited);
  std::unique_ptr<RewritePass> pass = registration->create();
  if (!pass->composes() || !run)
    return rewriteByRule(*pass, info, step, edited);
  llvm::Expected<State &> from = scheduled();
  if (!from)
    return from.takeError();
  // A kernel that the run printed is one of this text alone, and begins a run of its own.
  if (!step.kernel.empty() && !from->hasKernel(step.kernel))
    return rewriteByRule(*pass, info, step, edited);
  from->rewrites = rewrites;
  llvm::Expected<StepResult> result = from->rewriteByRule(*pass, info, step, edited);
  rewrites = from->rewrites;
  return result;
}

llvm::Expected<StepResult> RewriteSession::State::rewriteByRule(const RewritePass &pass,
                                                                const PassInfo &info,
                                                                const Step &step,
                                                                std::string &edited) {
  PassOptions values(info);
  for (const auto &[name, value] : step.parameters)
    if (llvm::Error error = values.set(name, value))
      return std::move(error);
  if (llvm::Error error = import())
    return std::move(error);
  llvm::Expected<std::vector<Found>> found = selectSites(pass, step);
  if (!found)
    return found.takeError();

  StepResult result;
  result.promise = info.promise;
  result.assumes = info.assumes.vec();
  Edits all;
  KernelSchedules changed;
  std::set<std::string> taken; // by the rewrites of earlier sites
  std::optional<Promise> promise;
  bool isChosen = false;
  for (size_t i = 0; i < found->size(); ++i) {
    const Found &each = (*found)[i];
    unsigned number = i + 1;
    if (step.site && step.site != number)
      continue;
    Remark remark = remarkAt(info, each, number, values);
    auto miss = [&](const llvm::Twine &reason) {
      remark.kind = RemarkKind::Missed;
      remark.message = reason.str();
      result.remarks.push_back(remark);
    };
    if (std::string refusal = info.refusalFor(command.arch); !refusal.empty()) {
      miss(refusal);
      continue;
    }
    if (std::optional<std::string> reason = suppressedAt(info, each.site)) {
      miss(*reason);
      continue;
    }
    llvm::Expected<const Answer &> answer = ask(pass, info, each.site, values, taken);
    if (!answer)
      return answer.takeError();
    const std::optional<Rewrite> &rewrite = answer->rewrite;
    if (!rewrite) {
      miss(answer->reason);
      continue;
    }
    if (std::optional<std::string> reason = suppressedEdit(info, rewrite->edits)) {
      miss(*reason);
      continue;
    }
    Edits together = all;
    if (llvm::Error error = together.merge(rewrite->edits)) {
      llvm::consumeError(std::move(error));
      miss("overlaps with the rewrite of an earlier site; run the pass again");
      continue;
    }
    if (found->size() > 1 && !step.site) { // the kernels of other sites do without it
      llvm::Expected<std::string> why = whyNotCompiling(rewrite->edits);
      if (!why)
        return why.takeError();
      if (!why->empty()) {
        miss(*why);
        continue;
      }
    }
    remark.kind = RemarkKind::Passed;
    remark.message = rewrite->summary;
    bool runs = options.bisectLimit < 0 || rewrites < options.bisectLimit;
    ++rewrites;
    if (options.onBisect)
      options.onBisect(rewrites, remark, runs);
    if (!runs) {
      miss("not done: -opt-bisect-limit is reached");
      continue;
    }
    all = std::move(together);
    ++result.rewritten;
    Step &own = result.written.emplace_back(step);
    if (!step.site) // which counts the sites of all kernels that the step names
      own.kernel = each.kernel->name().str();
    if (rewrite->choice)
      own.parameters[choiceOption.str()] = *rewrite->choice;
    isChosen |= rewrite->choice.has_value();
    taken.insert(answer->names.begin(), answer->names.end());
    promise = std::max(promise.value_or(Promise::Bitwise), rewrite->promise.value_or(info.promise));
    if (rewrite->schedule)
      changed[each.kernel->fact.usr] = *rewrite->schedule;
    result.remarks.push_back(std::move(remark));
  }
  if (!isChosen)
    result.written.clear();
  if (result.rewritten == 0)
    return result;
  result.promise = promise.value_or(info.promise);
  if (pass.composes()) {
    if (llvm::Error error = addScheduled(changed, all))
      return std::move(error);
    result.run.emplace();
    result.run->base = parsed->text().str();
    for (const auto &[kernel, schedule] : changed)
      result.run->schedules[kernel] = scheduleText(schedule);
    for (const KernelView &kernel : passContext->kernels())
      if (const Schedule *schedule = passContext->scheduleOf(kernel))
        result.run->schedules.emplace(kernel.fact.usr, scheduleText(*schedule));
  }
  llvm::Expected<std::string> why = whyNotCompiling(all);
  if (!why)
    return why.takeError();
  if (!why->empty()) {
    for (Remark &remark : result.remarks)
      if (remark.kind == RemarkKind::Passed) {
        remark.kind = RemarkKind::Missed;
        remark.message = *why;
      }
    result.rewritten = 0;
    result.written.clear();
    result.run.reset();
    return result;
  }
  llvm::Expected<std::string> text = textWith(all);
  if (!text)
    return text.takeError();
  edited = std::move(*text);
  result.edits = std::move(all);
  return result;
}

llvm::Expected<std::string> RewriteSession::State::textWith(const Edits &edits) const {
  return applyEdits(parsed->text(), edits, {FormatChoice::FileStyle, command.file});
}

llvm::Expected<std::string> RewriteSession::State::whyNotCompiling(const Edits &edits) {
  if (llvm::none_of(edits, [](const Edit &each) {
        return StringRef(each.replacement).contains("__global__");
      }))
    return "";
  llvm::Expected<std::string> text = textWith(edits);
  if (!text)
    return text.takeError();
  std::string why = whyNotParsable(*text);
  return why.empty() ? "" : "the new kernel does not compile: " + why;
}

std::string RewriteSession::State::whyNotParsable(StringRef text) {
  auto program = options.parser->parse(command, text);
  if (program)
    return "";
  std::string words = llvm::toString(program.takeError());
  // The first message is the one that the others follow from.
  size_t at = words.find("error: ");
  auto [message, rest] =
      StringRef(words).substr(at == std::string::npos ? 0 : at + strlen("error: ")).split('\n');
  std::string code; // the source line, if one was printed
  auto [line, caret] = rest.split('\n');
  if (caret.split('\n').first.contains('^'))
    code = line.substr(line.find('|') + 1).trim().str();
  return message.str() + (code.empty() ? "" : " in '" + code + "'");
}

llvm::Expected<const RewriteSession::State::Answer &>
RewriteSession::State::ask(const RewritePass &pass, const PassInfo &info, const Site &site,
                           const PassOptions &options, const std::set<std::string> &taken) {
  std::string given;
  for (const auto &[name, value] : options.all())
    given += name + "=" + value + "\n";
  auto key =
      std::tuple(info.name.str(), site.kernel->fact.usr, site.range.getBegin().getRawEncoding(),
                 site.range.getEnd().getRawEncoding(), std::move(given));
  auto isTaken = [&](const std::string &name) { return taken.count(name) > 0; };
  if (auto known = answers.find(key);
      known != answers.end() && llvm::none_of(known->second.names, isTaken))
    return known->second;
  Answer answer;
  passContext->startQuestion(taken);
  llvm::Expected<Rewrite> rewrite = pass.rewrite(*passContext, site, options);
  if (rewrite)
    answer.rewrite = std::move(*rewrite);
  else if (llvm::Error other = llvm::handleErrors(
               rewrite.takeError(), [&](const Declined &why) { answer.reason = why.reason; }))
    return std::move(other);
  answer.names = passContext->givenNames();
  // What had to avoid a name is the answer beside that name alone.
  if (passContext->avoidedTaken())
    std::get<4>(key) += "beside " + llvm::join(taken, " ");
  return answers.insert_or_assign(std::move(key), std::move(answer)).first->second;
}
