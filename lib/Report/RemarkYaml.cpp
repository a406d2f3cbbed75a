//===- RemarkYaml.cpp - Remarks as LLVM writes them ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Report/RemarkYaml.h"
#include "llvm/Remarks/Remark.h"
#include "llvm/Remarks/YAMLRemarkSerializer.h"

using namespace kbopt;

static llvm::remarks::Type remarkType(RemarkKind kind) {
  switch (kind) {
  case RemarkKind::Passed:
    return llvm::remarks::Type::Passed;
  case RemarkKind::Missed:
    return llvm::remarks::Type::Missed;
  case RemarkKind::Analysis:
    return llvm::remarks::Type::Analysis;
  }
  llvm_unreachable("remark kind");
}

void kbopt::writeRemarksYaml(llvm::raw_ostream &os, llvm::ArrayRef<Remark> remarks) {
  llvm::remarks::YAMLRemarkSerializer serializer(os);
  for (const Remark &remark : remarks) {
    std::string site = std::to_string(remark.site);
    llvm::remarks::Remark record;
    record.RemarkType = remarkType(remark.kind);
    record.PassName = remark.pass;
    // LLVM wants an identifier for the kind of remark.
    record.RemarkName = remark.kind == RemarkKind::Passed   ? "Rewritten"
                        : remark.kind == RemarkKind::Missed ? "DoesNotApply"
                                                            : "Note";
    // LLVM's reader wants a name; what concerns no kernel concerns the file.
    record.FunctionName = !remark.kernel.empty() ? llvm::StringRef(remark.kernel)
                          : !remark.file.empty() ? llvm::StringRef(remark.file)
                                                 : llvm::StringRef("program");
    if (remark.line)
      record.Loc = llvm::remarks::RemarkLocation{remark.file, remark.line, remark.column};
    auto argument = [&](llvm::StringRef key, llvm::StringRef value) {
      record.Args.emplace_back(key, value);
    };
    argument("String", remark.message);
    if (remark.site)
      argument("Site", site);
    for (const auto &[name, value] : remark.options)
      argument(name, value);
    serializer.emit(record);
  }
}

std::string kbopt::formatRemark(const Remark &remark) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (remark.line)
    os << remark.file << ':' << remark.line << ':' << remark.column << ": ";
  switch (remark.kind) {
  case RemarkKind::Passed:
    os << "remark: ";
    break;
  case RemarkKind::Missed:
    os << "remark: does not apply: ";
    break;
  case RemarkKind::Analysis:
    os << "note: ";
    break;
  }
  os << remark.message << " [" << remark.pass;
  if (remark.site)
    os << ", site " << remark.site;
  os << ']';
  return text;
}
