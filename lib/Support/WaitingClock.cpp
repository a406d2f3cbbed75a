//===- WaitingClock.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/WaitingClock.h"
#include "kb-opt/Support/Interrupt.h"
#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

using namespace kbopt;

namespace {
class RealWaitingClock : public WaitingClock {
public:
  double monotonicSeconds() override { return realClock().monotonicSeconds(); }
  std::string timestamp() override { return realClock().timestamp(); }
  void sleepSeconds(double seconds) override {
    double end = monotonicSeconds() + seconds;
    for (double left = seconds; left > 0 && !interrupted(); left = end - monotonicSeconds())
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 0.05)));
  }
};
} // namespace

WaitingClock &kbopt::realWaitingClock() {
  static RealWaitingClock clock;
  return clock;
}

double FakeWaitingClock::monotonicSeconds() {
  std::lock_guard<std::mutex> lock(mutex);
  return now;
}

std::string FakeWaitingClock::timestamp() {
  constexpr std::time_t epoch2000 = 946684800;
  std::time_t seconds = epoch2000 + static_cast<std::time_t>(monotonicSeconds());
  std::tm utc;
  gmtime_r(&seconds, &utc);
  char text[32];
  return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc));
}

void FakeWaitingClock::sleepSeconds(double seconds) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    now += seconds;
    slept.push_back(seconds);
  }
  std::this_thread::yield(); // another thread may be the one that is waited for
}

std::vector<double> FakeWaitingClock::waits() const {
  std::lock_guard<std::mutex> lock(mutex);
  return slept;
}
