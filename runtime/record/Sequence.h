//===- Sequence.h - The plan as it grows -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the steps, the places of bytes in the two files beside them, and the oracle's answers.
// It moves bytes for uploads and reads; kernels and allocations are not its
// business.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_SEQUENCE_H
#define KBRT_RECORD_SEQUENCE_H

#include "Backend.h"
#include "HostOrder.h"
#include "kbrt/RecordKeeper.h"
#include <deque>
#include <functional>
#include <map>
#include <string>

namespace kbrt {

/// record: execute kernels and write everything; oracle: execute no kernel and
/// answer reads from an earlier recording; run: execute kernels, write nothing.
enum class Mode : uint8_t { Record, Oracle, Run };

/// An append-only file of the keeper's that knows its size.
class PayloadFile {
public:
  explicit PayloadFile(Payload payload) : payload(payload) {}
  /// False with errno set.
  bool append(RecordKeeper &keeper, const void *bytes, uint64_t count);
  /// Counts bytes that need not be written.
  void skip(uint64_t count) { written += count; }
  uint64_t size() const { return written; }

private:
  Payload payload;
  uint64_t written = 0;
};

class Sequence {
public:
  Plan plan;
  Mode mode = Mode::Run;
  /// Receives the recording; set by the session.
  std::unique_ptr<RecordKeeper> keeper;
  /// The most that each binary file may hold.
  uint64_t fileBytesLimit = ~uint64_t{0};
  /// Ends the process; set by the session.
  std::function<void(Ending, const std::string &)> stop;
  /// Ends the process as `exit(0)` does; set by the session.
  std::function<void()> endOfRun;
  /// Moves rows from the device to the host; set by the session.
  std::function<void(Rows to, Rows from, uint64_t width, uint64_t height)> fetch;

  /// Asks the keeper how much the oracle reads (oracle mode).
  void open();

  bool recording() const { return mode != Mode::Run && !isPastCut; }
  bool executing() const { return mode != Mode::Oracle && !isPastCut; }
  /// The run has had the launches that it may have: from now on the device does nothing, and only
  /// what the host reads is recorded, as it stood then.
  bool isPastCut = false;
  /// How many launches there have been.
  uint64_t launchCount = 0;
  /// Nothing but the calls counts: uploads have no bytes, results are zero.
  bool isDry = false;
  /// A kernel has run since the last read.
  bool hasUnreadLaunch = false;
  /// Appends \p step unless nothing is recorded.
  void add(Step step);
  /// What the host has waited for.
  HostOrder order;

  /// The keeper may put other bytes into the place of those that the host uploads.
  bool replacesUploads = false;
  /// \p source, which \p height rows of \p width bytes are uploaded from, or where what takes their
  /// place lies until the end of the run.
  Rows replaced(Rows source, uint64_t width, uint64_t height);

  /// Notes an upload of \p region from \p height rows of the host's memory at \p source, which
  /// are as many bytes. The caller has moved them.
  /// \p isStaged: \p source is page-locked, and filled again and again.
  void upload(const Region &region, Rows source, uint64_t height, uint32_t stream,
              bool isStaged = false, HostPart host = HostPart::Enqueues);
  /// Gives the host the bytes of \p region, whose rows lie at \p memory: into
  /// \p target, row by row (which may be \p memory itself).
  /// \p asynchronous: the host does not wait for it.
  void read(const Region &region, const void *memory, void *target, uint64_t targetPitch,
            uint32_t stream, bool implicit, bool asynchronous = false);

  /// Called when the host has read a result.
  std::function<void()> hasRead;
  /// Called when the host has read what the last launch before the cut left.
  std::function<void()> readPastCut;
  /// Oracle mode: called when the oracle's last byte has been read.
  std::function<void()> allAnswered;

  /// The last upload's bytes, were they read from \p source now, take the place of those that were.
  std::function<void()> uploadedLate(Rows source, uint64_t height);

private:
  void readNow(const Region &region, const void *memory, void *target, uint64_t targetPitch,
               uint32_t stream, bool implicit, bool asynchronous);
  void append(PayloadFile &file, const void *bytes, uint64_t count, const char *what);
  void answer(const Region &region, void *target, uint64_t targetPitch);

  /// What \p step, which reads \p source in one piece, shares with earlier uploads.
  void noteSource(UploadStep &step, const char *source);
  struct UploadSource {
    uint32_t upload;
    const char *begin;
    uint64_t bytes;
  };
  std::vector<UploadSource> sources; ///< of pageable memory, in one piece
  uint32_t uploadCount = 0;

  /// Where equal bytes stand in data.bin, if they do.
  std::optional<uint64_t> findPayload(const char *bytes, uint64_t count, uint64_t hash);

  PayloadFile data{Payload::Data}, observables{Payload::Observables};
  std::multimap<uint64_t, std::pair<uint64_t, uint64_t>> payloads; ///< hash to place and length
  OracleSize oracle;
  uint64_t answered = 0; ///< bytes of the oracle's reads
  size_t readCount = 0;
  std::deque<std::vector<char>> replacements;
};

} // namespace kbrt

#endif // KBRT_RECORD_SEQUENCE_H
