//===- Collect.cpp - The findings of a program ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Collect.h"
#include "kb-opt/Source/Anchor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include <tuple>

using namespace kbopt;

std::optional<ProgramFinding> kbopt::findingAt(const PassContext &context, llvm::StringRef rule,
                                               const KernelView &kernel, clang::SourceRange range) {
  std::optional<ByteRange> bytes = byteRange(context.parsed(), range);
  if (!bytes)
    return std::nullopt;
  ProgramFinding finding;
  finding.rule = rule.str();
  finding.kernel = kernel.name().str();
  finding.begin = bytes->begin;
  finding.end = bytes->end;
  finding.kernelLine = lineColumn(context.parsed(), kernel.function()->getLocation()).line;
  return finding;
}

/// Line, column and fingerprint from the text: the words of the line, not its number, so that a
/// finding keeps its fingerprint when lines are added above it.
static void place(llvm::StringRef text, ProgramFinding &finding,
                  std::map<std::string, unsigned> &seen) {
  llvm::StringRef before = text.take_front(finding.begin);
  size_t lineStart = before.rfind('\n') + 1;
  finding.line = 1 + before.count('\n');
  finding.column = 1 + finding.begin - lineStart;
  std::string words = finding.rule + "\n" + finding.kernel + "\n";
  for (char c : text.slice(lineStart, text.find('\n', finding.begin)))
    if (!llvm::isSpace(c))
      words += c;
  words += "\n" + std::to_string(seen[words]++);
  finding.fingerprint = llvm::utohexstr(llvm::xxh3_64bits(words), /*LowerCase=*/true, 16);
}

/// Whether a comment keeps \p finding quiet: where it stands, at its kernel's name, or where its
/// edits are.
static bool isSuppressed(const Suppressions &comments, llvm::StringRef text,
                         const ProgramFinding &finding) {
  if (comments.empty())
    return false;
  auto covered = [&](unsigned first, unsigned last) {
    return comments.coversAny(first, last, finding.rule) ||
           comments.coversAny(first, last, findingRule(finding.rule)->pass);
  };
  auto coveredBytes = [&](unsigned begin, unsigned end) {
    unsigned first = 1 + text.take_front(begin).count('\n');
    return covered(first, first + text.slice(begin, end).count('\n'));
  };
  return coveredBytes(finding.begin, finding.end) ||
         (finding.kernelLine && covered(finding.kernelLine, finding.kernelLine)) ||
         llvm::any_of(finding.replacements, [&](const FindingReplacement &each) {
           return coveredBytes(each.offset, each.offset + each.length);
         });
}

std::vector<ProgramFinding> kbopt::collectFindings(const PassContext &context,
                                                   const PassRegistry &registry) {
  std::vector<ProgramFinding> all, kept;
  for (const KernelView &kernel : context.kernels())
    if (!kernel.isInHeader())
      addAnalysisFindings(context, kernel, all);
  addPassFindings(context, registry, all);
  auto key = [](const ProgramFinding &each) { return std::tie(each.begin, each.end, each.rule); };
  llvm::stable_sort(
      all, [&](const ProgramFinding &a, const ProgramFinding &b) { return key(a) < key(b); });
  std::map<std::string, unsigned> seen;
  llvm::StringRef text = context.parsed().text();
  const Suppressions &comments = context.parsed().suppressions();
  for (ProgramFinding &finding : all) {
    if (!kept.empty() && key(kept.back()) == key(finding))
      continue; // another instance of a template says the same
    if (isSuppressed(comments, text, finding))
      continue;
    place(text, finding, seen);
    kept.push_back(std::move(finding));
  }
  return kept;
}
