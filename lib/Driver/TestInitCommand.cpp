//===- TestInitCommand.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the subcommand `test-init`: the lit suite that it writes into the user's
// repository. The patches beside the tests are runs of this executable.
//
//===----------------------------------------------------------------------===//
#include "TestInitCommand.h"
#include "LockEntries.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace kbopt;
namespace path = llvm::sys::path;

static constexpr llvm::StringLiteral help =
    R"(usage: kb-opt test-init [--lock=<file>] [<folder>] [-- <compiler flags>]

Writes a lit suite: one test for each entry of the lock file (docs/TestingRewrites.md).

  --lock=<file>    The lock file (default: kbopt.lock in this folder or above, or in the sources of -p)
  -p <dir>         Folder with compile_commands.json
  --help           Print this text

<folder> is kbopt-tests beside the lock where none is named. Tests and patches there are written again;
a lit.cfg.py that is there stays. Run them with: lit -v <folder>
)";

static constexpr llvm::StringLiteral configuration =
    R"(# Written once by kb-opt test-init; change it as you like.
import os
import lit.formats

config.name = "kb-opt rewrites"
config.test_format = lit.formats.ShTest()
config.suffixes = [".test"]
for variable in ("PATH", "CUDA_PATH", "HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
here = os.path.dirname(os.path.abspath(__file__))
config.substitutions.append(("%root", os.path.normpath(os.path.join(here, "@ROOT@"))))
)";

namespace {

struct TestInitOptions {
  std::string lock, folder, databaseFolder;
  std::vector<std::string> flags;
  bool help = false;
};

/// A word of a shell command in a RUN line, where '%' means a substitution.
std::string quoted(llvm::StringRef word) {
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? "'\\''" : c == '%' ? "%%" : std::string(1, c);
  return text + "'";
}

} // namespace

static llvm::Expected<TestInitOptions> readOptions(llvm::ArrayRef<const char *> arguments) {
  TestInitOptions options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef word = arguments[i];
    if (word == "--") {
      options.flags.assign(arguments.begin() + i + 1, arguments.end());
      break;
    }
    if (word.consume_front("--lock="))
      options.lock = word.str();
    else if (word == "-p" && i + 1 < arguments.size())
      options.databaseFolder = arguments[++i];
    else if (word.consume_front("-p=") || (word.starts_with("-p") && word.consume_front("-p")))
      options.databaseFolder = word.str();
    else if (word == "--help" || word == "-h")
      options.help = true;
    else if (word.starts_with("-"))
      return llvm::make_error<UsageError>("unknown option '" + word.str() + "'",
                                          "see kb-opt test-init --help");
    else if (!options.folder.empty())
      return llvm::make_error<UsageError>(
          "more than one folder: '" + options.folder + "' and '" + word.str() + "'", "name one");
    else
      options.folder = word.str();
  }
  llvm::SmallString<128> lock(options.lock), folder(options.folder);
  llvm::sys::fs::make_absolute(lock);
  if (options.lock.empty())
    lock = lockOfBuild(options.databaseFolder);
  options.lock = lock.str().str();
  if (options.folder.empty()) {
    folder = path::parent_path(options.lock);
    path::append(folder, "kbopt-tests");
  }
  llvm::sys::fs::make_absolute(folder);
  path::remove_dots(folder, /*remove_dot_dot=*/true);
  options.folder = folder.str().str();
  return options;
}

/// "../.." from \p folder to the lock's folder \p root; the root itself where it is not above.
static std::string wayUp(llvm::StringRef folder, llvm::StringRef root) {
  std::string way;
  while (folder != root) {
    if (folder.empty() || folder == path::root_path(folder))
      return root.str();
    folder = path::parent_path(folder);
    way += way.empty() ? ".." : "/..";
  }
  return way.empty() ? "." : way;
}

/// "src_scale", and "src_scale-2" for the file's second entry.
static std::string nameOf(const LockEntry &entry, std::map<std::string, unsigned> &seen) {
  std::string name = llvm::StringRef(entry.file)
                         .take_front(entry.file.size() - path::extension(entry.file).size())
                         .str();
  for (char &c : name)
    if (!llvm::isAlnum(c) && c != '-' && c != '.')
      c = '_';
  const unsigned number = ++seen[name];
  return number == 1 ? name : name + "-" + std::to_string(number);
}

/// How \p entry is replayed from the lock's folder.
static std::vector<std::string> replay(const TestInitOptions &options, const LockEntry &entry) {
  std::vector<std::string> argv = {"-passes=" + entry.pipeline};
  const std::string replies = repliesBeside(path::filename(options.lock));
  if (llvm::sys::fs::is_directory(repliesBeside(options.lock)))
    argv.push_back("--replies=" + replies);
  if (!entry.time.chip.empty())
    argv.push_back("--chip=" + entry.time.chip);
  return argv;
}

static std::string testText(const TestInitOptions &options, const LockEntry &entry,
                            const std::string &name) {
  std::string rewrite, flags, build, target;
  if (!options.databaseFolder.empty())
    build = " -p " + quoted(nameInLock(options.databaseFolder, options.lock));
  if (!entry.target.empty())
    target = " --target=" + quoted(entry.target);
  for (const std::string &word : replay(options, entry))
    rewrite += " " + quoted(word);
  for (const std::string &flag : options.flags)
    flags += (flags.empty() ? " -- " : " ") + quoted(flag);
  const std::string file = quoted(entry.file);
  return "Written by kb-opt test-init from " + path::filename(options.lock).str() +
         ", which decides what is tested.\n\n" +
         "The entry is fresh: the rewrite still applies, and makes what was proven.\n" +
         "RUN: cd %root && kb-opt lock --check --lock=" + quoted(path::filename(options.lock)) +
         build + " " + file + flags + "\n\n" + "The patch is as committed.\n" +
         "RUN: cd %root && kb-opt --quiet" + rewrite + build + " " + file + flags +
         " > %t.patch\n" + "RUN: diff -u %S/" + name + ".patch %t.patch\n\n" +
         "The judge still accepts it.\n" + "RUN: cd %root && kb-opt --quiet" + rewrite + build +
         " -o %t.cu " + file + flags + "\n" +
         "RUN: cd %root && kb-opt verify --by-passes --promise=" + entry.promise + build + target +
         " " + file + " %t.cu" + flags + "\n";
}

/// The patch of \p entry as kb-opt prints it in the lock's folder.
static llvm::Expected<std::string> patchOf(const TestInitOptions &options, const LockEntry &entry,
                                           const std::string &executable) {
  ProcessRequest request;
  request.workingDirectory = path::parent_path(options.lock).str();
  request.argv = {executable, "--quiet"};
  llvm::append_range(request.argv, replay(options, entry));
  if (!options.databaseFolder.empty())
    llvm::append_range(request.argv, std::vector<std::string>{
                                         "-p", nameInLock(options.databaseFolder, options.lock)});
  request.argv.push_back(entry.file);
  if (!options.flags.empty()) {
    request.argv.push_back("--");
    llvm::append_range(request.argv, options.flags);
  }
  auto result = realProcessRunner().run(request);
  if (!result)
    return result.takeError();
  if (!result->succeeded())
    return llvm::make_error<ToolError>("cannot replay the entry of '" + entry.file + "'",
                                       request.argv, result->exitStatus, result->err,
                                       "kb-opt lock --check says whether it is fresh");
  return std::move(result->out);
}

static llvm::Expected<ExitStatus> writeSuite(const TestInitOptions &options,
                                             const std::string &executable) {
  FileSystem &files = realFileSystem();
  if (!files.exists(options.lock))
    return llvm::make_error<UsageError>(
        "there is no lock file '" + options.lock + "'",
        "name it with --lock, or write one: kb-opt -passes=auto --lock kernel.cu");
  auto lock = readLock(files, options.lock);
  if (!lock)
    return lock.takeError();
  if (llvm::Error error = files.createDirectories(options.folder))
    return std::move(error);
  auto put = [&](const std::string &name, llvm::StringRef bytes) {
    return files.write(options.folder + "/" + name, bytes);
  };
  std::string config = configuration.str();
  const llvm::StringRef place = "@ROOT@";
  config.replace(config.find(place), place.size(),
                 wayUp(options.folder, path::parent_path(options.lock)));
  for (const auto &[name, text] : {std::pair<std::string, std::string>("lit.cfg.py", config),
                                   {".gitignore", "Output/\n.lit_test_times.txt\n"}})
    if (!files.exists(options.folder + "/" + name))
      if (llvm::Error error = put(name, text))
        return std::move(error);
  std::map<std::string, unsigned> seen;
  for (const LockEntry &entry : lock->entries) {
    auto patch = patchOf(options, entry, executable);
    if (!patch)
      return patch.takeError();
    const std::string name = nameOf(entry, seen);
    if (llvm::Error error = llvm::joinErrors(put(name + ".patch", *patch),
                                             put(name + ".test", testText(options, entry, name))))
      return std::move(error);
  }
  llvm::outs() << options.folder << ": " << lock->entries.size()
               << (lock->entries.size() == 1 ? " test" : " tests") << "; run them with: lit -v "
               << options.folder << "\n";
  return ExitStatus::Success;
}

int kbopt::runTestInitCommand(llvm::ArrayRef<const char *> arguments) {
  auto options = readOptions(arguments);
  auto status = [&]() -> llvm::Expected<ExitStatus> {
    if (!options)
      return options.takeError();
    if (options->help) {
      llvm::outs() << help;
      return ExitStatus::Success;
    }
    static int anchor;
    return writeSuite(*options, llvm::sys::fs::getMainExecutable(nullptr, &anchor));
  }();
  return static_cast<int>(status ? *status
                                 : reportError(llvm::errs(), "kb-opt", status.takeError()));
}
