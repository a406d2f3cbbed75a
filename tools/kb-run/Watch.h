//===- Watch.h - seconds of a part of a job ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBRUN_WATCH_H
#define KBRUN_WATCH_H

#include <chrono>

namespace kbrun {

/// Adds the seconds until its end to an entry of the result's `seconds`.
template <typename Json> class Watch {
public:
  Watch(Json &result, const char *part) : result(result), part(part) {}
  ~Watch() {
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    Json &entry = result["seconds"][part];
    entry = (entry.is_number() ? entry.template get<double>() : 0.0) + passed.count();
  }

private:
  Json &result;
  const char *part;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

} // namespace kbrun
#endif
