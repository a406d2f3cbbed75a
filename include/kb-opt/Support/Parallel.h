//===- Parallel.h - A loop over threads -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the one way to do independent things at once. Sharing what they share is
// the caller's business.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_PARALLEL_H
#define KBOPT_SUPPORT_PARALLEL_H

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace kbopt {

/// Calls \p body(i) for every i below \p count, on up to \p jobs threads.
template <typename Body> void parallelFor(unsigned jobs, size_t count, Body body) {
  if (jobs <= 1 || count <= 1) {
    for (size_t i = 0; i != count; ++i)
      body(i);
    return;
  }
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t != std::min<size_t>(jobs, count); ++t)
    threads.emplace_back([&] {
      for (size_t i; (i = next++) < count;)
        body(i);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace kbopt

#endif // KBOPT_SUPPORT_PARALLEL_H
