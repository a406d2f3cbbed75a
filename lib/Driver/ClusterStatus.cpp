//===- ClusterStatus.cpp - A database of jobs as people see it ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ClusterCommand.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Interrupt.h"
#include "kbrt/WorkQueue.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <thread>

using namespace kbopt;
using llvm::StringRef;
namespace json = llvm::json;

static StringRef textOf(const json::Object &object, StringRef name) {
  return object.getString(name).value_or("");
}
static int64_t numberOf(const json::Object &object, StringRef name) {
  return static_cast<int64_t>(object.getNumber(name).value_or(0));
}

/// "42 s", "7 min", "3 h".
static std::string ageOf(double seconds) {
  if (seconds < 120)
    return llvm::formatv("{0:f0} s", seconds);
  return seconds < 7200 ? llvm::formatv("{0:f0} min", seconds / 60).str()
                        : llvm::formatv("{0:f0} h", seconds / 3600).str();
}

static void showWorkers(const json::Array &workers, llvm::raw_ostream &os) {
  os << workers.size() << (workers.size() == 1 ? " worker\n" : " workers\n");
  for (const json::Value &value : workers) {
    const json::Object &worker = *value.getAsObject();
    StringRef what = textOf(worker, "product"), job = textOf(worker, "job");
    std::string devices;
    if (const json::Array *all = worker.getArray("devices"))
      for (const json::Value &device : *all)
        devices += (devices.empty() ? "" : ", ") + device.getAsString().value_or("").str();
    os << "  " << textOf(worker, "id") << ": " << (what.empty() ? StringRef(devices) : what)
       << (what.empty() ? "" : ", driver ") << textOf(worker, "driver") << ", "
       << numberOf(worker, "answered") << " answered in "
       << ageOf(worker.getNumber("upSeconds").value_or(0)) << (job.empty() ? ", idle" : ", does ")
       << job;
    if (textOf(worker, "release") != kbrt::queueRelease)
      os << ", of another release (" << textOf(worker, "release") << ")";
    if (worker.getBoolean("stopping").value_or(false))
      os << ", stopping";
    if (double silent = worker.getNumber("silentSeconds").value_or(0); silent > 20)
      os << ", silent for " << ageOf(silent);
    os << "\n";
  }
}

static void showQueue(const json::Object &status, llvm::raw_ostream &os) {
  os << "queue: " << numberOf(status, "waiting") << " waiting, " << numberOf(status, "running")
     << " running, " << numberOf(status, "answered") << " answered; "
     << numberOf(status, "answeredLastMinute") << " in the last minute";
  if (auto oldest = status.getNumber("oldestSeconds"))
    os << "; the oldest is " << ageOf(*oldest) << " old";
  os << "\n";
  if (const json::Array *stuck = status.getArray("notDone"))
    for (const json::Value &value : *stuck) {
      const json::Object &group = *value.getAsObject();
      const int64_t jobs = numberOf(group, "jobs");
      os << "no worker for " << jobs << (jobs == 1 ? " job" : " jobs") << ": device "
         << textOf(group, "device");
      for (StringRef name : {"product", "gpu"})
        if (!textOf(group, name).empty())
          os << ", " << textOf(group, name);
      if (textOf(group, "release") != kbrt::queueRelease)
        os << ", release " << textOf(group, "release");
      os << "\n";
    }
  std::string failures;
  if (const json::Object *byStatus = status.getObject("failures"))
    for (const auto &[reason, count] : *byStatus)
      failures += llvm::formatv("{0}{1} {2}", failures.empty() ? "" : ", ",
                                count.getAsInteger().value_or(0), StringRef(reason))
                      .str();
  os << "failures: " << (failures.empty() ? "none" : failures) << "\n"
     << "files: " << numberOf(status, "blobs") << " with "
     << (numberOf(status, "blobBytes") + (1 << 20) - 1) / (1 << 20)
     << " MiB; evidence: " << numberOf(status, "evidence") << " records\n";
}

llvm::Error kbopt::showCluster(const ClusterOptions &options, kbrt::Database &database) {
  for (;;) {
    kbrt::DatabaseFailure failure;
    std::optional<std::string> text = kbrt::queueStatus(database, failure);
    if (!text)
      return databaseError(options, failure);
    if (options.json) {
      llvm::outs() << *text << "\n";
    } else {
      auto status = json::parse(*text);
      if (!status)
        return status.takeError();
      if (const json::Array *workers = status->getAsObject()->getArray("workers"))
        showWorkers(*workers, llvm::outs());
      showQueue(*status->getAsObject(), llvm::outs());
    }
    llvm::outs().flush();
    if (!options.watch)
      return llvm::Error::success();
    for (unsigned tenths = 0; tenths != 20; ++tenths) {
      if (interrupted())
        return llvm::Error::success();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    llvm::outs() << "\n";
  }
}
