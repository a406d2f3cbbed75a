//===- Job.h - what kb-run is asked to do -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the job file (docs/JobFormat.md) as a structure. Runs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_JOB_H
#define KBRUN_JOB_H

#include "kbrt/CudaPlan.h"
#include "kbrt/PlanExecutor.h"
#include <optional>

namespace kbrun {

struct Override {
  uint32_t step = 0;
  std::string file;
  uint64_t offset = 0; ///< of the payload in the file
};

/// A plan and the image that executes it.
struct JobSubject {
  std::string plan; ///< recording folder
  std::string image;
  /// What the uploads' bytes must be; where the plan's folder has none, they lie in the job's
  /// folder of blobs under this name. Empty: data.bin of the plan as it is.
  std::string dataSha256;
};

/// What is measured and read on a CUDA device beside running the plan.
struct CudaJob {
  std::string arch; ///< empty: any
  unsigned deviceIndex = 0;
  std::map<std::string, std::vector<bool>> constParameters;
  std::optional<kbrt::cuda::TimingOptions> timing;
  std::optional<JobSubject> baseline; ///< of the timing
  std::optional<kbrt::cuda::ProfileOptions> profile;
  bool audit = false;
  bool separateBuffers = false;
  std::vector<kbrt::cuda::RestingRepetition> resting; ///< with `separateBuffers`: is left out
  /// Where the sender has some of the bytes that are read: the others go to `Job::outputs`, a file
  /// each.
  std::optional<kbrt::cuda::ReadContents> contents;
  std::vector<std::string> sanitizer; ///< tools of compute-sanitizer
  double sanitizerSeconds = 60;       ///< for each
};

/// Paths are as in the file, made absolute against the job's folder.
struct Job {
  std::string id; ///< the sender's; comes back in the result
  /// Jobs of one session may share a process, and with it an opened device, as long as all goes
  /// well; empty: a process of its own.
  std::string session;
  JobSubject subject;
  std::string blobs;                   ///< folder of files named by their SHA-256
  std::optional<kbrt::ImageMode> mode; ///< the image's must be the same
  kbrt::PlanOptions options;           ///< without data and overrides
  std::vector<Override> overrides;
  std::string outputs; ///< folder for observables.bin, or the files of `CudaJob::contents`; empty:
                       ///< nothing is written
  std::string result;  ///< file
  uint32_t repetitions = 1;
  bool varySeed = true; ///< repetition i > 0 runs with seed + i
  bool isCuda = false;  ///< else the CPU device
  CudaJob cuda;

  /// Seconds after which the job's process is considered lost; 0 is never.
  double limitSeconds() const;
};

/// Reads \p path. On failure returns nothing and \p error says which field is wrong.
std::optional<Job> readJob(const std::string &path, std::string &error);
/// The same from text; \p name is for messages, \p folder what paths are relative to.
std::optional<Job> parseJob(const std::string &text, const std::string &name,
                            const std::string &folder, std::string &error);

/// The whole file, or nothing with \p error.
std::optional<std::string> readFile(const std::string &path, std::string &error);
/// Writes by way of a temporary file in the same folder; false with \p error.
bool writeFile(const std::string &path, std::string_view text, std::string &error);

} // namespace kbrun
#endif
