//===- ProgramEnvironment.cpp ---------------------------------------------===//
#include "kb-opt/Candidate/ProgramEnvironment.h"
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Rewrite/RewritePass.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
namespace json = llvm::json;

ProgramEnvironment::ProgramEnvironment(const CandidateSetup &setup, Model *model)
    : tools(setup.tools), chip(setup.chip), journal(setup.journal), judgeOf(setup.judge),
      cases(setup.cases), gpu(setup.gpu), original(setup.original), run(setup.run),
      languageModel(model), workload(setup.workload), gpuFacts(setup.gpuFacts),
      folder(setup.folder), emitter(tools.runner, tools.limits),
      replies(tools.replies, tools.files) {
  rootNode = addNode(tools.input.text, setup.originalHost, CandidatePromise());
  judgeOf.keepOriginalIn(this);
  if (gpu)
    vault = startVault();
  if (languageModel)
    assistant =
        std::make_unique<Assistant>(*languageModel, replies, *this, tools.passes, assistantFacts());
}

Digest ProgramEnvironment::request(std::initializer_list<llvm::StringRef> parts) const {
  DigestBuilder builder;
  builder.add(run);
  for (llvm::StringRef part : parts)
    builder.add(part);
  return builder.finish();
}

llvm::Expected<json::Value>
ProgramEnvironment::answered(llvm::StringRef kind, const Digest &request,
                             llvm::function_ref<llvm::Expected<json::Value>()> compute) {
  auto text = journal.getOrCompute(kind, request, [&]() -> llvm::Expected<std::string> {
    auto value = compute();
    if (!value)
      return value.takeError();
    return llvm::formatv("{0}", *value).str();
  });
  if (!text)
    return text.takeError();
  return json::parse(*text);
}

NodeId ProgramEnvironment::addNode(std::string text, Digest host, const CandidatePromise &promise,
                                   const std::optional<ScheduleRun> &run) {
  DigestBuilder builder;
  builder.add(text).add(promiseName(promise.result));
  for (Assumption assumption : promise.assumes)
    builder.add(assumptionName(assumption));
  NodeId id = builder.finish();
  std::lock_guard<std::mutex> lock(mutex);
  auto [it, isNew] = nodes.try_emplace(id);
  if (isNew) {
    it->second.text = std::move(text);
    it->second.host = std::move(host);
    it->second.promise = promise;
    it->second.run = run;
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
    auto bitcode = emitter.emitDeviceBitcode(tools.input.command, text);
    if (!bitcode)
      return bitcode.takeError();
    if (llvm::Error error = tools.files.write(path, *bitcode))
      return std::move(error);
    return path;
  });
  if (!path)
    return path.takeError();
  return *path;
}

PipelineOptions ProgramEnvironment::pipelineOptions() {
  PipelineOptions options;
  options.registry = &tools.passes;
  options.parser = &tools.parser;
  options.timings = &tools.timings;
  options.replies = tools.replies;
  options.target = chip.name;
  options.acceptsLowerPrecision = workload.tolerance.has_value();
  options.bitcode = [this](llvm::StringRef text) -> llvm::Expected<std::string> {
    auto path = bitcodeFile(text);
    if (!path)
      return path.takeError();
    return tools.files.read(*path);
  };
  return options;
}

llvm::Expected<RewriteSession &> ProgramEnvironment::session(Node &node) {
  if (!node.session) {
    auto created =
        RewriteSession::create(node.text, tools.input.command, pipelineOptions(), node.run);
    if (!created)
      return created.takeError();
    node.session = std::move(*created);
  }
  return *node.session;
}

//===-- Actions -----------------------------------------------------------===//

llvm::StringMap<RecordedLaunch> ProgramEnvironment::recordedLaunches(const kbrt::Plan &plan) {
  llvm::StringMap<RecordedLaunch> largest;
  llvm::StringMap<uint64_t> threads;
  for (const kbrt::Step &step : plan.steps) {
    const auto *launch = std::get_if<kbrt::LaunchStep>(&step);
    if (!launch)
      continue;
    uint64_t count = uint64_t(launch->grid.x) * launch->grid.y * launch->grid.z * launch->block.x *
                     launch->block.y * launch->block.z;
    if (count <= threads[launch->kernel])
      continue;
    threads[launch->kernel] = count;
    RecordedLaunch &kept = largest[launch->kernel];
    kept.grid = {launch->grid.x, launch->grid.y, launch->grid.z};
    kept.block = {launch->block.x, launch->block.y, launch->block.z};
    kept.arguments.clear();
    for (const kbrt::Argument &argument : launch->arguments)
      kept.arguments.emplace_back(argument.bytes.begin(), argument.bytes.end());
  }
  return largest;
}

llvm::Expected<llvm::StringMap<RecordedLaunch>>
ProgramEnvironment::recordLaunches(llvm::StringRef text) {
  ProgramArtefacts program = original;
  program.text = text.str();
  if (!tools.hasOwnGpu) { // hosts are recorded on the CPU device
    auto bitcode = bitcodeFile(program.text);
    if (!bitcode)
      return bitcode.takeError();
    program.bitcodePath = std::move(*bitcode);
  }
  auto folder = text == original.text ? cases.original(cases.recorded())
                                      : cases.candidate(program, cases.recorded());
  if (!folder)
    return folder.takeError();
  std::string error;
  auto plan = kbrt::readPlan(*folder, error);
  if (!plan)
    return llvm::make_error<StoreError>(error);
  return recordedLaunches(*plan);
}

const RecordedLaunch *ProgramEnvironment::launchIn(llvm::StringRef text, llvm::StringRef kernel) {
  // A kernel that the program does not launch any more is one that the original launched.
  for (llvm::StringRef program : {text, llvm::StringRef(original.text)}) {
    auto known = launches.get(digestOf(program), [&] { return recordLaunches(program); });
    if (!known) {
      llvm::consumeError(known.takeError()); // the host cannot be followed: the judge says so
      continue;
    }
    if (auto found = known->find(kernel); found != known->end())
      return &found->second;
  }
  return nullptr;
}

llvm::Expected<const std::set<std::string> &> ProgramEnvironment::idleKernels() {
  return idle.get(0, [&]() -> llvm::Expected<std::set<std::string>> {
    auto folder = cases.original(cases.recorded());
    if (!folder)
      return folder.takeError();
    std::string error;
    auto plan = kbrt::readPlan(*folder, error);
    if (!plan)
      return llvm::make_error<StoreError>(error);
    const std::vector<std::string> launched = launchedKernels(*plan);
    Node &first = node(rootNode);
    std::lock_guard<std::mutex> lock(first.mutex);
    auto open = session(first);
    if (!open)
      return open.takeError();
    std::set<std::string> names;
    for (const KernelFact &kernel : findKernels(open->parsed()))
      if (llvm::none_of(kernel.instances, [&](const KernelFact::Instance &instance) {
            return llvm::is_contained(launched, instance.mangledName);
          }))
        names.insert(kernel.name);
    if (!names.empty())
      tools.progress.line("left alone, as the workload does not launch them: " +
                          llvm::join(names, ", "));
    return names;
  });
}

std::set<std::string> ProgramEnvironment::kernelsLeft(const Node &of, const ParsedProgram &parsed) {
  std::set<std::string> left;
  std::vector<std::string> texts{of.text};
  if (of.run) // passes that compose work on its kernels
    texts.push_back(of.run->base);
  for (const std::string &text : texts) {
    auto known = launches.get(digestOf(text), [&] { return recordLaunches(text); });
    if (!known) {
      llvm::consumeError(known.takeError()); // the host cannot be followed: the judge says so
      return {};
    }
    for (const KernelFact &kernel : findKernels(parsed))
      if (llvm::any_of(kernel.instances, [&](const KernelFact::Instance &each) {
            return known->count(each.mangledName);
          }))
        left.insert(kernel.name);
  }
  return left;
}

llvm::Expected<json::Value> ProgramEnvironment::computeActions(const NodeId &id) {
  TimedPart timed(&tools.timings, "effects", "sites");
  auto unused = idleKernels();
  if (!unused)
    return unused.takeError();
  lookUpLaunches(id);
  Node &of = node(id);
  std::lock_guard<std::mutex> lock(of.mutex);
  auto open = session(of);
  if (!open)
    return open.takeError();
  // Passes that compose see the program before the first of them, the others do not ask. The
  // session keeps the answerer for later rewrites, which other calls than this one make: it owns
  // its text.
  std::string before = of.run ? of.run->base : of.text;
  auto opportunities = open->opportunities(
      /*assisted=*/languageModel,
      [this, before](llvm::StringRef kernel) { return launchIn(before, kernel); });
  if (!opportunities)
    return opportunities.takeError();
  std::set<std::string> left =
      id == rootNode ? std::set<std::string>() : kernelsLeft(of, open->parsed());
  json::Array list;
  std::set<std::pair<std::string, std::string>> seen;
  auto add = [&](const Opportunity &site, bool assisted) {
    bool isLaunched =
        !unused->count(site.step.kernel) && (left.empty() || left.count(site.step.kernel));
    if (!isLaunched || !seen.emplace(site.step.pass, site.step.kernel).second)
      return;
    json::Object values; // those that the pass begins with
    for (const auto &[name, value] : site.step.parameters)
      values[name] = value;
    list.push_back(json::Object{
        {"pass", site.step.pass},
        {"kernel", site.step.kernel},
        {"assisted", assisted},
        {"values", std::move(values)},
        {"choices", json::Array(assisted ? std::vector<std::string>() : site.choices)}});
  };
  for (bool byDefault : {true, false})
    for (const Opportunity &site : *opportunities)
      if (site.applies && site.step.parameters.empty() == byDefault)
        add(site, /*assisted=*/false);
  // A model is asked where no rule does it.
  for (const Opportunity &site : *opportunities)
    if (site.assisted && languageModel)
      add(site, /*assisted=*/true);
  return json::Value(std::move(list));
}

llvm::Expected<bool> ProgramEnvironment::appliesAnywhere() {
  Node &of = node(rootNode);
  std::lock_guard<std::mutex> lock(of.mutex);
  auto open = session(of);
  if (!open)
    return open.takeError();
  auto opportunities = open->opportunities();
  if (!opportunities)
    return opportunities.takeError();
  return llvm::any_of(*opportunities, [](const Opportunity &each) { return each.applies; });
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

llvm::Expected<std::string> ProgramEnvironment::whyUnscheduled(llvm::StringRef kernel) {
  const PassRegistration *schedule = tools.passes.lookup("schedule");
  if (!schedule)
    return "";
  Node &of = node(rootNode);
  std::lock_guard<std::mutex> lock(of.mutex);
  auto open = session(of);
  if (!open)
    return open.takeError();
  std::string reason;
  llvm::Error error = open->withPassContext([&](const PassContext &passes) -> llvm::Error {
    std::unique_ptr<RewritePass> pass = schedule->create();
    for (const KernelView &view : passes.kernels())
      if (view.name() == kernel)
        for (const Site &site : pass->sites(passes, view)) {
          llvm::Expected<Rewrite> rewrite =
              pass->rewrite(passes, site, PassOptions(*schedule->info));
          reason = rewrite ? "" : llvm::toString(rewrite.takeError());
        }
    return llvm::Error::success();
  });
  if (error)
    return std::move(error);
  return reason;
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
  auto answer = answered("sites", request({node, languageModel ? "assisted" : ""}),
                         [&] { return computeActions(node); });
  if (!answer)
    return answer.takeError();
  std::vector<Action> actions;
  for (const json::Value &value : *answer->getAsArray()) {
    Action action;
    action.pass = value.getAsObject()->getString("pass")->str();
    action.kernel = value.getAsObject()->getString("kernel")->str();
    if (const PassRegistration *pass = tools.passes.lookup(action.pass)) {
      action.composes = pass->make && pass->create()->composes();
      action.assisted = value.getAsObject()->getBoolean("assisted").value_or(false);
      if (!action.assisted)
        action.ranges = rangesOf(*pass->info);
      if (const json::Object *values = value.getAsObject()->getObject("values"))
        for (ParameterRange &range : action.ranges)
          range.defaultValue = values->getString(range.name).value_or(range.defaultValue).str();
      if (const json::Array *choices = value.getAsObject()->getArray("choices");
          choices && !choices->empty()) {
        ParameterRange range{choiceOption.str(), {}, choices->front().getAsString()->str()};
        for (const json::Value &choice : *choices)
          range.values.push_back(choice.getAsString()->str());
        action.sketch = action.composes;
        if (action.sketch)
          action.ranges.clear();
        action.ranges.push_back(std::move(range));
      }
      actions.push_back(std::move(action));
    }
  }
  return actions;
}
