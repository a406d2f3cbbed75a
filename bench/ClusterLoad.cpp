//===- ClusterLoad.cpp - Questions for a database of jobs -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Asks a database many jobs at once, as a search does, and prints how long that took.
// bench/cluster.py starts it, with workers that pretend.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Eval/QueueChannel.h"
#include "kb-opt/Support/Clock.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kbrt/Plan.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <thread>

using namespace kbopt;

/// One job after the other, until \p left is 0; false after the first one that fails.
static bool askMany(JobChannel &channel, const std::string &folder, std::atomic<int> &left) {
  for (int number; (number = left--) > 0;) {
    JobRequest request;
    request.fields = llvm::json::Object{{"mode", "plain"}, {"seed", number}};
    request.subject = {folder + "/image", folder};
    llvm::Expected<JobAnswer> answer = channel.run(request);
    if (answer)
      continue;
    reportError(llvm::errs(), "ClusterLoad", answer.takeError());
    return false;
  }
  return true;
}

/// ClusterLoad URL FOLDER JOBS THREADS SEARCHES: seconds for all, by so many searches with so many
/// jobs at once each.
int main(int argc, char **argv) {
  int jobs = 0, threads = 0, searches = 0;
  if (argc != 6 || llvm::StringRef(argv[3]).getAsInteger(10, jobs) ||
      llvm::StringRef(argv[4]).getAsInteger(10, threads) ||
      llvm::StringRef(argv[5]).getAsInteger(10, searches)) {
    llvm::errs() << "usage: ClusterLoad URL FOLDER JOBS THREADS SEARCHES\n";
    return 2;
  }
  const std::string folder = argv[2];
  FileSystem &files = realFileSystem();
  for (const char *name : {"image", kbrt::planFileName})
    if (llvm::Error error = files.write(folder + "/" + name, name))
      return static_cast<int>(reportError(llvm::errs(), "ClusterLoad", std::move(error)));
  std::vector<std::unique_ptr<QueueChannels>> all;
  std::vector<std::unique_ptr<JobChannel>> channels;
  for (int i = 0; i != searches; ++i) {
    QueueChannelOptions options;
    options.url = argv[1];
    auto opened = QueueChannels::open(options);
    if (!opened)
      return static_cast<int>(reportError(llvm::errs(), "ClusterLoad", opened.takeError()));
    all.push_back(std::move(*opened));
    channels.push_back(all.back()->channel("cpu", 0));
  }
  std::atomic<int> left = jobs;
  std::atomic<bool> isGood = true;
  const double start = realClock().monotonicSeconds();
  std::vector<std::thread> askers;
  for (int i = 0; i != threads * searches; ++i)
    askers.emplace_back([&, i] {
      if (!askMany(*channels[i % searches], folder, left))
        isGood = false;
    });
  for (std::thread &asker : askers)
    asker.join();
  llvm::outs() << llvm::formatv("{0:f3}\n", realClock().monotonicSeconds() - start);
  return isGood ? 0 : 3;
}
