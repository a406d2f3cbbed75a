//===- Machine.h - state of the running launch ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the one process-wide Machine: which kernel, block and thread run, the
// fibers of the block, and the way out of a kernel that goes wrong. Internal to
// the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_MACHINE_H
#define KBRT_MACHINE_H

#include "Fiber.h"
#include "kbrt/CpuRuntime.h"
#include "kbrt/DeviceAbi.h"
#include <csetjmp>
#include <csignal>
#include <vector>

namespace kbrt {

inline constexpr unsigned maxThreads = 1024, maxWarps = 32, barrierCount = 16;

enum class FiberState : uint8_t {
  Fresh, ///< not started
  Ready, ///< in the queue
  Running,
  AtBarrier,    ///< waits in kbrt_barrier
  AtMbarrier,   ///< waits for a phase of an mbarrier
  AtWarpOp,     ///< waits for lanes of its mask
  AtActiveMask, ///< waits until its warp has no other lane to run
  Done,
};

/// What a lane brings to a warp operation. Operations meet if mask, kind and detail agree.
enum class WarpOpKind : uint8_t { Sync, Shuffle, Vote, MatchAny, MatchAll, Redux, Mma };

struct LocalArray;

/// A block barrier that a thread went around since it last passed one, and how often.
struct SkippedBarrier {
  uint32_t site, times;
};

/// One device thread.
struct Fiber {
  Context context = nullptr;
  Thread thread;
  uint8_t barrier = 0;                 ///< the barrier it waits at
  uint32_t site = 0;                   ///< of the last call into the runtime
  uint32_t mask = 0;                   ///< of the warp operation it waits in
  uint64_t mbarrier = 0;               ///< offset of the mbarrier it waits at, for phase `result`
  uint64_t result = 0;                 ///< of the barrier or warp operation it waited in
  uint32_t flag = 0;                   ///< second result: in range, all equal
  const void *mma[4];                  ///< a, b, c and d of a matrix operation
  std::vector<SkippedBarrier> skipped; ///< check mode
  uint64_t way = 0;      ///< a digest of the sides of branches that it took since `wayEpoch`
  uint64_t wayEpoch = 0; ///< of its warp, when `way` was noted last
};

/// A warp operation some lanes of which have arrived.
struct WarpOp {
  uint32_t mask, arrived;
  WarpOpKind kind;
  uint32_t detail; ///< shuffle mode, vote mode, redux operation
  uint32_t site;   ///< of the first lane
  uint64_t value[32];
  uint32_t lane[32], clamp[32];
};

/// What the arrived lanes of \p op, which is no matrix operation, get: a result and, of shuffles
/// and match.all, a flag. Writes 32 of each; those of other lanes mean nothing.
void computeWarpOp(const WarpOp &op, uint32_t *result, uint32_t *flag);

struct Warp {
  uint32_t live = 0;     ///< lanes that have not ended
  uint32_t runnable = 0; ///< how many lanes are Fresh, Ready or Running
  uint32_t atActiveMask = 0;
  uint64_t meetings = 0; ///< of all its lanes
  std::vector<WarpOp> pending;
};

struct Barrier {
  uint32_t arrived = 0;  ///< threads, arrive included
  uint32_t expected = 0; ///< 0: all threads that have not ended
  uint32_t waiting = 0;  ///< fibers blocked here
  uint32_t predicates = 0;
  uint32_t site = 0; ///< of the first arrival
  bool isActive = false;
  bool hasReductions = false; ///< a thread waits for a result
};

class Machine {
public:
  /// The running launch's; valid between begin and end of launch().
  Image *image = nullptr;
  const ImageInfo *info = nullptr;
  const KernelInfo *kernel = nullptr;
  const LaunchOptions *options = nullptr;
  LaunchResult *result = nullptr;
  void **args = nullptr;
  Dim3 gridDim, blockDim;
  Block block{};
  uint64_t blockLinear = 0; ///< index of the running block in natural order
  uint64_t launchNumber = 0;
  bool isRunning = false;  ///< device code runs (signals are the kernel's)
  bool isCounting = false; ///< the running block is sampled
  uint32_t warpCount = 0;

  std::vector<Fiber> fibers; ///< by linear thread id
  /// Of each fiber; beside each other, because a barrier looks at all of them.
  FiberState states[maxThreads];
  FiberState &stateOf(const Fiber &fiber) { return states[fiber.thread.linear]; }
  /// Of kernels that run as plain loops; its linear id is `unknownThread` where the loop does not
  /// say which thread is at work.
  Thread loopThread{};
  static constexpr uint32_t unknownThread = ~0u;
  std::vector<Warp> warps;
  Barrier barriers[barrierCount];
  uint32_t liveThreads = 0;
  uint64_t idleYields = 0; ///< yields since anything else happened

  /// The thread that runs, also in plain loops.
  Thread &current() { return *kbrt_current; }
  Fiber &currentFiber() { return *static_cast<Fiber *>(kbrt_current->runtime); }
  bool usesFibers() const { return runsFibers; }

  // Scheduler.cpp
  /// Runs the block that `block` describes to its end.
  void runBlockAsFibers(BodyFunction body, const std::vector<uint32_t> &order);
  void runBlockAsLoop(LoopFunction loop, const std::vector<uint32_t> *order);
  /// The same for a split kernel (Regions.cpp).
  void runBlockAsRegions(const SplitInfo &split, const std::vector<uint32_t> *order);
  /// Puts the running fiber to sleep in \p state and runs another.
  void sleep(FiberState state);
  /// `sleep(FiberState::AtBarrier)` for the quick path of a barrier, without a frame of its own.
  void sleepAtBarrier() {
    Fiber &self = currentFiber();
    stateOf(self) = FiberState::AtBarrier;
    Warp &warp = warps[self.thread.warp];
    if (--warp.runnable == 0 && warp.atActiveMask) [[unlikely]]
      releaseActiveMask(warp, self.thread.warp);
    return runNext();
  }
  /// Runs the next ready fiber; the calling one has been put to sleep and woken by its caller.
  void resume() { return runNext(); }
  /// Makes a sleeping fiber ready again.
  void wake(Fiber &fiber);
  /// The same for every fiber of the block that has not ended; all of them sleep.
  void wakeAll();
  /// The same for the lanes of \p mask but \p except, which go on before other warps do: their
  /// stacks are still cached. Now and then they queue like all others, because a warp may wait for
  /// another.
  void wakeWarp(uint32_t warpIndex, uint32_t mask, uint32_t except);
  /// Lets the others run first.
  void yield();
  /// The same without taking it for waiting: the runtime's own idea.
  void switchAway();
  void finishThread();
  /// The fiber that comes \p n-th in the order of this launch.
  Fiber &inOrder(uint32_t n) { return fibers[(*fiberOrder)[n]]; }
  void progress() { idleYields = 0; }

  // Barriers.cpp, Warp.cpp: called when a thread ends.
  void barrierOnExit();
  void warpOnExit(Warp &warp, uint32_t warpIndex);

  // ActiveMask.cpp
  void releaseActiveMask(Warp &warp, uint32_t warpIndex);
  /// The running thread took the side \p way of a branch.
  void noteWay(Fiber &fiber, uint64_t way);
  /// \p lanes of a warp waited for each other and are together now.
  void noteMeeting(Warp &warp, uint32_t warpIndex, uint32_t lanes);
  /// A barrier of the whole block: all lanes of all warps are together.
  void noteBlockMeeting() { ++blockMeetings; }

  // Stop.cpp
  /// Ends the launch from within device code.
  [[noreturn]] void stop(LaunchStatus status, std::string message);
  [[noreturn]] void stopDeadlocked();
  [[noreturn]] void stopOutsideMask(uint32_t site, uint32_t lane, uint32_t mask); // Warp.cpp
  /// "kernel k, block (1,0,0), thread (3,0,0), a.cu:12" of the running thread.
  std::string whereAmI(uint32_t site) const;
  std::string sitePlace(uint32_t site) const; ///< "a.cu:12" or "unknown place"
  sigjmp_buf wayOut;
  uint32_t lastSite = 0; ///< the last site any thread reported
  volatile sig_atomic_t timeoutPending = 0;

  StackPool stacks;
  char *sharedArena = nullptr; ///< maxSharedBytes and guards around them
  size_t sharedArenaBytes = 0;
  std::vector<char>
      parameters; ///< copies of the arguments, so that kernels cannot change the host's
  std::vector<uint32_t> blockCounts;

private:
  friend void fiberMain();
  /// Changes whenever all lanes of a warp come together.
  uint64_t epochOf(const Warp &warp) const { return warp.meetings + blockMeetings; }
  uint64_t wayOf(const Fiber &fiber) const;
  uint64_t meetings = 0, blockMeetings = 0;
  /// Leaves the running context, which has been queued or put to sleep, for the next ready fiber.
  /// Inlined and ending in the switch: the fewer lines of its stack a sleeping fiber needs when it
  /// goes on, the faster a barrier of many threads.
  void runNext() {
    if (readyHead == readyTail) [[unlikely]]
      return endOrDeadlock();
    uint32_t index = popReady();
    Fiber &self = currentFiber(), &next = fibers[index];
    if (states[index] == FiberState::Fresh) [[unlikely]]
      return startFiber(index, self.context);
    states[index] = FiberState::Running;
    if (&next == &self)
      return;
    kbrt_current = &next.thread;
    return kbrt_switch_context(&self.context, next.context);
  }
  void runOnLoopStack(const std::vector<uint32_t> *order);
  void runThreads(); ///< of a block, on the stack of loops
  void endOrDeadlock();
  void startFiber(uint32_t index, Context &from);
  uint32_t popReady() { return ready[readyHead++ & (maxThreads - 1)]; }
  void pushReady(uint32_t index) {
    ready[readyTail++ & (maxThreads - 1)] = static_cast<uint16_t>(index);
  }
  bool runsFibers = false;
  const std::vector<uint32_t> *fiberOrder = nullptr; ///< in which they start and pass barriers
  bool isShuffled = false;                           ///< it is not the natural one
  uint32_t favours = 0; ///< warp operations in a row after which lanes went first
  BodyFunction body = nullptr;
  LoopFunction loopBody = nullptr;
  const SplitInfo *splitBody = nullptr;
  const std::vector<uint32_t> *loopOrder = nullptr;
  uint16_t ready[maxThreads];
  uint32_t readyHead = 0, readyTail = 0;
  Context hostContext = nullptr;
  /// The launch and whether its fibers count, for which `fibers` is filled.
  uint64_t preparedLaunch = ~uint64_t(0);
  bool isPreparedToCount = false;
  void prepareFibers();
};

extern Machine machine;

std::string toText(const Dim3 &d); ///< "(1,2,3)"
inline Dim3 toDim3(const Dim &d) { return {d.x, d.y, d.z}; }
/// The last part of a path.
std::string baseName(std::string_view path);
/// What the source calls a variable: "_ZZ1kPfE4tile" → "tile".
std::string variableName(const char *symbol);
/// The place of a site, from the tables; site numbers beyond the table give an empty place.
AccessPlace placeOf(uint32_t site, Dim3 blockIndex, Dim3 threadIndex);
Dim3 unflatten(uint64_t linear, Dim3 extent);

} // namespace kbrt
#endif
