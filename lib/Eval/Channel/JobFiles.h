//===- JobFiles.h - Files that travel with jobs -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what all ways to a kb-run share: the text of a job, the reading of its answer,
// and the files beside them.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CHANNEL_JOBFILES_H
#define KBOPT_LIB_EVAL_CHANNEL_JOBFILES_H

#include "kb-opt/Eval/JobChannel.h"
#include <mutex>

namespace kbopt {

/// Where a server finds a subject; empty where it asks for the device alone.
struct SentSubject {
  std::string plan, image;
  std::string dataSha256; ///< empty: data.bin lies in the plan's folder, or there is none
};

/// The SHA-256 of files, each read once while its size and time stay. Thread-safe.
class SentDigests {
public:
  llvm::Expected<std::string> get(const std::string &path);

private:
  std::mutex mutex;
  std::map<std::string, std::string> known; ///< by path, size and time
};

/// Where a server finds what a job is about.
struct SentSubjects {
  SentSubject subject;
  std::optional<SentSubject> baseline;
};
/// Calls \p send for the subjects of \p request.
llvm::Expected<SentSubjects>
sendSubjects(const JobRequest &request,
             llvm::function_ref<llvm::Expected<SentSubject>(const JobSubject &)> send);

/// The whole job, on one line, with sorted keys.
std::string jobText(const JobRequest &request, const SentSubject &subject,
                    const std::optional<SentSubject> &baseline, llvm::StringRef blobs,
                    llvm::StringRef outputs);

/// The result in \p text; an error names \p sender if it is none.
llvm::Expected<llvm::json::Object> parseResult(llvm::StringRef text, llvm::StringRef sender);

/// A result that says \p status and \p message, as kb-run writes one for a process that died.
llvm::json::Object plainResult(llvm::StringRef status, const std::string &message);

/// What lies in the folder \p outputs, into \p answer: observables.bin, and the files named by
/// their digests, which stay mapped. Removes the folder.
llvm::Error takeOutputs(const std::string &outputs, JobAnswer &answer);

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_CHANNEL_JOBFILES_H
