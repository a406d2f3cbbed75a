//===- JudgeImpl.h - What the gates share -----------------------*- C++ -*-===//
//
// Owns the state behind Judge: the two programs with their images, plans and
// runs, and the declarations of the gates that need them. Private to lib/Eval.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_JUDGEIMPL_H
#define KBOPT_LIB_EVAL_JUDGEIMPL_H

#include "kb-opt/Eval/Decoys.h"
#include "kb-opt/Eval/Judge.h"
#include "kb-opt/Eval/PtxCensus.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/OnceMap.h"
#include <atomic>
#include <memory>

namespace kbopt {

/// One read step of a plan.
struct OutputSpec {
  std::string name;
  kbrt::ElementType type = kbrt::ElementType::Unknown;
  uint64_t bytes = 0;
};

using RunPointer = std::shared_ptr<const RunResult>;

/// One program under judgement: the original, which all threads share, or a candidate.
struct JudgedProgram {
  const ProgramArtefacts *program = nullptr;
  bool isOriginal = false;
  OnceMap<RunMode, DeviceImage> images;
  OnceMap<std::string, std::string> plans; ///< by case name
  OnceMap<std::string, RunPointer> runs;   ///< the original's, by case, mode and options
  std::map<std::string, RunPointer> ownRuns; ///< a candidate's small ones, likewise
};

/// What an original is known to give on one case.
struct Reference {
  std::string planFolder;
  std::vector<OutputSpec> outputs;
  RunPointer run;                 ///< natural order, nearest rounding
  std::vector<RunPointer> spread; ///< other roundings and, if not deterministic, orders
  bool deterministic = true;      ///< in the order of threads
  /// Rounded additions, and all rounded operations, behind one element; counted
  /// together with the spread, 0: unknown.
  uint64_t reductionLength = 0, roundings = 0;
};

struct Judge::Impl {
  Impl(ProgramArtefacts original, DeviceCompiler &compiler, Device &device, CaseSource &cases,
       Clock &clock, JudgeOptions options)
      : original(std::move(original)), compiler(compiler), device(device), cases(cases),
        clock(clock), options(options) {
    baselineProgram.program = &this->original;
    baselineProgram.isOriginal = true;
  }

  ProgramArtefacts original;
  DeviceCompiler &compiler;
  Device &device;
  CaseSource &cases;
  Clock &clock;
  JudgeOptions options;
  JudgedProgram baselineProgram;
  /// Written under the mutex by the first who asks; only read once it is complete.
  std::mutex baselineMutex;
  std::optional<BaselineReport> baseline;
  bool baselineComplete = false;
  OnceMap<Digest, DeviceCode> codes;
  OnceMap<std::string, Reference> references, spreadReferences;
  OnceMap<std::string, Admission> admissions; ///< by case and promise
  /// Runs of the whole original, at least two (G14); nothing for a workload without main.
  OnceMap<unsigned, std::optional<CaseSource::WholeRun>> wholeOriginals;
  /// Changed copies of plans (G8) lie here.
  OnceMap<unsigned, TemporaryDirectory> scratch;
  std::atomic<unsigned> scratchCount = 0;

  llvm::Expected<const DeviceCode &> code(const ProgramArtefacts &program);
  llvm::Expected<BaselineReport> checkBaseline();
  llvm::Expected<Reference> measureReference(const TestCase &test);
  llvm::Expected<Reference> withRoundings(const TestCase &test, Reference reference);
  llvm::Expected<Admission> decideAdmission(const TestCase &test, const CandidatePromise &promise);

  llvm::Expected<const DeviceImage *> image(JudgedProgram &program, RunMode mode);
  llvm::Expected<std::string> plan(JudgedProgram &program, const TestCase &test);
  /// Runs of the original are kept, and of candidates the small ones until the verdict.
  llvm::Expected<RunPointer> run(JudgedProgram &program, const TestCase &test, RunMode mode,
                                 const RunOptions &options);
  /// \p withSpread: with the runs under other roundings.
  llvm::Expected<const Reference *> reference(const TestCase &test, bool withSpread);
  /// Options of a run under the judge's limits.
  RunOptions runOptions() const;

  /// The cases of G4 to G8: seen ones, cheapest first, at most \p count; the
  /// recorded one is always among them.
  std::vector<TestCase> seenCases(unsigned count);
  TestCase recordedCase();
  /// The cheapest case that is not a degenerate shape.
  TestCase checkCase();

  /// Digests of what the original's recorded run rests on, from disk.
  llvm::Expected<RunIdentity> identify();

  llvm::Expected<Admission> admission(const TestCase &test, const CandidatePromise &promise);
};

/// What a gate works on.
struct GateContext {
  Judge::Impl &judge;
  JudgedProgram &candidate;
  const CandidatePromise &promise;
  JudgeEffort effort;
};

llvm::Expected<GateRecord> runProvenance(GateContext &context,
                                         llvm::ArrayRef<JudgedStep> steps); // G0
llvm::Expected<GateRecord> runDeviceChecks(GateContext &context);  // G4
llvm::Expected<GateRecord> runAdmission(GateContext &context);     // G5
llvm::Expected<GateRecord> runNumerics(GateContext &context);      // G6
llvm::Expected<GateRecord> runBreadth(GateContext &context);       // G7
llvm::Expected<GateRecord> runMemory(GateContext &context);        // G8
llvm::Expected<GateRecord> runDeterminism(GateContext &context);   // G10
llvm::Expected<GateRecord> runWholeProgram(GateContext &context);  // G14
llvm::Expected<GateRecord> runUnseenShapes(GateContext &context);  // G15

/// \p result as a failed record of \p gate, if it did not end well or has
/// defects; nothing otherwise.
std::optional<GateRecord> failureOf(const RunResult &result, GateId gate, llvm::StringRef caseName);
/// An error that blames the program (status Diagnostics) becomes a failed
/// record; any other stays an error.
llvm::Expected<GateRecord> blameProgram(llvm::Error error, GateId gate, FailureClass failure);

/// Outputs of \p candidate against the reference of \p test under the promise.
GateRecord compareWithReference(const Reference &reference, const RunResult &candidate,
                                const TestCase &test, const CandidatePromise &promise,
                                CaseSource &cases, GateId gate);
Tolerance toleranceFor(const CandidatePromise &promise, CaseSource &cases, const TestCase &test,
                       const Reference &reference, unsigned output);
inline llvm::ArrayRef<uint8_t> bytesOf(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}
/// Output \p index of \p reference, with what is known of its spread.
OutputView viewOf(const Reference &reference, unsigned index);
/// Runs the candidate once on each of \p tests and compares. Cases on which the original
/// itself fails are passed over.
llvm::Expected<GateRecord> compareOnCases(GateContext &context, llvm::ArrayRef<TestCase> tests,
                                          GateId gate);
/// Outputs \p a and \p b are the same bits (NaNs count as one value).
std::optional<std::string> firstDifference(const std::vector<OutputSpec> &specs,
                                           const RunResult &a, const RunResult &b);

/// plan.json and data.bin of a recording; a plan without uploads has no data.
struct RecordedPlan {
  kbrt::Plan plan;
  std::string data;
};
llvm::Expected<RecordedPlan> readRecordedPlan(llvm::StringRef folder);

/// Types and sizes of the reads of the plan in \p folder.
llvm::Expected<std::vector<OutputSpec>> outputSpecs(llvm::StringRef folder);

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_JUDGEIMPL_H
