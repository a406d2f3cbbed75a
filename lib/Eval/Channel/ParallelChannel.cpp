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
  ParallelChannel(std::vector<std::vector<std::unique_ptr<JobChannel>>> cards,
                  std::unique_ptr<JobChannel> counting)
      : busy(cards.size()), counting(std::move(counting)) {
    for (auto [card, channels] : enumerate(cards))
      for (std::unique_ptr<JobChannel> &channel : channels)
        ways.push_back({std::move(channel), card});
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
    return llvm::all_of(ways, [](const Way &way) { return way.channel->takesContents(); });
  }

private:
  struct Way {
    std::unique_ptr<JobChannel> channel;
    size_t card;
    bool isFree = true;
    std::string session; ///< of its last job: a process of that one waits there
  };

  /// The free one whose process waits for \p session, or the first that is free of the GPU with the
  /// fewest jobs. The first to come is served first.
  Way &take(StringRef session) {
    std::unique_lock<std::mutex> lock(mutex);
    const uint64_t mine = last++;
    changed.wait(lock, [&] {
      return mine == next && llvm::any_of(ways, [](const Way &way) { return way.isFree; });
    });
    ++next;
    auto best =
        llvm::find_if(ways, [&](const Way &way) { return way.isFree && way.session == session; });
    if (best == ways.end())
      best = llvm::min_element(ways, [&](const Way &a, const Way &b) {
        return std::pair(!a.isFree, busy[a.card]) < std::pair(!b.isFree, busy[b.card]);
      });
    best->isFree = false;
    ++busy[best->card];
    best->session = session.str();
    lock.unlock();
    changed.notify_all(); // the next one may find another that is free
    return *best;
  }

  void giveBack(Way &way) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      way.isFree = true;
      --busy[way.card];
    }
    changed.notify_all();
  }

  std::mutex mutex; ///< of all but `counting` and the channels themselves
  std::condition_variable changed;
  uint64_t next = 0, last = 0; ///< the job that is served next, and the one that comes next
  std::vector<Way> ways;
  std::vector<unsigned> busy; ///< jobs that run on each GPU
  std::unique_ptr<JobChannel> counting;
};

} // namespace

std::unique_ptr<JobChannel>
createParallelChannel(std::vector<std::vector<std::unique_ptr<JobChannel>>> cards,
                      std::unique_ptr<JobChannel> counting) {
  assert(!cards.empty() && !cards.front().empty() && counting && "no channel for the jobs");
  return std::make_unique<ParallelChannel>(std::move(cards), std::move(counting));
}

} // namespace kbopt
