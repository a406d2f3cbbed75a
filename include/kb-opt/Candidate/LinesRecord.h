//===- LinesRecord.h - The lines that kernels wait at -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the record of a GPU's samples by source line, in words, and its codec.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_LINESRECORD_H
#define KBOPT_CANDIDATE_LINESRECORD_H

#include "llvm/Support/JSON.h"
#include <map>
#include <string>
#include <vector>

namespace kbopt {

struct LinesRecord {
  /// The hottest lines of each kernel (mangled), a sentence each.
  std::map<std::string, std::vector<std::string>> kernels;
};

llvm::json::Value toJSON(const LinesRecord &record);
bool fromJSON(const llvm::json::Value &value, LinesRecord &record, llvm::json::Path path);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_LINESRECORD_H
