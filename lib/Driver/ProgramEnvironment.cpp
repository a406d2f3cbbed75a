//===- ProgramEnvironment.cpp ---------------------------------------------===//
#include "ProgramEnvironment.h"
#include "HostText.h"
#include "Version.h"
#include "kb-opt/Knowledge/State.h"
#include "kb-opt/Source/DeviceText.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
namespace json = llvm::json;

ProgramEnvironment::ProgramEnvironment(Session &session, Model *model)
    : context(session.context), chip(session.chip), journal(*session.journal), judgeOf(*session.judge),
      cases(*session.cases), gpu(session.gpu.get()), original(session.original),
      languageModel(model), workload(session.workload), gpuFacts(session.gpuFacts),
      folder(session.folder.path().str()), emitter(context.runner, compileLimits(context)),
      replies(repliesFolder(context), context.files) {
  DigestBuilder builder;
  builder.add(context.command.digest()).add(workloadDigest(session)).add(chip.name).add(buildDigest());
  if (gpu)
    builder.add(session.gpuFacts.name).add(session.gpuFacts.arch).add(session.gpuFacts.driver);
  for (const PassRegistration &pass : context.passes.passes())
    if (pass.storage) // not part of the build
      builder.add(pass.info->name).add(pass.info->assisted->matcher).add(pass.info->assisted->prompt);
  run = builder.finish();
  rootNode = addNode(context.text, session.originalHost, CandidatePromise());
  if (languageModel)
    assistant = std::make_unique<Assistant>(*languageModel, replies, *this, context.passes, assistantFacts());
}

Digest ProgramEnvironment::request(std::initializer_list<llvm::StringRef> parts) const {
  DigestBuilder builder;
  builder.add(run);
  for (llvm::StringRef part : parts)
    builder.add(part);
  return builder.finish();
}

NodeId ProgramEnvironment::addNode(std::string text, Digest host, const CandidatePromise &promise) {
  DigestBuilder builder;
  builder.add(text).add(toString(promise.result));
  for (Assumption assumption : promise.assumes)
    builder.add(assumptionName(assumption));
  NodeId id = builder.finish();
  std::lock_guard<std::mutex> lock(mutex);
  auto [it, isNew] = nodes.try_emplace(id);
  if (isNew) {
    it->second.text = std::move(text);
    it->second.host = std::move(host);
    it->second.promise = promise;
  }
  return id;
}

ProgramEnvironment::Node &ProgramEnvironment::node(const NodeId &id) {
  std::lock_guard<std::mutex> lock(mutex);
  return nodes.at(id);
}

/// Machine code and what the host does with it.
Digest ProgramEnvironment::codeWithHost(llvm::StringRef code, const NodeId &id) {
  return DigestBuilder().add(code).add(node(id).host).finish();
}

llvm::StringRef ProgramEnvironment::text(const NodeId &id) { return node(id).text; }

llvm::Expected<std::string> ProgramEnvironment::bitcodeFile(llvm::StringRef text) {
  if (text == original.text)
    return original.bitcodePath;
  Digest digest = digestOf(text);
  auto path = bitcodes.get(digest, [&]() -> llvm::Expected<std::string> {
    std::string path = folder + "/" + digest + ".bc";
    auto bitcode = emitter.emitDeviceBitcode(context.command, text);
    if (!bitcode)
      return bitcode.takeError();
    if (llvm::Error error = context.files.write(path, *bitcode))
      return std::move(error);
    return path;
  });
  if (!path)
    return path.takeError();
  return *path;
}

PipelineOptions ProgramEnvironment::pipelineOptions() {
  PipelineOptions options;
  options.registry = &context.passes;
  options.parser = &context.parser;
  options.timings = &context.timings;
  options.replies = repliesFolder(context);
  options.bitcode = [this](llvm::StringRef text) -> llvm::Expected<std::string> {
    auto path = bitcodeFile(text);
    if (!path)
      return path.takeError();
    return context.files.read(*path);
  };
  return options;
}

llvm::Expected<RewriteSession &> ProgramEnvironment::session(Node &node) {
  if (!node.session) {
    auto created = RewriteSession::create(node.text, context.command, pipelineOptions());
    if (!created)
      return created.takeError();
    node.session = std::move(*created);
  }
  return *node.session;
}

//===-- Actions -----------------------------------------------------------===//

llvm::Expected<std::string> ProgramEnvironment::computeActions(const NodeId &id) {
  TimedPart timed(&context.timings, "effects", "sites");
  Node &of = node(id);
  std::lock_guard<std::mutex> lock(of.mutex);
  auto open = session(of);
  if (!open)
    return open.takeError();
  auto opportunities = open->opportunities(/*assisted=*/languageModel);
  if (!opportunities)
    return opportunities.takeError();
  json::Array list;
  std::set<std::pair<std::string, std::string>> seen;
  auto add = [&](const Opportunity &site, bool assisted) {
    if (seen.emplace(site.step.pass, site.step.kernel).second)
      list.push_back(json::Object{
          {"pass", site.step.pass}, {"kernel", site.step.kernel}, {"assisted", assisted}});
  };
  for (const Opportunity &site : *opportunities)
    if (site.applies)
      add(site, /*assisted=*/false);
  // A model is asked where no rule does it.
  for (const Opportunity &site : *opportunities)
    if (site.assisted && languageModel)
      add(site, /*assisted=*/true);
  return llvm::formatv("{0}", json::Value(std::move(list))).str();
}

llvm::Expected<std::vector<Remark>> ProgramEnvironment::missed() {
  Node &of = node(rootNode);
  std::lock_guard<std::mutex> lock(of.mutex);
  auto open = session(of);
  if (!open)
    return open.takeError();
  auto opportunities = open->opportunities();
  if (!opportunities)
    return opportunities.takeError();
  std::vector<Remark> remarks;
  for (Opportunity &each : *opportunities)
    if (!each.applies)
      remarks.push_back({RemarkKind::Missed, each.step.pass, each.step.kernel, each.step.site,
                         each.file, each.line, each.column, each.reason, {}});
  return remarks;
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

llvm::Expected<std::vector<Action>> ProgramEnvironment::actions(const NodeId &node) {
  auto answer = journal.getOrCompute("sites", request({node, languageModel ? "assisted" : ""}),
                                     [&] { return computeActions(node); });
  if (!answer)
    return answer.takeError();
  auto parsed = json::parse(*answer);
  if (!parsed)
    return parsed.takeError();
  std::vector<Action> actions;
  for (const json::Value &value : *parsed->getAsArray()) {
    Action action;
    action.pass = value.getAsObject()->getString("pass")->str();
    action.kernel = value.getAsObject()->getString("kernel")->str();
    if (const PassRegistration *pass = context.passes.lookup(action.pass)) {
      action.assisted = value.getAsObject()->getBoolean("assisted").value_or(false);
      if (!action.assisted)
        action.ranges = rangesOf(*pass->info);
      actions.push_back(std::move(action));
    }
  }
  return actions;
}

//===-- Rewriting ---------------------------------------------------------===//

static PipelineStep toPipelineStep(const Move &step, const PassRegistry &passes) {
  PipelineStep result;
  result.pass = step.pass;
  result.kernel = step.kernel;
  if (!step.site.empty())
    (void)!llvm::StringRef(step.site).getAsInteger(10, result.site);
  const PassRegistration *pass = passes.lookup(step.pass);
  for (const auto &[name, value] : step.parameters) {
    if (name == replyOption) {
      result.reply = value;
      continue;
    }
    const OptionInfo *option = pass ? pass->info->option(name) : nullptr;
    if (!option || option->defaultValue != value)
      result.options.emplace_back(name, value);
  }
  return result;
}

/// Adds what a rewrite promises and assumes, as `promiseJson` wrote it, to what the steps
/// before promised.
static CandidatePromise weaken(CandidatePromise promise, const json::Object &rewrite) {
  llvm::StringRef own = rewrite.getString("promise").value_or("");
  promise.result = std::max(promise.result, parseResultPromise(own).value_or(ResultPromise::LowerPrecision));
  if (const json::Array *assumes = rewrite.getArray("assumes"))
    for (const json::Value &each : *assumes)
      if (auto assumption = assumptionFromName(each.getAsString().value_or("")))
        promise.assumes.insert(*assumption);
  return promise;
}

static void promiseJson(const StepResult &result, json::Object &into) {
  into["promise"] = promiseName(result.promise);
  json::Array assumes;
  for (Assumption assumption : result.assumes)
    assumes.push_back(assumptionName(assumption));
  into["assumes"] = std::move(assumes);
}

static json::Array editsJson(const Edits &edits) {
  json::Array list;
  for (const Edit &edit : edits)
    list.push_back(json::Object{
        {"offset", edit.offset},
        {"length", edit.length},
        {"anchor", edit.anchor.nodeKind + " at line " + std::to_string(edit.anchor.line)},
        {"begin", edit.anchor.begin},
        {"end", edit.anchor.end}});
  return list;
}

static std::vector<JudgedEdit> editsFrom(const json::Object &answer) {
  std::vector<JudgedEdit> edits;
  const json::Array *list = answer.getArray("edits");
  for (const json::Value &value : list ? *list : json::Array()) {
    const json::Object &object = *value.getAsObject();
    auto number = [&](llvm::StringRef key) {
      return static_cast<size_t>(object.getInteger(key).value_or(0));
    };
    edits.push_back({number("offset"), number("length"),
                     object.getString("anchor").value_or("").str(), number("begin"), number("end")});
  }
  return edits;
}

llvm::Expected<std::string> ProgramEnvironment::computeRewrite(const NodeId &id, const Move &step) {
  TimedPart timed(&context.timings, "effects", "rewrite");
  Node &parent = node(id);
  StepResult result;
  std::unique_ptr<RewriteSession> derived;
  {
    std::lock_guard<std::mutex> lock(parent.mutex);
    auto open = session(parent);
    if (!open)
      return open.takeError();
    auto rewritten = open->derive(toPipelineStep(step, context.passes), result);
    if (!rewritten)
      return rewritten.takeError();
    derived = std::move(*rewritten);
  }
  json::Object answer;
  if (!derived) {
    answer["reason"] = result.remarks.empty() ? "no site" : result.remarks.front().message;
    if (result.refusal)
      answer["rule"] = editRuleName(result.refusal->rule);
  } else {
    std::string text = derived->text().str();
    Digest host = digestOf(hostText(derived->parsed()));
    answer["text"] = text;
    answer["edits"] = editsJson(result.edits);
    answer["host"] = host;
    // Whoever judges the new program need not parse it again.
    promiseJson(result, answer);
    Node &made = node(addNode(std::move(text), std::move(host), weaken(parent.promise, answer)));
    std::lock_guard<std::mutex> lock(made.mutex);
    if (!made.session)
      made.session = std::move(derived);
  }
  return llvm::formatv("{0}", json::Value(std::move(answer))).str();
}

/// An order of the ways to one program: shorter ones first.
static bool isBefore(llvm::ArrayRef<JudgedStep> a, llvm::ArrayRef<JudgedStep> b) {
  if (a.size() != b.size())
    return a.size() < b.size();
  for (auto [x, y] : llvm::zip(a, b))
    if (std::tie(x.pass, x.before) != std::tie(y.pass, y.before))
      return std::tie(x.pass, x.before) < std::tie(y.pass, y.before);
  return false;
}

std::vector<JudgedStep> ProgramEnvironment::stepsTo(const NodeId &id) {
  Node &of = node(id);
  std::lock_guard<std::mutex> lock(of.mutex);
  return of.steps;
}

/// A compiler that refuses \p candidate is a verdict; a full disk or an interrupt
/// says nothing about it and stays an error.
static llvm::Expected<MoveResult> blameCandidate(MoveResult candidate, llvm::Error error) {
  llvm::Error rest =
      llvm::handleErrors(std::move(error), [&](std::unique_ptr<KbError> refusal) -> llvm::Error {
        if (refusal->status != ExitStatus::Diagnostics)
          return llvm::Error(std::move(refusal));
        candidate.gate = "G1";
        candidate.failure = "compile";
        candidate.reason = refusal->message;
        return llvm::Error::success();
      });
  if (rest)
    return std::move(rest);
  return candidate;
}

llvm::Expected<MoveResult> ProgramEnvironment::apply(const NodeId &id, const Move &step) {
  auto answer = journal.getOrCompute("rewrite", request({id, step.text()}),
                                     [&] { return computeRewrite(id, step); });
  if (!answer)
    return answer.takeError();
  auto parsed = json::parse(*answer);
  if (!parsed)
    return parsed.takeError();
  const json::Object &object = *parsed->getAsObject();
  MoveResult candidate;
  auto text = object.getString("text");
  if (!text) {
    candidate.reason = object.getString("reason").value_or("").str();
    llvm::StringRef rule = object.getString("rule").value_or("");
    if (rule == editRuleName(EditRule::Parse)) {
      candidate.applied = true;
      candidate.gate = toString(GateId::G1);
      candidate.failure = toString(FailureClass::Compile);
    } else if (!rule.empty()) {
      candidate.failure = rule == editRuleName(EditRule::Library)
                              ? "library"
                              : toString(FailureClass::Constraints).str();
    }
    return candidate;
  }
  candidate.applied = true;
  Digest host = object.getString("host").value_or("").str();
  candidate.node = addNode(text->str(), host, weaken(node(id).promise, object));
  Node &made = node(candidate.node);
  std::vector<JudgedStep> steps = stepsTo(id);
  steps.push_back({step.pass, node(id).text, made.text, editsFrom(object), replySummary(step)});
  if (candidate.node != rootNode) {
    std::lock_guard<std::mutex> lock(made.mutex);
    // Of several ways to the same program one stands, whichever thread came first.
    if (made.steps.empty() || isBefore(steps, made.steps))
      made.steps = std::move(steps);
  }
  cases.setHostDigest(*text, std::move(host));
  auto program = artefacts(candidate.node);
  if (!program)
    return blameCandidate(std::move(candidate), program.takeError());
  if (auto judged = journal.find("judge", request({candidate.node})); !judged)
    return judged.takeError();
  else if (!*judged)
    judgeOf.prepare(*program);
  auto code = judgeOf.code(*program);
  if (!code)
    return blameCandidate(std::move(candidate), code.takeError());
  candidate.code = codeWithHost(code->digest, candidate.node);
  auto modelled = model(*program, candidate.code);
  if (modelled)
    candidate.floorUs = modelled->getNumber("floorUs").value_or(0);
  else // Then the floor is unknown, and the gates say what is wrong.
    llvm::consumeError(modelled.takeError());
  return candidate;
}

//===-- Judging -----------------------------------------------------------===//

llvm::Expected<ProgramArtefacts> ProgramEnvironment::artefacts(const NodeId &id) {
  ProgramArtefacts program = original;
  program.text = node(id).text;
  auto bitcode = bitcodeFile(program.text);
  if (!bitcode)
    return bitcode.takeError();
  program.bitcodePath = std::move(*bitcode);
  if (id != rootNode)
    program.slice = [this, id]() -> std::optional<DeviceSlice> {
      Node &of = node(id);
      std::lock_guard<std::mutex> lock(of.mutex);
      auto open = session(of);
      if (open)
        return deviceSlice(open->parsed());
      llvm::consumeError(open.takeError());
      return std::nullopt;
    };
  return program;
}

llvm::Expected<std::string> ProgramEnvironment::computeJudgement(const NodeId &id, JudgeEffort effort) {
  TimedPart timed(&context.timings, "effects",
                  id == rootNode                 ? "judge the original"
                  : effort == JudgeEffort::Final ? "confirm"
                                                 : "judge");
  auto program = artefacts(id);
  if (!program)
    return program.takeError();
  Verdict verdict;
  if (id == rootNode) {
    auto baseline = judgeOf.baseline();
    if (!baseline)
      return baseline.takeError();
    verdict.kind = VerdictKind::Correct;
    if (baseline->problem)
      verdict.add(*baseline->problem);
    else if (gpu) {
      auto timing = judgeOf.originalTiming();
      if (!timing)
        return timing.takeError();
      if (timing->status == RunStatus::Ok)
        verdict.timing = *timing;
      else
        verdict.add(GateRecord::undecided(GateId::G12, "the original cannot be timed: " + timing->message));
    }
  } else {
    auto judged = judgeOf.judge(*program, stepsTo(id), node(id).promise, effort);
    if (!judged)
      return judged.takeError();
    verdict = std::move(*judged);
    for (const GateRecord &gate : verdict.gates)
      if (gate.outcome != GateOutcome::NotRun)
        context.timings.add(effort == JudgeEffort::Final ? "gates of the final check" : "gates of the search",
                            (toString(gate.gate) + " " + gateTitle(gate.gate)).str(), gate.seconds);
  }
  json::Object answer{{"verdict", toJSON(verdict)}};
  if (verdict.isCorrect())
    if (llvm::Error error =
            addSpeed(id, *program, verdict.timing ? &*verdict.timing : nullptr, answer))
      return std::move(error);
  return llvm::formatv("{0}", json::Value(std::move(answer))).str();
}

static AttemptVerdict outcomeOf(const Verdict &verdict) {
  switch (verdict.kind) {
  case VerdictKind::Correct:
    return AttemptVerdict::Correct;
  case VerdictKind::Incorrect:
    return AttemptVerdict::Incorrect;
  case VerdictKind::Inconclusive:
    return AttemptVerdict::Inconclusive;
  }
  llvm_unreachable("unknown verdict");
}

static MetricMap metricsFrom(const json::Object &metrics) {
  MetricMap map;
  for (const auto &[name, value] : metrics)
    map[name.str()] = value.getAsNumber().value_or(std::numeric_limits<double>::quiet_NaN());
  return map;
}

llvm::Expected<NodeJudgement> ProgramEnvironment::judgeWith(const NodeId &id, JudgeEffort effort) {
  const char *kind = effort == JudgeEffort::Final ? "confirm" : "judge";
  auto answer = journal.getOrCompute(kind, request({id}),
                                     [&] { return computeJudgement(id, effort); });
  if (!answer)
    return answer.takeError();
  auto parsed = json::parse(*answer);
  if (!parsed)
    return parsed.takeError();
  const json::Object &object = *parsed->getAsObject();
  Verdict verdict;
  json::Path::Root path;
  if (!fromJSON(*object.get("verdict"), verdict, path))
    return path.getError();
  if (effort == JudgeEffort::Final) {
    Node &of = node(id);
    std::lock_guard<std::mutex> lock(of.mutex);
    of.gates = verdict.gates;
    of.timing = verdict.timing;
  }
  NodeJudgement judgement;
  judgement.verdict = outcomeOf(verdict);
  judgement.gate = verdict.gate ? toString(*verdict.gate).str() : "";
  judgement.failure = toString(verdict.failure).str();
  judgement.reason = verdict.reason;
  if (const json::Object *metrics = object.getObject("metrics")) {
    judgement.metrics = metricsFrom(*metrics);
    judgement.state = StateRules::builtin().classify(judgement.metrics);
    judgement.timeUs = object.getNumber("us").value_or(0);
    judgement.modelledUs = object.getNumber("modelledUs").value_or(0);
    judgement.floorUs = object.getNumber("floorUs").value_or(0);
    judgement.code = codeWithHost(object.getString("code").value_or(""), id);
    judgement.shape = object.getString("shape").value_or("").str();
  }
  if (effort == JudgeEffort::Final && verdict.isCorrect() && verdict.timing &&
      verdict.timing->cold.decision != TimingDecision::Faster) {
    judgement.verdict = AttemptVerdict::Inconclusive;
    judgement.reason = "measured longer it is not faster than the original: " + verdict.timing->cold.reason;
  }
  if (const json::Object *kernels = object.getObject("kernels"))
    for (const auto &[name, value] : *kernels) {
      const json::Object &entry = *value.getAsObject();
      MetricMap metrics = metricsFrom(*entry.getObject("metrics"));
      State state = StateRules::builtin().classify(metrics);
      judgement.kernels[name.str()] = {entry.getNumber("us").value_or(0), std::move(state),
                                       entry.getString("shape").value_or("").str(), std::move(metrics)};
    }
  return judgement;
}

llvm::Expected<NodeJudgement> ProgramEnvironment::judge(const NodeId &node) {
  return judgeWith(node, JudgeEffort::Search);
}

llvm::Expected<NodeJudgement> ProgramEnvironment::confirm(const NodeId &node) {
  auto judgement = judgeWith(node, JudgeEffort::Final);
  if (!judgement)
    return judgement.takeError();
  return verified(node, std::move(*judgement));
}

std::optional<TimingReport> ProgramEnvironment::timing(const NodeId &id) {
  Node &of = node(id);
  std::lock_guard<std::mutex> lock(of.mutex);
  return of.timing;
}

std::vector<GateRecord> ProgramEnvironment::gates(const NodeId &id) {
  Node &of = node(id);
  std::lock_guard<std::mutex> lock(of.mutex);
  return of.gates;
}
