//===- Sandbox.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The walls: no network, no other processes, a read-only file system, private
// /tmp, /run and home directory, no keys. Limits are set by Process.cpp.
//
//===----------------------------------------------------------------------===//
#include "Sandbox.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Secrets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace kbopt;

static const char *const installNote =
    "install the package 'bubblewrap', or pass --unsafe-no-sandbox to run candidates without walls";

/// NVIDIA's device files, by name; WSL has one of its own.
static std::vector<std::string> gpuFiles() {
  std::vector<std::string> files;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator entry("/dev", code), end; !code && entry != end;
       entry.increment(code)) {
    llvm::StringRef name = llvm::sys::path::filename(entry->path());
    if (name.starts_with("nvidia") || name == "dxg")
      files.push_back(entry->path());
  }
  llvm::sort(files);
  return files;
}

/// Where \p path is mounted: no mount can be made on a link, such as a toolkit's /usr/local/cuda,
/// and where the link is seen, it leads to what it leads to. In the folders \p emptied links are
/// not seen.
static std::string mountPoint(const std::string &path, llvm::ArrayRef<std::string> emptied) {
  for (const std::string &folder : emptied)
    if (path == folder || llvm::StringRef(path).starts_with(folder + "/"))
      return path;
  llvm::SmallString<128> real;
  return llvm::sys::fs::real_path(path, real) ? path : real.str().str();
}

/// What is mounted over the read-only file system: folders before what lies in them, and one thing
/// in one place.
static void addMounts(const Sandbox &sandbox, llvm::ArrayRef<std::string> emptied,
                      std::vector<std::string> &args) {
  struct Mount {
    std::string path;
    std::vector<std::string> words;
  };
  std::vector<Mount> mounts;
  for (const Sandbox::Standin &one : sandbox.standins)
    mounts.push_back({one.path, {one.isWritable ? "--bind" : "--ro-bind", one.source, one.path}});
  auto bind = [&](const char *option, const std::string &path) {
    std::string place = mountPoint(path, emptied);
    mounts.push_back({place, {option, path, place}});
  };
  for (const std::string &path : sandbox.writable)
    bind("--bind", path);
  for (const std::string &path : sandbox.readable)
    bind("--ro-bind", path);
  for (const std::string &path : sandbox.hidden)
    mounts.push_back({path, {"--tmpfs", path}});
  auto depth = [](const Mount &mount) {
    return llvm::count_if(
        llvm::make_range(llvm::sys::path::begin(mount.path), llvm::sys::path::end(mount.path)),
        [](llvm::StringRef part) { return part != "." && part != "/"; });
  };
  std::map<long, std::vector<Mount>> byDepth;
  for (Mount &mount : mounts)
    byDepth[depth(mount)].push_back(std::move(mount));
  llvm::StringSet<> seen;
  for (auto &[level, all] : byDepth)
    for (Mount &mount : all)
      if (seen.insert(mount.path).second)
        llvm::append_range(args, mount.words);
}

llvm::Expected<std::vector<std::string>> kbopt::sandboxedArguments(const ProcessRequest &request) {
  auto bubblewrap = findProgram("bwrap");
  if (!bubblewrap)
    return llvm::make_error<ToolError>("no sandbox: cannot find 'bwrap' in PATH",
                                       std::vector<std::string>{"bwrap"}, -1, "", installNote);
  std::vector<std::string> args = {*bubblewrap,
                                   "--unshare-all",
                                   "--die-with-parent",
                                   "--new-session",
                                   "--ro-bind",
                                   "/",
                                   "/",
                                   "--dev",
                                   "/dev",
                                   "--proc",
                                   "/proc"};
  std::vector<std::string> emptied;
  llvm::SmallString<128> home;
  if (!request.sandbox->seesAllFiles) {
    emptied.push_back("/tmp");
    if (llvm::sys::path::home_directory(home) && llvm::sys::fs::is_directory(home) && home != "/")
      emptied.push_back(home.str().str());
    // Sockets of services lie in /run; a file system that cannot be written to does not close
    // them. NVIDIA's own are among them.
    if (!request.sandbox->seesGpus && llvm::sys::fs::is_directory("/run"))
      emptied.push_back("/run");
  }
  for (const std::string &folder : emptied)
    args.insert(args.end(), {"--tmpfs", folder});
  // The new /dev hides the machine's shared memory, where a user's temporary folder may lie.
  if (request.sandbox->seesAllFiles)
    args.insert(args.end(), {"--ro-bind-try", "/dev/shm", "/dev/shm"});
  auto bind = [&](const char *option, const std::string &folder) {
    args.insert(args.end(), {option, folder, folder});
  };
  if (request.sandbox->seesGpus)
    for (const std::string &file : gpuFiles())
      bind("--dev-bind-try", file);
  addMounts(*request.sandbox, emptied, args);
  // Where the home folder or /tmp are emptied, it is not there.
  const std::string recordings = mountPoint(recordingsDirectory(), emptied);
  if (llvm::sys::fs::is_directory(recordings) &&
      llvm::none_of(emptied, [&](llvm::StringRef folder) {
        return llvm::StringRef(recordings).starts_with((folder + "/").str());
      }))
    args.insert(args.end(), {"--tmpfs", recordings});
  if (std::string keys = defaultKeyFile(); llvm::sys::fs::exists(keys))
    args.insert(args.end(), {"--ro-bind", "/dev/null", keys});
  if (!request.workingDirectory.empty())
    args.insert(args.end(), {"--chdir", request.workingDirectory});
  args.push_back("--");
  args.insert(args.end(), request.argv.begin(), request.argv.end());
  return args;
}

llvm::Error kbopt::checkSandbox(ProcessRunner &runner) {
  ProcessRequest request;
  request.argv = {"true"};
  request.sandbox = Sandbox{};
  request.wallSeconds = 10;
  auto result = runner.run(request);
  if (!result)
    return result.takeError();
  if (result->succeeded())
    return llvm::Error::success();
  return llvm::make_error<ToolError>("no sandbox: bubblewrap cannot make a namespace here",
                                     std::vector<std::string>{"bwrap"}, result->exitStatus,
                                     result->errorTail(), installNote);
}
