//===- WorkloadFinder.cpp - Where a source's workload is written ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/Workload.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
using llvm::Expected;
using llvm::StringRef;

namespace {

constexpr StringRef marker = "kb-workload:";

/// A comment's text with everything that is not YAML replaced by spaces, so
/// that lines and columns stay those of the source.
struct CommentText {
  std::string yaml;
  unsigned firstLine = 1;
  size_t begin = 0; ///< offset in the source
};

void blank(std::string &text, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i)
    if (text[i] != '\n')
      text[i] = ' ';
}

/// The run of `//` lines that starts at \p start (the marker's line).
std::string lineComments(StringRef source, size_t start, size_t afterMarker) {
  size_t end = start;
  while (end < source.size()) {
    StringRef line = source.substr(end).split('\n').first;
    if (!line.ltrim().starts_with("//"))
      break;
    end = std::min(source.size(), end + line.size() + 1);
  }
  std::string text = source.slice(start, end).str();
  blank(text, 0, afterMarker - start);
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    size_t slashes = text.find("//", at);
    if (slashes != std::string::npos && text.find('\n', at + 1) >= slashes)
      blank(text, at + 1, slashes + 2);
  }
  return text;
}

std::string blockComment(StringRef source, size_t lineStart, size_t afterMarker) {
  size_t end = source.find("*/", afterMarker);
  std::string text = source.slice(lineStart, end).str();
  blank(text, 0, afterMarker - lineStart);
  // A column of stars at the left edge is decoration.
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    size_t first = text.find_first_not_of(" \t", at + 1);
    if (first != std::string::npos && text[first] == '*')
      text[first] = ' ';
  }
  return text;
}

std::optional<CommentText> findComment(StringRef source) {
  for (size_t at = source.find(marker); at != StringRef::npos; at = source.find(marker, at + 1)) {
    size_t lineStart = source.rfind('\n', at);
    lineStart = lineStart == StringRef::npos ? 0 : lineStart + 1;
    StringRef before = source.slice(lineStart, at).trim();
    size_t after = at + marker.size();
    unsigned line = 1 + source.take_front(at).count('\n');
    if (before == "//" || before == "///")
      return CommentText{lineComments(source, lineStart, after), line, lineStart};
    bool opensHere = before == "/*" || before == "/**";
    bool opensAbove = before.empty() || before == "*";
    // Inside a block comment that began on an earlier line.
    if (opensHere ||
        (opensAbove && source.take_front(at).rfind("/*") != StringRef::npos &&
         source.slice(source.take_front(at).rfind("/*"), at).find("*/") == StringRef::npos))
      return CommentText{blockComment(source, lineStart, after), line, lineStart};
  }
  return std::nullopt;
}

Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(StringRef path, StringRef what) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::make_error<UsageError>(
        ("cannot read " + what + " '" + path + "': " + buffer.getError().message()).str(), "",
        ExitStatus::Diagnostics);
  return std::move(*buffer);
}

/// A working directory is meant from where the workload is written.
Workload resolved(Workload workload) {
  llvm::SmallString<256> folder(workload.workingDirectory);
  if (folder.empty() || llvm::sys::path::is_absolute(folder))
    return workload;
  folder = llvm::sys::path::parent_path(workload.file);
  llvm::sys::path::append(folder, workload.workingDirectory);
  llvm::sys::fs::make_absolute(folder);
  workload.workingDirectory = folder.str().str();
  return workload;
}

} // namespace

Expected<std::optional<Workload>> kbopt::workloadInComment(StringRef source, StringRef file) {
  std::optional<CommentText> comment = findComment(source);
  if (!comment)
    return std::nullopt;
  auto workload = parseWorkload(comment->yaml, file, comment->firstLine);
  if (!workload)
    return workload.takeError();
  return std::move(*workload);
}

std::string kbopt::withoutWorkload(StringRef source) {
  std::string text = source.str();
  std::optional<CommentText> comment = findComment(source);
  if (!comment)
    return text;
  // What stands before and after stays; of the workload only its line breaks and
  // what leads its lines (`//`).
  std::string kept = text.substr(0, comment->begin);
  for (size_t i = 0; i != comment->yaml.size(); ++i) {
    char c = text[comment->begin + i];
    if (c == '\n')
      kept.resize(StringRef(kept).rtrim(' ').size());
    kept += comment->yaml[i] == ' ' || comment->yaml[i] == '\n' ? c : ' ';
  }
  return kept + text.substr(comment->begin + comment->yaml.size());
}

Expected<std::optional<Workload>> kbopt::findWorkload(StringRef sourcePath,
                                                      StringRef explicitPath) {
  std::string beside = (sourcePath + ".workload.yaml").str();
  if (!llvm::sys::fs::exists(beside))
    beside = (sourcePath.rsplit('.').first + ".workload.yaml").str();
  bool isBeside = explicitPath.empty() && llvm::sys::fs::exists(beside);
  if (!explicitPath.empty() || isBeside) {
    StringRef path = isBeside ? StringRef(beside) : explicitPath;
    auto buffer = readFile(path, "the workload");
    if (!buffer)
      return buffer.takeError();
    auto workload = parseWorkload((*buffer)->getBuffer(), path);
    if (!workload)
      return workload.takeError();
    return resolved(std::move(*workload));
  }
  auto buffer = readFile(sourcePath, "the source");
  if (!buffer)
    return buffer.takeError();
  auto workload = workloadInComment((*buffer)->getBuffer(), sourcePath);
  if (workload && *workload)
    *workload = resolved(std::move(**workload));
  return workload;
}
