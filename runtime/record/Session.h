//===- Session.h - One run under the recorder --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the mode, the backend, the error state and the end of the run: on
// every way out of the process, the plan is written with how it ended.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_SESSION_H
#define KBRT_RECORD_SESSION_H

#include "Allocations.h"
#include "Cuda.h"
#include "DeviceFacts.h"
#include "Sequence.h"
#include "kbrt/CpuRuntime.h" // DeviceLock
#include <atomic>
#include <memory>
#include <string>

namespace kbrt {

/// Memory of the program's own that cudaHostRegister has page-locked.
class RegisteredMemory {
public:
  /// False if some of it is registered already.
  bool add(const void *p, uint64_t bytes);
  /// False if none begins at \p p.
  bool remove(const void *p) { return ranges.erase(reinterpret_cast<uint64_t>(p)) != 0; }
  bool contains(const void *p) const;

private:
  std::map<uint64_t, uint64_t> ranges; ///< begin to bytes
};

/// One per process; never destroyed, because the program's own destructors may
/// still call CUDA. Used under `DeviceLock`.
class Session {
public:
  static Session &get();

  Sequence sequence;
  std::unique_ptr<Backend> backend;
  Allocations allocations;
  RegisteredMemory registered;
  /// Whether copies to or from \p p are made when the device comes to them.
  bool isPageLocked(const void *p);

  /// Loads the image of KBRECORD_IMAGE once; ends the process with a message if that cannot be
  /// done. Its variables are known to `allocations` from then on.
  void loadImage();
  /// The kernel that the host registered as \p name; null if the image has none.
  const DeviceKernel *findKernel(const std::string &name) {
    loadImage();
    return backend->findKernel(name);
  }

  /// The error that cudaGetLastError gives to this thread.
  static thread_local cuda::Error lastError;
  /// What the launch that is about to fail asked for.
  std::string failedLaunch;
  /// After a kernel went wrong every call returns this.
  cuda::Error stickyError = cuda::success;

  /// Notes \p error as the result of \p call and returns it.
  cuda::Error note(const char *call, cuda::Error error);
  /// A kernel went wrong: \p error sticks, and the outcome says \p message.
  void fault(cuda::Error error, const std::string &message);
  /// Writes the plan and ends the process at once with exit status 99, the
  /// message on stderr.
  [[noreturn]] void stop(Ending ending, const std::string &message);
  /// Writes the plan, once; later calls do nothing. In run mode the plan holds
  /// no steps, only how the run ended.
  void finish(Ending ending, const std::string &message);

  /// Simulated nanoseconds: the clock behind events, the same in every run of its pace.
  uint64_t deviceNanoseconds = 0;
  uint64_t clockPace = 1;
  /// Seconds that one kernel may take; 0 is no limit.
  double kernelSeconds = 0;

  /// Before each launch. Where the run has had as many as it may have, the device does nothing any
  /// more until the host has read what the launches before left; then the process ends with status
  /// 0.
  void countLaunch();
  [[noreturn]] void endOfRun();

  /// After the last launch that the run may have, what else changes the device waits: if another
  /// launch comes it never happens, because it prepares that launch. False if \p change, which
  /// writes to \p target, may be made now.
  bool holdBack(const void *target, std::function<void()> change);
  /// Makes the changes that wait. Before anything that could see them.
  void makeHeldChanges();

  /// A function of the program's on \p stream, which runs when the device comes to it.
  void addFunction(uint32_t stream, std::function<void()> function);
  /// What \p stream waits for happens now: its next operation needs what lies in host memory.
  void makeDueBefore(uint32_t stream);
  /// Runs the functions that are due. Outside `DeviceLock`, because they may wait for another
  /// thread.
  void runDue();
  /// Runs functions and shows what is hidden when no CUDA call has come for a while: the host may
  /// wait for them without one. In a thread of its own, which is started once.
  void startToCatchUpWhenQuiet();
  /// Until no function runs in a thread of its own.
  void waitForFunctions();

  /// A CUDA call has come.
  void noteCall() { ++calls; }

private:
  /// Ends the process when no CUDA call has come for `quietSeconds`; in a thread of its own, which
  /// is started once.
  void startToEndWhenQuiet();
  void endWhenQuiet();
  /// Sends the plan so far when no CUDA call has come for a while; in a thread of its own, which is
  /// started once.
  void startToDraftWhenQuiet();
  void draftWhenQuiet();
  void catchUpWhenQuiet();
  bool waitsForQuiet = false, waitsToDraft = false, catchesUp = false;
  std::atomic<unsigned> functionsOfThread = 0;
  std::atomic<uint64_t> calls = 0;
  double quietSeconds = 0;
  Session();
  std::unique_ptr<Backend> makeBackend();
  std::vector<DeviceVariable> variables;
  bool hasImage = false, finished = false;
  uint64_t launches = 0, launchLimit = 0;
  std::vector<std::function<void()>> held;
};

/// Runs \p body under the device lock, in a process without a sticky error, and
/// notes its result.
template <typename Body> cuda::Error apiCall(const char *name, Body body) {
  Session &session = Session::get();
  cuda::Error error;
  {
    DeviceLock lock;
    session.noteCall();
    if (session.stickyError)
      return session.note(name, session.stickyError);
    settleFacts();
    error = session.note(name, body(session));
  }
  session.runDue();
  return error;
}

} // namespace kbrt

#endif // KBRT_RECORD_SESSION_H
