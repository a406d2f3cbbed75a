//===- SearchReport.h - What a search tells people --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the words on the terminal during and after -passes=auto.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_SEARCHREPORT_H
#define KBOPT_LIB_DRIVER_SEARCHREPORT_H

#include "HtmlReport.h"
#include "Session.h"
#include "kb-opt/Candidate/ProgramEnvironment.h"
#include "kb-opt/Policy/Search.h"
#include "kb-opt/Support/Error.h"

namespace kbopt {

class SearchReport : public SearchObserver {
public:
  /// \p startSeconds: of the run, by the context's clock.
  SearchReport(Session &session, double startSeconds)
      : session(session), context(session.context), chip(session.chip),
        gpu(session.gpu ? session.gpuFacts.name : std::string()), startSeconds(startSeconds) {}

  /// What each role asked of a model, for --report; to be set before `finish`.
  std::vector<ReportRole> roles;

  void opened(size_t records, const std::string &directory);
  void started(const NodeJudgement &original) override;
  void examined(const NodeJudgement &original) override;
  void attempted(const Attempt &attempt) override;
  void disputed(const Attempt &attempt) override;
  void asked(const ProposalRequest &request, unsigned repair, const Proposal &proposal) override;
  void reflected(const Reflection &reflection) override;
  void improved(double timeUs, llvm::ArrayRef<Step> pipeline) override;
  void proven(double timeUs, llvm::ArrayRef<Step> pipeline) override;
  void proofDoesNotFit(double seconds, double left) override;

  /// The end where no rule applies and no model is asked: says why, and leaves the program as it
  /// is.
  llvm::Expected<ExitStatus> nothingApplies(ProgramEnvironment &environment);
  /// Writes the result as the options ask, and the summary; returns the exit status.
  llvm::Expected<ExitStatus> finish(ProgramEnvironment &environment, const Journal &journal,
                                    const SearchResult &result, size_t recordsKept,
                                    const std::string &evidenceFile, double seconds);

private:
  llvm::StringRef source() const { return gpu.empty() ? "modelled" : "measured"; }
  /// Its state, its time and what bounds it.
  void describeOriginal(const NodeJudgement &original);
  /// Of the original's recorded run; 0: unknown.
  size_t recordedLaunches() const;
  /// The gain, with what the final check measured.
  void describeGain(ProgramEnvironment &environment, const SearchResult &result);
  /// What was tried, how far the roofline is, and why.
  llvm::Error describeFailure(ProgramEnvironment &environment, const SearchResult &result);
  void describeGates(llvm::ArrayRef<GateRecord> gates);
  /// "best 1.32 x, 12 of 24 candidates", and what models have cost.
  std::string standing() const;
  /// Shows the standing and the seconds in the status line.
  void showStanding();
  /// Counts what a reply took.
  void spend(uint64_t more, std::optional<double> dollars);
  std::string replayCommand(llvm::ArrayRef<Step> pipeline) const;

  Session &session;
  Context &context;
  const ChipInfo &chip;
  std::string gpu; ///< that measured; empty: times are modelled
  double startSeconds;
  double originalUs = 0, bestUs = 0;
  uint64_t judged = 0, tokens = 0;
  std::optional<double> cost = 0; ///< nothing: unknown
};

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_SEARCHREPORT_H
