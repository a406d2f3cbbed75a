//===- Transcript.h - Recorded questions and answers ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the file of `--llm-record`, one JSON line per reply, and the provider
// `replay:FILE` that answers from one (docs/Model.md has the format).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LLM_TRANSCRIPT_H
#define KBOPT_LLM_TRANSCRIPT_H

#include "kb-opt/LLM/Model.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include <memory>

namespace kbopt {

struct TranscriptEntry {
  ModelRequest request;
  ModelReply reply;
};

llvm::json::Value toJson(const TranscriptEntry &entry);
/// \p where begins messages: "FILE:LINE". A line whose digest is not that of its request is an
/// error.
llvm::Expected<TranscriptEntry> transcriptEntryFromJson(llvm::StringRef line,
                                                        llvm::StringRef where);

/// All entries of \p file in order. Half a line at the end (the writer was killed) is left out.
llvm::Expected<std::vector<TranscriptEntry>> readTranscript(FileSystem &files,
                                                            llvm::StringRef file);

/// Appends every reply of \p inner to \p file. Errors are not recorded.
llvm::Expected<std::unique_ptr<Model>> makeRecorder(std::unique_ptr<Model> inner, std::string file,
                                                    FileSystem &files);

/// Answers from \p file and asks no service. The n-th request of a digest gets its n-th recorded
/// reply, later ones the last. A request that is not there is a `ProviderError` that names the
/// nearest one.
llvm::Expected<std::unique_ptr<Model>> makeReplay(std::string file, FileSystem &files);

} // namespace kbopt

#endif // KBOPT_LLM_TRANSCRIPT_H
