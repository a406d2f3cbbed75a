//===- ParallelChannel.cpp - Several kb-runs on one machine ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which of several channels does a job. What must be alone on a GPU is alone
// by the agreement of all kb-runs (kbrt/Turn.h), so that nothing waits for
// anything else: opening a device for one image takes longer than running most,
// and a job that waits behind another one while a server has nothing to do waits
// for several seconds beside other searches.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Eval/JobChannel.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>
#include <condition_variable>
#include <mutex>

using namespace llvm;

namespace kbopt {
namespace {

class ParallelChannel : public JobChannel {
public:
  ParallelChannel(std::vector<std::unique_ptr<JobChannel>> others,
                  std::unique_ptr<JobChannel> counting)
      : others(others.size()), counting(std::move(counting)) {
    for (auto [way, channel] : zip(this->others, others))
      way.channel = std::move(channel);
  }

  Expected<JobAnswer> run(const JobRequest &request) override {
    if (request.fields.get("profile"))
      return counting->run(request);
    Way &way = take(request.fields.getString("session").value_or(""));
    Expected<JobAnswer> answer = way.channel->run(request);
    giveBack(way);
    return answer;
  }

  bool takesContents() const override {
    return llvm::all_of(others, [](const Way &way) { return way.channel->takesContents(); });
  }

private:
  struct Way {
    std::unique_ptr<JobChannel> channel;
    bool isFree = true;
    std::string session; ///< of its last job: a process of that one waits there
  };

  /// The free one whose process waits for \p session, or any that is free. The first to come is
  /// served first.
  Way &take(StringRef session) {
    std::unique_lock<std::mutex> lock(mutex);
    const uint64_t mine = last++;
    changed.wait(lock, [&] {
      return mine == next && llvm::any_of(others, [](const Way &way) { return way.isFree; });
    });
    ++next;
    auto best =
        llvm::find_if(others, [&](const Way &way) { return way.isFree && way.session == session; });
    if (best == others.end())
      best = llvm::find_if(others, [](const Way &way) { return way.isFree; });
    best->isFree = false;
    best->session = session.str();
    lock.unlock();
    changed.notify_all(); // the next one may find another that is free
    return *best;
  }

  void giveBack(Way &way) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      way.isFree = true;
    }
    changed.notify_all();
  }

  std::mutex mutex; ///< of all but `counting` and the channels themselves
  std::condition_variable changed;
  uint64_t next = 0, last = 0; ///< the job that is served next, and the one that comes next
  std::vector<Way> others;
  std::unique_ptr<JobChannel> counting;
};

} // namespace

std::unique_ptr<JobChannel> createParallelChannel(std::vector<std::unique_ptr<JobChannel>> others,
                                                  std::unique_ptr<JobChannel> counting) {
  assert(!others.empty() && counting && "no channel for the jobs");
  return std::make_unique<ParallelChannel>(std::move(others), std::move(counting));
}

} // namespace kbopt
