//===- kb-knowledge.cpp - Look at and combine what was learnt -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the table of verbs with their help, and main.
//
//===----------------------------------------------------------------------===//
#include "Verbs.h"
#include "kb-opt/Support/FileSystem.h"
#include "kbrt/Database.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace kbopt;

static const Verb verbs[] = {
    {"show",
     "[STATE]",
     0,
     1,
     "what is believed about a bottleneck, best optimizations first",
     R"(Without STATE: all states with their codes, and the refinements that were
discovered. STATE is a name, a code such as UNC, or either with a refinement
behind a slash.

  kb-knowledge show UNC --chip=a100
)",
     {"--chip", "--device", "--kernel-shape", "--after", "--limit", "--knowledge", "--json"},
     runShow},
    {"explain",
     "STATE",
     1,
     1,
     "what would be tried in a state, and why",
     R"(For each of the best optimizations: what the prediction is made of (prior,
evidence with its weight, edges), the chance in the draw if all of them applied,
lessons with the evidence they rest on, what failed before, and the reply of the
best attempt.

  kb-knowledge explain UNC --kernel-shape=elementwise --after=unroll-loop
)",
     {"--chip", "--device", "--kernel-shape", "--after", "--limit", "--knowledge", "--json"},
     runExplain},
    {"fold",
     "[LOG...]",
     0,
     ~0u,
     "evidence logs as statistics and lessons, as JSON",
     R"(The same set of records gives the same bytes, whatever the order and the split.
Below 50 KB: rows with least behind them are left out and counted in `leftOut`.

  kb-knowledge fold -o folded.json
)",
     {"-o"},
     runFold},
    {"diff",
     "LOG LOG",
     2,
     2,
     "what one log knows and another does not",
     R"(Lines start with - (only the first), + (only the second) or ~ (both, with other
figures). Exit status 1 where there is a difference.

  kb-knowledge diff before.jsonl after.jsonl
)",
     {"--json"},
     runDiff},
    {"merge",
     "TARGET SOURCE...",
     1,
     ~0u,
     "unite logs: the first gets what it lacks of the others",
     R"(Appended in one write: on a full disk TARGET stays as it was. Merging is set union
by the records' names, so order and repetition make no difference. A TARGET that
does not exist is made. Recipes of folders are merged, too, by their examples.

  kb-knowledge merge ~/.local/share/kb-opt/knowledge other-machine.jsonl
)",
     {},
     runMerge},
    {"import",
     "TARGET FILE...",
     2,
     ~0u,
     "name records that something else than a search made",
     R"(Each line of FILE is a record as docs/Knowledge.md lists its fields, without `id`
and `v`: measurements of one's own become evidence. Either all of them are added
to TARGET, or none.

  kb-knowledge import ~/.local/share/kb-opt/knowledge measured.jsonl
)",
     {},
     runImport},
    {"schedules",
     "[LOG...]",
     0,
     ~0u,
     "how well evidence orders schedules, program by program",
     R"(The schedules that were tried of each kernel, in the order that the records of all
other programs give, against the order of the model: the best time over that of
the first, the same of the best of four, how many are tried until one is within
5 % of the best, and the rank correlation of places and times. With --program also
each schedule, and whose records spoke.

  kb-knowledge schedules --program=2f
)",
     {"--program", "--json"},
     runSchedules},
    {"verify",
     "[LOG...]",
     0,
     ~0u,
     "check every line, the seed and the devices",
     R"(A line is named by its content, so a changed byte is found. Findings that rest on
attempts which are in none of the logs are told; they are no fault.
Exit status 1 where a line is no record.
)",
     {"--json"},
     runVerify},
    {"transfer",
     "",
     0,
     0,
     "what evidence of one chip predicts for another",
     R"(A table: what was seen on the one, how far it counts on the other, and what it
predicts there with the seed as prior. Nothing is written: evidence of a chip is
only ever what was tried on it.

  kb-knowledge transfer --from a100 --to h200
)",
     {"--from", "--to", "--knowledge", "--json"},
     runTransfer},
    {"export",
     "[LOG...]",
     0,
     ~0u,
     "trajectories as JSON lines for training",
     R"(One line per attempt as a supervised pair (state and action, outcome) and one as a
step with reward and credit that names the step before it; the schema is
docs/schemas/trajectory.schema.json.

  kb-knowledge export --only=steps -o steps.jsonl
)",
     {"--only", "-o"},
     runExport},
    {"prune",
     "[LOG]",
     0,
     1,
     "drop what a log says twice",
     R"(Leaves out repeated experiments on the deterministic CPU device, unless a finding
of this log rests on them, and doubled records. What is folded of the log is the
same before and after, which is verified before the log is replaced; the old one
is kept beside it as LOG.bak. Merge first where findings of other logs may rest
on attempts of this one.
)",
     {"--dry-run", "--json"},
     runPrune},
};

void kbopt::report(llvm::ArrayRef<BadLine> bad) {
  for (const BadLine &line : bad)
    llvm::errs() << "kb-knowledge: warning: " << line.file << ":" << line.line
                 << ": not a record, skipped and kept in the file: " << line.reason << "\n";
}

std::string kbopt::logNamed(llvm::StringRef word) {
  if (word.empty())
    return evidenceLog(userKnowledgeDirectory());
  return llvm::sys::fs::is_directory(word) ? evidenceLog(word) : word.str();
}

llvm::Expected<EvidenceSet> kbopt::readLog(const std::string &path, std::vector<BadLine> &bad) {
  if (!kbrt::isDatabaseUrl(path) && !realFileSystem().exists(path))
    return llvm::make_error<UsageError>(
        "no evidence log '" + path + "'",
        "kb-opt -passes=auto writes one; name it, or leave it out for the user's own");
  return readEvidence(realFileSystem(), path, bad);
}

llvm::Expected<EvidenceSet> kbopt::readLogs(llvm::ArrayRef<std::string> words) {
  std::vector<std::string> named = words.empty() ? std::vector<std::string>{""} : words.vec();
  EvidenceSet all;
  std::vector<BadLine> bad;
  for (const std::string &word : named) {
    llvm::Expected<EvidenceSet> set = readLog(logNamed(word), bad);
    if (!set)
      return set.takeError();
    all.merge(*set);
  }
  report(bad);
  return all;
}

llvm::Expected<ExitStatus> kbopt::writeResult(llvm::StringRef text, llvm::StringRef path) {
  if (!path.empty()) {
    if (llvm::Error error = realFileSystem().write(path, text))
      return std::move(error);
    return ExitStatus::Success;
  }
  llvm::raw_fd_ostream &out = llvm::outs();
  out << text;
  out.flush();
  if (!out.has_error())
    return ExitStatus::Success;
  std::string reason = out.error().message();
  out.clear_error();
  return llvm::make_error<StoreError>("cannot write the result: " + reason);
}

llvm::Expected<ExitStatus> kbopt::writeJson(llvm::json::Value value) {
  return writeResult(llvm::formatv("{0:2}\n", value).str());
}

std::string kbopt::percent(double logGain) {
  return llvm::formatv("{0:f1} %", 100 * std::expm1(logGain));
}

std::string kbopt::counted(size_t number, llvm::StringRef what) {
  return std::to_string(number) + " " + what.str() + (number == 1 ? "" : "s");
}

int main(int argc, char **argv) {
  auto fail = [](llvm::Error error) {
    return static_cast<int>(reportError(llvm::errs(), "kb-knowledge", std::move(error)));
  };
  if (argc > 1 && (llvm::StringRef(argv[1]) == "recipes" || llvm::StringRef(argv[1]) == "recipe"))
    return runRecipes(argc, argv);
  Arguments arguments;
  std::string help;
  llvm::raw_string_ostream helpStream(help);
  llvm::Expected<const Verb *> verb =
      readCommandLine(llvm::ArrayRef(argv + 1, argc - 1), verbs, arguments, helpStream);
  if (!verb)
    return fail(verb.takeError());
  llvm::Expected<ExitStatus> status = *verb ? (*verb)->run(arguments) : writeResult(help);
  return status ? static_cast<int>(*status) : fail(status.takeError());
}
