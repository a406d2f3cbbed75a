//===- Collect.cpp - The findings of a program ----------------------------===//
#include "Collect.h"
#include "kb-opt/Source/Anchor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include <tuple>

using namespace kbopt;

std::optional<ProgramFinding> kbopt::findingAt(const PassContext &context, llvm::StringRef rule, const KernelView &kernel,
                                        clang::SourceRange range) {
  std::optional<ByteRange> bytes = byteRange(context.parsed(), range);
  if (!bytes)
    return std::nullopt;
  ProgramFinding finding;
  finding.rule = rule.str();
  finding.kernel = kernel.name().str();
  finding.begin = bytes->begin;
  finding.end = bytes->end;
  return finding;
}

/// Line, column and fingerprint from the text: the words of the line, not its number, so that a finding keeps its
/// fingerprint when lines are added above it.
static void place(llvm::StringRef text, ProgramFinding &finding, std::map<std::string, unsigned> &seen) {
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

std::vector<ProgramFinding> kbopt::collectFindings(const PassContext &context, const PassRegistry &registry) {
  std::vector<ProgramFinding> all, kept;
  for (const KernelView &kernel : context.kernels())
    if (!kernel.isInHeader())
      addAnalysisFindings(context, kernel, all);
  addPassFindings(context, registry, all);
  auto key = [](const ProgramFinding &each) { return std::tie(each.begin, each.end, each.rule); };
  llvm::stable_sort(all, [&](const ProgramFinding &a, const ProgramFinding &b) { return key(a) < key(b); });
  std::map<std::string, unsigned> seen;
  llvm::StringRef text = context.parsed().text();
  const Suppressions &comments = context.parsed().suppressions();
  for (ProgramFinding &finding : all) {
    if (!kept.empty() && key(kept.back()) == key(finding))
      continue; // another instance of a template says the same
    unsigned first = 1 + text.take_front(finding.begin).count('\n');
    unsigned last = first + text.slice(finding.begin, finding.end).count('\n');
    if (comments.coversAny(first, last, finding.rule) ||
        comments.coversAny(first, last, findingRule(finding.rule)->pass))
      continue;
    place(text, finding, seen);
    kept.push_back(std::move(finding));
  }
  return kept;
}
