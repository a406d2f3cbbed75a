//===- ClusterSubmit.cpp - Workers by Slurm -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what kb-opt says to sbatch and scancel. A worker is one task of a job
// array; a candidate is never a job of Slurm's.
//
//===----------------------------------------------------------------------===//
#include "ClusterCommand.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Installation.h"
#include "kb-opt/Support/Process.h"
#include "kbrt/WorkQueue.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;
using llvm::StringRef;

/// As one word of a shell.
static std::string quoted(StringRef word) {
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string kbopt::slurmScript(const ClusterOptions &options, StringRef kbRun) {
  std::string text = "#!/bin/bash\n#SBATCH --job-name=kb-opt\n#SBATCH --requeue\n";
  auto add = [&](const std::string &word) { text += "#SBATCH " + word + "\n"; };
  add("--array=1-" + std::to_string(options.workers));
  if (options.gpus)
    add("--gres=gpu:" + std::to_string(options.gpus));
  for (const auto &[name, value] :
       {std::pair("--partition=", options.partition), std::pair("--account=", options.account),
        std::pair("--time=", options.time)})
    if (!value.empty())
      add(name + value);
  for (const std::string &word : options.sbatchWords)
    add(word);
  // The worker takes the place of the shell, so that Slurm's signals reach it.
  text += "exec " + quoted(kbRun) + " serve " + quoted(options.url);
  if (options.gpus > 1)
    text += " -j" + std::to_string(options.gpus);
  if (!options.sandbox)
    text += " --unsafe-no-sandbox";
  return text + "\n";
}

static llvm::Expected<std::string> runSlurm(std::vector<std::string> words,
                                            std::string input = "") {
  ProcessRequest request;
  request.argv = std::move(words);
  request.standardInput = std::move(input);
  request.wallSeconds = 60;
  auto done = realProcessRunner().run(request);
  if (!done)
    return done.takeError();
  if (!done->succeeded())
    return llvm::make_error<ToolError>("'" + request.argv.front() + "' failed", request.argv,
                                       done->exitStatus, done->errorTail(),
                                       "see that Slurm takes jobs: sinfo");
  return StringRef(done->out).trim().str();
}

/// The setting that holds the numbers of jobs that were started.
static constexpr const char *jobsSetting = "slurm-jobs";

static llvm::Expected<std::string> knownJobs(const ClusterOptions &options,
                                             kbrt::Database &database) {
  kbrt::DatabaseFailure failure;
  auto rows =
      database.run("SELECT value FROM kbopt.settings WHERE name = $1", {jobsSetting}, failure);
  if (!rows)
    return databaseError(options, failure);
  return rows->empty() ? "" : rows->front().front().value_or("");
}

llvm::Error kbopt::submitWorkers(const ClusterOptions &options, kbrt::Database &database) {
  std::string kbRun = options.kbRun;
  if (kbRun.empty())
    kbRun = findKbRun().value_or("");
  if (kbRun.empty())
    return llvm::make_error<UsageError>("there is no kb-run beside kb-opt",
                                        "say where it is on the nodes: --kb-run=<path>");
  const std::string script = slurmScript(options, kbRun);
  if (!options.script.empty()) {
    if (llvm::Error error = realFileSystem().write(options.script, script))
      return error;
    llvm::outs() << "wrote " << options.script << "; start it with 'sbatch " << options.script
                 << "'\n";
    return llvm::Error::success();
  }
  auto number = runSlurm({"sbatch", "--parsable"}, script);
  if (!number)
    return number.takeError();
  auto known = knownJobs(options, database);
  if (!known)
    return known.takeError();
  const std::string job = StringRef(*number).split(';').first.str(); // "number;cluster"
  kbrt::DatabaseFailure failure;
  if (!kbrt::setQueueSetting(database, jobsSetting, known->empty() ? job : *known + " " + job,
                             failure))
    return databaseError(options, failure);
  llvm::outs() << "Slurm's job " << job << " starts " << options.workers
               << (options.workers == 1 ? " worker" : " workers") << "; 'kb-opt cluster stop "
               << options.url << "' ends them\n";
  return options.watch ? showCluster(options, database) : llvm::Error::success();
}

llvm::Error kbopt::stopCluster(const ClusterOptions &options, kbrt::Database &database) {
  kbrt::DatabaseFailure failure;
  auto stopped = kbrt::stopWorkers(database, options.host, failure);
  if (!stopped)
    return databaseError(options, failure);
  llvm::outs() << "asked " << *stopped << (*stopped == 1 ? " worker" : " workers")
               << " to stop after the job in hand\n";
  if (!options.host.empty())
    return llvm::Error::success();
  auto known = knownJobs(options, database);
  if (!known)
    return known.takeError();
  if (known->empty())
    return llvm::Error::success();
  // Jobs that wait never start; a worker in the middle of a job gives it back.
  std::vector<std::string> words = {"scancel"};
  llvm::SmallVector<StringRef> jobs;
  StringRef(*known).split(jobs, ' ');
  for (StringRef job : jobs)
    words.push_back(job.str());
  if (auto done = runSlurm(words); !done)
    return done.takeError();
  if (!kbrt::setQueueSetting(database, jobsSetting, "", failure))
    return databaseError(options, failure);
  llvm::outs() << "cancelled Slurm's jobs " << *known << "\n";
  return llvm::Error::success();
}
