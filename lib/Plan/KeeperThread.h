//===- KeeperThread.h - Keeps what a program leaves behind ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the socket by which one recorded program reaches kb-opt, and the thread
// that writes its recording.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_PLAN_KEEPERTHREAD_H
#define KBOPT_LIB_PLAN_KEEPERTHREAD_H

#include "kbrt/RecordKeeper.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace kbopt {

/// Serves the first process that connects, and none after it.
class KeeperThread {
public:
  /// Writes into \p folder, each file up to \p mostBytes. Answers come from \p oracleFolder, if it
  /// is not empty.
  static llvm::Expected<std::unique_ptr<KeeperThread>> start(const std::string &folder,
                                                             bool hasObservables,
                                                             llvm::StringRef oracleFolder,
                                                             uint64_t mostBytes);
  ~KeeperThread();

  /// Where to connect, and the folder that has nothing else.
  const std::string &socketPath() const { return path; }
  const std::string &socketFolder() const { return directory; }

  /// FolderKeeper::onDraft, called on the thread that serves; before the program is started.
  void setOnDraft(std::function<void(const std::string &plan)> then) {
    keeper->onDraft = std::move(then);
  }

  /// FolderKeeper::onUpload, likewise.
  void setOnUpload(std::function<std::optional<std::string>(std::string_view, bool)> then) {
    keeper->onUpload = std::move(then);
  }

  /// The program has ended: what it sent is written. After that, the keeper knows what came.
  kbrt::FolderKeeper &finish();

private:
  KeeperThread() = default;
  void serve(uint64_t mostBytes);

  std::string directory, path;
  int listener = -1;
  std::atomic<int> connection{-1};
  std::atomic<bool> hasEnded{false};
  std::unique_ptr<kbrt::FolderKeeper> keeper;
  std::thread thread;
};

} // namespace kbopt

#endif // KBOPT_LIB_PLAN_KEEPERTHREAD_H
