//===- QueueChannel.h - Workers behind a database ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns a search's access to workers that take jobs from a PostgreSQL database
// (docs/Cluster.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_QUEUECHANNEL_H
#define KBOPT_EVAL_QUEUECHANNEL_H

#include "kb-opt/Eval/JobChannel.h"

namespace kbopt {

class QueueLink;
struct QueueChannelState;

struct QueueChannelOptions {
  std::string url;            ///< postgresql://…, without a password
  double giveUpSeconds = 600; ///< without the database, or a worker for a job
  NoticeFunction notice;
};

/// The channels of one search; what they share outlives this.
class QueueChannels {
public:
  /// Errors: a `UsageError` where the address is none or has a password, a `StoreError` where the
  /// database cannot be reached or its tables are another release's.
  static llvm::Expected<std::unique_ptr<QueueChannels>> open(QueueChannelOptions options);
  ~QueueChannels();

  /// Whether a worker that is there has a GPU.
  llvm::Expected<bool> hasGpu();
  /// Whether a worker that is there does jobs for \p device.
  llvm::Expected<bool> has(llvm::StringRef device);
  /// Jobs for \p device: "cpu", "cuda", or "compile:13.0" for NVRTC of that version. Their
  /// processes have \p memoryBytes of address space (0: no limit). All measurements come from one
  /// GPU. Jobs of the same content are answered once, for all searches, but for measurements.
  std::unique_ptr<JobChannel> channel(llvm::StringRef device, uint64_t memoryBytes);

private:
  explicit QueueChannels(QueueChannelOptions options);
  const QueueChannelOptions options;
  std::shared_ptr<QueueLink> link;
  std::shared_ptr<QueueChannelState> state;
};

} // namespace kbopt

#endif // KBOPT_EVAL_QUEUECHANNEL_H
