//===- RecordJson.h - What all records' lines share -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns reading and printing the fields of one line of a log. Which fields there
// are is each record's own.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_KNOWLEDGE_RECORDJSON_H
#define KBOPT_LIB_KNOWLEDGE_RECORDJSON_H

#include "kb-opt/Knowledge/Evidence.h"
#include "kb-opt/Knowledge/Finding.h"
#include "llvm/Support/JSON.h"

namespace kbopt::record {

/// A line's `v` is the least version that has all of its fields, so that a record
/// has the same name in every writer.
inline constexpr int64_t attemptVersion = 1, newestVersion = 4;

llvm::Error bad(const llvm::Twine &what);
/// The object of \p line; not nested deeper than any record, and no newer version.
llvm::Expected<llvm::json::Object> parse(llvm::StringRef line);
llvm::Expected<Evidence> attemptOf(const llvm::json::Object &object);
llvm::Expected<Finding> findingOf(const llvm::json::Object &object);
bool isDigest(llvm::StringRef text);
/// Keys sorted.
std::string print(llvm::json::Object object);
/// Of everything but `time`.
Digest idOf(llvm::json::Object object);
/// Whether `v` and `id` of \p object are those of \p written.
llvm::Error checkName(const llvm::json::Object &object, const llvm::json::Object &written);

llvm::Error readText(const llvm::json::Object &object, llvm::StringRef key, bool required,
                     std::string &value);
llvm::Error readNumber(const llvm::json::Object &object, llvm::StringRef key,
                       std::optional<double> &value);
llvm::Error readTexts(const llvm::json::Object &object, llvm::StringRef key,
                      std::vector<std::string> &values);
llvm::Error readMap(const llvm::json::Object &object, llvm::StringRef key,
                    std::map<std::string, std::string> &values);

// What is empty is left out.
void write(llvm::json::Object &object, llvm::StringRef key, llvm::StringRef value);
void write(llvm::json::Object &object, llvm::StringRef key, std::optional<double> value);
void write(llvm::json::Object &object, llvm::StringRef key, const std::vector<std::string> &values);
void write(llvm::json::Object &object, llvm::StringRef key,
           const std::map<std::string, std::string> &values);

} // namespace kbopt::record

#endif // KBOPT_LIB_KNOWLEDGE_RECORDJSON_H
