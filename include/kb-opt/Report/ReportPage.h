//===- ReportPage.h - A search as one page of HTML --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the page that --report writes: what was searched, found and proven, in one
// file without network. Plain records: where figures come from is the caller's
// business. All texts are untrusted (program text, compilers' and models' words).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REPORT_REPORTPAGE_H
#define KBOPT_REPORT_REPORTPAGE_H

#include "kb-opt/Core/Remark.h"
#include "kb-opt/Core/Verdict.h"
#include "kb-opt/Report/ProfilePage.h"
#include <optional>

namespace kbopt {

/// One step that was tried, or proposed and refused.
struct ReportAttempt {
  /// "search"; "tune": the winner with other parameters of the step `step`; "confirm": a
  /// winner that the final check refused.
  std::string phase = "search";
  unsigned trajectory = 0;  ///< from 1; 0: at the end, with the winner
  std::string pass, step;   ///< "unroll-loop", "unroll-loop{factor=4 kernel=k}"
  std::string parent, node; ///< names of programs; `node` empty: none was made
  VerdictKind outcome = VerdictKind::NotApplied;
  bool isRefused = false; ///< a proposal that was refused, and never was a program
  std::string verdict;    ///< "correct", "incorrect (G6, correctness)"
  std::string reason;
  std::string dispute;  ///< why a debugger holds that the gate is wrong; empty: it does not
  std::string shortcut; ///< in words, why it was not measured; empty: it was
  double us = 0;        ///< 0: unknown
  double parentUs = 0;
  double predicted = 0; ///< speed-up expected of the kernel; 0: unknown
  std::string state;    ///< of the kernel before
  bool judged = false;  ///< counts as a judged candidate
  bool repair = false;  ///< a second answer in place of one that failed
  uint64_t tokens = 0;  ///< that a model was asked for; 0: none
  std::optional<double> dollars;
};

/// A step of the winning pipeline.
struct ReportStep {
  std::string step;            ///< as in ReportAttempt
  std::string summary;         ///< what the pass does; may be empty
  std::optional<double> alone; ///< time without the step over time with it
};

struct ReportGate {
  std::string gate, title, outcome; ///< "G6", "outputs", "passed"
  std::string reason;
  unsigned runs = 0;
  double seconds = 0;
};

/// What one role asked of a model.
struct ReportRole {
  std::string role, model;
  uint64_t calls = 0, promptTokens = 0, completionTokens = 0;
  std::optional<double> dollars; ///< nothing: cost unknown
};

struct ReportEvidence {
  std::string id, pass, state, verdict;
  std::optional<double> gain; ///< as a factor
};
struct ReportLesson {
  std::string text, state, pass, chip, author;
  std::vector<ReportEvidence> evidence;
};

/// A rate of the chip per second.
struct ReportCeiling {
  std::string name;
  double perSecond = 0;
};
/// Lines of a roofline.
struct ReportCeilings {
  std::vector<ReportCeiling> bytes; ///< by level, DRAM first; "DRAM", "L2", "L1"
  std::vector<ReportCeiling> flops; ///< by precision
  ReportCeiling warpInstructions;
};

struct ReportPage {
  std::string program, chip;
  std::string source; ///< "modelled", "measured"
  std::string device; ///< that measured; empty: none
  double originalUs = 0, bestUs = 0;
  std::optional<double> lowerBound; ///< of the speed-up, 95 %
  std::vector<std::string> timings; ///< what was measured besides, one line each
  bool found = false;               ///< a faster program
  bool confirmed = false;           ///< it passed every gate on every case
  std::string end;                  ///< "candidate budget spent"
  std::string replay;               ///< a command
  std::string root, winner;         ///< names of programs
  std::vector<ReportStep> steps;
  std::vector<std::string> ablated;
  std::vector<ReportAttempt> attempts; ///< in order
  uint64_t judged = 0, merged = 0, pruned = 0, known = 0;
  std::string counts; ///< "41 screened, 2 proven, 1 refused (G7)"
  /// First events with their seconds from the start, in order, and the seconds of the whole run.
  std::vector<std::pair<std::string, double>> timeline;
  double seconds = 0;
  std::string before, after; ///< program texts
  /// Longest first; `lines` of the first alone are shown, all of them.
  std::vector<KernelPage> kernelsBefore, kernelsAfter;
  ReportCeilings ceilings;
  std::vector<ReportGate> gates;
  std::vector<ReportRole> roles;
  std::vector<ReportLesson> lessons;
  std::vector<Remark> missed;                             ///< why passes do not apply
  std::vector<std::pair<std::string, std::string>> facts; ///< versions, seed, budgets
  std::vector<std::string> limits; ///< what the page lacks and why, one sentence each
};

/// A document that HTML and XML parsers accept; it loads nothing, and runs no script but
/// its own. Sections without data are left out with a line that says why.
void writeReport(llvm::raw_ostream &os, const ReportPage &page);

/// The figures alone (times, attempts, tokens), for programs: docs/Report.md.
void writeReportJson(llvm::raw_ostream &os, const ReportPage &page);

} // namespace kbopt

#endif // KBOPT_REPORT_REPORTPAGE_H
