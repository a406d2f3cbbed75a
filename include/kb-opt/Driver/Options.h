//===- Options.h - What the user asked for ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the command line of kb-opt as a value. The table is Options.td.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_DRIVER_OPTIONS_H
#define KBOPT_DRIVER_OPTIONS_H

#include "kb-opt/Eval/Comparator.h"
#include "kb-opt/LLM/Settings.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

enum class Emit {
  Diff,
  Source,
  KbIr,
  KbNest,
  Schedules,
  Plan,
  LaunchMap, ///< of the files that --judge names; for tests of kb-opt
  Job,
  Workload,
  Profile,
  ProfileJson,
  Anchors,
  Findings,
  FindingsYaml,
  FindingsJson,
  Sarif
};

/// Where programs are executed and times come from.
enum class DeviceKind {
  Cpu,     ///< the CPU device; times are modelled
  Cuda,    ///< a GPU of this machine
  Spool,   ///< a GPU that a `kb-run serve` answers for
  Cluster, ///< workers behind a database: their GPUs, else their CPU devices
};

struct Options {
  std::string input;                    ///< "-": stdin
  std::vector<std::string> moreInputs;  ///< the same is done for each of them
  std::string passes;                   ///< empty: none; "auto": search
  std::vector<std::string> passFolders; ///< of passes beside the built-in ones
  Emit emit = Emit::Diff;               ///< with -o the source is the default
  std::string output;                   ///< empty or "-": stdout
  std::vector<std::string> judge;       ///< files to judge; empty: none
  std::optional<Promise> promise;       ///< of that file, or the weakest of a search
  bool judgedByPasses = false;          ///< that file is what passes made
  std::string reply;                    ///< a file with an answer to apply; empty: none
  bool fix = false;
  bool backup = false;  ///< --fix keeps the input as <file>.orig
  bool lock = false;    ///< what is proven goes into a lock file
  std::string lockFile; ///< empty: the nearest one
  bool printPipeline = false;
  bool listPasses = false;

  /// What follows `--`; an empty list counts as given.
  std::optional<std::vector<std::string>> flags;
  std::string databaseFolder;
  std::string entry;  ///< of --emit=workload; empty: the first that can be called
  std::string object; ///< whose command the database is asked for; empty: the first of the file
  std::string target; ///< a program of the build; empty: the first that has the file
  std::optional<std::string> arch;
  std::string workload;
  DeviceKind device = DeviceKind::Cpu;
  std::string cards; ///< of this machine: empty: the first; "all"; or "0,2"
  std::string spoolFolder;
  std::string clusterUrl;     ///< of the database
  std::string clusterDevice;  ///< "cpu" or "cuda"; empty: what workers have
  bool clusterHasGpu = false; ///< decided when the session is opened
  std::string chip;           ///< empty: the device's, without one the h200

  std::string strategy; ///< "rollout" where not given
  unsigned trajectories = 10, steps = 10;
  bool crossover = false;               ///< in rollout, too
  bool memory = true, profile = true;   ///< SearchOptions, likewise
  bool shippedKnowledge = true;         ///< evidence and recipes that come with kb-opt
  StepRoles roles = StepRoles::Compose; ///< of one step, where a model is asked
  bool sketches = true;                 ///< whole schedules are tried before single steps
  bool newRecipes = true;               ///< what a search proves becomes a recipe, where it can
  bool minimalAgent = false;            ///< the strategy "minimal"
  uint64_t budgetCandidates = 0;        ///< 0: no limit
  double budgetSeconds = 0;             ///< 0: no limit
  uint64_t seed = 0;
  unsigned jobs = 0;                 ///< 0: one per core
  uint64_t compileCacheMiB = 2048;   ///< 0: compiles are not kept
  uint64_t recordingCacheMiB = 8192; ///< likewise
  std::string knowledgeDirectory, journalPath;
  std::string repliesFolder; ///< empty: in the knowledge folder

  std::optional<ProviderSpec> llm; ///< nothing: the settings file's, without one off
  std::string llmModel, llmConfig, llmBaseUrl, llmRecord, llmPrices;
  BudgetLimits llmBudget; ///< no seconds: those are of the whole search

  std::string remarksFile, reportFile;
  std::string depfile;           ///< file for what the result depends on; empty: none
  bool warningsAsErrors = false; ///< --analyze fails where it finds something
  bool timePasses = false;
  std::string timeTrace; ///< file for what ran when; empty: none
  int64_t bisectLimit = -1;
  bool verbose = false; ///< each candidate has a line of its own
  bool quiet = false;
  bool sandbox = true;
  bool help = false, version = false;

  bool hasGpu() const {
    return device == DeviceKind::Cluster ? clusterHasGpu : device != DeviceKind::Cpu;
  }
  bool isAuto() const { return passes == "auto"; }
};

/// Parses \p arguments (without argv[0]). Errors are `UsageError`s that name
/// the argument and, for an unknown option, the nearest one.
/// With \p verifies of `kb-opt verify`: inputs behind the first are files to judge.
llvm::Expected<Options> parseOptions(llvm::ArrayRef<const char *> arguments, bool verifies = false);

/// All programs that are named.
std::vector<std::string> inputsOf(const Options &options);

/// The settings of models: those of `--llm-config`, and over them what \p options say themselves.
/// The provider is `Off` unless one of them names another.
llvm::Expected<ModelSettings> modelSettings(const Options &options, FileSystem &files);

/// The options that begin with \p prefix, a line for each: spelling, tab, help.
void printCompletions(llvm::raw_ostream &os, llvm::StringRef prefix);

/// The text of --help.
void printHelp(llvm::raw_ostream &os);

} // namespace kbopt

#endif // KBOPT_DRIVER_OPTIONS_H
