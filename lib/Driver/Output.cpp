//===- Output.cpp - Where results go --------------------------------------===//
#include "Modes.h"
#include "kb-opt/Report/Diff.h"
#include "kb-opt/Report/RemarkYaml.h"

using namespace kbopt;

llvm::Error kbopt::writeResult(Context &context, llvm::StringRef bytes) {
  const std::string &output = context.options.output;
  if (!output.empty() && output != "-")
    return context.files.write(output, bytes);
  context.out << bytes;
  context.out.flush();
  if (auto &stream = static_cast<llvm::raw_fd_ostream &>(context.out); stream.has_error()) {
    std::string reason = stream.error().message();
    stream.clear_error();
    return llvm::make_error<StoreError>("cannot write to stdout: " + reason);
  }
  return llvm::Error::success();
}

llvm::Error kbopt::writeProgram(Context &context, llvm::StringRef text) {
  if (context.options.fix)
    return text == context.text ? llvm::Error::success()
                                : context.files.write(context.command.file, text);
  if (context.options.emit == Emit::Source)
    return writeResult(context, text);
  return writeResult(context, unifiedDiff(context.text, text, context.command.shownFile));
}

llvm::Error kbopt::writeRemarks(Context &context, llvm::ArrayRef<Remark> remarks) {
  if (context.options.remarksFile.empty())
    return llvm::Error::success();
  std::string yaml;
  llvm::raw_string_ostream os(yaml);
  writeRemarksYaml(os, remarks);
  return context.files.write(context.options.remarksFile, yaml);
}
