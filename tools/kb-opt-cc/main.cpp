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
};

/// What became of one source.
struct Replacement {
  string original, rewritten, lock;
};

} // namespace

static void warn(const string &text) { fprintf(stderr, "kb-opt-cc: warning: %s\n", text.c_str()); }

static string environment(const char *name) {
  const char *value = ::getenv(name);
  return value ? value : "";
}

static bool isFile(const string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

static string absolute(const string &path) {
  if (!path.empty() && path[0] == '/')
    return path;
  char here[PATH_MAX];
  return string(::getcwd(here, sizeof here) ? here : ".") + "/" + path;
}

/// \p path without "." and "..", which must not be followed through the file system: kb-opt takes
/// them off in the text, too.
static string cleaned(const string &path) {
  std::vector<string> parts;
  for (size_t at = 0; at < path.size();) {
    size_t end = path.find('/', at);
    string part = path.substr(at, end == string::npos ? end : end - at);
    at = end == string::npos ? path.size() : end + 1;
    if (part == ".." && !parts.empty())
      parts.pop_back();
    else if (!part.empty() && part != "." && part != "..")
      parts.push_back(part);
  }
  string result;
  for (const string &part : parts)
    result += "/" + part;
  return result;
}

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

/// The nearest kbopt.lock above \p file; empty if there is none.
static string lockAbove(const string &file) {
  for (string folder = folderOf(file); !folder.empty();) {
    string lock = (folder == "/" ? "" : folder) + "/kbopt.lock";
    if (isFile(lock))
      return lock;
    if (folder == "/")
      break;
    folder = folderOf(folder);
  }
  return "";
}

/// \p file as the lock names it: relative to the lock's folder.
static string nameInLock(const string &file, const string &lock) {
  string folder = folderOf(lock) + "/";
  size_t common = 0;
  for (size_t i = 0; i < folder.size() && i < file.size() && folder[i] == file[i]; ++i)
    if (folder[i] == '/')
      common = i + 1;
  string name;
  for (size_t i = common; i < folder.size(); ++i)
    if (folder[i] == '/')
      name += "../";
  return name + file.substr(common);
}

/// Whether \p text, a lock, may have an entry for \p name. The names of files stand on lines of
/// their own.
static bool mentions(const string &text, const string &name) {
  for (size_t at = 0; (at = text.find("file:", at)) != string::npos; ++at) {
    size_t begin = text.find_first_not_of(" '\"", at + 5);
    if (begin != string::npos && text.compare(begin, name.size(), name) == 0) {
      size_t end = begin + name.size();
      if (end == text.size() || strchr("\r\n'\" ", text[end]))
        return true;
    }
  }
  return false;
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

/// \p text as a makefile writes a file's name.
static string escaped(string_view text) {
  string result;
  for (char c : text)
    result += c == ' ' || c == '#' ? string("\\") + c : c == '$' ? string("$$") : string(1, c);
  return result;
}

/// Puts originals in the place of what was compiled, and adds the locks.
static void mendDependencies(const string &file, const std::vector<Replacement> &replaced,
                             const std::vector<string> &locks) {
  string text;
  if (!readFile(file, text))
    return;
  for (const Replacement &each : replaced)
    for (const string &name : {escaped(each.rewritten), each.rewritten})
      for (size_t at = 0; (at = text.find(name, at)) != string::npos;
           at += escaped(each.original).size())
        text.replace(at, name.size(), escaped(each.original));
  size_t colon = text.find(": ");
  if (colon == string::npos)
    return;
  string added;
  for (const string &lock : locks)
    added += " " + escaped(lock) + " \\\n ";
  text.insert(colon + 1, added);
  if (!writeFile(file, text))
    warn("cannot add the lock to '" + file + "'");
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

static int run(std::vector<string> words) {
  Settings settings;
  if (!readSettings(words, settings)) {
    fprintf(stderr, "kb-opt-cc: error: stale is handled as 'warn', 'error' or 'ignore'\n");
    return 2;
  }
  if (words.empty()) {
    fprintf(stderr,
            "usage: kb-opt-cc [--lock=FILE] [--stale=warn|error|ignore] <compiler> <arguments>\n");
    return 2;
  }
  const Command command = readCommand(words);
  if (command.sources.empty() || command.isForDependencies || environment("KBOPT_DISABLE") == "1")
    become(words);
  std::vector<Replacement> replaced;
  std::vector<string> locks;
  for (size_t source : command.sources) {
    const string &file = command.expanded[source];
    const string path = cleaned(absolute(file));
    string lock = settings.lock.empty() ? lockAbove(path) : cleaned(absolute(settings.lock)), text,
           reason;
    if (lock.empty())
      continue;
    if (!isFile(lock)) {
      warn("there is no lock file '" + lock + "'; '" + file + "' is compiled as it is");
      continue;
    }
    if (locks.empty() || locks.back() != lock)
      locks.push_back(lock);
    if (!readFile(lock, text) || !mentions(text, nameInLock(path, lock)))
      continue;
    // A folder of its own: includes of files that happen to lie beside the object must not find
    // those.
    const string beside =
        command.output.empty() || command.sources.size() > 1
            ? (command.output.empty() ? "" : folderOf(command.output) + "/") + fileOf(file)
            : command.output;
    const string into = beside + ".kbopt/" + fileOf(file);
    if (rewrite(command, source, lock, into, reason)) {
      replaced.push_back({file, into, lock});
      continue;
    }
    reason = "'" + file + "' is stale in '" + lock + "': " + reason;
    if (settings.stale == Stale::Error) {
      fprintf(stderr,
              "kb-opt-cc: error: %s\nkb-opt-cc: note: kb-opt lock --prove judges it again\n",
              reason.c_str());
      return 1;
    }
    if (settings.stale == Stale::Warn)
      warn(reason + "; the original is compiled");
  }
  if (replaced.empty() && (locks.empty() || command.dependencyFile.empty()))
    become(words);
  int status = 0;
  string messages;
  if (!replaced.empty()) {
    status = runAndWait(withReplacements(command, replaced), &messages, STDERR_FILENO);
    // What an interrupted compiler says is of no interest; nor is what it says of a rewrite that
    // does not compile.
    if (status == 0 || status >= 128)
      fputs(messages.c_str(), stderr);
    if (status >= 128)
      return status;
  }
  if (replaced.empty() || status != 0) {
    const int original = runAndWait(words, nullptr);
    if (original == 0 && status != 0)
      warn("the rewritten '" + replaced.front().rewritten + "' does not compile (" +
           firstError(messages) + "); the original is compiled");
    status = original;
    replaced.clear();
  }
  if (status == 0 && !command.dependencyFile.empty())
    mendDependencies(command.dependencyFile, replaced, locks);
  return status;
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
