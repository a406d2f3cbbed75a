//===- Options.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Driver/Options.h"
#include "Subcommands.h"
#include "kb-opt/Eval/Cards.h"
#include "kb-opt/Support/Error.h"
#include "kbrt/Database.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Option/Arg.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace kbopt;
using namespace llvm::opt;

namespace {

enum ID {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "Options.inc"
#undef OPTION
};

#define OPTTABLE_STR_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

constexpr OptTable::Info infoTable[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "Options.inc"
#undef OPTION
};

class Table : public GenericOptTable {
public:
  Table() : GenericOptTable(OptionStrTable, OptionPrefixesTable, infoTable) {}
};

/// Reads the typed values of a parsed command line; the first failure stays.
class Reader {
public:
  explicit Reader(InputArgList &arguments) : arguments(arguments) {}

  void text(ID id, std::string &into) {
    if (const Arg *arg = arguments.getLastArg(id))
      into = arg->getValue();
  }
  bool flag(ID id) { return arguments.hasArg(id); }

  template <typename Number> void number(ID id, Number &into, Number least) {
    const Arg *arg = arguments.getLastArg(id);
    if (!arg)
      return;
    Number value;
    if (!parse(arg->getValue(), value) || value < least)
      fail(llvm::Twine("invalid value '") + arg->getValue() + "' for '" +
               arg->getSpelling().rtrim('=') + "'",
           "give a number that is at least " + std::to_string(static_cast<int64_t>(least)));
    else
      into = value;
  }

  void fail(const llvm::Twine &message, std::string note) {
    if (!failure)
      failure.emplace(message.str(), std::move(note));
  }
  llvm::Error takeError() {
    if (failure)
      return llvm::make_error<UsageError>(failure->first, failure->second);
    return llvm::Error::success();
  }

private:
  static bool parse(llvm::StringRef text, double &value) { return !text.getAsDouble(value); }
  template <typename Integer> static bool parse(llvm::StringRef text, Integer &value) {
    return !text.getAsInteger(10, value);
  }
  InputArgList &arguments;
  std::optional<std::pair<std::string, std::string>> failure;
};

} // namespace

static const Table &table() {
  static const Table instance;
  return instance;
}

void kbopt::printHelp(llvm::raw_ostream &os) {
  table().printHelp(os, "kb-opt [options] <file.cu>... [-- <compiler flags>]",
                    "kb-opt makes CUDA kernels faster and keeps only what it has proven");
  os << "SUBCOMMANDS (kb-opt <subcommand> --help):\n";
  for (const Subcommand &each : subcommands())
    os << "  " << llvm::formatv("{0,-23}", each.name) << " " << each.summary << "\n";
  os << "\nEXIT STATUS:\n"
        "  0 done  1 the program is at fault, or a judged file is not correct  2 the command line "
        "makes no sense\n"
        "  3 something is missing around it  4 stopped before the result was proven  70 a bug of "
        "kb-opt\n";
}

void kbopt::printCompletions(llvm::raw_ostream &os, llvm::StringRef prefix) {
  for (const std::string &each : table().findByPrefix(prefix, Visibility(), /*DisableFlags=*/0))
    os << each << "\n";
}

static void readDevice(InputArgList &arguments, Reader &reader, Options &options) {
  const Arg *arg = arguments.getLastArg(OPT_device);
  if (!arg)
    return;
  llvm::StringRef name = arg->getValue();
  llvm::StringRef url = name, kind;
  if (!kbrt::isDatabaseUrl(url.str()))
    std::tie(kind, url) = name.split(':');
  if (kbrt::isDatabaseUrl(url.str()) && (kind.empty() || kind == "cpu" || kind == "cuda")) {
    options.device = DeviceKind::Cluster;
    options.clusterUrl = url.str();
    options.clusterDevice = kind.str();
  } else if (name == "cuda") {
    options.device = DeviceKind::Cuda;
  } else if (name.consume_front("cuda:")) {
    options.device = DeviceKind::Cuda;
    options.cards = name.str();
    if (!isListOfCards(name))
      reader.fail("'--device=cuda:" + llvm::Twine(name) + "' names no GPUs",
                  "write --device=cuda:all, or numbers as the driver counts, as in "
                  "--device=cuda:0,2");
  } else if (name.consume_front("spool:")) {
    options.device = DeviceKind::Spool;
    options.spoolFolder = name.str();
    if (name.empty())
      reader.fail("'--device=spool:' names no folder",
                  "write --device=spool:DIR, and start 'kb-run serve DIR' "
                  "where the GPU is");
  } else if (name != "cpu") {
    reader.fail(llvm::Twine("unknown device '") + name + "'",
                "it is cpu (times are modelled), cuda (a GPU of this machine; cuda:all, cuda:0,2: "
                "several), spool:DIR (a kb-run elsewhere) or postgresql://... (workers behind a "
                "database)");
  }
}

static void readEnumerations(InputArgList &arguments, Reader &reader, Options &options) {
  if (const Arg *arg = arguments.getLastArg(OPT_emit)) {
    auto kind = llvm::StringSwitch<std::optional<Emit>>(arg->getValue())
                    .Case("diff", Emit::Diff)
                    .Case("source", Emit::Source)
                    .Case("kb-ir", Emit::KbIr)
                    .Case("kb-nest", Emit::KbNest)
                    .Case("schedules", Emit::Schedules)
                    .Case("plan", Emit::Plan)
                    .Case("launch-map", Emit::LaunchMap)
                    .Case("job", Emit::Job)
                    .Case("workload", Emit::Workload)
                    .Case("profile", Emit::Profile)
                    .Case("profile-json", Emit::ProfileJson)
                    .Case("anchors", Emit::Anchors)
                    .Case("findings", Emit::Findings)
                    .Case("findings-yaml", Emit::FindingsYaml)
                    .Case("findings-json", Emit::FindingsJson)
                    .Case("sarif", Emit::Sarif)
                    .Default(std::nullopt);
    if (kind)
      options.emit = *kind;
    else
      reader.fail(
          llvm::Twine("unknown kind '") + arg->getValue() + "' for '--emit'",
          "it is one of diff, source, kb-ir, kb-nest, schedules, plan, job, workload, profile, "
          "profile-json, anchors, "
          "findings, findings-yaml, findings-json, sarif");
  }
  readDevice(arguments, reader, options);
  options.judgedByPasses = arguments.hasArg(OPT_by_passes);
  if (options.judgedByPasses && options.judge.empty())
    reader.fail("'--by-passes' is of the files that '--judge' names",
                "name one, or drop '--by-passes'");
  if (const Arg *arg = arguments.getLastArg(OPT_promise)) {
    if (auto promise = promiseFromName(arg->getValue()))
      options.promise = *promise;
    else
      reader.fail(llvm::Twine("unknown promise '") + arg->getValue() + "'",
                  "it is one of bitwise, reassociates, lower-precision");
    if (options.judge.empty() && !options.isAuto())
      reader.fail("'--promise' is of a search, or of the files that '--judge' names",
                  "pass -passes=auto, or name a file");
  }
}

/// Text options that mean something with a model only.
static constexpr std::pair<ID, std::string Options::*> modelTexts[] = {
    {OPT_llm_model, &Options::llmModel},
    {OPT_llm_base_url, &Options::llmBaseUrl},
    {OPT_llm_record, &Options::llmRecord},
    {OPT_llm_prices, &Options::llmPrices},
    {OPT_llm_config, &Options::llmConfig}};

static void readRoles(const InputArgList &arguments, Reader &reader, Options &options) {
  const Arg *arg = arguments.getLastArg(OPT_roles);
  if (!arg)
    return;
  if (auto roles = stepRolesFromName(arg->getValue()))
    options.roles = *roles;
  else
    reader.fail(llvm::Twine("unknown roles '") + arg->getValue() + "'",
                "it is one of compose, plan-code");
  if (arguments.hasArg(OPT_minimal_agent))
    reader.fail("the minimal agent is one role for all", "drop '--roles' or '--minimal-agent'");
}

static void readModel(InputArgList &arguments, Reader &reader, Options &options) {
  auto take = [&](llvm::Error error) {
    llvm::handleAllErrors(std::move(error),
                          [&](const UsageError &e) { reader.fail(e.message, e.note); });
  };
  if (const Arg *arg = arguments.getLastArg(OPT_llm)) {
    if (auto spec = parseProvider(arg->getValue()))
      options.llm = std::move(*spec);
    else
      take(spec.takeError());
  }
  for (auto [id, into] : modelTexts) {
    const Arg *arg = arguments.getLastArg(id);
    if (!arg)
      continue;
    options.*into = arg->getValue();
    if ((options.*into).empty())
      reader.fail(llvm::Twine("'") + arg->getSpelling() + "' has no value", "see kb-opt --help");
    else if (!options.llm && options.llmConfig.empty() && !arguments.hasArg(OPT_llm_config))
      reader.fail(llvm::Twine("'") + arg->getSpelling().rtrim('=') +
                      "' is of the model, and no model is asked",
                  "name a provider with --llm, or drop it");
  }
  if (!options.llmBaseUrl.empty()) {
    take(checkBaseUrl(options.llmBaseUrl));
    if (options.llm && options.llm->kind != ProviderKind::OpenAi &&
        options.llm->kind != ProviderKind::Anthropic)
      reader.fail("'--llm-base-url' is of a service, which '--llm=" + options.llm->text() +
                      "' is not",
                  "use --llm=openai or --llm=anthropic, or drop it");
  }
  if (arguments.hasArg(OPT_budget_dollars)) {
    double &dollars = options.llmBudget.dollars.emplace();
    reader.number(OPT_budget_dollars, dollars, 0.0);
    if (!std::isfinite(dollars))
      reader.fail("'--budget-dollars' is no amount of money", "drop it to have no limit");
  }
  if (arguments.hasArg(OPT_budget_tokens))
    reader.number(OPT_budget_tokens, options.llmBudget.tokens.emplace(), uint64_t(0));
  if (arguments.hasArg(OPT_budget_calls))
    reader.number(OPT_budget_calls, options.llmBudget.calls.emplace(), uint64_t(0));
}

std::vector<std::string> kbopt::inputsOf(const Options &options) {
  std::vector<std::string> inputs{options.input};
  llvm::append_range(inputs, options.moreInputs);
  return inputs;
}

static void checkCombinations(Reader &reader, const Options &options) {
  if (options.backup && !options.fix)
    reader.fail("'--backup' is of '--fix', which is not given", "pass --fix, or drop it");
  if (options.fix && !options.output.empty())
    reader.fail("'--fix' and '-o' exclude each other", "choose where the result goes");
  if (options.fix && options.emit != Emit::Diff && options.emit != Emit::Source)
    reader.fail("'--fix' writes the rewritten program, which '--emit' asks to be something else",
                "drop one of the two");
  if (llvm::is_contained(inputsOf(options), "-")) {
    if (options.fix || options.lock)
      reader.fail(llvm::Twine("'") + (options.fix ? "--fix" : "--lock") +
                      "' is of a file, and the program comes from stdin",
                  "pass -o - for the rewritten program");
    if (!options.databaseFolder.empty())
      reader.fail("'-p' is of a file, and the program comes from stdin",
                  "give the compiler's flags after --");
  }
  if (!options.entry.empty() && options.emit != Emit::Workload)
    reader.fail("'--entry' is of '--emit=workload'", "in a workload it is the field 'entry:'");
  if (options.emit == Emit::Job && options.output.empty())
    reader.fail("'--emit=job' writes a folder", "name it with -o");
  if (!options.reportFile.empty() && !options.isAuto())
    reader.fail("'--report' is of a search", "pass -passes=auto");
  if (options.lock && options.passes.empty())
    reader.fail("'--lock' keeps what a pipeline makes", "pass -passes=auto, or name the pipeline");
  if (options.lock && options.bisectLimit >= 0)
    reader.fail("'--lock' keeps whole pipelines", "drop '--opt-bisect-limit'");
  if (!options.judge.empty() && (!options.passes.empty() || options.fix))
    reader.fail("'--judge' rewrites nothing", "drop '-passes' and '--fix'");
  if (options.emit == Emit::LaunchMap && options.judge.empty())
    reader.fail("'--emit=launch-map' compares a program with a rewrite of it",
                "name the rewrite with --judge");
  if (options.minimalAgent && !options.strategy.empty())
    reader.fail("'--minimal-agent' is a strategy of its own", "drop '--strategy'");
  if ((options.minimalAgent || options.strategy == "minimal") && !options.llm &&
      options.llmConfig.empty())
    reader.fail("the minimal agent is a model, and no model is asked",
                "name a provider with --llm");
  if ((!options.reply.empty() || options.emit == Emit::Anchors) &&
      (options.passes.empty() || options.isAuto()))
    reader.fail("it is not said which pass and kernel are meant",
                "name them, as in -passes='shared-memory-tiling{kernel=gemm}'");
  bool rewrites =
      options.judge.empty() && (options.emit == Emit::Diff || options.emit == Emit::Source);
  if (rewrites && options.passes.empty() && !options.listPasses)
    reader.fail("no pipeline", "try -passes=auto, or name passes: kb-opt --list-passes");
}

/// Several inputs: what one file takes, or what is said of one program, is none of theirs.
static void checkSeveralInputs(Reader &reader, const Options &options) {
  if (options.moreInputs.empty())
    return;
  const std::pair<llvm::StringRef, bool> ofOne[] = {
      {"-o", !options.output.empty()},
      {"--judge", !options.judge.empty()},
      {"--reply", !options.reply.empty()},
      {"--workload", !options.workload.empty()},
      {"--report", !options.reportFile.empty()},
      {"--remarks-file", !options.remarksFile.empty()},
      {"--journal", !options.journalPath.empty()},
      {"--llm-record", !options.llmRecord.empty()},
      {"--time-trace", !options.timeTrace.empty()},
      {"--depfile", !options.depfile.empty()},
      {"--object", !options.object.empty()},
      {"--emit", options.emit != Emit::Diff && options.emit != Emit::Findings && !options.fix}};
  for (const auto &[option, isGiven] : ofOne)
    if (isGiven)
      return reader.fail("'" + option + "' is for one program, and several are named",
                         option == "--emit" ? "run-kb-opt -emit=sarif makes one document of the "
                                              "files of a build; or run kb-opt once for each file"
                                            : "run kb-opt once for each file");
}

/// `kb-opt verify OLD NEW…`: the first is the original, the others are judged.
static void takeRewrites(Reader &reader, std::vector<std::string> &inputs, Options &options) {
  if (!options.judge.empty() || !options.passes.empty() || options.fix)
    reader.fail("'verify' judges the files that follow the original",
                "drop '--judge', '-passes' and '--fix'");
  else if (inputs.size() < 2)
    reader.fail("'verify' compares files, and one is missing",
                "name both: kb-opt verify old.cu new.cu");
  else
    options.judge.assign(std::next(inputs.begin()), inputs.end());
  inputs.resize(std::min<size_t>(inputs.size(), 1));
}

/// Options that mean something in a search only; a named pipeline would ignore them.
static void checkSearchOptions(Reader &reader, const InputArgList &arguments,
                               const Options &options) {
  if (options.passes.empty() || options.isAuto())
    return;
  for (ID id : {OPT_strategy, OPT_trajectories, OPT_steps, OPT_crossover, OPT_budget_candidates,
                OPT_no_sketches, OPT_no_new_recipes, OPT_minimal_agent, OPT_roles})
    if (const Arg *arg = arguments.getLastArg(id))
      reader.fail(llvm::Twine("'") + arg->getSpelling().rtrim('=') +
                      "' is of a search, and a pipeline is named",
                  "pass -passes=auto, or drop it");
}

llvm::Expected<Options> kbopt::parseOptions(llvm::ArrayRef<const char *> all, bool verifies) {
  Options options;
  const auto *dashes = llvm::find_if(all, [](llvm::StringRef arg) { return arg == "--"; });
  auto own = all.take_front(dashes - all.begin());
  if (dashes != all.end())
    options.flags.emplace(dashes + 1, all.end());

  unsigned missingIndex = 0, missingCount = 0;
  InputArgList arguments = table().ParseArgs(own, missingIndex, missingCount);
  Reader reader(arguments);
  if (missingCount)
    reader.fail(llvm::Twine("'") + arguments.getArgString(missingIndex) + "' needs a value",
                "see kb-opt --help");
  for (const Arg *arg : arguments.filtered(OPT_UNKNOWN)) {
    std::string nearest;
    bool close = table().findNearest(arg->getAsString(arguments), nearest) <= 2;
    reader.fail(llvm::Twine("unknown option '") + arg->getAsString(arguments) + "'",
                close ? "did you mean '" + nearest + "'?"
                      : "see kb-opt --help; the compiler's own flags go behind '--'");
  }

  options.help = reader.flag(OPT_help);
  options.version = reader.flag(OPT_version);
  options.listPasses = reader.flag(OPT_list_passes);
  options.fix = reader.flag(OPT_fix);
  options.backup = reader.flag(OPT_backup);
  options.printPipeline = reader.flag(OPT_print_pipeline);
  options.timePasses = reader.flag(OPT_time_passes);
  reader.text(OPT_time_trace, options.timeTrace);
  options.quiet = reader.flag(OPT_quiet);
  options.verbose = reader.flag(OPT_verbose);
  options.sandbox = !reader.flag(OPT_unsafe);
  reader.text(OPT_passes, options.passes);
  if (reader.flag(OPT_passes) && llvm::StringRef(options.passes).trim().empty())
    reader.fail("the pipeline is empty", "name at least one pass, as in -passes=unroll-loop; "
                                         "kb-opt --list-passes shows them");
  options.passFolders = arguments.getAllArgValues(OPT_pass_dir);
  reader.text(OPT_o, options.output);
  options.lock = reader.flag(OPT_lock) || reader.flag(OPT_lock_file);
  reader.text(OPT_lock_file, options.lockFile);
  options.judge = arguments.getAllArgValues(OPT_judge);
  reader.text(OPT_reply, options.reply);
  reader.text(OPT_p, options.databaseFolder);
  reader.text(OPT_object, options.object);
  reader.text(OPT_target, options.target);
  reader.text(OPT_entry, options.entry);
  reader.text(OPT_workload, options.workload);
  reader.text(OPT_chip, options.chip);
  reader.text(OPT_strategy, options.strategy);
  options.crossover = reader.flag(OPT_crossover);
  options.memory = !reader.flag(OPT_no_memory);
  options.shippedKnowledge = !reader.flag(OPT_no_shipped_knowledge);
  options.profile = !reader.flag(OPT_no_profile);
  options.sketches = !reader.flag(OPT_no_sketches);
  options.newRecipes = !reader.flag(OPT_no_new_recipes);
  options.minimalAgent = reader.flag(OPT_minimal_agent);
  reader.text(OPT_knowledge, options.knowledgeDirectory);
  reader.text(OPT_replies, options.repliesFolder);
  reader.text(OPT_journal, options.journalPath);
  reader.text(OPT_remarks, options.remarksFile);
  reader.text(OPT_depfile, options.depfile);
  options.warningsAsErrors = reader.flag(OPT_warnings_as_errors);
  reader.text(OPT_report, options.reportFile);
  if (reader.flag(OPT_report) && options.reportFile.empty())
    reader.fail("'--report=' names no file", "write --report=report.html");
  reader.number(OPT_trajectories, options.trajectories, 1u);
  reader.number(OPT_steps, options.steps, 1u);
  reader.number(OPT_budget_candidates, options.budgetCandidates, uint64_t(1));
  reader.number(OPT_budget_seconds, options.budgetSeconds, 0.0);
  reader.number(OPT_compile_cache, options.compileCacheMiB, uint64_t(0));
  reader.number(OPT_recordings_size, options.recordingCacheMiB, uint64_t(0));
  reader.number(OPT_seed, options.seed, uint64_t(0));
  reader.number(OPT_j, options.jobs, 1u);
  reader.number(OPT_bisect, options.bisectLimit, int64_t(-1));
  if (const Arg *arg = arguments.getLastArg(OPT_arch))
    options.arch = arg->getValue();
  // A terminal is shown what changes; a file gets the program.
  options.emit = options.output.empty() ? Emit::Diff : Emit::Source;
  auto inputs = arguments.getAllArgValues(OPT_INPUT);
  if (verifies && !arguments.hasArg(OPT_help))
    takeRewrites(reader, inputs, options);
  readEnumerations(arguments, reader, options);
  readModel(arguments, reader, options);
  readRoles(arguments, reader, options);

  if (options.help || options.version)
    return options;
  if (!inputs.empty()) {
    options.input = inputs[0];
    options.moreInputs.assign(std::next(inputs.begin()), inputs.end());
  } else if (!options.listPasses && options.target.empty())
    reader.fail("no input file", "name a CUDA file: kb-opt -passes=auto kernel.cu, or with -p and "
                                 "--target a program of a build");
  for (const std::string &name : inputs)
    if (!llvm::json::isUTF8(name))
      reader.fail("the name of '" + llvm::json::fixUTF8(name) +
                      "' is no UTF-8, which clang's file tables are written in",
                  "rename the file");
  // A file alone: what the compiler knows about it.
  if (!arguments.hasArg(OPT_emit) && options.emit == Emit::Diff && options.passes.empty() &&
      !options.fix && options.judge.empty() && options.reply.empty() && !options.listPasses)
    options.emit = Emit::Findings;
  checkCombinations(reader, options);
  checkSeveralInputs(reader, options);
  checkSearchOptions(reader, arguments, options);
  if (options.strategy.empty())
    options.strategy = options.minimalAgent ? "minimal" : "rollout";
  if (llvm::Error error = reader.takeError())
    return std::move(error);
  return options;
}
