//===- Plan.h - What one run of a program asks of a device -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the plan: the recorded sequence of allocations, copies, launches and
// reads of one run, as plain data, and its file format (docs/PlanFormat.md).
// It knows neither LLVM nor CUDA, so that the user's program (which records
// plans), kb-run (which executes them) and kb-opt (which compares and changes
// them) share it. It does not own images or their execution.
//
// A recording folder holds plan.json (this model), data.bin (the bytes of
// every upload, one after the other) and observables.bin (the bytes of every
// read, in the order of the read steps).
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_PLAN_H
#define KBRT_PLAN_H

#include "kbrt/Dim3.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kbrt {

/// Version of plan.json; a reader refuses any other.
inline constexpr int planVersion = 1;

/// Names of the files of a recording folder.
inline constexpr const char *planFileName = "plan.json";
inline constexpr const char *dataFileName = "data.bin";
inline constexpr const char *observablesFileName = "observables.bin";

/// Type of the elements of a buffer or of a scalar. Vector types such as
/// float4 count as their component.
enum class ElementType : uint8_t {
  Unknown,
  Bool,
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  F16,
  BF16,
  F32,
  F64
};

/// "f32" and so on; "unknown".
const char *elementTypeName(ElementType type);
/// The element type of a C++ type as debug information or a demangler spells
/// it, without qualifiers: "float", "unsigned int", "__half", "float4".
ElementType elementTypeFromCxx(std::string_view type);
/// The inverse of `elementTypeName`; nothing if \p name is none of them.
std::optional<ElementType> elementTypeFromName(std::string_view name);
/// Size in bytes; 0 if unknown.
unsigned elementBytes(ElementType type);
/// Whether values of \p type are floating-point numbers.
bool isFloatingPoint(ElementType type);

/// device: cudaMalloc and its kin; managed: seen by host and device; pinned:
/// host memory that kernels may address; symbol: a `__device__` or
/// `__constant__` variable of the image.
enum class BufferKind : uint8_t { Device, Managed, Pinned, Symbol };

/// One allocation. A buffer's id is its index in `Plan::buffers`; an address
/// freed and handed out again makes a new buffer.
struct Buffer {
  uint64_t bytes = 0;
  BufferKind kind = BufferKind::Device;
  /// Where it lay in the device arena while it was recorded. The CPU device
  /// puts it there again, so that pointers kept in memory stay valid.
  uint64_t address = 0;
  /// The type that kernels see it as; unknown if they disagree.
  ElementType element = ElementType::Unknown;
  /// Mangled name of the variable; empty unless `kind` is Symbol.
  std::string symbol;
};

/// A place in device memory.
struct Location {
  uint32_t buffer = 0;
  uint64_t offset = 0; ///< bytes
  bool operator==(const Location &) const = default;
};

/// `height` rows of `width` bytes, each row `pitch` bytes after the last one.
/// A linear range has height 1 and a pitch that is its width.
struct Region {
  Location at;
  uint64_t width = 0, height = 1, pitch = 0;

  uint64_t bytes() const { return width * height; }
  static Region linear(Location at, uint64_t bytes) { return {at, bytes, 1, bytes}; }
  bool operator==(const Region &) const = default;
};

/// An eight-byte word of a kernel argument or of uploaded data that is a device
/// pointer.
struct PointerWord {
  uint64_t at = 0; ///< byte offset inside the argument or the upload's bytes, a multiple of 8
  Location target; ///< the offset may be one past the end of the buffer
  bool operator==(const PointerWord &) const = default;
};

/// One kernel parameter's value. `bytes` hold the values as recorded, with
/// arena addresses in the words listed in `pointers`.
struct Argument {
  std::vector<uint8_t> bytes;
  std::vector<PointerWord> pointers; ///< by ascending `at`
  bool operator==(const Argument &) const = default;
};

/// Memory comes to life. Symbols have no such step: they live from the start
/// with the image's initial value.
struct AllocStep {
  uint32_t buffer = 0;
  std::optional<uint32_t> stream = std::nullopt; ///< of cudaMallocAsync
};
/// Memory goes. Without a stream the host waits for everything first, as cudaFree does.
struct FreeStep {
  uint32_t buffer = 0;
  std::optional<uint32_t> stream = std::nullopt; ///< of cudaFreeAsync
};
/// Of the host memory that an upload reads: it begins `offset` bytes behind that of an earlier
/// upload, and they overlap.
struct SharedSource {
  uint32_t upload = 0; ///< its number among the uploads
  int64_t offset = 0;
};
/// What the host has done when the call behind an upload returns.
enum class HostPart : uint8_t {
  Enqueues, ///< nothing is known of the copy: cudaMemcpyAsync
  Stages,   ///< taken the bytes out of pageable memory: cudaMemcpy, which need not have come
  Waits,    ///< waited for the copy: cudaMemcpy from page-locked memory
  Writes    ///< it wrote them itself, into managed or mapped memory
};
/// "enqueues" and so on.
const char *hostPartName(HostPart part);
std::optional<HostPart> hostPartFromName(std::string_view name);
/// Host bytes to device memory: `to.bytes()` bytes of data.bin from `data` on,
/// rows one after the other.
struct UploadStep {
  Region to;
  uint64_t data = 0; ///< byte offset in data.bin
  uint32_t stream = 0;
  /// Words of the data that are device pointers, by ascending `at`.
  std::vector<PointerWord> pointers = {};
  /// Only of pageable memory: a page-locked buffer is filled again and again.
  std::optional<SharedSource> source = std::nullopt;
  HostPart host = HostPart::Enqueues;
};
/// Every byte of `to` becomes `value` (cudaMemset).
struct FillStep {
  Region to;
  uint8_t value = 0;
  uint32_t stream = 0;
};
/// Device memory to device memory; both regions have the same width and height.
struct CopyStep {
  Region to, from;
  uint32_t stream = 0;
};
struct LaunchStep {
  std::string kernel; ///< mangled name
  Dim3 grid, block;
  uint64_t sharedBytes = 0; ///< dynamic shared memory
  uint32_t stream = 0;
  std::vector<Argument> arguments;
  bool operator==(const LaunchStep &) const = default;
};
/// One side of a matrix product: `batch` matrices of f32, column by column as BLAS
/// keeps them, `leading` elements from column to column and `stride` elements from
/// matrix to matrix.
struct MatmulOperand {
  Location at;
  uint64_t leading = 0, stride = 0;
  bool transposed = false; ///< the product takes it transposed; never set for C
};
/// A product that a library computed (cuBLAS): for each of `batch` matrices
/// C = alpha * op(A) * op(B) + beta * C, where op(A) has m rows and k columns and C
/// has n columns. C's old values are not looked at if beta is 0.
struct MatmulStep {
  uint32_t m = 0, n = 0, k = 0, batch = 1;
  float alpha = 1, beta = 0;
  MatmulOperand a, b, c;
  uint32_t stream = 0;

  /// Bytes from an operand's first element to its last one; nothing if that
  /// overflows or `leading` is less than a column.
  std::optional<uint64_t> extentOf(const MatmulOperand &operand) const;
};
/// Device memory to the host: an observable. The n-th read step of a plan
/// yields the n-th piece of observables.bin.
struct ReadStep {
  Region from;
  uint64_t observable = 0; ///< byte offset in observables.bin
  uint32_t stream = 0;
  /// The host did not copy: it may look at managed or pinned memory after a
  /// synchronisation.
  bool implicit = false;
  /// The copy goes to page-locked memory, and the host does not wait for it.
  bool asynchronous = false;
};
/// The host waits for a stream, for what an event covers, or for everything.
struct SyncStep {
  std::optional<uint32_t> stream = std::nullopt;
  std::optional<uint32_t> event = std::nullopt;
};
/// An event is recorded on a stream.
struct EventStep {
  uint32_t event = 0, stream = 0;
};
/// A stream waits for an event.
struct WaitStep {
  uint32_t event = 0, stream = 0;
};
/// A call returned an error to the program. Nothing to execute.
struct ErrorStep {
  std::string call; ///< "cudaLaunchKernel"
  int code = 0;     ///< cudaError_t
  std::string name; ///< "cudaErrorInvalidConfiguration"
  /// What was asked for: of a launch, its kernel and configuration. May be empty.
  std::string detail = {};
};

using Step = std::variant<AllocStep, FreeStep, UploadStep, FillStep, CopyStep, LaunchStep, ReadStep,
                          SyncStep, EventStep, WaitStep, ErrorStep, MatmulStep>;

/// Stream 0 is the default stream; the others are numbered from 1.
struct Stream {
  uint32_t id = 0;
  bool nonBlocking = false;
  int priority = 0;
};

/// How the recorded run ended.
enum class Ending : uint8_t {
  Running,     ///< recording has not ended (never written by a run that ends)
  Exit,        ///< main returned or exit was called
  Abort,       ///< abort, an uncaught exception or a failed host assertion
  Crash,       ///< a signal in host code
  Fault,       ///< a kernel went wrong: out of bounds, trap, assertion, deadlock
  Unsupported, ///< a call or option that the recorder does not have
  Mismatch,    ///< the reads do not follow the oracle's
  TooLarge,    ///< the recording exceeded its size limit or the disk is full
  NoDevice     ///< the device to record on is not there, or was lost
};

/// Objects of one kind that the program had not given back when it ended.
struct HeldObjects {
  /// "device memory", "managed memory", "page-locked memory", "streams" or "events".
  std::string what;
  uint64_t bytes = 0; ///< of each; 0 for what is no memory
  uint64_t count = 0;
  /// How many different numbers of launches had been made when they came.
  uint64_t moments = 0;
};

struct Outcome {
  Ending ending = Ending::Running;
  /// What happened, naming the call or kernel; empty after Exit.
  std::string message;
  /// The process's exit status and BLAKE3 of what it printed; filled in by
  /// the process that ran it, -1 and empty before that.
  int exitStatus = -1;
  std::string stdoutDigest;
  std::vector<HeldObjects> held = {};
  /// Numbers of the branches of the host that were taken, where it was compiled to note them.
  std::vector<uint32_t> taken = {};
};

struct Plan {
  // Compiled once, in Plan.cpp: what they do with a Step is a lot of code.
  Plan();
  Plan(const Plan &);
  Plan(Plan &&) noexcept;
  Plan &operator=(const Plan &);
  Plan &operator=(Plan &&) noexcept;
  ~Plan();

  std::vector<Buffer> buffers;
  std::vector<Stream> streams; ///< without the default stream
  std::vector<Step> steps;
  Outcome outcome;
};

/// Name of the step's kind in plan.json: "alloc", "launch", …
const char *stepName(const Step &step);

/// plan.json's text: one line per buffer and step.
std::string planToJson(const Plan &plan);

/// The inverse. On failure returns nothing and sets \p error to
/// "<name>: <field path>: <what is wrong>", for instance
/// "plan.json: steps[3].to.buffer: no buffer 7 (the plan has 2)". A plan that
/// is returned is consistent: every buffer exists, regions lie inside their
/// buffers, and data and observable offsets do not overflow.
std::optional<Plan> planFromJson(std::string_view text, std::string_view name, std::string &error);

/// Reads `<folder>/plan.json`.
std::optional<Plan> readPlan(const std::string &folder, std::string &error);
/// Writes `<folder>/plan.json` by way of a temporary file; false and \p error
/// with the path and reason on failure.
bool writePlan(const Plan &plan, const std::string &folder, std::string &error);

/// Sum of the read steps' bytes: the size of observables.bin.
uint64_t observableBytes(const Plan &plan);
/// The type of what \p region holds: its buffer's, or unknown where elements are cut in two.
ElementType elementOf(const Plan &plan, const Region &region);

/// Finds the device pointers in the plan's uploads and notes them in
/// `UploadStep::pointers`, so that devices with other addresses can put their
/// own in. A word counts if it is the address of memory that lives at that step
/// and if no kernel takes the buffer for numbers. \p data is data.bin.
void noteStoredPointers(Plan &plan, std::string_view data);

/// Whether each parameter of the kernel is a pointer to const, from its mangled
/// name; nothing if the name tells no types.
std::optional<std::vector<bool>> constPointerParameters(const std::string &mangledKernel);

/// The element type that each parameter of the kernel points to, from its
/// mangled name alone; Unknown for parameters that are no pointers or whose
/// pointee is no number. Nothing if the name tells no types (`extern "C"`).
std::optional<std::vector<ElementType>> pointerParameterTypes(const std::string &mangledKernel);

} // namespace kbrt

#endif // KBRT_PLAN_H
