//===- ParallelChannel.cpp - Several kb-runs on one machine ---------------===//
//
// Owns which of several channels does a job. What must be alone on a GPU is alone
// by the agreement of all kb-runs (kbrt/Turn.h), so that nothing waits for
// anything else: opening a device for one image takes longer than running most.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Eval/JobChannel.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>

using namespace llvm;

namespace kbopt {
namespace {

class ParallelChannel : public JobChannel {
public:
  ParallelChannel(std::vector<std::unique_ptr<JobChannel>> others,
                  std::unique_ptr<JobChannel> counting)
      : others(std::move(others)), counting(std::move(counting)) {}

  Expected<JobAnswer> run(const JobRequest &request) override {
    if (request.fields.get("profile"))
      return counting->run(request);
    // Jobs of a session share a process of one server.
    std::optional<StringRef> session = request.fields.getString("session");
    return others[session ? size_t(hash_value(*session)) % others.size() : 0]->run(request);
  }

  bool takesContents() const override {
    return llvm::all_of(others, [](const auto &each) { return each->takesContents(); });
  }

private:
  std::vector<std::unique_ptr<JobChannel>> others;
  std::unique_ptr<JobChannel> counting;
};

} // namespace

std::unique_ptr<JobChannel> createParallelChannel(std::vector<std::unique_ptr<JobChannel>> others,
                                                  std::unique_ptr<JobChannel> counting) {
  assert(!others.empty() && counting && "who is to do the jobs?");
  return std::make_unique<ParallelChannel>(std::move(others), std::move(counting));
}

} // namespace kbopt
