//===- Process.h - Running other programs -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns child processes, their limits and the sandbox around them.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_PROCESS_H
#define KBOPT_SUPPORT_PROCESS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

/// What bubblewrap lets the child see: a read-only file system without the
/// home directory's contents, private /tmp and /run, no network. `writable` folders
/// are bound read-write, `readable` ones read-only (for inputs below /tmp or
/// the home directory).
struct Sandbox {
  std::vector<std::string> readable;
  std::vector<std::string> writable;
  /// /tmp and the home folder stay visible, read-only: a compiler reads headers
  /// from anywhere.
  bool seesAllFiles = false;
  /// NVIDIA's device files are there.
  bool seesGpus = false;
  /// Seen as empty, but for what of the other lists lies below.
  std::vector<std::string> hidden = {};
  /// A folder or file of this machine that the child sees elsewhere, in the place of what is there.
  struct Standin {
    std::string source, path;
    bool isWritable = false;
  };
  std::vector<Standin> standins = {};
};

/// What one run of a compiler may take: address space, and the largest file that it may
/// write. A text that needs more, a table of gigabytes say, is refused for it.
inline constexpr uint64_t compilerMemoryBytes = uint64_t{8} << 30,
                          compilerFileBytes = uint64_t{256} << 20;

/// One child process. A zero limit means no limit.
struct ProcessRequest {
  std::vector<std::string> argv; ///< argv[0] is looked up in PATH
  std::string workingDirectory;  ///< empty: the caller's
  std::string standardInput;
  /// "NAME=value" entries added to the caller's environment.
  std::vector<std::string> environment;
  double wallSeconds = 0;
  uint64_t cpuSeconds = 0;
  uint64_t memoryBytes = 0;         ///< address space (RLIMIT_AS)
  uint64_t fileBytes = 0;           ///< largest file the child may write (RLIMIT_FSIZE)
  uint64_t outputBytes = 64u << 20; ///< stdout and stderr beyond this are dropped
  std::optional<Sandbox> sandbox;
  /// What the process is for, in a few words for --time-passes; empty: its name.
  std::string purpose;
};

struct ProcessResult {
  int exitStatus = -1; ///< -1 if killed by a signal
  int signal = 0;
  bool timedOut = false;
  std::string out, err;
  double wallSeconds = 0;
  uint64_t peakMemoryBytes = 0;

  bool succeeded() const { return exitStatus == 0 && !timedOut; }
  /// "exit status 1", "signal 11 (segmentation fault)", "no end within 5 s".
  std::string describe() const;
  /// The last \p lines lines of stderr.
  std::string errorTail(unsigned lines = 20) const;
};

/// Interface so that engines are tested with scripted children. Thread-safe.
class ProcessRunner {
public:
  virtual ~ProcessRunner();
  /// Kills the child's whole process group at the wall limit and when the user
  /// interrupts kb-opt. What an interrupted child did says nothing about its
  /// program, so that there is no result then but the error of Interrupt.h.
  /// Fails otherwise with a `ToolError` only if the program cannot be started,
  /// or if a sandbox is asked for and there is none.
  virtual llvm::Expected<ProcessResult> run(const ProcessRequest &request) = 0;
};

ProcessRunner &realProcessRunner();

/// Path of \p program in PATH, or beside this executable.
std::optional<std::string> findProgram(llvm::StringRef program);

/// Whether bubblewrap is installed and can make a namespace here; the reason
/// if not.
llvm::Error checkSandbox(ProcessRunner &runner);

} // namespace kbopt

#endif // KBOPT_SUPPORT_PROCESS_H
