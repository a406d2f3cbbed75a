//===- Output.cpp - Where results go --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "LockEntries.h"
#include "Modes.h"
#include "kb-opt/Knowledge/KnowledgeBase.h"
#include "kb-opt/Report/Diff.h"
#include "kb-opt/Report/RemarkYaml.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <set>

using namespace kbopt;
namespace fs = llvm::sys::fs;

static llvm::Error checkOutput(const std::string &file) {
  auto refuse = [&](llvm::StringRef reason, llvm::StringRef note) {
    return llvm::make_error<StoreError>(("cannot write '" + file + "': " + reason).str(),
                                        note.str());
  };
  if (fs::is_directory(file))
    return refuse("it is a folder", "name a file in it");
  if (fs::exists(file) && !fs::is_regular_file(file))
    return llvm::Error::success(); // a terminal, a pipe
  llvm::SmallString<128> real;
  if (fs::real_path(file, real))
    real = file;
  llvm::StringRef folder = llvm::sys::path::parent_path(real);
  if (folder.empty())
    folder = ".";
  // Files are replaced whole, so that it is the folder that counts.
  std::error_code code = fs::access(folder, fs::AccessMode::Write);
  if (code == std::errc::no_such_file_or_directory)
    return refuse("there is no folder '" + folder.str() + "'", "create it, or name another file");
  if (code)
    return refuse(code.message(), "name a file in a folder you can write to");
  return llvm::Error::success();
}

/// Fails if what a search teaches could not be kept: its folder is made where there is none.
static llvm::Error checkKnowledge(const Options &options) {
  llvm::SmallString<128> folder(knowledgeFolder(options.knowledgeDirectory));
  if (std::error_code code = fs::make_absolute(folder))
    return llvm::errorCodeToError(code);
  llvm::StringRef there = folder;
  while (!fs::exists(there) && !there.empty())
    there = llvm::sys::path::parent_path(there);
  std::error_code code = fs::access(there, fs::AccessMode::Write);
  if (!fs::is_directory(there))
    code = std::make_error_code(std::errc::not_a_directory);
  if (code)
    return llvm::make_error<StoreError>("cannot write to the knowledge folder '" +
                                            folder.str().str() + "': " + code.message(),
                                        "name another one with --knowledge");
  return llvm::Error::success();
}

static std::string backupOf(const Context &context) { return context.command.file + ".orig"; }

static bool isSameFile(llvm::StringRef a, llvm::StringRef b) {
  return a == b || fs::equivalent(a, b);
}

llvm::Error kbopt::checkOutputs(const Context &context) {
  const Options &options = context.options;
  // A job is a folder, which may be there.
  if (options.backup && fs::exists(backupOf(context)))
    return llvm::make_error<StoreError>("'" + backupOf(context) + "' is there already",
                                        "move it away, or drop --backup");
  const bool isFile = options.output != "-" && options.emit != Emit::Job;
  for (const std::string &file :
       {isFile ? options.output : std::string(), options.fix ? context.command.file : std::string(),
        options.remarksFile, options.reportFile, options.depfile,
        options.lock ? lockPath(context) : std::string()})
    if (!file.empty())
      if (llvm::Error error = checkOutput(file))
        return error;
  return options.isAuto() ? checkKnowledge(options) : llvm::Error::success();
}

llvm::Error kbopt::checkFilesDiffer(const Options &options) {
  std::vector<std::string> read = {options.input, options.workload, options.reply,
                                   options.llmConfig, options.llmPrices};
  llvm::append_range(read, options.judge);
  const std::pair<llvm::StringRef, std::string> written[] = {
      {"-o", options.output},
      {"--remarks-file", options.remarksFile},
      {"--depfile", options.depfile},
      {"--report", options.reportFile},
      {"--journal", options.journalPath},
      {"--llm-record", options.llmRecord},
      {"--time-trace", options.timeTrace}};
  for (const auto &[option, file] : written) {
    const bool isDevice = fs::exists(file) && !fs::is_regular_file(file);
    if (file.empty() || file == "-" || isDevice)
      continue;
    auto same = llvm::find_if(
        read, [&](const std::string &other) { return !other.empty() && isSameFile(file, other); });
    if (same != read.end())
      return llvm::make_error<UsageError>(
          ("'" + option + "' would overwrite '" + *same + "'").str(),
          option == "-o" && *same == options.input
              ? "--fix writes the rewritten program back; else name another file"
              : "name another file");
    read.push_back(file); // two results do not go to one file
  }
  return llvm::Error::success();
}

llvm::Error kbopt::writeResult(Context &context, llvm::StringRef bytes) {
  const std::string &output = context.options.output;
  if (!output.empty() && output != "-")
    return context.files.write(output, bytes);
  context.out << bytes;
  context.out.flush();
  if (context.out.has_error()) {
    std::string reason = context.out.error().message();
    context.out.clear_error();
    return llvm::make_error<StoreError>("cannot write to stdout: " + reason, "name a file with -o");
  }
  return llvm::Error::success();
}

/// \p text with the line ends of \p original, where all of these are CR LF.
static std::string withLineEndsOf(llvm::StringRef original, llvm::StringRef text) {
  if (!original.contains('\n') || original.count('\n') != original.count("\r\n"))
    return text.str();
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r'))
      result += '\r';
    result += text[i];
  }
  return result;
}

llvm::Error kbopt::writeProgram(Context &context, llvm::StringRef rewritten) {
  const std::string text = withLineEndsOf(context.text, rewritten);
  if (context.options.fix) {
    if (text == context.text)
      return llvm::Error::success();
    if (context.options.backup)
      if (llvm::Error error = context.files.write(backupOf(context), context.text))
        return error;
    return context.files.write(context.command.file, text);
  }
  if (context.options.emit == Emit::Source)
    return writeResult(context, text);
  return writeResult(context, patchText(context, text));
}

std::string kbopt::patchText(Context &context, llvm::StringRef text) {
  if (context.received)
    return unifiedDiff(context.text, text, context.command.shownFile);
  llvm::SmallString<128> file(context.command.file), folder;
  fs::make_absolute(file);
  llvm::sys::path::remove_dots(file, /*remove_dot_dot=*/true);
  llvm::StringRef name = file;
  if (!fs::current_path(folder) && name.consume_front(folder) && name.consume_front("/"))
    return unifiedDiff(context.text, text, name);
  if (text != context.text)
    context.progress.line(
        "the file is not below the current folder: apply the patch with patch -p1 -d /");
  return unifiedDiff(context.text, text, file);
}

void kbopt::showRemarks(Context &context, llvm::ArrayRef<Remark> remarks) {
  constexpr long mostMissed = 40;
  const bool tooMany = llvm::count_if(remarks, [](const Remark &r) {
                         return r.kind == RemarkKind::Missed;
                       }) > mostMissed;
  std::set<std::string> passes;
  size_t left = 0;
  for (const Remark &remark : remarks)
    if (remark.kind == RemarkKind::Missed && tooMany && !passes.insert(remark.pass).second)
      ++left;
    else
      context.progress.line(formatRemark(remark));
  if (left)
    context.progress.line(
        "and " + std::to_string(left) +
        " more places where a pass does not apply; --remarks-file=<file> keeps them all");
}

llvm::Error kbopt::writeRemarks(Context &context, llvm::ArrayRef<Remark> remarks) {
  if (context.options.remarksFile.empty())
    return llvm::Error::success();
  std::string yaml;
  llvm::raw_string_ostream os(yaml);
  writeRemarksYaml(os, remarks);
  return context.files.write(context.options.remarksFile, yaml);
}
