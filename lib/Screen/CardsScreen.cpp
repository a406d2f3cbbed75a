//===- CardsScreen.cpp - Screening on several GPUs ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which of several screens takes a candidate. Each holds the original, so that
// a candidate and its original are timed on one GPU.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Screen/Screen.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>
#include <condition_variable>
#include <future>
#include <mutex>

using namespace kbopt;

namespace {

class CardsScreen : public ScreenDevice {
public:
  explicit CardsScreen(std::vector<std::unique_ptr<ScreenDevice>> given)
      : cards(std::move(given)), isFree(cards.size(), true) {}

  /// All at once: copying the inputs takes longer than running most programs.
  llvm::Expected<ScreenReport> open(const ScreenSubject &original,
                                    const ScreenRequest &request) override {
    std::vector<std::future<llvm::Expected<ScreenReport>>> opened;
    for (auto &card : cards)
      opened.push_back(
          std::async(std::launch::async, [&] { return card->open(original, request); }));
    std::vector<ScreenReport> reports;
    llvm::Error failures = llvm::Error::success();
    for (auto &each : opened) {
      llvm::Expected<ScreenReport> report = each.get();
      if (report)
        reports.push_back(std::move(*report));
      else
        failures = llvm::joinErrors(std::move(failures), report.takeError());
    }
    if (failures)
      return std::move(failures);
    auto bad = llvm::find_if(
        reports, [](const ScreenReport &report) { return report.status != RunStatus::Ok; });
    return bad == reports.end() ? reports.front() : *bad;
  }

  llvm::Expected<ScreenReport> screen(const ScreenSubject &candidate,
                                      const ScreenRequest &request) override {
    size_t card = take();
    llvm::Expected<ScreenReport> report = cards[card]->screen(candidate, request);
    {
      std::lock_guard<std::mutex> lock(mutex);
      isFree[card] = true;
    }
    changed.notify_one();
    return report;
  }

private:
  size_t take() {
    std::unique_lock<std::mutex> lock(mutex);
    auto free = isFree.end();
    changed.wait(lock, [&] { return (free = llvm::find(isFree, true)) != isFree.end(); });
    *free = false;
    return static_cast<size_t>(free - isFree.begin());
  }

  std::vector<std::unique_ptr<ScreenDevice>> cards;
  std::mutex mutex; ///< of what follows
  std::condition_variable changed;
  std::vector<bool> isFree;
};

} // namespace

std::unique_ptr<ScreenDevice>
kbopt::createCardsScreen(std::vector<std::unique_ptr<ScreenDevice>> cards) {
  assert(!cards.empty() && "no GPU to screen on");
  return cards.size() == 1 ? std::move(cards.front())
                           : std::make_unique<CardsScreen>(std::move(cards));
}
