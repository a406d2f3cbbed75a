//===- Launch.cpp - one kernel launch -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the order of blocks, the preparation of shared memory and the frame to
// which a stopped kernel returns.
//
//===----------------------------------------------------------------------===//
#include "Check.h"
#include "Count.h"
#include "Findings.h"
#include "Machine.h"
#include "Mbarrier.h"
#include "Races.h"
#include "Regions.h"
#include "Signals.h"
#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <chrono>
#include <cstring>
#include <mutex>
#include <numeric>
#include <span>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kbrt {

namespace {

std::recursive_mutex deviceMutex;

/// Virtual size of a device thread's stack: CUDA allows 512 KiB of local memory per thread.
constexpr size_t stackBytes = 768 << 10;
/// Shared memory lies between guard zones of this size that are not accessible, and the rest of its
/// pages holds a pattern.
constexpr size_t sharedGuardBytes = 256 << 10, sharedCapacity = 256 << 10;
constexpr uint8_t sharedSlackPattern = 0xFD;

/// splitmix64 (Steele, Lea and Flood, OOPSLA 2014): small, and the same everywhere.
uint64_t nextRandom(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

void shuffle(std::vector<uint32_t> &order, uint64_t &random) {
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[nextRandom(random) % i]);
}

/// A permutation of [0, n) without a table: an affine map by a factor prime to n.
struct BlockOrder {
  uint64_t count, factor = 1, addend = 0;
  BlockOrder(uint64_t n, uint64_t seed) : count(n) {
    if (!seed || n < 2)
      return;
    uint64_t random = seed ^ 0x5bd1e995;
    do
      factor = nextRandom(random) % n;
    while (std::gcd(factor, n) != 1);
    addend = nextRandom(random) % n;
  }
  uint64_t operator[](uint64_t i) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(i) * factor + addend) % count);
  }
};

std::string invalidReason(const KernelInfo &kernel, Dim3 grid, Dim3 block,
                          uint64_t dynamicSharedBytes, const LaunchOptions &options) {
  auto name = std::string(kernel.displayName);
  if (!grid.count() || !block.count())
    return "launch of " + name + " with an empty grid " + toText(grid) + " or block " +
           toText(block);
  uint64_t limit =
      kernel.maxThreads ? std::min<uint64_t>(kernel.maxThreads, maxThreads) : maxThreads;
  if (block.count() > limit || block.x > 1024 || block.y > 1024 || block.z > 64)
    return "launch of " + name + " with a block of " + toText(block) + " = " +
           std::to_string(block.count()) + " threads; at most " + std::to_string(limit) +
           " are allowed";
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return "launch of " + name + " with a grid of " + toText(grid) +
           "; at most (2147483647,65535,65535) is allowed";
  uint64_t shared = kernel.staticSharedBytes + dynamicSharedBytes;
  if (shared > options.maxSharedBytes)
    return "launch of " + name + " with " + std::to_string(shared) +
           " bytes of shared memory per block; at most " + std::to_string(options.maxSharedBytes) +
           " are allowed";
  if (reservedSharedBytes + kernel.sharedSpan + dynamicSharedBytes > sharedCapacity)
    return "launch of " + name + " needs more shared memory than the CPU device has";
  return {};
}

/// A loop has one stack, counted blocks and those of kernels that need fibers one per thread.
unsigned stacksNeeded(Image &image, const KernelInfo &kernel, Dim3 block) {
  bool isLoop = (kernel.split || (!kernel.needsFibers && kernel.loop)) &&
                image.getInfo().mode != ImageMode::Count;
  return isLoop ? 1 : static_cast<unsigned>(block.count());
}

/// Maps what all launches share, with that many stacks; empty on success.
std::string prepareMachine(unsigned stacksNeeded) {
  if (!machine.stacks.isCreated() && !machine.stacks.create(maxThreads, stackBytes))
    return std::string("cannot map the stacks of device threads: ") + strerror(errno);
  if (!machine.stacks.open(stacksNeeded))
    return std::string("cannot map the stacks of device threads: ") + strerror(errno);
  if (!machine.sharedArena) {
    size_t bytes = sharedCapacity + 2 * sharedGuardBytes;
    void *p = mmap(reinterpret_cast<void *>(sharedWindow - sharedGuardBytes), bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == MAP_FAILED)
      return std::string("cannot map shared memory: ") + strerror(errno);
    machine.sharedArena = static_cast<char *>(p);
    machine.sharedArenaBytes = bytes;
  }
  return {};
}

/// Copies the arguments, so that nothing a kernel does to its parameters reaches the host's.
void copyArguments(const KernelInfo &kernel, void *const *args, std::vector<void *> &pointers) {
  constexpr size_t alignment = 64;
  size_t bytes = 0;
  for (uint32_t i = 0; i < kernel.paramCount; ++i)
    bytes += (kernel.params[i].bytes + alignment - 1) / alignment * alignment;
  machine.parameters.assign(bytes + alignment, 0);
  size_t misfit = reinterpret_cast<uintptr_t>(machine.parameters.data()) % alignment;
  char *at = machine.parameters.data() + (alignment - misfit) % alignment;
  for (uint32_t i = 0; i < kernel.paramCount; ++i) {
    memcpy(at, args[i], kernel.params[i].bytes);
    pointers.push_back(at);
    at += (kernel.params[i].bytes + alignment - 1) / alignment * alignment;
  }
}

/// Makes exactly the pages of this launch's shared memory accessible.
size_t openShared(size_t usable) {
  char *start = machine.sharedArena + sharedGuardBytes;
  const size_t end = reservedSharedBytes + usable, pages = (end + 4095) / 4096 * 4096;
  static size_t open = 0;
  if (open != pages) {
    mprotect(start, sharedCapacity, PROT_NONE);
    mprotect(start, pages, PROT_READ | PROT_WRITE);
    open = pages;
  }
  memset(start, sharedSlackPattern, reservedSharedBytes);
  memset(start + end, sharedSlackPattern, pages - end);
  return pages;
}

void checkGuards(LaunchResult &result, size_t sharedUsable, size_t sharedPages) {
  bool hasOutOfBounds =
      std::any_of(result.findings.begin(), result.findings.end(),
                  [](const Finding &f) { return f.kind == FindingKind::OutOfBounds; });
  auto add = [&](std::string array, uint64_t address, uint64_t offset, uint64_t size) {
    if (hasOutOfBounds)
      return; // said already, with its place
    Finding finding;
    finding.kind = FindingKind::GuardZoneChanged;
    finding.kernel = machine.kernel->displayName;
    finding.array = array;
    finding.address = address;
    finding.offset = offset;
    finding.message = "memory outside " + (array.empty() ? "a buffer" : array) + " (" +
                      std::to_string(size) + " bytes) was overwritten, at byte " +
                      std::to_string(int64_t(offset));
    result.findings.push_back(std::move(finding));
  };
  DeviceMemory &memory = DeviceMemory::get();
  for (const MemoryBuffer *buffer : memory.liveBuffers()) {
    uint64_t bad = 0;
    if (memory.guardsIntact(*buffer, &bad))
      continue;
    add(buffer->name, bad, bad - buffer->address, buffer->bytes);
    memory.repairGuards(*buffer);
  }
  auto *start = reinterpret_cast<uint8_t *>(machine.sharedArena + sharedGuardBytes);
  for (size_t i = 0; i < sharedPages; ++i) {
    if (i == reservedSharedBytes)
      i += sharedUsable;
    if (i < sharedPages && start[i] != sharedSlackPattern) {
      add("shared memory", reinterpret_cast<uint64_t>(start + i), i - reservedSharedBytes,
          sharedUsable);
      break;
    }
  }
}

void runBlock(const BlockOrder &, uint64_t linear, std::vector<uint32_t> &order, uint64_t &random,
              const LaunchOptions &options, size_t usable) {
  const KernelInfo &kernel = *machine.kernel;
  Dim3 at = unflatten(linear, machine.gridDim);
  machine.block.ctaid = {at.x, at.y, at.z};
  machine.block.smid = static_cast<uint32_t>(linear % 132); // an H200's number of SMs
  machine.blockLinear = linear;
  if (usable)
    memset(machine.block.shared, options.sharedPoison, usable);
  if (options.seed)
    shuffle(order, random);
  mbarrier::onBlock();
  if (machine.info->mode == ImageMode::Check)
    check::onBlock();
  machine.isCounting = count::beginBlock(linear);
  const std::vector<uint32_t> *shuffled = options.seed ? &order : nullptr;
  machine.isRunning = true;
  if (machine.isCounting)
    machine.runBlockAsFibers(kernel.countedBody, order);
  else if (kernel.split)
    machine.runBlockAsRegions(*kernel.split, shuffled);
  else if (kernel.needsFibers || !kernel.loop)
    machine.runBlockAsFibers(kernel.body, order);
  else
    machine.runBlockAsLoop(kernel.loop, shuffled);
  machine.isRunning = false;
  count::endBlock();
  machine.isCounting = false;
}

/// Runs all blocks in their order. Stopped kernels leave from anywhere below to sigsetjmp here.
/// Calls \p after with the number of each block that ended.
template <class After> void runBlocks(const LaunchOptions &options, size_t usable, After after) {
  uint64_t blocks = machine.gridDim.count(), random = options.seed;
  static std::vector<uint32_t> order;
  order.resize(machine.block.threads);
  std::iota(order.begin(), order.end(), 0u);
  BlockOrder blockOrder(blocks, options.seed);
  SignalScope signals(options.wallSeconds);
  int previousRounding = fegetround();
  fesetround(options.rounding);
  if (sigsetjmp(machine.wayOut, 1) == 0)
    for (uint64_t i = 0; i < blocks; ++i) {
      runBlock(blockOrder, blockOrder[i], order, random, options, usable);
      after(machine.blockLinear);
    }
  machine.isRunning = false;
  machine.isCounting = false;
  kbrt_current = nullptr;
  fesetround(previousRounding);
}

/// Tells the counters what each block executes, before the blocks that they sample are chosen. All
/// blocks run in a copy of the process, which leaves memory as it is. Where there can be no copy,
/// or a block does not end, nothing is told.
void surveyBlocks(const LaunchOptions &options, size_t usable) {
  constexpr uint64_t mostBlocks = 1 << 20;
  const uint64_t blocks = machine.gridDim.count();
  if (!count::needsSurvey() || blocks > mostBlocks)
    return;
  void *shared = mmap(nullptr, blocks * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return;
  auto *work = static_cast<uint64_t *>(shared); // one more than the work; 0: it has not ended
  const pid_t copy = fork();
  if (copy == 0) {
    for (int stream : {STDOUT_FILENO, STDERR_FILENO})
      close(stream); // the blocks print once more
    count::beginSurvey();
    uint64_t before = count::workSoFar();
    runBlocks(options, usable, [&](uint64_t number) {
      const uint64_t now = count::workSoFar();
      work[number] = now - before + 1;
      before = now;
    });
    _exit(0);
  }
  while (copy > 0 && waitpid(copy, nullptr, 0) < 0 && errno == EINTR)
    ;
  if (copy > 0 && std::find(work, work + blocks, 0) == work + blocks) {
    for (uint64_t i = 0; i < blocks; ++i)
      --work[i];
    count::chooseBlocks({work, size_t(blocks)});
  }
  munmap(shared, blocks * sizeof(uint64_t));
}

/// Runs all blocks.
void runGrid(const LaunchOptions &options, size_t usable) {
  surveyBlocks(options, usable);
  runBlocks(options, usable, [](uint64_t) {});
}

} // namespace

DeviceLock::DeviceLock() { deviceMutex.lock(); }
DeviceLock::~DeviceLock() { deviceMutex.unlock(); }

LaunchResult launch(Image &image, const KernelInfo &kernel, void *const *args, Dim3 grid,
                    Dim3 block, uint64_t dynamicSharedBytes, const LaunchOptions &options) {
  DeviceLock lock;
  LaunchResult result;
  auto start = std::chrono::steady_clock::now();
  auto fail = [&](LaunchStatus status, std::string message) {
    result.status = status;
    result.message = std::move(message);
    return result;
  };
  if (std::string why = invalidReason(kernel, grid, block, dynamicSharedBytes, options);
      !why.empty())
    return fail(LaunchStatus::InvalidLaunch, why);
  if (std::string why = prepareMachine(stacksNeeded(image, kernel, block)); !why.empty())
    return fail(LaunchStatus::InvalidLaunch, why);
  if (kernel.split && !regions::prepare(*kernel.split))
    return fail(LaunchStatus::InvalidLaunch,
                std::string("cannot map what device threads remember: ") + strerror(errno));
  static std::vector<void *> pointers;
  pointers.clear();
  copyArguments(kernel, args, pointers);

  machine.image = &image;
  machine.info = &image.getInfo();
  machine.kernel = &kernel;
  machine.options = &options;
  machine.result = &result;
  machine.args = pointers.data();
  machine.gridDim = grid;
  machine.blockDim = block;
  machine.lastSite = ~0u;
  ++machine.launchNumber;
  size_t usable = kernel.sharedSpan + dynamicSharedBytes, pages = openShared(usable);
  Block &b = machine.block;
  b.ntid = {block.x, block.y, block.z};
  b.nctaid = {grid.x, grid.y, grid.z};
  b.threads = static_cast<uint32_t>(block.count());
  b.dynamicSharedBytes = static_cast<uint32_t>(dynamicSharedBytes);
  b.gridId = static_cast<uint32_t>(machine.launchNumber);
  b.shared = b.sharedBegin = machine.sharedArena + sharedGuardBytes + reservedSharedBytes;
  b.dynamicShared = b.shared + kernel.sharedSpan;
  b.sharedEnd = b.shared + usable;
  b.kernel = &kernel;

  findings::begin();
  bool isCheck = machine.info->mode == ImageMode::Check;
  if (isCheck)
    check::onLaunch();
  count::beginLaunch();
  runGrid(options, usable);
  if (isCheck)
    races::settle();
  if (machine.info->mode == ImageMode::Count && result.status == LaunchStatus::Ok)
    result.counters = count::endLaunch();
  result.findings = findings::take();
  if (options.checkGuards)
    checkGuards(result, usable, pages);
  machine.image = nullptr;
  machine.options = nullptr;
  machine.result = nullptr;
  result.wallSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

} // namespace kbrt
