//===- ClusterCommand.cpp - kb-opt cluster --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ClusterCommand.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kbrt/DatabaseSchema.h"
#include "kbrt/WorkQueue.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;
using llvm::StringRef;

static constexpr llvm::StringLiteral help =
    R"(usage: kb-opt cluster init|submit|status|stop <postgresql://...> [options]

Workers on many machines take jobs from a PostgreSQL database (docs/Cluster.md). A search uses them
with --device=postgresql://..., a worker is 'kb-run serve postgresql://...'. Passwords come from
~/.pgpass or PGPASSFILE, never from the command line.

  init               Make the tables, or bring them to this release; the roles kbopt_worker and
                     kbopt_search, where the user may
    --blobs=<dir>      Keep large files in a folder that all machines see
    --blob-bytes=<n>   From that size on (default 1048576)
    --keep-bytes=<n>   Forget files that were not used for longest beyond that (default 64 GiB)
  submit             Start workers by Slurm: writes a script for sbatch and hands it over
    --workers=<n>      So many (default 1), as a job array
    --gpus=<n>         GPUs of each (default 1; 0: the CPU device alone)
    --partition=<name>, --account=<name>, --time=<limit>
                       As sbatch takes them
    --sbatch=<word>    One more option of sbatch (repeatable)
    --kb-run=<path>    On the nodes (default: the one beside kb-opt)
    --script=<file>    Write the script there, and do not run it
    --watch            Show the status until you press Ctrl-C; the workers go on
    --unsafe-no-sandbox
                       Pass it to the workers: nodes without bubblewrap
  status             Workers, queue, rate, the oldest job, failures by reason
    --json             As one JSON object
    --watch            Again every two seconds
  stop               Let workers end after their job, and cancel what submit has started
    --host=<name>      Those of one machine alone

Exit status: 0 done, 2 usage, 3 the database, Slurm or a file cannot be used.
)";

llvm::Error kbopt::databaseError(const ClusterOptions &options,
                                 const kbrt::DatabaseFailure &failure) {
  return llvm::make_error<StoreError>("database '" + options.url + "': " + failure.message,
                                      failure.note);
}

static llvm::Error usageError(const std::string &message) {
  return llvm::make_error<UsageError>(message, "see kb-opt cluster --help");
}

/// Reads \p word as one of the options of \p options.verb.
static llvm::Error readOption(StringRef word, ClusterOptions &options) {
  const std::string whole = word.str();
  auto number = [&](unsigned &into, unsigned least) -> llvm::Error {
    if (word.getAsInteger(10, into) || into < least)
      return usageError("'" + whole + "' needs a number from " + std::to_string(least) + " on");
    return llvm::Error::success();
  };
  auto bytes = [&](std::string &into) -> llvm::Error {
    uint64_t value = 0;
    into = word.str();
    return word.getAsInteger(10, value) ? usageError("'" + whole + "' needs a number of bytes")
                                        : llvm::Error::success();
  };
  const bool isInit = options.verb == "init", isSubmit = options.verb == "submit",
             isStatus = options.verb == "status", isStop = options.verb == "stop";
  if (isInit && word.consume_front("--blobs="))
    options.blobFolder = word.str();
  else if (isInit && word.consume_front("--blob-bytes="))
    return bytes(options.blobBytes);
  else if (isInit && word.consume_front("--keep-bytes="))
    return bytes(options.keepBytes);
  else if (isSubmit && word.consume_front("--workers="))
    return number(options.workers, 1);
  else if (isSubmit && word.consume_front("--gpus="))
    return number(options.gpus, 0);
  else if (isSubmit && word.consume_front("--partition="))
    options.partition = word.str();
  else if (isSubmit && word.consume_front("--account="))
    options.account = word.str();
  else if (isSubmit && word.consume_front("--time="))
    options.time = word.str();
  else if (isSubmit && word.consume_front("--sbatch="))
    options.sbatchWords.push_back(word.str());
  else if (isSubmit && word.consume_front("--kb-run="))
    options.kbRun = word.str();
  else if (isSubmit && word.consume_front("--script="))
    options.script = word.str();
  else if (isSubmit && word == "--unsafe-no-sandbox")
    options.sandbox = false;
  else if ((isSubmit || isStatus) && word == "--watch")
    options.watch = true;
  else if (isStatus && word == "--json")
    options.json = true;
  else if (isStop && word.consume_front("--host="))
    options.host = word.str();
  else
    return usageError("'kb-opt cluster " + options.verb + "' has no option '" + whole + "'");
  return llvm::Error::success();
}

static llvm::Expected<ClusterOptions> readOptions(llvm::ArrayRef<const char *> arguments) {
  ClusterOptions options;
  options.verb = arguments.front();
  if (!llvm::is_contained({"init", "submit", "status", "stop"}, options.verb))
    return usageError("'kb-opt cluster' has no command '" + options.verb + "'");
  for (StringRef word : arguments.drop_front()) {
    if (!word.starts_with("-") && options.url.empty())
      options.url = word.str();
    else if (llvm::Error error = readOption(word, options))
      return std::move(error);
  }
  if (options.url.empty())
    return usageError("'kb-opt cluster " + options.verb + "' needs the address of a database");
  kbrt::DatabaseFailure failure;
  if (!kbrt::checkDatabaseUrl(options.url, failure))
    return llvm::make_error<UsageError>(failure.message, failure.note);
  return options;
}

static llvm::Error initCluster(const ClusterOptions &options, kbrt::Database &database) {
  if (!options.blobFolder.empty()) {
    if (!llvm::sys::path::is_absolute(options.blobFolder))
      return usageError("'--blobs=" + options.blobFolder + "' is no absolute path");
    if (llvm::Error error = realFileSystem().createDirectories(options.blobFolder))
      return error;
  }
  kbrt::DatabaseFailure failure;
  std::vector<std::string> notes;
  if (!kbrt::migrateDatabase(database, notes, failure))
    return databaseError(options, failure);
  for (const auto &[name, value] :
       {std::pair("blob-folder", options.blobFolder), std::pair("blob-bytes", options.blobBytes),
        std::pair("keep-bytes", options.keepBytes)})
    if (!value.empty() && !kbrt::setQueueSetting(database, name, value, failure))
      return databaseError(options, failure);
  for (const std::string &note : notes)
    llvm::errs() << "kb-opt: note: " << note << "\n";
  llvm::outs() << "the database has schema version " << kbrt::databaseSchemaVersion()
               << "; start workers with 'kb-run serve " << options.url << "'\n";
  return llvm::Error::success();
}

static llvm::Error runVerb(const ClusterOptions &options) {
  kbrt::Database database(options.url);
  if (options.verb == "init")
    return initCluster(options, database);
  kbrt::DatabaseFailure failure;
  if (!kbrt::checkDatabaseSchema(database, failure))
    return databaseError(options, failure);
  if (options.verb == "submit")
    return submitWorkers(options, database);
  return options.verb == "stop" ? stopCluster(options, database) : showCluster(options, database);
}

int kbopt::runClusterCommand(llvm::ArrayRef<const char *> arguments) {
  if (llvm::is_contained(arguments, StringRef("--help")) ||
      llvm::is_contained(arguments, StringRef("-h"))) {
    llvm::outs() << help;
    return static_cast<int>(ExitStatus::Success);
  }
  llvm::Expected<ClusterOptions> options =
      arguments.empty() ? usageError("'kb-opt cluster' needs a command: init, submit, status, stop")
                        : readOptions(arguments);
  llvm::Error error = options ? runVerb(*options) : options.takeError();
  return static_cast<int>(error ? reportError(llvm::errs(), "kb-opt", std::move(error))
                                : ExitStatus::Success);
}
