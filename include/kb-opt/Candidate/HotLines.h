//===- HotLines.h - The lines that a kernel's time goes to ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the choice and the wording of the few source lines that people and models
// are shown of a kernel.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_HOTLINES_H
#define KBOPT_CANDIDATE_HOTLINES_H

#include "kb-opt/Candidate/CandidateTools.h"
#include "kb-opt/Eval/CostModel.h"
#include "kb-opt/Eval/GpuDevice.h"
#include "kb-opt/Report/ProfilePage.h"

namespace kbopt {

/// What the share of a line is a share of where \p limiter limits: "global sectors".
llvm::StringRef measureOf(Limiter limiter);
/// The lines of \p records, launches of one kernel with counters, that take at least one
/// per cent; most important first.
std::vector<HotLine> hotLines(const InputFile &input, llvm::ArrayRef<const LaunchRecord *> records,
                              Limiter limiter);

/// The lines of \p kernel (mangled) that the GPU's samples fell on, with what their warps
/// waited for; those of at least one per cent, most important first.
std::vector<HotLine> sampledLines(const InputFile &input, const GpuProfile &profile,
                                  llvm::StringRef kernel);
/// What the share of a sampled line is a share of.
inline constexpr llvm::StringLiteral sampleMeasure = "stall samples";

/// A line of a profile with the text of the input file, if it is one of its lines.
HotLine hotLine(const InputFile &input, llvm::StringRef file, unsigned line, double share,
                std::string note);
/// The most important lines first.
void sortLines(std::vector<HotLine> &lines);
/// Takes the lines that the user did not write, those of headers of the toolkit, the compiler and
/// the system, out of \p lines. Returns what their shares sum to.
double takeForeign(const InputFile &input, std::vector<HotLine> &lines);
/// Of sorted lines the few that people and models are shown.
void keepHottest(std::vector<HotLine> &lines);
/// A sentence for each of \p lines, whose shares are of \p measure: "line 14: 61 % of the kernel's
/// global sectors; 32.0 sectors per request where 4.0 suffice".
std::vector<std::string> sentences(const InputFile &input, llvm::ArrayRef<HotLine> lines,
                                   llvm::StringRef measure);
/// What models are told of \p lines, sorted ones: a sentence for each of the hottest that the user
/// wrote, and one for what headers of the toolkit take.
std::vector<std::string> sentencesForModel(const InputFile &input, std::vector<HotLine> lines,
                                           llvm::StringRef measure);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_HOTLINES_H
