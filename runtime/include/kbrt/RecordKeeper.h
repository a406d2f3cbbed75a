//===- RecordKeeper.h - Keeps what is recorded -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way of a recording out of the program: what is appended there can
// not be changed by the program any more, and of an oracle's results it gives
// those that are asked for, once, in their order.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORDKEEPER_H
#define KBRT_RECORDKEEPER_H

#include "kbrt/Plan.h"
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kbrt {

inline constexpr const char *deviceFactsFileName = "device.txt";
/// Which bytes of observables.bin the reads consist of, in their order, where some are there once
/// that were read more often: lines with a place and a number of bytes. Missing where every byte is
/// read once.
inline constexpr const char *piecesFileName = "observables.txt";

/// The file that bytes are appended to.
enum class Payload : uint8_t { Data, Observables };

/// How often the original reads, and how many bytes together.
struct OracleSize {
  uint64_t reads = 0, bytes = 0;
};

/// Functions that return bool return false with errno set.
class RecordKeeper {
public:
  virtual ~RecordKeeper();
  virtual bool append(Payload payload, const void *bytes, uint64_t count) = 0;
  /// Whether \p count bytes at \p place of the data are those at \p bytes.
  virtual bool holds(uint64_t place, const void *bytes, uint64_t count) = 0;
  virtual OracleSize oracle() = 0;
  /// The next \p count bytes of the oracle's results.
  virtual bool answer(void *to, uint64_t count) = 0;
  /// What the oracle's device said of itself; empty if it was not asked.
  virtual std::string oracleDevice() = 0;
  virtual bool keepDevice(const std::string &facts) = 0;
  /// A step was made that the plan must have, next.
  virtual bool noteStep(uint64_t digest) = 0;
  /// The program looked at the file or folder \p path, or at some that are not known: empty.
  virtual bool noteFile(const std::string &path) = 0;
  /// Whether others take the place of the \p count bytes that the program uploads: they go to \p
  /// others, and are as many.
  virtual bool replace(const void *bytes, uint64_t count, std::vector<char> &others) = 0;
  /// The plan so far as JSON, while the program computes on the host.
  virtual bool draft(const std::string &plan) = 0;
  /// The plan as JSON; the end of the recording.
  virtual bool finish(const std::string &plan) = 0;
};

/// What of a step is settled when it is made: all but the place of its data and the pointers in
/// them.
uint64_t stepDigest(const Step &step);

/// Bytes of observables.bin.
struct StoredPiece {
  uint64_t place = 0, bytes = 0;
};

/// What the host read in the recording \p folder, whole and in the order of the reads. Nothing and
/// \p error if it cannot be read.
std::optional<std::string> readObservables(const std::string &folder, std::string &error);

/// Keeps a recording in a folder.
class FolderKeeper : public RecordKeeper {
public:
  /// Creates the files. Without \p hasObservables what the host reads is not kept. \p oracleFolder
  /// may be empty. Null and
  /// \p error on failure.
  static std::unique_ptr<FolderKeeper> create(const std::string &folder, bool hasObservables,
                                              const std::string &oracleFolder, std::string &error);
  ~FolderKeeper() override;

  bool append(Payload payload, const void *bytes, uint64_t count) override;
  bool holds(uint64_t place, const void *bytes, uint64_t count) override;
  OracleSize oracle() override { return size; }
  bool answer(void *to, uint64_t count) override;
  std::string oracleDevice() override;
  bool keepDevice(const std::string &facts) override;
  bool noteStep(uint64_t digest) override;
  bool noteFile(const std::string &path) override;
  bool replace(const void *bytes, uint64_t count, std::vector<char> &others) override;
  bool draft(const std::string &plan) override;
  bool finish(const std::string &plan) override;

  /// Gets what `draft` got, once the bytes of its uploads are in the folder.
  std::function<void(const std::string &plan)> onDraft;
  /// Gets the bytes of an upload, and whether the program has read a result before; returns what
  /// takes their place, or nothing.
  std::function<std::optional<std::string>(std::string_view bytes, bool hasRead)> onUpload;
  bool flush();
  /// errno of the first write that failed: the disk is full, say. 0: none did.
  int failure() const { return failed; }
  /// Whether \p plan has the steps that were noted, and its reads are what was answered; \p why if
  /// not.
  bool fits(const Plan &plan, std::string &why) const;
  /// What the program looked at on this machine; nothing if that is not known in full.
  const std::optional<std::vector<std::string>> &files() const { return notedFiles; }

private:
  FolderKeeper() = default;
  bool appendObservables(const void *bytes, uint64_t count);
  bool writePieces() const;
  std::string folder, oracleFolder;
  std::FILE *data = nullptr, *observables = nullptr, *oracleFile = nullptr;
  OracleSize size;
  uint64_t answered = 0;
  /// Of the observables, in the order of the reads; contents by a hash of theirs.
  std::vector<StoredPiece> pieces;
  std::unordered_multimap<uint64_t, StoredPiece> contents;
  uint64_t storedBytes = 0;
  /// The oracle's; the next answer comes from the first of them.
  std::deque<StoredPiece> unanswered;
  std::vector<uint64_t> steps;
  std::optional<std::vector<std::string>> notedFiles = std::vector<std::string>();
  bool isFinished = false;
  int failed = 0;
};

} // namespace kbrt

#endif // KBRT_RECORDKEEPER_H
