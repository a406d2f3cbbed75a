//===- Job.h - what kb-run is asked to do -----------------------*- C++ -*-===//
//
// Owns the job file (docs/JobFormat.md) as a structure. Runs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_JOB_H
#define KBRUN_JOB_H

#include "kbrt/PlanExecutor.h"
#include <optional>

namespace kbrun {

struct Override {
  uint32_t step = 0;
  std::string file;
  uint64_t offset = 0; ///< of the payload in the file
};

/// Paths are as in the file, made absolute against the job file's folder.
struct Job {
  std::string plan; ///< recording folder
  std::string image;
  std::optional<kbrt::ImageMode> mode; ///< the image's must be the same
  kbrt::PlanOptions options;           ///< without data and overrides
  std::vector<Override> overrides;
  std::string outputs; ///< folder for observables.bin; empty: not written
  std::string result;  ///< file
  uint32_t repetitions = 1;
  bool varySeed = true; ///< repetition i > 0 runs with seed + i
};

/// Reads \p path. On failure returns nothing and \p error says which field is wrong.
std::optional<Job> readJob(const std::string &path, std::string &error);

/// The whole file, or nothing with \p error.
std::optional<std::string> readFile(const std::string &path, std::string &error);
/// Writes by way of a temporary file in the same folder; false with \p error.
bool writeFile(const std::string &path, std::string_view text, std::string &error);

} // namespace kbrun
#endif
