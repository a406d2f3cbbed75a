//===- LockCommand.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the subcommand `lock`: its options and what it does with each file of a
// lock. Proving and searching again are runs of this executable with --lock.
//
//===----------------------------------------------------------------------===//
#include "LockCommand.h"
#include "LockEntries.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace kbopt;
namespace path = llvm::sys::path;

static constexpr llvm::StringLiteral help =
    R"(usage: kb-opt lock [--check | --prove | --update] [options] [<file.cu>...] [-- <compiler flags>]

Says whether the rewrites in a lock file still hold (docs/Lock.md).

  --check          Replay and compare; no GPU, no judge (default)
  --prove          Judge what is in the lock again, and renew what is stale but still correct
  --update         Search again for what is stale; other options are passed on to the search
  --lock=<file>    The lock file (default: kbopt.lock in this folder or above, or in the sources of -p)
  -p <dir>         Folder with compile_commands.json (default: the nearest one)
  --target=<name>  With --prove and --update: the program of the build to run (default: the entry's)
  --help           Print this text

Without files, all files of the lock. An entry is removed by deleting its lines.
Exit status: 0 all fresh, 1 something is stale or refused, 2 usage.
)";

namespace {

enum class LockVerb { Check, Prove, Update, Apply };

struct LockOptions {
  LockVerb verb = LockVerb::Check;
  std::string lock, databaseFolder;
  std::string applyTo; ///< --apply
  std::vector<std::string> files, passedOn;
  std::optional<std::vector<std::string>> flags;
  bool help = false;
};

/// One file of a lock.
struct LockedFile {
  std::string name, path;
};

class LockRun {
public:
  LockRun(LockOptions options, std::string executable)
      : options(std::move(options)), executable(std::move(executable)) {}
  llvm::Expected<ExitStatus> run();

private:
  llvm::Expected<std::vector<LockedFile>> chosenFiles() const;
  llvm::Expected<LockState> look(const LockedFile &file, llvm::StringRef shown);
  llvm::Expected<bool> treat(const LockedFile &file);
  llvm::Expected<bool> runAgain(const LockedFile &file, const LockEntry &entry,
                                const std::string &passes);
  llvm::Error dropOtherFlags(const LockedFile &file);
  llvm::Expected<ExitStatus> apply();

  LockOptions options;
  std::string executable;
  LockFile lock;
  FileSystem &files = realFileSystem();
};

} // namespace

static llvm::Expected<LockOptions> readOptions(llvm::ArrayRef<const char *> arguments) {
  LockOptions options;
  unsigned verbs = 0;
  auto verb = [&](LockVerb which) {
    options.verb = which;
    ++verbs;
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef word = arguments[i];
    if (word == "--") {
      options.flags.emplace(arguments.begin() + i + 1, arguments.end());
      break;
    }
    if (word == "--check")
      verb(LockVerb::Check);
    else if (word == "--prove")
      verb(LockVerb::Prove);
    else if (word == "--update")
      verb(LockVerb::Update);
    else if (word.consume_front("--apply=")) {
      verb(LockVerb::Apply);
      options.applyTo = word.str();
    } else if (word.consume_front("--lock="))
      options.lock = word.str();
    else if (word == "-p" && i + 1 < arguments.size())
      options.databaseFolder = arguments[++i];
    else if (word.consume_front("-p=") || (word.starts_with("-p") && word.consume_front("-p")))
      options.databaseFolder = word.str();
    else if (word == "--help" || word == "-h")
      options.help = true;
    else if (word.starts_with("-"))
      options.passedOn.push_back(word.str());
    else
      options.files.push_back(word.str());
  }
  if (verbs > 1)
    return llvm::make_error<UsageError>("'--check', '--prove' and '--update' exclude each other",
                                        "choose one");
  if (!options.passedOn.empty() && options.verb != LockVerb::Update &&
      options.verb != LockVerb::Prove)
    return llvm::make_error<UsageError>("unknown option '" + options.passedOn.front() + "'",
                                        "see kb-opt lock --help");
  return options;
}

llvm::Expected<std::vector<LockedFile>> LockRun::chosenFiles() const {
  llvm::StringRef folder = path::parent_path(options.lock);
  std::vector<LockedFile> chosen;
  for (const LockEntry &entry : lock.entries) {
    if (!chosen.empty() && chosen.back().name == entry.file)
      continue;
    llvm::SmallString<128> file(folder);
    path::append(file, entry.file);
    path::remove_dots(file, /*remove_dot_dot=*/true);
    chosen.push_back({entry.file, file.str().str()});
  }
  if (options.files.empty())
    return chosen;
  std::vector<LockedFile> named;
  for (const std::string &file : options.files) {
    const std::string name = nameInLock(file, options.lock);
    auto found = llvm::find_if(chosen, [&](const LockedFile &each) { return each.name == name; });
    if (found == chosen.end())
      return llvm::make_error<UsageError>("'" + file + "' is not in '" + options.lock + "'",
                                          "kb-opt -passes=auto --lock " + file + " puts it there");
    named.push_back(*found);
  }
  return named;
}

/// \p file, which messages call \p shown, against the lock as it was read.
llvm::Expected<LockState> LockRun::look(const LockedFile &file, llvm::StringRef shown) {
  LockState state;
  if (!llvm::sys::fs::exists(file.path)) {
    state.reason = "there is no such file";
    return state;
  }
  Progress progress(llvm::errs(), false, /*quiet=*/true);
  Context context(progress, llvm::outs(), llvm::errs());
  context.options.input = shown.str();
  context.options.flags = options.flags;
  context.options.databaseFolder = options.databaseFolder;
  context.options.lockFile = options.lock;
  if (llvm::Error error = openInput(context))
    return std::move(error);
  return replayLocked(context, lock, file.name);
}

/// This executable on \p file, which has \p entry, with `--lock`; whether it put an entry there.
llvm::Expected<bool> LockRun::runAgain(const LockedFile &file, const LockEntry &entry,
                                       const std::string &passes) {
  ProcessRequest request;
  request.argv = {executable, "-passes=" + passes, "--lock=" + options.lock,
                  "-o",       "/dev/null",         file.path};
  if (!options.databaseFolder.empty())
    request.argv.insert(request.argv.end(), {"-p", options.databaseFolder});
  if (!entry.target.empty() && !llvm::any_of(options.passedOn, [](llvm::StringRef word) {
        return word.ltrim('-').starts_with("target=");
      }))
    request.argv.push_back("--target=" + entry.target); // another program runs it otherwise
  request.argv.insert(request.argv.end(), options.passedOn.begin(), options.passedOn.end());
  if (options.flags) {
    request.argv.push_back("--");
    request.argv.insert(request.argv.end(), options.flags->begin(), options.flags->end());
  }
  auto result = realProcessRunner().run(request);
  if (!result)
    return result.takeError();
  llvm::errs() << result->err;
  return result->exitStatus == int(ExitStatus::Success) ||
         result->exitStatus == int(ExitStatus::Budget);
}

/// A file with one entry whose flags have changed gets another one: the first is of no use any
/// more.
llvm::Error LockRun::dropOtherFlags(const LockedFile &file) {
  auto ofFile = [&](const LockEntry &entry) { return entry.file == file.name; };
  if (llvm::count_if(lock.entries, ofFile) != 1)
    return llvm::Error::success();
  auto now = readLock(files, options.lock);
  if (!now)
    return now.takeError();
  const LockEntry before = *llvm::find_if(lock.entries, ofFile);
  if (llvm::count_if(now->entries, ofFile) != 2)
    return llvm::Error::success();
  llvm::erase_if(now->entries, [&](const LockEntry &entry) {
    return ofFile(entry) && entry.flags == before.flags &&
           entry.architectures == before.architectures;
  });
  return files.write(options.lock, now->text());
}

/// Does to \p file what the verb asks and says it in one line; whether it is fresh in the end.
llvm::Expected<bool> LockRun::treat(const LockedFile &file) {
  auto say = [&](const llvm::Twine &what) { llvm::outs() << file.name << ": " << what << "\n"; };
  auto state = look(file, file.path);
  if (!state)
    return state.takeError();
  if (options.verb == LockVerb::Check || (options.verb == LockVerb::Update && state->isFresh)) {
    say(state->isFresh ? "fresh" : "stale: " + state->reason);
    return state->isFresh;
  }
  if (!llvm::sys::fs::exists(file.path)) {
    say("stale: " + state->reason);
    return false;
  }
  const LockEntry entry =
      *llvm::find_if(lock.entries, [&](const LockEntry &each) { return each.file == file.name; });
  auto ran = runAgain(file, entry, options.verb == LockVerb::Prove ? entry.pipeline : "auto");
  if (!ran)
    return ran.takeError();
  if (llvm::Error error = dropOtherFlags(file))
    return std::move(error);
  auto now = readLock(files, options.lock);
  if (!now)
    return now.takeError();
  lock = std::move(*now);
  auto after = look(file, file.path);
  if (!after)
    return after.takeError();
  const bool isDone = *ran && after->isFresh;
  const char *verb = options.verb == LockVerb::Prove ? "proven" : "updated";
  say(isDone                            ? verb
      : options.verb == LockVerb::Prove ? "not proven"
                                        : "stale: the search found nothing that is proven");
  return isDone;
}

/// Writes the rewritten file for kb-opt-cc. What it prints on stdout is the reason why it does not.
llvm::Expected<ExitStatus> LockRun::apply() {
  if (options.files.size() != 1)
    return llvm::make_error<UsageError>("'--apply' takes one file");
  const std::string &file = options.files.front();
  llvm::SmallString<128> absolute(file);
  llvm::sys::fs::make_absolute(absolute);
  auto state = look({nameInLock(file, options.lock), absolute.str().str()}, file);
  if (!state) { // the compiler that runs next says more
    llvm::outs() << llvm::StringRef(llvm::toString(state.takeError())).split('\n').first << "\n";
    return ExitStatus::Diagnostics;
  }
  if (!state->isFresh) {
    llvm::outs() << state->reason << "\n";
    return ExitStatus::Diagnostics;
  }
  if (llvm::Error error = files.write(options.applyTo, state->lines))
    return std::move(error);
  return ExitStatus::Success;
}

llvm::Expected<ExitStatus> LockRun::run() {
  if (options.lock.empty())
    options.lock = lockOfBuild(options.databaseFolder);
  llvm::SmallString<128> absolute(options.lock);
  llvm::sys::fs::make_absolute(absolute);
  options.lock = absolute.str().str();
  if (!files.exists(options.lock))
    return llvm::make_error<UsageError>(
        "there is no lock file '" + options.lock + "'",
        "name it with --lock, or write one: kb-opt -passes=auto --lock kernel.cu");
  auto read = readLock(files, options.lock);
  if (!read)
    return read.takeError();
  lock = std::move(*read);
  if (options.verb == LockVerb::Apply)
    return apply();
  auto chosen = chosenFiles();
  if (!chosen)
    return chosen.takeError();
  bool areFresh = true;
  for (const LockedFile &file : *chosen) {
    auto isFresh = treat(file);
    if (!isFresh) { // one file that does not parse does not hide the others
      llvm::outs() << file.name << ": stale: it cannot be read\n";
      reportError(llvm::errs(), "kb-opt", isFresh.takeError());
    }
    areFresh &= isFresh && *isFresh;
  }
  if (!areFresh && options.verb == LockVerb::Check) {
    const std::string build = options.databaseFolder.empty() ? "" : " -p " + options.databaseFolder;
    llvm::errs() << "kb-opt: note: kb-opt lock --prove" << build
                 << " judges what is stale again, kb-opt lock --update" << build
                 << " searches again\n";
  }
  return areFresh ? ExitStatus::Success : ExitStatus::Diagnostics;
}

int kbopt::runLockCommand(llvm::ArrayRef<const char *> arguments) {
  auto options = readOptions(arguments);
  auto status = [&]() -> llvm::Expected<ExitStatus> {
    if (!options)
      return options.takeError();
    if (options->help) {
      llvm::outs() << help;
      return ExitStatus::Success;
    }
    static int anchor;
    return LockRun(std::move(*options), llvm::sys::fs::getMainExecutable(nullptr, &anchor)).run();
  }();
  return static_cast<int>(status ? *status
                                 : reportError(llvm::errs(), "kb-opt", status.takeError()));
}
