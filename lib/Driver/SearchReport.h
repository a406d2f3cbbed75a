//===- SearchReport.h - What a search tells people --------------*- C++ -*-===//
//
// Owns the words on the terminal during and after -passes=auto.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_SEARCHREPORT_H
#define KBOPT_LIB_DRIVER_SEARCHREPORT_H

#include "ProgramEnvironment.h"
#include "kb-opt/Policy/Search.h"
#include "kb-opt/Support/Error.h"

namespace kbopt {

class SearchReport : public SearchObserver {
public:
  explicit SearchReport(Session &session)
      : context(session.context), chip(session.chip),
        gpu(session.gpu ? session.gpuFacts.name : std::string()) {}

  void opened(size_t records, const std::string &directory);
  void started(const NodeJudgement &original) override;
  void attempted(const Attempt &attempt) override;
  void improved(double timeUs, llvm::ArrayRef<Move> pipeline) override;

  /// Writes the result as the options ask, and the summary; returns the exit status.
  llvm::Expected<ExitStatus> finish(ProgramEnvironment &environment, const Journal &journal,
                                    const SearchResult &result, size_t recordsKept,
                                    const std::string &evidenceFile, double seconds);

private:
  llvm::StringRef source() const { return gpu.empty() ? "modelled" : "measured"; }
  /// The gain, with what the final check measured.
  void describeGain(ProgramEnvironment &environment, const SearchResult &result);
  void describeGates(llvm::ArrayRef<GateRecord> gates);
  std::string replayCommand(llvm::ArrayRef<Move> pipeline) const;

  Context &context;
  const ChipInfo &chip;
  std::string gpu; ///< that measured; empty: times are modelled
  double originalUs = 0;
  unsigned attempts = 0;
};

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_SEARCHREPORT_H
