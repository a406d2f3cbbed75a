//===- Provenance.cpp - Gate G0 -------------------------------------------===//
#include "../JudgeImpl.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

GateRecord checkProvenance(const ProgramArtefacts &original, const ProgramArtefacts &candidate,
                           const std::vector<JudgedEdit> &edits) {
  auto fail = [](std::string reason) {
    return GateRecord::fail(GateId::G0, FailureClass::Constraints, std::move(reason));
  };
  if (candidate.flags != original.flags || candidate.arch != original.arch)
    return fail("candidate and original are compiled with different flags");
  std::string result;
  size_t at = 0;
  for (const JudgedEdit &edit : edits) {
    if (edit.offset < at || edit.offset + edit.length > original.text.size())
      return fail(formatv("the edit at byte {0} overlaps another one or leaves the file", edit.offset));
    if (edit.offset < edit.anchorBegin || edit.offset + edit.length > edit.anchorEnd)
      return fail(formatv("the edit at byte {0} leaves its anchor {1}", edit.offset, edit.anchor));
    result.append(original.text, at, edit.offset - at);
    result += edit.replacement;
    at = edit.offset + edit.length;
  }
  result.append(original.text, at, std::string::npos);
  if (result != candidate.text) {
    size_t first = 0;
    while (first < std::min(result.size(), candidate.text.size()) &&
           result[first] == candidate.text[first])
      ++first;
    size_t line = 1 + std::count(candidate.text.begin(),
                                 candidate.text.begin() + std::min(first, candidate.text.size()), '\n');
    return fail(formatv("the candidate differs from the original outside its edits, first at line {0}",
                        line));
  }
  GateRecord record = GateRecord::pass(GateId::G0);
  record.details = {"original " + digestOf(original.text), "candidate " + digestOf(candidate.text)};
  return record;
}

} // namespace kbopt
