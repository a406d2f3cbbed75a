//===- Collect.cpp - The findings of a program ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Collect.h"
#include "kb-opt/Source/Anchor.h"
#include "clang/Basic/SourceManager.h"
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

/// The line of byte \p offset of the main file.
static unsigned lineAt(const ParsedProgram &program, unsigned offset) {
  const clang::SourceManager &sources = program.sources();
  return sources.getLineNumber(sources.getMainFileID(), offset);
}
static unsigned columnAt(const ParsedProgram &program, unsigned offset) {
  const clang::SourceManager &sources = program.sources();
  return sources.getColumnNumber(sources.getMainFileID(), offset);
}

/// Line, column and fingerprint from the text: the words of the line, not its number, so that a
/// finding keeps its fingerprint when lines are added above it.
static void place(const ParsedProgram &program, ProgramFinding &finding,
                  std::map<std::string, unsigned> &seen) {
  llvm::StringRef text = program.text();
  finding.line = lineAt(program, finding.begin);
  finding.column = columnAt(program, finding.begin);
  for (FindingPlace &each : finding.also) {
    each.line = lineAt(program, each.begin);
    each.column = columnAt(program, each.begin);
  }
  if (!finding.also.empty())
    finding.message += " (at " + std::to_string(finding.also.size() + 1) + " places)";
  size_t lineStart = finding.begin - (finding.column - 1);
  std::string words = finding.rule + "\n" + finding.kernel + "\n";
  for (char c : text.slice(lineStart, text.find('\n', finding.begin)))
    if (!llvm::isSpace(c))
      words += c;
  words += "\n" + std::to_string(seen[words]++);
  finding.fingerprint = llvm::utohexstr(llvm::xxh3_64bits(words), /*LowerCase=*/true, 16);
}

/// Whether a comment keeps \p finding quiet: where it stands, at its kernel's name, or where its
/// edits are.
static bool isSuppressed(const ParsedProgram &program, const ProgramFinding &finding) {
  const Suppressions &comments = program.suppressions();
  if (comments.empty())
    return false;
  auto covered = [&](unsigned first, unsigned last) {
    return comments.coversAny(first, last, finding.rule) ||
           llvm::any_of(findingRule(finding.rule)->passes, [&](llvm::StringRef pass) {
             return !pass.empty() && comments.coversAny(first, last, pass);
           });
  };
  auto coveredBytes = [&](unsigned begin, unsigned end) {
    return covered(lineAt(program, begin), lineAt(program, end));
  };
  return coveredBytes(finding.begin, finding.end) ||
         (finding.kernelLine && covered(finding.kernelLine, finding.kernelLine)) ||
         llvm::any_of(finding.replacements, [&](const FindingReplacement &each) {
           return coveredBytes(each.offset, each.offset + each.length);
         });
}

FindingsCoverage kbopt::findingsCoverage(const ParsedProgram &program) {
  FindingsCoverage coverage;
  const clang::SourceManager &sources = program.sources();
  for (const KernelFact &kernel : findKernels(program)) {
    const clang::SourceLocation place = kernel.function->getLocation();
    if (kernel.inMainFile)
      ++coverage.kernels;
    else if (!sources.isInSystemHeader(place))
      coverage.elsewhere[sources.getFilename(sources.getFileLoc(place)).str()].push_back(
          kernel.name);
  }
  coverage.notExamined = coverage.kernels;
  return coverage;
}

std::string FindingsCoverage::elsewhereWords(llvm::StringRef mainFile) const {
  constexpr size_t mostNames = 3;
  if (elsewhere.empty())
    return "";
  std::string words = kernels ? "" : ("no kernel stands in '" + mainFile + "' itself; ").str();
  for (const auto &[file, names] : elsewhere) {
    words += words.empty() || words.back() == ' ' ? "" : ", ";
    words += names.size() == 1 ? "kernel " : std::to_string(names.size()) + " kernels ";
    for (size_t i = 0; i < std::min(names.size(), mostNames); ++i)
      words += (i ? ", '" : "'") + names[i] + "'";
    words += std::string(names.size() > mostNames ? ", ..." : "") +
             (names.size() == 1 ? " stands in '" : " stand in '") + file + "'";
  }
  return words + ", which was not looked at";
}

/// Takes from \p all what an earlier one of these rules says better: what a block combines need not
/// be combined by its warps, and what either combines is not contended.
static void dropRepeatedAtomics(std::vector<ProgramFinding> &all) {
  std::set<FindingPlace> said;
  for (llvm::StringRef rule : {"private-atomics", "warp-atomics", "contended-atomics"}) {
    llvm::erase_if(all, [&](const ProgramFinding &each) {
      return each.rule == rule && said.count({each.begin, each.end});
    });
    for (const ProgramFinding &each : all)
      if (each.rule == rule) {
        said.insert({each.begin, each.end});
        said.insert(each.also.begin(), each.also.end());
      }
  }
}

/// \p all without what comments keep quiet and what other instances of a template say, too, in the
/// order of the text.
static std::vector<ProgramFinding> arrange(const ParsedProgram &program,
                                           std::vector<ProgramFinding> all) {
  std::vector<ProgramFinding> kept;
  auto key = [](const ProgramFinding &each) { return std::tie(each.begin, each.end, each.rule); };
  llvm::stable_sort(
      all, [&](const ProgramFinding &a, const ProgramFinding &b) { return key(a) < key(b); });
  std::map<std::string, unsigned> seen;
  dropRepeatedAtomics(all);
  for (ProgramFinding &finding : all) {
    if (!kept.empty() && key(kept.back()) == key(finding))
      continue;
    if (isSuppressed(program, finding))
      continue;
    place(program, finding, seen);
    kept.push_back(std::move(finding));
  }
  return kept;
}

std::vector<ProgramFinding> kbopt::collectFindings(const PassContext &context,
                                                   const PassRegistry &registry,
                                                   llvm::function_ref<bool()> stop,
                                                   FindingsCoverage *coverage) {
  std::vector<ProgramFinding> all;
  FindingsCoverage covered = findingsCoverage(context.parsed());
  PassTrials trials(context, registry);
  for (const KernelView &kernel : context.kernels()) {
    if (kernel.isInHeader())
      continue;
    if (stop())
      break;
    addAnalysisFindings(context, kernel, trials, all);
    addBenignRaces(context, kernel, all);
    addPassFindings(context, kernel, trials, all);
    --covered.notExamined;
  }
  if (coverage)
    *coverage = std::move(covered);
  return arrange(context.parsed(), std::move(all));
}
