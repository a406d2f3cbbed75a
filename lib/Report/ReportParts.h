//===- ReportParts.h - What a report is made of -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the list of the page's parts, each in a file of its own, and the words and
// numbers that they share. Nothing reaches the page but through `escaped`.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REPORT_REPORTPARTS_H
#define KBOPT_LIB_REPORT_REPORTPARTS_H

#include "kb-opt/Report/ReportPage.h"
#include "llvm/Support/FormatVariadic.h"

namespace kbopt::report {

/// \p text as content, or as the value of an attribute in double quotes. Characters that
/// XML forbids or that hide what stands there (controls, direction marks) become visible.
std::string escaped(llvm::StringRef text);
/// At most \p columns characters of \p text, escaped; a cut is marked.
std::string shortened(llvm::StringRef text, size_t columns);
/// "12.35 µs".
std::string micros(double us);
/// "1.32 ×".
std::string factor(double ratio);
/// "4.80 T"; three digits and the prefix.
std::string withPrefix(double value);
/// "12 345".
std::string grouped(uint64_t number);

/// Place of an attempt's row: "a12".
inline std::string rowId(size_t index) { return "a" + std::to_string(index + 1); }
/// One class per outcome; a correct one that did not gain has its own.
llvm::StringRef outcomeClass(const ReportAttempt &attempt);
/// The mark of an attempt in a drawing, and its words on a pointer's way.
std::string markShape(llvm::StringRef outcome, double x, double y);
std::string attemptTitle(const ReportPage &page, size_t index);
/// What the marks mean, for those that occur.
void writeLegend(llvm::raw_ostream &os, const ReportPage &page);

/// Linear or logarithmic way from values to places in a drawing.
struct Scale {
  double from = 0, to = 1;   ///< values
  double begin = 0, end = 1; ///< places
  bool logarithmic = false;
  double operator()(double value) const;
  /// Round values between `from` and `to`, about \p count; decades where logarithmic.
  std::vector<double> ticks(unsigned count) const;
};

// The parts. Each writes a whole section or nothing; false: it had no data.
void writeHead(llvm::raw_ostream &os, const ReportPage &page);
bool writePipeline(llvm::raw_ostream &os, const ReportPage &page);
bool writeGainChart(llvm::raw_ostream &os, const ReportPage &page);
/// Why there is none in \p why.
bool writeRoofline(llvm::raw_ostream &os, const ReportPage &page, std::string &why);
bool writePatch(llvm::raw_ostream &os, const ReportPage &page);
bool writeKernels(llvm::raw_ostream &os, const ReportPage &page);
bool writeSource(llvm::raw_ostream &os, const ReportPage &page);
bool writeGates(llvm::raw_ostream &os, const ReportPage &page);
/// When things first happened.
bool writeTimeline(llvm::raw_ostream &os, const ReportPage &page);
bool writeTree(llvm::raw_ostream &os, const ReportPage &page);
void writeAttempts(llvm::raw_ostream &os, const ReportPage &page);
bool writeMissed(llvm::raw_ostream &os, const ReportPage &page);
bool writeLessons(llvm::raw_ostream &os, const ReportPage &page);
bool writeCost(llvm::raw_ostream &os, const ReportPage &page);
bool writeFacts(llvm::raw_ostream &os, const ReportPage &page);

/// For each step of the pipeline the attempt that made it, walking from the root; -1 where
/// the step was only made at the end, by tuning or ablation.
std::vector<int> winningAttempts(const ReportPage &page);

extern const llvm::StringLiteral styleSheet;
extern const llvm::StringLiteral script;

} // namespace kbopt::report

#endif // KBOPT_LIB_REPORT_REPORTPARTS_H
