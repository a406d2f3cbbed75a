//===- OneQueue.h - how many hardware queues a context has ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the variable of the CUDA driver that says so, while a device is opened.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_ONEQUEUE_H
#define KBRT_ONEQUEUE_H

#include <cstdlib>
#include <optional>
#include <string>

namespace kbrt::cuda {

/// Lets contexts that are opened meanwhile have one queue. All work of a `Device` goes through one
/// stream, so that more are of no use to it, and they are what takes the time: on an H200, twelve
/// processes opened a context each in 0.45 s with one queue, in 1.5 to 2.4 s with the usual eight
/// and in 16 s with 32 (bench/contexts.cu); beside a busy GPU it takes several times as long.
class OneQueue {
public:
  OneQueue() {
    if (const char *value = std::getenv(variable))
      before = value;
    setenv(variable, "1", /*overwrite=*/1);
  }
  ~OneQueue() {
    if (before)
      setenv(variable, before->c_str(), /*overwrite=*/1);
    else
      unsetenv(variable);
  }
  OneQueue(const OneQueue &) = delete;
  OneQueue &operator=(const OneQueue &) = delete;

private:
  static constexpr const char *variable = "CUDA_DEVICE_MAX_CONNECTIONS";
  std::optional<std::string> before; ///< a recorded program may look at its own environment
};

} // namespace kbrt::cuda

#endif // KBRT_ONEQUEUE_H
