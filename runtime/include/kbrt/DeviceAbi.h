//===- DeviceAbi.h - What a CPU image calls ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the contract between device code compiled for the host and the runtime
// that executes it: the state of a block and of a thread, and the kbrt_*
// functions that an image leaves undefined and the loading process exports.
// The tables of an image are ImageInfo.h.
//
// One process runs one thread at a time: blocks one after the other, the
// threads of a block as fibers or in a plain loop. So atomics are ordinary
// read-modify-writes inside the image, and no function here needs a lock.
// A function that does not return for this thread (trap, unsupported, a failed
// check that ends the launch) leaves by longjmp or by abandoning the fiber;
// image code holds no resources.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_DEVICEABI_H
#define KBRT_DEVICEABI_H

#include "kbrt/ImageInfo.h"
#include "kbrt/Oracle.h"
#include <stdint.h>

namespace kbrt {

/// Where shared memory begins among generic addresses, the same in every process: a multiple of
/// 4 GiB, so that the lower half of an address is the offset that `cvta.to.shared` gives on a GPU.
inline constexpr uint64_t sharedWindow = 0x5ff000000000;
inline constexpr uint64_t sharedOffsetMask = 0xffffffff;
/// The first bytes of a block's shared memory, which CUDA keeps for itself since compute capability
/// 8.0 (CUDA C++ Programming Guide, "Compute Capability 8.x", shared memory).
inline constexpr uint64_t reservedSharedBytes = 1024;

struct Dim {
  uint32_t x, y, z;
};

/// State of the running block; constant while it runs.
struct Block {
  Dim ctaid, ntid, nctaid;
  uint32_t threads; ///< ntid.x * ntid.y * ntid.z
  uint32_t dynamicSharedBytes;
  uint32_t smid, gridId;
  char *shared;        ///< KernelInfo::sharedSpan bytes, aligned to 1024
  char *dynamicShared; ///< shared + sharedSpan
  /// [sharedBegin, sharedEnd) answers isspacep.shared and cvta; includes both.
  char *sharedBegin, *sharedEnd;
  const KernelInfo *kernel;
};

/// State of one thread.
struct Thread {
  Dim tid;
  uint32_t linear;     ///< tid.x + ntid.x * (tid.y + ntid.y * tid.z)
  uint32_t lane, warp; ///< linear % 32, linear / 32
  const Block *block;
  /// Counted bodies: ImageInfo::blockCount counters, zeroed by the runtime
  /// before the thread starts, read when it has ended. Sum over lanes: thread
  /// instructions; maximum over the lanes of a warp: warp instructions. Null
  /// when the block is not sampled.
  uint32_t *blockCounts;
  uint64_t iteration; ///< key of the caller's loops, kept by image code around calls
  void *runtime;      ///< the runtime's own
};

enum class BarrierReduction : uint32_t { Popcount, And, Or };
enum class ShuffleMode : uint32_t { Idx, Up, Down, Bfly };
enum class VoteMode : uint32_t { All, Any, Uni, Ballot };
enum class ReduxOp : uint32_t {
  Add,
  MinSigned,
  MaxSigned,
  MinUnsigned,
  MaxUnsigned,
  And,
  Or,
  Xor,
  MinFloat,
  MaxFloat,
  MinAbsFloat,
  MaxAbsFloat
};

/// Element types of matrix fragments. Fragments are passed in memory, packed:
/// `count` elements per lane, sub-byte types with element 0 in the low bits.
enum class MmaType : uint32_t { F16, BF16, TF32, F32, F64, S8, U8, S4, U4, B1, S32, E4M3, E5M2 };

/// Which layout maps (lane, element) to (row, column).
enum class MmaLayout : uint32_t {
  Wmma, ///< kbrt's own for the opaque wmma fragments: see fragmentPosition
  Mma,  ///< PTX's documented mma.sync layouts
};

/// D = A(m x k) * B(k x n) + C(m x n). Constant data inside the image.
struct MmaShape {
  uint32_t m, n, k;
  MmaLayout layout;
  MmaType aType, bType, cType, dType;
  uint32_t aCount, bCount, cCount, dCount; ///< elements per lane
  uint8_t saturate;                        ///< integer: satfinite
  uint8_t isXor;                           ///< B1: xor.popc instead of and.popc
};

enum class MmaOperand : uint32_t { A, B, Accumulator };

/// The place of element \p index of \p lane's fragment in its operand, as
/// (row, column) of A (m x k), B (k x n) or the accumulator (m x n).
/// Several (lane, index) may name one element: they hold the same value.
inline void fragmentPosition(const MmaShape &s, MmaOperand operand, uint32_t lane, uint32_t index,
                             uint32_t &row, uint32_t &column) {
  uint32_t rows = operand == MmaOperand::B ? s.k : s.m;
  uint32_t columns = operand == MmaOperand::A ? s.k : s.n;
  MmaType type = operand == MmaOperand::A ? s.aType : operand == MmaOperand::B ? s.bType : s.cType;
  if (s.layout == MmaLayout::Wmma) {
    // Row-major order dealt to the lanes in runs of `run` elements; where the
    // fragments hold more elements than the matrix, they wrap around.
    uint32_t count = operand == MmaOperand::A   ? s.aCount
                     : operand == MmaOperand::B ? s.bCount
                                                : s.cCount;
    uint32_t total = rows * columns;
    uint32_t run = total >= 32 * count ? count : (total >= 32 ? total / 32 : 1);
    uint32_t flat = (lane * run + index % run) % total;
    row = flat / columns;
    column = flat % columns;
    return;
  }
  uint32_t group = lane >> 2, inGroup = lane & 3;
  // Elements per 32-bit register (F64: one per 64-bit register).
  uint32_t bits = 32;
  switch (type) {
  case MmaType::F16:
  case MmaType::BF16:
    bits = 16;
    break;
  case MmaType::S8:
  case MmaType::U8:
  case MmaType::E4M3:
  case MmaType::E5M2:
    bits = 8;
    break;
  case MmaType::S4:
  case MmaType::U4:
    bits = 4;
    break;
  case MmaType::B1:
    bits = 1;
    break;
  default:
    break;
  }
  uint32_t per = operand == MmaOperand::Accumulator ? 2 : 32 / bits;
  uint32_t unit = index / per, within = index % per;
  if (operand == MmaOperand::Accumulator) {
    row = group + 8 * unit;
    column = inGroup * 2 + within;
  } else if (operand == MmaOperand::A) {
    // Registers go down the two row halves first, then along k.
    uint32_t halves = s.m > 8 ? 2 : 1;
    row = group + 8 * (unit % halves);
    column = (inGroup + 4 * (unit / halves)) * per + within;
  } else {
    row = (inGroup + 4 * unit) * per + within;
    column = group;
  }
}

} // namespace kbrt

extern "C" {

/// The thread that runs now; set by the runtime on every switch. Image code
/// reads it where a function is not inlined into its kernel.
extern kbrt::Thread *kbrt_current;

/// Count mode: the instructions of threads in blocks that are not sampled, which image code adds
/// up.
extern uint64_t kbrt_work;

// Synchronisation. `site` is an index into ImageInfo::sites.

/// bar.sync / barrier.sync: \p count threads (a multiple of 32), 0 for all.
void kbrt_barrier(uint32_t site, uint32_t id, uint32_t count);
void kbrt_barrier_arrive(uint32_t site, uint32_t id, uint32_t count);
/// bar.red: the number of threads whose predicate holds, or 0/1.
uint32_t kbrt_barrier_red(uint32_t site, uint32_t id, uint32_t count, kbrt::BarrierReduction op,
                          uint32_t predicate);
/// Check mode: the thread took a way around the block barrier at the site's place.
void kbrt_barrier_skipped(uint32_t site);
void kbrt_warp_sync(uint32_t site, uint32_t mask);
/// shfl.sync with PTX's operands: \p lane is b, \p clamp is c (segment mask in
/// bits 8-12, clamp in bits 0-4). \p inRange (may be null) receives PTX's p.
uint32_t kbrt_shuffle(uint32_t site, uint32_t mask, kbrt::ShuffleMode mode, uint32_t value,
                      uint32_t lane, uint32_t clamp, uint32_t *inRange);
uint32_t kbrt_vote(uint32_t site, uint32_t mask, kbrt::VoteMode mode, uint32_t predicate);
/// match.any / match.all; 32-bit values are zero-extended.
uint32_t kbrt_match_any(uint32_t site, uint32_t mask, uint64_t value);
uint32_t kbrt_match_all(uint32_t site, uint32_t mask, uint64_t value, uint32_t *allEqual);
uint32_t kbrt_redux(uint32_t site, uint32_t mask, kbrt::ReduxOp op, uint32_t value);
/// Lanes of the warp that stand at this site together: the runtime lets the
/// warp's other lanes run until they end, block, or arrive here.
uint32_t kbrt_activemask(uint32_t site);
/// The thread takes side \p way of a branch both sides of which can lead to kbrt_activemask().
void kbrt_took_way(uint32_t way);
/// Warp-collective over all 32 lanes; fragments as described at MmaType.
void kbrt_mma(uint32_t site, const kbrt::MmaShape *shape, const void *a, const void *b,
              const void *c, void *d);
/// In a loop that waits for another thread, and for nanosleep: lets others run.
void kbrt_yield(uint32_t site);

// Ending.

/// PTX exit in a function that is not inlined; the thread is done.
[[noreturn]] void kbrt_exit();
[[noreturn]] void kbrt_trap(uint32_t site);
[[noreturn]] void kbrt_assertfail(uint32_t site, const char *message, const char *file,
                                  uint32_t line, const char *function);
/// \p index into ImageInfo::unsupported: the launch ends as `unsupported`.
[[noreturn]] void kbrt_unsupported(uint32_t index);

// Services.

/// \p arguments as clang packs them for vprintf: naturally aligned, floats as
/// double. Returns the number of arguments.
int32_t kbrt_vprintf(const char *format, const void *arguments);
void *kbrt_malloc(uint64_t bytes);
void kbrt_free(void *pointer);
/// Monotonic counters: clock advances with every call, globaltimer in ns.
uint64_t kbrt_clock();
uint64_t kbrt_globaltimer();

// Checks (mode Check), called before the access.

void kbrt_check_load(uint32_t site, const void *pointer, uint64_t bytes);
/// A load of what is only stored again (a struct that was split into words): as kbrt_check_load,
/// but padding may be unwritten.
void kbrt_check_move(uint32_t site, const void *pointer, uint64_t bytes);
void kbrt_check_store(uint32_t site, void *pointer, uint64_t bytes);
void kbrt_check_atomic(uint32_t site, void *pointer, uint64_t bytes);
/// Memory copied without being looked at (struct copies): bounds and races
/// are checked, initialisation travels from \p source to \p destination.
void kbrt_check_copy(uint32_t site, void *destination, const void *source, uint64_t bytes);
/// membar / fence of any scope but the thread's own (mode Check only). Fence, then atomic or
/// volatile store, is what orders blocks for the race check: without this call, every program that
/// hands data from block to block would be said to race.
void kbrt_fence(uint32_t site);
/// cp.async (mode Check only): the bytes at \p destination in shared memory have been copied, and
/// count as in flight until the thread waits for the group that the next commit closes.
void kbrt_async_copy(uint32_t site, void *destination, uint64_t bytes);
void kbrt_async_commit();
/// Until at most \p groups of the thread's latest groups are in flight; ~0: until nothing is,
/// committed or not.
void kbrt_async_wait(uint32_t groups);
/// A local array of the current thread comes to life, uninitialised, and ends.
void kbrt_local_begin(uint32_t site, void *pointer, uint64_t bytes);
void kbrt_local_end(void *pointer);

// Counters (mode Count).

/// One lane's atomic operation in a block that is not sampled.
void kbrt_count_atomic(const void *pointer);

// The same in counted bodies.

/// One lane's access. Lanes of a warp with equal (site, key) belong to one
/// request; \p key hashes the counters of the enclosing loops. The n-th
/// repetition of one (lane, site, key) belongs to the n-th such request.
void kbrt_count_access(uint32_t site, const void *pointer, uint64_t key);
/// One lane's outcome of a branch (1 taken, 0 not; for a switch the case).
void kbrt_count_branch(uint32_t branch, uint32_t outcome, uint64_t key);

// Shadows of numbers (mode Oracle, kbrt/Oracle.h).

/// \p sum holds a value; it becomes the shadow of a number that is exactly this.
void kbrt_oracle_exact(kbrt::OracleSum *sum);
/// The shadow of the number that lies at \p address.
void kbrt_oracle_load(kbrt::FloatFormat format, const void *address, kbrt::OracleSum *sum);
/// After the store: \p sum is the shadow of the number at \p address. Null: nothing was stored.
void kbrt_oracle_store(kbrt::FloatFormat format, void *address, const kbrt::OracleSum *sum);
/// After a copy of bytes.
void kbrt_oracle_copy(void *to, const void *from, uint64_t bytes);
/// What \p operation makes of numbers of format \p from, rounded to \p to. \p y may be null.
void kbrt_oracle_compute(kbrt::OracleOperation operation, kbrt::FloatFormat from,
                         kbrt::FloatFormat to, const kbrt::OracleSum *x, const kbrt::OracleSum *y,
                         kbrt::OracleSum *result);

} // extern "C"

#endif // KBRT_DEVICEABI_H
