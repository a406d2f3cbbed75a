//===- Device.cpp - Names and records of devices --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/GpuDevice.h"

using namespace llvm;

namespace kbopt {

Device::~Device() = default;

StringRef toString(RunMode mode) {
  switch (mode) {
  case RunMode::Plain:
    return "plain";
  case RunMode::Check:
    return "check";
  case RunMode::Count:
    return "count";
  case RunMode::Oracle:
    return "oracle";
  case RunMode::Search:
    return "search";
  }
  return "";
}

StringRef toString(Rounding rounding) {
  switch (rounding) {
  case Rounding::Nearest:
    return "nearest";
  case Rounding::Up:
    return "up";
  case Rounding::Down:
    return "down";
  case Rounding::Zero:
    return "zero";
  }
  return "";
}

StringRef toString(RunStatus status) {
  switch (status) {
  case RunStatus::Ok:
    return "ok";
  case RunStatus::Fault:
    return "fault";
  case RunStatus::Timeout:
    return "timeout";
  case RunStatus::OutOfMemory:
    return "out of memory";
  case RunStatus::Unsupported:
    return "unsupported";
  case RunStatus::Lost:
    return "device lost";
  }
  return "";
}

StringRef toString(TimingDecision decision) {
  switch (decision) {
  case TimingDecision::Faster:
    return "faster";
  case TimingDecision::Slower:
    return "slower";
  case TimingDecision::Inconclusive:
    return "inconclusive";
  }
  return "";
}

std::vector<std::string> RunResult::defects() const {
  std::vector<std::string> texts;
  auto add = [&](const std::vector<DeviceFinding> &list) {
    for (const DeviceFinding &finding : list)
      if (!finding.benign)
        texts.push_back(finding.text);
  };
  for (const LaunchRecord &launch : launches)
    add(launch.findings);
  add(findings);
  return texts;
}

} // namespace kbopt
