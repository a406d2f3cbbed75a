//===- main.cpp - kb-opt-cc: a compiler launcher --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   kb-opt-cc [--lock=FILE] [--stale=warn|error|ignore] nvcc -c kernel.cu -o kernel.o
//
// Runs the command. Where a lock file has an entry for the source, the compiler
// gets the rewritten file, if kb-opt says that the entry is fresh. Whatever goes
// wrong here, the command that was given runs. docs/Launcher.md is the manual.
//
//===----------------------------------------------------------------------===//
#include "Command.h"
#include "Dependencies.h"
#include "LockText.h"
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace kboptcc;
using std::string;
using std::string_view;

namespace {

enum class Stale { Warn, Error, Ignore };

struct Settings {
  string lock; ///< empty: the nearest one above the source
  Stale stale = Stale::Warn;
  /// Whether objects depend on the lock. Otherwise the build knows the entries of its sources by
  /// itself, from files that --write-entries makes.
  bool dependsOnLock = true;
  bool writesEntries = false;
};

/// A source that a lock is responsible for.
struct LockedSource {
  size_t index; ///< among the expanded words
  string lock;
  string entries; ///< what the lock says of it; empty: nothing
};

} // namespace

[[noreturn]] static void become(const std::vector<string> &words) {
  std::vector<char *> arguments;
  for (const string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  fprintf(stderr, "kb-opt-cc: error: cannot run '%s': %s\n", arguments[0], strerror(errno));
  ::_exit(127);
}

/// Runs \p words; its exit status, or 128 and its signal. With \p out what it writes to \p stream
/// goes there.
static int runAndWait(const std::vector<string> &words, string *out, int stream = STDOUT_FILENO) {
  int ends[2] = {-1, -1};
  if (out && ::pipe2(ends, O_CLOEXEC) != 0)
    return 127;
  fflush(stderr);
  pid_t child = ::fork();
  if (child < 0)
    return 127;
  if (child == 0) {
    if (out)
      ::dup2(ends[1], stream);
    become(words);
  }
  if (out) {
    ::close(ends[1]);
    char block[4096];
    ssize_t count;
    while ((count = ::read(ends[0], block, sizeof block)) > 0 || (count < 0 && errno == EINTR))
      out->append(block, count > 0 ? count : 0);
    ::close(ends[0]);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// kb-opt itself: what the environment names, beside this executable, or in PATH.
static string findKbOpt() {
  if (string named = environment("KBOPT"); !named.empty())
    return named;
  char self[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", self, sizeof self - 1);
  if (length > 0) {
    string beside = folderOf(string(self, length)) + "/kb-opt";
    if (::access(beside.c_str(), X_OK) == 0)
      return beside;
  }
  return "kb-opt";
}

/// kb-opt's answer for one source: the rewritten file, or nothing and a reason.
static bool rewrite(const Command &command, size_t source, const string &lock, const string &into,
                    string &reason) {
  const string folder = folderOf(into);
  ::mkdir(folderOf(folder).c_str(), 0777);
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    reason = "cannot create '" + folder + "': " + strerror(errno);
    return false;
  }
  const string &file = command.expanded[source];
  std::vector<string> words{findKbOpt(),
                            "lock",
                            "--apply=" + into,
                            "--lock=" + lock,
                            file,
                            "--",
                            command.isClang ? "clang++" : "nvcc"};
  for (size_t i = 1; i < command.expanded.size(); ++i)
    if (i != source)
      words.push_back(command.expanded[i]);
  words.push_back("-x");
  words.push_back(command.isClang ? "cuda" : "cu");
  reason.clear();
  const int status = runAndWait(words, &reason);
  while (!reason.empty() && reason.back() == '\n')
    reason.pop_back();
  if (status == 0 && isFile(into))
    return true;
  if (status != 1 || reason.empty())
    reason = "kb-opt failed" + (status ? " with status " + std::to_string(status) : string());
  return false;
}

/// The first line of \p messages that names an error.
static string firstError(const string &messages) {
  size_t at = messages.find("error");
  if (at == string::npos)
    return "without a reason";
  size_t begin = messages.rfind('\n', at) + 1;
  return messages.substr(begin, messages.find('\n', at) - begin);
}

/// The command with the rewritten files in the place of the originals, and with the originals'
/// folders where #include "…" begins to look.
static std::vector<string> withReplacements(const Command &command,
                                            const std::vector<Replacement> &replaced) {
  std::vector<string> words = command.words;
  auto replaceIn = [&](std::vector<string> &list) {
    unsigned count = 0;
    for (string &word : list)
      for (const Replacement &each : replaced)
        if (word == each.original) {
          word = each.rewritten;
          ++count;
        }
    return count;
  };
  if (replaceIn(words) < replaced.size()) { // a source that a response file names
    size_t launchers = 0;
    while (launchers < command.words.size() && command.words[launchers] != command.expanded[0])
      ++launchers;
    words.assign(command.words.begin(), command.words.begin() + launchers);
    std::vector<string> rest = command.expanded;
    replaceIn(rest);
    words.insert(words.end(), rest.begin(), rest.end());
  }
  for (const Replacement &each : replaced) {
    string folder = folderOf(each.original);
    if (command.isClang)
      words.insert(words.end(), {"-iquote", folder});
    else if (folder.find_first_of(", \t'\"\\") == string::npos) // nvcc takes these apart
      words.insert(words.end(), {"-Xcompiler=-iquote," + folder});
    else
      words.insert(words.end(), {"-I", folder});
  }
  return words;
}

/// What was asked of the launcher itself; the words that follow are the command.
static bool readSettings(std::vector<string> &words, Settings &settings) {
  settings.lock = environment("KBOPT_LOCK");
  string stale = environment("KBOPT_STALE");
  size_t own = 0;
  for (; own < words.size() && words[own].starts_with("--"); ++own) {
    if (words[own].starts_with("--lock="))
      settings.lock = words[own].substr(7);
    else if (words[own].starts_with("--stale="))
      stale = words[own].substr(8);
    else if (words[own] == "--no-lock-dependency")
      settings.dependsOnLock = false;
    else if (words[own] == "--write-entries")
      settings.writesEntries = true;
    else
      break;
  }
  words.erase(words.begin(), words.begin() + own);
  if (stale == "error")
    settings.stale = Stale::Error;
  else if (stale == "ignore")
    settings.stale = Stale::Ignore;
  else if (!stale.empty() && stale != "warn")
    return false;
  return true;
}

/// The compiler of this name in PATH that is not this executable: it was called by a link named
/// like the compiler.
static string behind(const string &name) {
  char self[PATH_MAX], each[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", self, sizeof self - 1);
  const string own(self, length > 0 ? length : 0), path = environment("PATH");
  for (size_t at = 0; at <= path.size();) {
    size_t end = path.find(':', at);
    string candidate = path.substr(at, end == string::npos ? end : end - at) + "/" + name;
    at = end == string::npos ? path.size() + 1 : end + 1;
    if (::access(candidate.c_str(), X_OK) == 0 && ::realpath(candidate.c_str(), each) &&
        own != each)
      return candidate;
  }
  return "";
}

static std::vector<LockedSource> findLocks(const Command &command, const Settings &settings) {
  std::vector<LockedSource> sources;
  for (size_t index : command.sources) {
    const string &file = command.expanded[index];
    const string path = cleaned(absolute(file));
    string lock = settings.lock.empty() ? lockAbove(path) : cleaned(absolute(settings.lock)), text;
    if (lock.empty())
      continue;
    if (!isFile(lock)) {
      warn("there is no lock file '" + lock + "'; '" + file + "' is compiled as it is");
      continue;
    }
    readFile(lock, text);
    sources.push_back({index, lock, entriesOf(text, path, lock)});
  }
  return sources;
}

/// Where the rewritten source goes: a folder of its own, as includes of files that happen to lie
/// beside the object must not find those.
static string placeFor(const Command &command, const string &file) {
  const bool isAlone = !command.output.empty() && command.sources.size() == 1;
  const string folder = command.output.empty() ? "" : folderOf(command.output) + "/";
  return (isAlone ? command.output : folder + fileOf(file)) + ".kbopt/" + fileOf(file);
}

/// Compiles with \p replaced in the place of the originals, or as it was asked where that fails;
/// then \p replaced is empty.
static int compile(const Command &command, std::vector<Replacement> &replaced) {
  string messages;
  if (!replaced.empty()) {
    const int status = runAndWait(withReplacements(command, replaced), &messages, STDERR_FILENO);
    // What an interrupted compiler says is of no interest; nor is what it says of a rewrite that
    // does not compile.
    if (status == 0 || status >= 128)
      fputs(messages.c_str(), stderr);
    if (status == 0 || status >= 128)
      return status;
  }
  const int status = runAndWait(command.words, nullptr);
  if (status == 0 && !replaced.empty())
    warn("the rewritten '" + replaced.front().rewritten + "' does not compile (" +
         firstError(messages) + "); the original is compiled");
  replaced.clear();
  return status;
}

/// Runs \p command with what the locks say of its sources.
static int launch(const Command &command, const Settings &settings) {
  const std::vector<LockedSource> sources = findLocks(command, settings);
  std::vector<string> locks;
  string entries;
  for (const LockedSource &source : sources) {
    entries += source.entries;
    if (settings.dependsOnLock && (locks.empty() || locks.back() != source.lock))
      locks.push_back(source.lock);
  }
  const bool hasList = !locks.empty() && !command.dependencyFile.empty();
  const Record record(command, locks, entries);
  if (hasList && record.renew())
    return 0;
  std::vector<Replacement> replaced;
  size_t wanted = 0;
  for (const LockedSource &source : sources) {
    if (source.entries.empty())
      continue;
    ++wanted;
    const string &file = command.expanded[source.index];
    const string into = placeFor(command, file);
    string reason;
    if (rewrite(command, source.index, source.lock, into, reason)) {
      replaced.push_back({file, into});
      continue;
    }
    reason = "'" + file + "' is stale in '" + source.lock + "': " + reason;
    if (settings.stale == Stale::Error) {
      fprintf(stderr,
              "kb-opt-cc: error: %s\nkb-opt-cc: note: kb-opt lock --prove judges it again\n",
              reason.c_str());
      return 1;
    }
    if (settings.stale == Stale::Warn)
      warn(reason + "; the original is compiled");
  }
  if (replaced.empty() && !hasList)
    become(command.words);
  record.drop();
  const int status = compile(command, replaced);
  if (status != 0 || command.dependencyFile.empty())
    return status;
  mendDependencies(command.dependencyFile, replaced, locks);
  // What did not go as the lock says is tried again next time.
  if (hasList && replaced.size() == wanted)
    record.keep();
  return 0;
}

/// Writes what the lock says of each of \p sources to the file named after it, unless that stands
/// there: what depends on the file is made again where an entry has changed, and not the lock.
static int writeEntries(const Settings &settings, const std::vector<string> &words) {
  const string lock = cleaned(absolute(settings.lock));
  string text;
  if (settings.lock.empty() || words.size() % 2 != 0 || !readFile(lock, text)) {
    fprintf(stderr, "kb-opt-cc: error: cannot read the lock '%s'\n%s", settings.lock.c_str(),
            "usage: kb-opt-cc --lock=<lock> --write-entries <source> <file>...\n");
    return 2;
  }
  for (size_t i = 0; i < words.size(); i += 2) {
    const string entries = entriesOf(text, cleaned(absolute(words[i])), lock);
    string before;
    if (readFile(words[i + 1], before) && before == entries)
      continue;
    if (!writeFile(words[i + 1], entries)) {
      fprintf(stderr, "kb-opt-cc: error: cannot write '%s': %s\n", words[i + 1].c_str(),
              strerror(errno));
      return 3;
    }
  }
  return 0;
}

static int run(std::vector<string> words) {
  Settings settings;
  if (!readSettings(words, settings)) {
    fprintf(stderr, "kb-opt-cc: error: stale is handled as 'warn', 'error' or 'ignore'\n");
    return 2;
  }
  if (settings.writesEntries)
    return writeEntries(settings, words);
  if (words.empty()) {
    fprintf(stderr,
            "usage: kb-opt-cc [--lock=FILE] [--stale=warn|error|ignore] <compiler> <arguments>\n");
    return 2;
  }
  const Command command = readCommand(words);
  if (command.sources.empty() || command.isForDependencies || environment("KBOPT_DISABLE") == "1")
    become(words);
  return launch(command, settings);
}

int main(int argc, char **argv) {
  std::vector<string> words(argv + 1, argv + argc);
  const string name = argc > 0 ? fileOf(argv[0]) : "kb-opt-cc";
  if (name.find("kb-opt-cc") == string::npos) {
    string compiler = behind(name);
    if (compiler.empty()) {
      fprintf(stderr, "kb-opt-cc: error: no other '%s' in PATH\n", name.c_str());
      return 127;
    }
    words.insert(words.begin(), compiler);
  }
  return run(std::move(words));
}
