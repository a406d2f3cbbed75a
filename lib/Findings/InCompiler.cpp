//===- InCompiler.cpp - Findings inside a tool of clang's -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Findings/InCompiler.h"
#include "kb-opt/Rewrite/PassContext.h"
#include "kb-opt/Source/ParsedDeviceCode.h"
#include "kb-opt/Target/CodeLimits.h"
#include "clang/Basic/Diagnostic.h"

using namespace kbopt;

llvm::Expected<std::vector<ProgramFinding>> kbopt::findingsOf(clang::ASTContext &ast,
                                                              clang::Preprocessor &preprocessor,
                                                              const PassRegistry &registry) {
  std::unique_ptr<ParsedProgram> program = ParsedProgram::adopt(ast, preprocessor);
  if (llvm::none_of(findKernels(*program), [](const KernelFact &each) { return each.inMainFile; }))
    return std::vector<ProgramFinding>();
  llvm::Expected<std::string> bitcode = deviceBitcodeOf(*program);
  if (!bitcode)
    return bitcode.takeError();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  llvm::Expected<ImportedProgram> imported = importProgram(*program, *bitcode, context);
  if (!imported)
    return imported.takeError();
  llvm::Expected<ChipInfo> chip = loadChip(defaultChip);
  if (!chip)
    return chip.takeError();
  const std::string &arch = program->command().arch;
  const ChipInfo target = limitedTo(std::move(*chip), arch, program->command().otherArchs.empty());
  return collectFindings(PassContext(*program, *imported, capabilityOf(arch), target), registry);
}

std::string kbopt::noteOf(const ProgramFinding &finding) {
  std::string words = finding.pipeline();
  if (words.empty() && !finding.summary.empty())
    return finding.summary;
  if (words.empty() && !finding.unlaunchedPass.empty())
    return "pass '" + finding.unlaunchedPass + "' mends this in a file that launches '" +
           finding.kernel + "'";
  if (words.empty())
    return finding.assistedPass.empty()
               ? ""
               : "pass '" + finding.assistedPass + "' may mend this, with a model";
  words = "-passes='" + words + "' ";
  words += "mends this: " + finding.summary;
  if (finding.promise != Promise::Bitwise)
    words += " (" + promiseName(finding.promise).str() + ")";
  return words;
}

std::vector<std::pair<unsigned, std::string>> kbopt::placeNotes(const ProgramFinding &finding) {
  constexpr size_t mostNotes = 3;
  std::vector<std::pair<unsigned, std::string>> notes;
  const size_t more = finding.also.size() > mostNotes ? finding.also.size() - mostNotes : 0;
  for (const FindingPlace &each : llvm::ArrayRef(finding.also).drop_back(more))
    notes.emplace_back(each.begin, "and here");
  if (more)
    notes.back().second += " and at " + std::to_string(more) + " more";
  return notes;
}

static clang::CharSourceRange rangeOf(clang::SourceLocation file, unsigned begin, unsigned end) {
  return clang::CharSourceRange::getCharRange(file.getLocWithOffset(begin),
                                              file.getLocWithOffset(end));
}

void kbopt::addRange(const clang::StreamingDiagnostic &message, const ProgramFinding &finding,
                     clang::SourceLocation file) {
  message << rangeOf(file, finding.begin, finding.end);
}

void kbopt::addFixes(const clang::StreamingDiagnostic &message, const ProgramFinding &finding,
                     clang::SourceLocation file) {
  for (const FindingReplacement &each : finding.replacements)
    message << clang::FixItHint::CreateReplacement(
        rangeOf(file, each.offset, each.offset + each.length), each.text);
}
