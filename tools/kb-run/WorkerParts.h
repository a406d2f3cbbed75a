//===- WorkerParts.h - What the files of a worker share ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the seams between a worker's loop (Worker.cpp), what it says of its
// machine (WorkerFacts.cpp), and the process that starts it (ServeDatabase.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_WORKERPARTS_H
#define KBRUN_WORKERPARTS_H

#include "PipedServer.h"
#include "Worker.h"
#include "kbrt/WorkQueue.h"
#include <csignal>
#include <optional>

namespace kbrun {

/// Beside a job's own limit, after which a server counts as hung.
constexpr double graceSeconds = 60;

/// Set by a signal: the worker gives back the job in hand and ends.
extern volatile sig_atomic_t isStopAsked;

/// What this machine can do, asked of \p server; nothing if no job can run here, which is then
/// told.
std::optional<kbrt::WorkerFacts> factsOfWorker(const WorkerOptions &options, PipedServer &server);

/// One worker in this process, whose files lie in \p folder. Returns an exit status.
int runWorker(const WorkerOptions &options, const std::string &folder);

/// For people, on standard error.
void complain(const kbrt::DatabaseFailure &failure);

} // namespace kbrun

#endif // KBRUN_WORKERPARTS_H
