// SPDX-License-Identifier: Apache-2.0
//
// The one table of kb-opt's options: parsing, help, spelling suggestions.
include "llvm/Option/OptParser.td"

class Flag_<string name, string help> : Flag<["--", "-"], name>, HelpText<help>;
class Value<string name, string metavar, string help>
    : Joined<["--", "-"], name # "=">, MetaVarName<metavar>, HelpText<help>;

def group_what : OptionGroup<"what">, HelpText<"WHAT TO DO">;
let Group = group_what in {
def passes : Value<"passes", "<pipeline>", "Run this pipeline, or 'auto' to search for one">;
def : Separate<["--", "-"], "passes">, Alias<passes>;
def emit : Value<"emit", "<kind>", "diff (default without -o), source, kb-ir, kb-nest, schedules, plan, job, workload, profile, profile-json, anchors, findings, findings-yaml, findings-json, sarif">;
def o : JoinedOrSeparate<["-"], "o">, MetaVarName<"<file>">, HelpText<"Write the rewritten program (or what --emit says) there">;
def profile : Flag_<"profile", "Print where the program's time goes: --emit=profile">, Alias<emit>, AliasArgs<["profile"]>;
def analyze : Flag_<"analyze", "Print the compiler's findings, and rewrite nothing: --emit=findings">, Alias<emit>, AliasArgs<["findings"]>;
def judge : Value<"judge", "<file>", "Judge this file as a rewrite of the input: every gate (repeatable); see kb-opt verify --help">;
def promise : Value<"promise", "<promise>", "What a search may change at most, or the files of --judge: bitwise, reassociates, lower-precision">;
// Passes made the files of --judge: code that they guard may be executed in no case.
def by_passes : Flag<["--", "-"], "by-passes">;
def reply : Value<"reply", "<file>", "Apply this answer (JSON) for the pass and kernel that -passes names, and keep it">;
def fix : Flag_<"fix", "Write the rewritten program back to the input file; --backup keeps that as <file>.orig">;
def backup : Flag<["--", "-"], "backup">;
def lock : Flag_<"lock", "Keep what is proven in the nearest kbopt.lock, or in that of --lock=<file> (docs/Lock.md)">;
def lock_file : Joined<["--", "-"], "lock=">, MetaVarName<"<file>">;
def print_pipeline : Flag_<"print-pipeline", "Print the pipeline that was run, to stderr">;
def pass_dir : Value<"pass-dir", "<dir>", "Read more passes from there: folders with a pass.yaml (repeatable)">;
def list_passes : Flag_<"list-passes", "List the passes with their options">;
}

def group_input : OptionGroup<"input">, HelpText<"HOW THE PROGRAM IS BUILT AND RUN">;
let Group = group_input in {
def p : JoinedOrSeparate<["-"], "p">, MetaVarName<"<dir>">, HelpText<"Folder with compile_commands.json (default: the nearest one)">;
def object : Joined<["--", "-"], "object=">, MetaVarName<"<file>">;
def target : Value<"target", "<program>", "Program of that build to run (default: the first that has the file)">;
def arch : Value<"arch", "<sm_NN>", "GPU architecture (default: the flags', the device's, else sm_90)">;
def workload : Value<"workload", "<file>", "How to exercise the program (default: kb-workload comment, or main)">;
def entry : Value<"entry", "<function>", "Function or kernel that --emit=workload describes (default: the first)">;
def device : Value<"device", "<name>", "cpu (default), cuda, cuda:all, cuda:0,2, spool:<dir> or postgresql://... for kb-runs elsewhere">;
def chip : Value<"chip", "<name>", "Chip that times are modelled for (default: the device's, else h200)">;
}

def group_search : OptionGroup<"search">, HelpText<"SEARCH (-passes=auto)">;
let Group = group_search in {
def strategy : Value<"strategy", "<name>", "rollout (default), tree, beam or minimal (a model alone)">;
def trajectories : Value<"trajectories", "<n>", "Trajectories of the search (default 10)">;
def steps : Value<"steps", "<n>", "Steps of a trajectory (default 10)">;
// Cross winners in rollout, too; tree and beam do (docs/Search.md).
def crossover : Flag<["--", "-"], "crossover">;
def budget_candidates : Value<"budget-candidates", "<n>", "Judge at most n candidates">;
def budget_seconds : Value<"budget-seconds", "<s>", "Stop after s seconds, with the best so far">;
def seed : Value<"seed", "<n>", "Seed of every draw (default 0)">;
def j : JoinedOrSeparate<["-"], "j">, MetaVarName<"<n>">, HelpText<"Work on n candidates at once (default: all cores)">;
def replies : Value<"replies", "<dir>", "Where models' replies are kept (default: 'replies' in the knowledge folder)">;
def knowledge : Value<"knowledge", "<dir>", "Where evidence is kept (default: the user's data folder), or postgresql://...">;
def journal : Value<"journal", "<file>", "Where effects are kept (default: the user's cache folder), or postgresql://...">;
def compile_cache : Value<"compile-cache-size", "<MiB>", "Keep at most so much of what compilers made, for later runs (default 2048; 0: none)">;
def recordings_size : Value<"recordings-size", "<MiB>", "Keep at most so much of the recorded runs of programs, for later runs (default 8192; 0: none)">;
def no_shipped_knowledge : Flag_<"no-shipped-knowledge", "Do without the evidence and the recipes that come with kb-opt">;
def no_memory : Flag_<"no-memory", "Start with the seed alone, without evidence, and learn nothing on the way">;
// Ablations (docs/Search.md).
def no_profile : Flag<["--", "-"], "no-profile">;
def no_sketches : Flag<["--", "-"], "no-sketches">;
def no_new_recipes : Flag<["--", "-"], "no-new-recipes">;
// Ask one role for whole kernels, without choice, repair or knowledge (docs/Search.md).
def minimal_agent : Flag<["--", "-"], "minimal-agent">;
}

def group_model : OptionGroup<"model">, HelpText<"LANGUAGE MODEL (docs/Model.md)">;
let Group = group_model in {
def llm : Value<"llm", "<provider>", "off (default), openai, anthropic, command:<cmd>, mailbox:<dir>, replay:<file>">;
def roles : Value<"roles", "<names>", "Roles that write a step: compose (default), or plan-code, a planner and then a coder">;
def llm_model : Value<"llm-model", "<name>", "The model of all roles for which --llm-config names none">;
def llm_config : Value<"llm-config", "<file>", "Settings per role, time limits, budgets, keys (YAML or JSON)">;
def llm_base_url : Value<"llm-base-url", "<url>", "A service that speaks like openai or anthropic">;
def llm_record : Value<"llm-record", "<file>", "Append every question and reply, for --llm=replay:<file>">;
def llm_prices : Value<"llm-prices", "<file>", "US dollars per million tokens, by model (docs/Cost.md)">;
def budget_dollars : Value<"budget-dollars", "<x>", "Spend at most x US dollars on the model">;
def budget_tokens : Value<"budget-tokens", "<n>", "Use at most n tokens of the model">;
def budget_calls : Value<"budget-calls", "<n>", "Ask the model at most n times">;
}

def group_report : OptionGroup<"report">, HelpText<"REPORTS AND DEBUGGING">;
let Group = group_report in {
def report : Value<"report", "<file.html>", "Write the search as one page (figures alone: <file.json>)">;
def depfile : Joined<["--", "-"], "depfile=">, MetaVarName<"<file>">;
def warnings_as_errors : Flag<["--", "-"], "warnings-as-errors">;
def remarks : Value<"remarks-file", "<file>", "Write remarks as LLVM YAML">;
def time_passes : Flag_<"time-passes", "Print where the time went, to stderr">;
def time_trace : Value<"time-trace", "<file>", "Write what ran when, for Perfetto or chrome://tracing">;
def bisect : Value<"opt-bisect-limit", "<n>", "Perform at most n rewrites">;
def quiet : Flag_<"quiet", "Print results and errors only">;
def verbose : Flag_<"verbose", "Print every candidate of a search, and where answers came from (-v)">;
def v : Flag<["-"], "v">, Alias<verbose>;
def unsafe : Flag_<"unsafe-no-sandbox", "Run the program and its candidates without walls">;
def help : Flag_<"help", "Print this text">;
def h : Flag<["-"], "h">, Alias<help>;
def version : Flag_<"version", "Print the version">;
}
