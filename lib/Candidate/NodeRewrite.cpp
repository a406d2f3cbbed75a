//===- NodeRewrite.cpp - From a program to the next -------------------------===//
//
// Owns the half of ProgramEnvironment that applies moves: what a pass or a reply
// makes of a node, and what the new program promises.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Candidate/HostText.h"
#include "kb-opt/Candidate/ProgramEnvironment.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/JsonBytes.h"
#include "llvm/Demangle/Demangle.h"

using namespace kbopt;
namespace json = llvm::json;

/// Adds what a rewrite promises and assumes, as `promiseJson` wrote it, to what the steps
/// before promised.
static CandidatePromise weaken(CandidatePromise promise, const json::Object &rewrite) {
  llvm::StringRef own = rewrite.getString("promise").value_or("");
  promise.result = std::max(promise.result, promiseFromName(own).value_or(Promise::LowerPrecision));
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
                     object.getString("anchor").value_or("").str(), number("begin"),
                     number("end")});
  }
  return edits;
}

static void runJson(const std::optional<ScheduleRun> &run, json::Object &into) {
  if (!run)
    return;
  json::Object schedules;
  for (const auto &[kernel, schedule] : run->schedules)
    schedules[kernel] = schedule;
  into["base"] = jsonOfBytes(run->base);
  into["schedules"] = std::move(schedules);
}

static std::optional<ScheduleRun> runFrom(const json::Object &answer) {
  std::optional<std::string> base = bytesOfJson(answer.get("base"));
  const json::Object *schedules = answer.getObject("schedules");
  if (!base || !schedules)
    return std::nullopt;
  ScheduleRun run{std::move(*base), {}};
  for (const auto &[kernel, schedule] : *schedules)
    run.schedules[kernel.str()] = schedule.getAsString().value_or("").str();
  return run;
}

llvm::Expected<json::Value> ProgramEnvironment::computeRewrite(const NodeId &id, const Step &step) {
  TimedPart timed(&tools.timings, "effects", "rewrite");
  Node &parent = node(id);
  StepResult result;
  std::unique_ptr<RewriteSession> derived;
  {
    std::lock_guard<std::mutex> lock(parent.mutex);
    auto open = session(parent);
    if (!open)
      return open.takeError();
    // Without an earlier step a later one may find the kernel gone that the earlier one made.
    if (!step.kernel.empty() &&
        llvm::none_of(findKernels(open->parsed()),
                      [&](const KernelFact &kernel) { return kernel.name == step.kernel; }))
      return json::Value(
          json::Object{{"reason", "the program has no kernel '" + step.kernel + "'"}});
    auto rewritten = open->derive(step, result);
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
    answer["text"] = jsonOfBytes(text);
    answer["edits"] = editsJson(result.edits);
    answer["host"] = host;
    // Whoever judges the new program need not parse it again.
    promiseJson(result, answer);
    runJson(result.run, answer);
    Node &made =
        node(addNode(std::move(text), std::move(host), weaken(parent.promise, answer), result.run));
    std::lock_guard<std::mutex> lock(made.mutex);
    if (!made.session)
      made.session = std::move(derived);
  }
  return json::Value(std::move(answer));
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
static llvm::Expected<StepOutcome> blameCandidate(StepOutcome candidate, llvm::Error error) {
  llvm::Error rest =
      llvm::handleErrors(std::move(error), [&](std::unique_ptr<KbError> refusal) -> llvm::Error {
        if (refusal->status != ExitStatus::Diagnostics)
          return llvm::Error(std::move(refusal));
        candidate.gate = GateId::G1;
        candidate.failure = FailureClass::Compile;
        candidate.reason = refusal->message;
        return llvm::Error::success();
      });
  if (rest)
    return std::move(rest);
  return candidate;
}

llvm::Expected<StepOutcome> ProgramEnvironment::rewrite(const NodeId &id, const Step &step) {
  auto answer =
      answered("rewrite", request({id, step.text()}), [&] { return computeRewrite(id, step); });
  if (!answer)
    return answer.takeError();
  const json::Object &object = *answer->getAsObject();
  StepOutcome candidate;
  std::optional<std::string> text = bytesOfJson(object.get("text"));
  if (!text) {
    candidate.reason = object.getString("reason").value_or("").str();
    llvm::StringRef rule = object.getString("rule").value_or("");
    if (rule == editRuleName(EditRule::Parse)) {
      candidate.applied = true;
      candidate.gate = GateId::G1;
      candidate.failure = FailureClass::Compile;
    } else if (!rule.empty()) {
      candidate.failure = rule == editRuleName(EditRule::Library) ? FailureClass::Library
                                                                  : FailureClass::Constraints;
    }
    return candidate;
  }
  candidate.applied = true;
  Digest host = object.getString("host").value_or("").str();
  std::optional<ScheduleRun> run = runFrom(object);
  candidate.node = addNode(*text, host, weaken(node(id).promise, object), run);
  Node &made = node(candidate.node);
  std::vector<JudgedStep> steps = stepsTo(id);
  // The steps of one run are one edit of the text before the first of them.
  std::string before = run ? run->base : node(id).text;
  while (!steps.empty() && steps.back().after != before)
    steps.pop_back();
  steps.push_back({step.pass, std::move(before), made.text, editsFrom(object), replySummary(step)});
  if (candidate.node != rootNode) {
    std::lock_guard<std::mutex> lock(made.mutex);
    // Of several ways to the same program one stands, whichever thread came first.
    if (made.steps.empty() || isBefore(steps, made.steps))
      made.steps = std::move(steps);
  }
  cases.setHostDigest(*text, std::move(host));
  return candidate;
}

std::string ProgramEnvironment::idleAddition(const NodeId &before, const DeviceCode &code,
                                             const json::Object &modelled) {
  const json::Object *launched = modelled.getObject("kernels");
  if (!launched)
    return "";
  auto program = artefacts(before);
  auto known =
      program ? judgeOf.code(*program) : llvm::Expected<const DeviceCode &>(program.takeError());
  if (!known) {
    llvm::consumeError(known.takeError());
    return "";
  }
  std::string idle;
  for (const auto &[name, kernel] : code.kernels) {
    auto same = known->kernels.find(name);
    if (same != known->kernels.end() && same->second.code == kernel.code)
      continue;
    if (launched->get(name))
      return "";
    if (idle.empty())
      idle = llvm::demangle(name);
  }
  // `void shift_wide<4>(float *)` is known by its name alone.
  llvm::StringRef text =
      llvm::StringRef(idle).take_until([](char c) { return c == '(' || c == '<'; });
  return text.substr(text.rfind(' ') + 1).str();
}

llvm::Expected<StepOutcome> ProgramEnvironment::apply(const NodeId &id, const Step &step) {
  auto rewritten = rewrite(id, step);
  if (!rewritten)
    return rewritten.takeError();
  StepOutcome candidate = std::move(*rewritten);
  if (candidate.node.empty())
    return candidate;
  if (screens()) { // only its machine code is needed, and nothing is modelled
    auto code = judgeOf.code(sourceOf(candidate.node));
    if (!code)
      return blameCandidate(std::move(candidate), code.takeError());
    candidate.code = codeWithHost(code->digest, candidate.node);
    return candidate;
  }
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
    if (std::string idle = idleAddition(id, *code, *modelled); !idle.empty()) {
      StepOutcome refused;
      refused.reason = "no launch of the workload takes '" + idle +
                       "', as its conditions hold at none of them: it is worth nothing there";
      return refused;
    }
  if (modelled)
    std::tie(candidate.floorUs, candidate.modelledUs) = std::pair(
        modelled->getNumber("floorUs").value_or(0), modelled->getNumber("us").value_or(0));
  else // Then the floor is unknown, and the gates say what is wrong.
    llvm::consumeError(modelled.takeError());
  return candidate;
}
