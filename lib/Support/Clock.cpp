//===- Clock.cpp ----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/Clock.h"
#include <chrono>
#include <ctime>

using namespace kbopt;

Clock::~Clock() = default;

namespace {
class RealClock : public Clock {
public:
  double monotonicSeconds() override {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  }
  std::string timestamp() override {
    std::time_t now = std::time(nullptr);
    std::tm utc;
    gmtime_r(&now, &utc);
    char text[32];
    size_t length = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return std::string(text, length);
  }
};
} // namespace

Clock &kbopt::realClock() {
  static RealClock clock;
  return clock;
}
