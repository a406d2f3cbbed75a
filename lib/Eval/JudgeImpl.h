//===- JudgeImpl.h - What the gates share -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the state behind Judge: the two programs with their images, plans and
// runs, and the declarations of the gates that need them. Private to lib/Eval.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_JUDGEIMPL_H
#define KBOPT_LIB_EVAL_JUDGEIMPL_H

#include "kb-opt/Eval/Decoys.h"
#include "kb-opt/Eval/DirectedRounding.h"
#include "kb-opt/Eval/Judge.h"
#include "kb-opt/Eval/PtxCensus.h"
#include "kb-opt/Plan/OutputSpecs.h"
#include "kb-opt/Plan/RecordedPlan.h"
#include "kb-opt/Support/FileDigests.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/OnceMap.h"
#include <atomic>
#include <cmath>
#include <future>
#include <memory>
#include <thread>

namespace kbopt {

using RunPointer = std::shared_ptr<const RunResult>;

/// What the plan of a case tells without a run.
struct PlanFacts {
  uint64_t outputBytes = 0;
  double bufferBytes = 0; ///< of all buffers
  /// Threads launched and bytes allocated: of two cases of a program, the one with more
  /// takes longer.
  double work = 0;
  Digest launches; ///< launchDigest
  size_t steps = 0;
  std::vector<uint64_t> readBytes; ///< by read step
};

/// A copy of a case's plan that also reads every buffer at the end of its life (G8).
struct AuditedPlan {
  kbrt::Plan plan;
  /// Per read step: the buffer, or nothing for a read of the program itself.
  std::vector<std::optional<uint32_t>> audits;
  /// Content at that moment if no kernel wrote; empty where unknown.
  std::map<uint32_t, std::vector<uint8_t>> untouched;
  uint64_t outputBytes = 0;
  std::string folder; ///< removed with the program
};

/// One program under judgement: the original, which all threads share, or a candidate.
struct JudgedProgram {
  JudgedProgram() = default;
  /// A candidate of the judge that counts in \p allKept.
  JudgedProgram(const ProgramArtefacts &program, std::atomic<uint64_t> &allKept)
      : program(&program), allKept(&allKept) {}
  ~JudgedProgram();
  const ProgramArtefacts *program = nullptr;
  bool isOriginal = false;
  OnceMap<std::pair<const Device *, RunMode>, DeviceImage> images;
  OnceMap<std::string, std::string> plans;              ///< by case name
  OnceMap<std::string, PlanFacts> facts;                ///< likewise
  OnceMap<std::string, RunPointer> runs;                ///< by device, case, mode and options
  OnceMap<std::string, AuditedPlan> audits;             ///< by case name
  OnceMap<std::string, CaseSource::HostRun> hostsAgain; ///< by the name of a case that runs again
  std::mutex mutex;                                     ///< of the next two
  std::vector<std::string> folders;                     ///< of `audits`
  kbrt::Coverage executed;                              ///< by checked runs that ended well
  void note(const kbrt::Coverage &coverage);
  /// Of the outputs in `runs`, and of those of all programs.
  std::atomic<uint64_t> keptBytes = 0;
  std::atomic<uint64_t> *allKept = nullptr;
};

/// Where a run is made: plain ones on the GPU if there is one, all others on the CPU device.
enum class Where { Usual, Cpu };

/// A run that a gate asks for.
struct RunRequest {
  TestCase test;
  RunMode mode = RunMode::Plain;
  RunOptions options;
  Where where = Where::Usual;
  bool audited = false; ///< the case's AuditedPlan in place of its plan
};

/// Rounded additions, and all rounded operations, behind one element; 0: unknown.
struct OperationCounts {
  uint64_t reductionLength = 0, roundings = 0;
  bool sumsInFloat = false; ///< nothing is computed in half or bf16
  std::string limits;       ///< why they are unknown
};

/// What is asked of a reference beside the original's results.
enum class Spread {
  None,
  Counted, ///< how many roundings lie behind an element: one run with counters, where that is
           ///< possible
  Rounded, ///< and how far other roundings move them
  Narrowed ///< and float64 arithmetic that is rounded to float32
};
Spread spreadFor(const CandidatePromise &promise);

/// What an original is known to give on one case.
struct Reference {
  std::string planFolder;
  std::vector<OutputSpec> outputs;
  RunPointer run; ///< natural order, nearest rounding
  /// By output, how far other roundings and, if it is not deterministic, other orders
  /// move its elements (OutputView::moved).
  std::vector<std::vector<uint8_t>> moved;
  bool deterministic = true; ///< in the order of threads
  /// Rounded additions, and all rounded operations, behind one element; counted
  /// together with the spread, 0: unknown.
  uint64_t reductionLength = 0, roundings = 0;
  bool sumsInFloat = false; ///< half and bf16 are read and stored, and nothing is computed in them
  bool narrows = false;     ///< its float64 arithmetic is rounded to float32 in `moved`, too
  std::string limits;       ///< what of the spread could not be had, and why; empty if all could
  /// By output OutputView::float64; empty: not asked for, or it cannot be had.
  std::vector<SharedBytes> float64;

  /// Takes \p other, another run on the same inputs, into `moved`; if it was \p narrowed, for
  /// outputs that have no more than float32's precision themselves.
  void widen(const RunResult &other, bool narrowed = false);
};

/// The original's results in float64 with their forward error bounds, as a run in mode Oracle gives
/// them.
struct Float64Oracle {
  std::vector<SharedBytes> outputs; ///< empty if it cannot be had
  std::string limits;               ///< then why
};

/// What no right rewrite of a program can do without on the recorded case.
struct MandatoryWork {
  /// Read from and written to memory; 0: unknown.
  double bytesRead = 0, bytesWritten = 0;
  /// Operations per type; a fused multiply-add is two.
  double fp16 = 0, fp32 = 0, fp64 = 0;
  std::string limits; ///< what is not known, and why
};

/// The least time for a program's mandatory work, and what it is that takes it.
struct Floor {
  double us = 0;
  std::string reason;
};
Floor floorOf(const MandatoryWork &work, const ChipInfo &chip, Promise promise);

/// What a program prints and writes with its operations rounded otherwise.
struct ReroundedWhole {
  std::optional<CaseSource::WholeRun> run;
  std::string limits; ///< why it could not be run
};

class RunsAhead;

struct Judge::Impl {
  Impl(ProgramArtefacts original, DeviceCompiler &compiler, Device &device, CaseSource &cases,
       Clock &clock, JudgeOptions options, GpuDevice *gpu)
      : original(std::move(original)), compiler(compiler), device(device), gpu(gpu), cases(cases),
        clock(clock), options(options) {
    baselineProgram.program = &this->original;
    baselineProgram.isOriginal = true;
    baselineProgram.allKept = &keptBytes;
  }

  ProgramArtefacts original;
  DeviceCompiler &compiler;
  Device &device; ///< the CPU's, or a fake of it
  GpuDevice *gpu; ///< null: there is none
  CaseSource &cases;
  Clock &clock;
  JudgeOptions options;
  std::function<double()> secondsLeft; ///< of the command's budget; empty: no limit
  /// Times what the judge does on \p test until its end.
  TimedPart timed(llvm::StringRef what, const TestCase &test) const {
    return TimedPart(options.timings, "judge",
                     options.timings ? (what + ", " + test.name).str() : "");
  }
  double timeLeft() const { return secondsLeft ? secondsLeft() : HUGE_VAL; }
  /// Why \p what, which takes about \p seconds, is not run: "…, and 5 s are left of the time
  /// budget".
  std::string doesNotFit(llvm::StringRef what, double seconds) const;
  std::atomic<uint64_t> keptBytes = 0; ///< outputs of runs that are kept; outlives the programs
  /// Of the bytes that a run's host reads, those that take memory: the original's on its recorded
  /// case.
  std::atomic<double> readShare = 1;
  JudgedProgram baselineProgram;
  /// Written under the mutex at the first request; only read once it is complete.
  GateStore *originalStore = nullptr;
  std::mutex baselineMutex;
  std::optional<BaselineReport> baseline;
  bool baselineComplete = false;
  OnceMap<Digest, DeviceCode> codes;
  OnceMap<std::string, Reference> references, countedReferences, spreadReferences,
      narrowedReferences;
  OnceMap<std::pair<std::string, Spread>, Reference> closerReferences;
  OnceMap<std::string, Float64Oracle> oracles; ///< by case
  OnceMap<std::string, Admission> admissions;  ///< by case, promise and spread
  /// Runs of the whole original, at least two (G14); nothing for a workload without main.
  OnceMap<unsigned, std::optional<CaseSource::WholeRun>> wholeOriginals;
  OnceMap<std::string, bool> dependsOnFreshMemory;               ///< G8, by case
  OnceMap<std::string, bool> consents;                           ///< G7, by case
  OnceMap<std::string, std::map<uint32_t, bool>> originalAudits; ///< likewise
  OnceMap<unsigned, TimingReport> ownTimings;                    ///< by seed of the request
  OnceMap<unsigned, GpuProfile> profiles;
  OnceMap<unsigned, MandatoryWork> mandatoryWork;
  OnceMap<unsigned, std::vector<DeviceFinding>> ownSanitizerFindings;
  OnceMap<Rerounding, DeviceImage> directedImages;
  OnceMap<Rerounding, ReroundedWhole> wholeRerounded; ///< of the original (G14)
  OnceMap<unsigned, CaseSource::WholeRun> hosts;      ///< of the original, by number (G14)
  OnceMap<std::string, OperationCounts> operationCounts;
  std::mutex trialsMutex;
  std::map<std::string, RunPointer>
      trials; ///< `finitePlan`'s last runs, by case, until they are asked for
  OnceMap<std::string, std::optional<std::string>> cpuRefusals; ///< by case
  /// The least work that the CPU device did not end in time, and the case's name.
  std::mutex refusedMutex;
  std::optional<std::pair<double, std::string>> refusedWork;
  double endedWork = 0;                    ///< the most that it did end
  std::optional<double> oracleRefusedWork; ///< the least for which the float64 oracle took too long
  FileDigests ownFiles;
  FileDigests &files = options.digests ? *options.digests : ownFiles; ///< G0's
  /// Changed copies of plans (G8) and directed machine code lie here.
  OnceMap<unsigned, TemporaryDirectory> scratch;
  std::atomic<unsigned> scratchCount = 0;

  llvm::Expected<const DeviceCode &> code(const ProgramArtefacts &program);
  llvm::Expected<BaselineReport> checkBaseline();
  /// What an earlier run kept, where it is still true, else `checkBaseline`'s.
  llvm::Expected<BaselineReport> knownBaseline();
  /// Runs the original on \p test in other orders; says in \p report what depends on them.
  llvm::Error checkOrders(BaselineReport &report, const TestCase &test, Where where);
  llvm::Error checkVariedOrders(BaselineReport &report, const TestCase &checked);
  llvm::Expected<Reference> measureReference(const TestCase &test);
  llvm::Expected<Reference> withCounts(const TestCase &test, Reference reference);
  llvm::Expected<Reference> withRoundings(const TestCase &test, Reference reference);
  llvm::Expected<Reference> withNarrowing(const TestCase &test, Reference reference);
  llvm::Expected<Reference> withDraws(const TestCase &test, Reference reference);
  /// Runs the original under each of \p roundings, into \p reference.
  llvm::Error addRoundings(const TestCase &test, Reference &reference,
                           llvm::ArrayRef<Rerounding> roundings);
  llvm::Expected<Admission> decideAdmission(const TestCase &test, const CandidatePromise &promise,
                                            const Reference &reference);
  llvm::Expected<Float64Oracle> runOracle(const TestCase &test);

  Device &deviceFor(RunMode mode, Where where);
  llvm::Expected<const DeviceImage *> image(JudgedProgram &program, RunMode mode,
                                            Where where = Where::Usual);
  llvm::Expected<std::string> plan(JudgedProgram &program, const TestCase &test);
  /// The original's on \p test, with inputs that are lessened until it stays finite, as far as it
  /// does on small ones.
  llvm::Expected<std::string> finitePlan(const TestCase &test);
  /// The recorded plan of \p program with other values in what its first kernels made
  /// (TestCase::remakes); a `UsageError` where there are no such kernels, or not the original's.
  llvm::Expected<std::string> remadePlan(JudgedProgram &program);
  /// The host of \p program on \p test, a case on which hosts run again: what it does and prints
  /// when it has read what its own steps compute. `CannotFollow` where that does not come to rest.
  llvm::Expected<const CaseSource::HostRun &> hostAgain(JudgedProgram &program,
                                                        const TestCase &test);
  /// What \p execute makes of the original's plan in \p folder on \p test, a case on which hosts
  /// run again: with what its host makes of the results that come of it. Of plans that do not come
  /// to rest the last result.
  llvm::Expected<RunResult> executeWithHost(
      const TestCase &test, std::string folder,
      llvm::function_ref<llvm::Expected<RunResult>(const std::string &planFolder)> execute);
  /// A new folder with the plan of \p planFolder and \p outputs as what its host reads.
  llvm::Expected<std::string> writeResults(const std::string &planFolder,
                                           llvm::ArrayRef<SharedBytes> outputs);
  /// The original's run that `finitePlan` made, if \p request asks for it.
  RunPointer takeTrial(const JudgedProgram &program, const RunRequest &request);
  /// A case that varies the recorded one has its facts, and no plan is made for them.
  llvm::Expected<const PlanFacts &> facts(JudgedProgram &program, const TestCase &test);
  /// A private folder, removed with the judge; \p name inside it is the caller's own.
  llvm::Expected<std::string> scratchFile(llvm::StringRef name);
  /// Runs that are kept are made once.
  llvm::Expected<RunPointer> run(JudgedProgram &program, const RunRequest &request);
  /// Makes reads of shared memory that nothing has written benign in \p checked, a checked run
  /// without other defects, where what lay there changes no result; of a candidate, where its
  /// original has such reads on the same case.
  llvm::Error excuseMaskedReads(JudgedProgram &program, const RunRequest &request,
                                RunResult &checked);
  /// Makes plain loads that race with atomic operations benign in \p checked, likewise, where
  /// other orders of threads give the same results; of a candidate, where its original has such
  /// loads on the same case.
  llvm::Error excuseLoadsBesideAtomics(JudgedProgram &program, const RunRequest &request,
                                       RunResult &checked);
  /// Whether a case that varies the recorded one has other inputs than it; true of any other.
  llvm::Expected<bool> inputsVary(const TestCase &test);
  /// Whether a plain run of \p program with outputs of \p bytes is worth its memory.
  bool mayKeep(const JudgedProgram &program, uint64_t bytes) const;
  llvm::Expected<RunPointer> run(JudgedProgram &program, const TestCase &test, RunMode mode,
                                 const RunOptions &options, Where where = Where::Usual) {
    return run(program, RunRequest{test, mode, options, where});
  }
  /// Makes runs that gates are about to ask for, on several threads as far as they do not need
  /// the one GPU; until \p stop, or one does not end well. Errors are reported when the result is
  /// requested. Without threads (JudgeOptions) it does nothing: each run is made when it is asked
  /// for. \p afterGpu is called once all of the GPU's ended well.
  void runTogether(JudgedProgram &program, llvm::ArrayRef<RunRequest> requests,
                   const std::atomic<bool> &stop, const std::function<void()> &afterGpu = {});
  /// Writes \p plan, a changed copy of the one in \p folder, with its data to the new folder \p
  /// copy.
  llvm::Error writeAgain(const kbrt::Plan &plan, const std::string &folder,
                         const std::string &copy);
  /// The new folder of \p plan, a changed copy of a recorded one, with \p data.
  llvm::Expected<std::string> writeCopy(const kbrt::Plan &plan, llvm::StringRef data);
  llvm::Expected<const AuditedPlan &> audited(JudgedProgram &program, const TestCase &test);
  /// What `gpu` measures: machine code and plan on \p test.
  llvm::Expected<GpuSubject> subject(JudgedProgram &program, const TestCase &test);
  llvm::Expected<const Reference *> reference(const TestCase &test, Spread spread);
  /// Those of \p count cases on several threads, where there are some; errors are reported to
  /// callers that ask for one.
  void measureTogether(unsigned count, Spread spread);
  /// Runs on a GPU that are made beside each other.
  unsigned runsTogether();
  /// The same with directions drawn at each execution in its spread, for a candidate that just
  /// missed it.
  llvm::Expected<const Reference *> closerReference(const TestCase &test, Spread spread);
  /// The float64 oracle on \p test; the original is run for it once. Where that is not possible, it
  /// says why.
  llvm::Expected<const Float64Oracle &> oracle(const TestCase &test);
  /// The original's run on \p test under \p rounding; null where it cannot be had, with the
  /// reason in \p limits.
  llvm::Expected<RunPointer> directedRun(const TestCase &test, const Rerounding &rounding,
                                         std::string &limits);
  /// The original's device code, written again for it.
  llvm::Expected<DeviceImage> directedImage(const Rerounding &rounding);
  /// The original's run on a plan whose inputs are rounded otherwise (nudgeInputs).
  llvm::Expected<RunResult> nudgedRun(const std::string &planFolder, unsigned seed);
  /// n on \p test from the CPU device's counts, or else from the GPU's.
  llvm::Expected<OperationCounts> countOperations(const TestCase &test);
  /// Options of a plain run under the judge's limits.
  RunOptions runOptions() const;
  /// Fresh memory with other content: every bit of it.
  RunOptions otherMemory() const;
  /// As often as G10 wants it.
  RunOptions repeatedRun(JudgeEffort effort) const;
  /// What the gates from G6 on ask of the GPU, in their order.
  std::vector<RunRequest> gpuRuns(JudgeEffort effort, unsigned caseCount,
                                  const std::set<Assumption> &assumes);
  /// How many of `seenCases` a judgement looks at: in the final check as many as the time left and
  /// their size allow.
  /// \p omitted then says what is left out.
  unsigned caseCount(JudgeEffort effort, std::string &omitted);
  /// What is asked of both devices to know the original.
  std::vector<RunRequest> originalRuns();
  /// The original on \p test in another order of threads each.
  std::vector<RunRequest> orderRuns(const TestCase &test, Where where);
  /// As many runs as `orderRuns` has, in one job: a GPU orders threads as it likes, and says only
  /// whether they agree.
  RunRequest ordersTogether(const TestCase &test) const;
  /// The same for the CPU device, which gets less time beside a GPU.
  RunOptions cpuOptions(const JudgedProgram &program) const;
  /// Why the CPU device cannot run \p test: it takes too long, or lacks a construct. Nothing
  /// if it can, and always without a GPU, where that is a verdict. The original is run for it once.
  llvm::Expected<std::optional<std::string>> cpuRefusal(const TestCase &test);
  /// Whether the original's checked run on \p test was ended at its limit, without a defect until
  /// then: so are a candidate's. \p why then says so.
  llvm::Expected<bool> isCheckedInPart(const TestCase &test, std::string &why);
  /// For the original's checked run on it, alone.
  RunOptions checkOptions() const;
  /// The case of the CPU device's runs; nothing if it can run none, with the reason in \p why.
  llvm::Expected<std::optional<TestCase>> cpuCase(std::string &why);
  /// The original on the recorded case, as often as \p seed is new.
  llvm::Expected<const TimingReport &> ownTiming(unsigned seed);
  llvm::Expected<const GpuProfile &> profile();
  llvm::Expected<const MandatoryWork &> mandatory();

  /// The cases of G4 to G8: seen ones, cheapest first, at most \p count; the
  /// recorded one is always among them.
  std::vector<TestCase> seenCases(unsigned count);
  TestCase recordedCase();
  /// The recorded one as a host meets it on \p device, with its buffers elsewhere.
  TestCase elsewhereCase(const OtherDevice &device);
  /// The cheapest case that is not a degenerate shape.
  TestCase checkCase();

  /// Digests of what the original's recorded run rests on, from disk.
  llvm::Expected<RunIdentity> identify();

  llvm::Expected<Admission> admission(const TestCase &test, const CandidatePromise &promise,
                                      Spread spread);
  /// The same with the bounds of \p reference, which has the float64 oracle beside \p spread.
  llvm::Expected<Admission> admissionByOracle(const TestCase &test, const CandidatePromise &promise,
                                              Spread spread, const Reference &reference);

  /// With a GPU and a time budget: runs the original under other roundings while the gates before
  /// G6 look at the first candidate that may ask for that; nothing takes a final check longer.
  void beginSpread(unsigned count, Spread spread);

  /// Of the original; use everything above.
  std::unique_ptr<RunsAhead> originalAhead;
  std::atomic<bool> spreadBegun = false;
  std::future<void> earlySpread;
};

/// Makes runs while gates look at others (Judge::Impl::runTogether).
class RunsAhead {
public:
  RunsAhead(Judge::Impl &judge, JudgedProgram &program, std::vector<RunRequest> requests,
            std::function<void()> afterGpu = {});
  ~RunsAhead();
  /// Until all are made.
  void wait();

private:
  std::atomic<bool> stop = false;
  std::thread thread;
};

/// What a gate works on.
struct GateContext {
  Judge::Impl &judge;
  JudgedProgram &candidate;
  const CandidatePromise &promise;
  JudgeEffort effort;
  unsigned caseCount; ///< of `seenCases`: at most so many are looked at
  /// What the candidate is held to so far. What is right by the counted roundings alone, a stricter
  /// rule that costs no further runs of the original, is right; the first case that is not asks for
  /// the promise's own spread.
  Spread spread;
  std::string omittedCases = {}; ///< what `caseCount` leaves out, for G7's record
  std::optional<TimingReport> timing = std::nullopt; ///< G12's
  OnceMap<unsigned, SanitizerReport> sanitized = {}; ///< G9's, which may be made before its turn
  /// G14's run of the candidate, likewise; nothing where the workload has no main.
  OnceMap<unsigned, std::optional<CaseSource::WholeRun>> whole = {};
  /// The candidate fills constant memory with a table that the original does not have: other inputs
  /// must tell that it is no result (G7).
  bool hasOwnTable = false;
  bool hasOtherInputs =
      false; ///< a case with other inputs in the recorded host's place has counted
  /// An upload of the candidate's host is the original's but for roundings: the case of other
  /// results must tell that it was computed alike (G7).
  bool hasRoundedUpload = false, isHeldToOtherResults = false;
  /// New device variables of one number, with their bytes: launches must leave them as they are.
  std::map<std::string, uint64_t> ownCounters = {};
  /// The candidate's host uploads its inputs in another form: plans whose uploads are changed say
  /// nothing of it, cases in which both hosts run do (G7).
  bool hasRelaidInputs = false;
  unsigned casesOfOwnHosts = 0; ///< that counted, beside the recorded one
  /// The candidate's host reads other results than the original's, or hands over numbers that it
  /// made from them and that the original's does not upload: the hosts of both programs run again
  /// on each case.
  bool runsHostsAgain = false;
  OnceMap<unsigned, std::set<unsigned>> handedOver = {}; ///< of `handedOverResults`
  unsigned casesRunAgain = 0; ///< with other inputs than the recorded ones
  bool isRun = true;          ///< false: only what needs no run is asked (Judge::inspect)
};

/// Whether \p test replaces what hosts upload, and the candidate's uploads cannot be told by the
/// original's, or what comes of them by its results.
inline bool isOfUploadsAlone(const GateContext &context, const TestCase &test) {
  return (context.hasRelaidInputs && test.variesUploads()) ||
         (context.runsHostsAgain && test.variesOther);
}

llvm::Expected<GateRecord> runProvenance(GateContext &context,
                                         llvm::ArrayRef<JudgedStep> steps); // G0
llvm::Expected<GateRecord> runDeviceChecks(GateContext &context);           // G4
llvm::Expected<GateRecord> runAdmission(GateContext &context);              // G5
llvm::Expected<GateRecord> runNumerics(GateContext &context);               // G6
llvm::Expected<GateRecord> runBreadth(GateContext &context);                // G7
llvm::Expected<GateRecord> runMemory(GateContext &context);                 // G8
/// A failed record of G8 where a launch changes one of GateContext::ownCounters.
llvm::Expected<std::optional<GateRecord>> checkOwnCounters(GateContext &context);
llvm::Expected<GateRecord> runSanitizer(GateContext &context); // G9
/// The candidate under the sanitizer's tools, once.
llvm::Expected<const SanitizerReport &> sanitizedRun(GateContext &context);
llvm::Expected<GateRecord> runDeterminism(GateContext &context);    // G10
llvm::Expected<GateRecord> runExecutionAudit(GateContext &context); // G11
llvm::Expected<GateRecord> runTimedOutputs(GateContext &context);   // G12
llvm::Expected<GateRecord> runPhysics(GateContext &context);        // G13
llvm::Expected<GateRecord> runWholeProgram(GateContext &context);   // G14
llvm::Expected<GateRecord> runUnseenShapes(GateContext &context);   // G15
/// Whether the original's own run of \p test, a case that asks more or breaks an assumption, is
/// clean and tells something. Found out once; false also where the original cannot be recorded on
/// it.
llvm::Expected<bool> consents(Judge::Impl &judge, const TestCase &test);
/// The candidate's checked run on \p test, to which the original consents, and its results there.
llvm::Expected<GateRecord> holdTo(GateContext &context, const TestCase &test);
/// Lines of the candidate's kernels that are not the original's own and that no case has executed:
/// inputs are searched for that lead there, and the candidate is held to them. An undecided record
/// of G7 where none is found for a line. Makes the checked runs that earlier gates have not made.
llvm::Expected<GateRecord> searchUnexecuted(GateContext &context);
/// Makes G14's first runs before its turn, where they fit into the time that is left.
void runWholeProgramAhead(GateContext &context);
/// A part of G14: how the candidate's own host, given the original's results, prints otherwise than
/// the original's; nothing if it does not, or if it has none. \p wholes: runs of the whole
/// original.
llvm::Expected<std::optional<GateRecord>>
compareFedHost(GateContext &context, llvm::ArrayRef<const CaseSource::WholeRun *> wholes);

/// \p original without the operations that the candidate does not do: a rewrite may go through the
/// matrix units, or compute only once what the original computes again and again. The counters are
/// those of a job of its own, which loads the image anew: results that it kept in its variables in
/// an earlier run are not there. As for the original, launches beyond the profiled ones are not
/// counted.
llvm::Expected<MandatoryWork> workOf(GateContext &context, const MandatoryWork &original);

/// \p test where hosts run again.
TestCase runAgainOn(const TestCase &test);
/// How what the candidate's host prints and leaves on \p test, a case on which hosts run again,
/// differs from the original's by more than roundings; nothing if it does not. Counts the case.
llvm::Expected<std::optional<GateRecord>> compareHostsAgain(GateContext &context,
                                                            const TestCase &test, GateId gate);
/// Results of the recorded case that the original's host reads and the candidate's does not: a
/// record where not all of them show in what the original prints.
llvm::Expected<std::optional<GateRecord>> checkUnreadResults(GateContext &context, GateId gate);

/// Results of the recorded case, by number, each element of which the original's host makes
/// something of that it hands over to the device again, as far as some of them tell. Found out
/// once.
llvm::Expected<const std::set<unsigned> &> handedOverResults(GateContext &context);

/// By result of the original, the one of the candidate that stands for it; nothing where it reads
/// none. Results of the same size that pass the comparison belong together, and then those of the
/// same size where both programs have as many left.
std::vector<std::optional<unsigned>> pairResults(const Reference &reference,
                                                 const RunResult &candidate,
                                                 const CandidatePromise &promise, CaseSource &cases,
                                                 const TestCase &test);

/// Whether the original's own results on \p test depend on what lay in fresh memory.
llvm::Expected<bool> originalDepends(Judge::Impl &judge, const TestCase &test,
                                     const Reference &reference);
/// What is wrong with the host side of the candidate on \p test, a case with a plan of its own: no
/// launches, steps in no order, bytes that the original does not upload, other host results.
/// Whether the launches of a candidate with a host of its own can start at sizes whose data no run
/// could hold, where the original's can; a passed record otherwise.
llvm::Expected<GateRecord> compareAtLargeSizes(GateContext &context);
llvm::Expected<std::optional<GateRecord>> auditHost(GateContext &context, const TestCase &test,
                                                    GateId gate);
/// A launch of the candidate's plan on \p test that no chip of the architecture can start, where
/// all of the original's can.
llvm::Expected<std::optional<GateRecord>> checkLaunchLimits(GateContext &context,
                                                            const TestCase &test, GateId gate);
/// How what the hosts of two recordings returned and left in host memory differs; nothing if it
/// does not.
llvm::Expected<std::optional<std::string>>
hostResultDifference(const std::string &original, const std::string &candidate, bool exact);

/// Steps of a plan that touch one buffer in no order.
struct UnorderedSteps {
  std::optional<std::string> certain; ///< two that touch the same bytes
  /// Two that may, as launches do with pointers to different places of a buffer, and the plan in an
  /// order in which the second comes first: if it gives other results, they do.
  std::vector<std::pair<std::string, kbrt::Plan>> otherOrders;
  bool tooMany = false; ///< there are more of these than are listed
};
/// Pointers inside memory are not looked at.
UnorderedSteps unorderedSteps(const kbrt::Plan &plan);

/// Whether \p result, of a candidate on \p test, says no more than that it takes long where there
/// is many times the work: another algorithm may well.
inline bool isTooLarge(const TestCase &test, const RunResult &result) {
  return test.timesRecorded > 1 && result.status == RunStatus::Timeout && result.defects().empty();
}

/// \p result as a failed record of \p gate, if it did not end well or has
/// defects; nothing otherwise.
std::optional<GateRecord> failureOf(const RunResult &result, GateId gate, llvm::StringRef caseName);
/// An error that blames the program (status Diagnostics) becomes a failed
/// record; any other stays an error.
llvm::Expected<GateRecord> blameProgram(llvm::Error error, GateId gate, FailureClass failure);

/// Whether what was refused may be the draw of the spread, not the candidate: Rare where that is
/// as good as certain.
enum class Miss : uint8_t { Far, Near, Rare };

/// Outputs of \p candidate against the reference of \p test under the promise. \p miss, if given,
/// becomes what the refusal, if there is one, may come from. With \p readsOtherwise only the
/// results that both hosts read are compared (`pairResults`), but for \p exempt.
GateRecord compareWithReference(const Reference &reference, const RunResult &candidate,
                                const TestCase &test, const CandidatePromise &promise,
                                CaseSource &cases, GateId gate, Miss *miss = nullptr,
                                bool readsOtherwise = false, const std::set<unsigned> &exempt = {});
Tolerance toleranceFor(const CandidatePromise &promise, CaseSource &cases, const TestCase &test,
                       const Reference &reference, unsigned output);
inline llvm::ArrayRef<uint8_t> bytesOf(llvm::StringRef text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}
/// Output \p index of \p reference, with what is known of its spread.
OutputView viewOf(const Reference &reference, unsigned index);
/// Runs the candidate once on each of \p tests and compares. Cases on which the original
/// itself fails are passed over.
llvm::Expected<GateRecord> compareOnCases(GateContext &context, llvm::ArrayRef<TestCase> tests,
                                          GateId gate);
/// \p record, which \p test ended, with the statement that would leave that case out.
GateRecord withRemedy(GateRecord record, const TestCase &test, CaseSource &cases);
/// Outputs \p a and \p b are the same bits (NaNs count as one value).
std::optional<std::string> firstDifference(const std::vector<OutputSpec> &specs, const RunResult &a,
                                           const RunResult &b);

/// Digest of what \p plan executes: kernels, shapes and the kinds of the other steps.
Digest launchDigest(const kbrt::Plan &plan);

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_JUDGEIMPL_H
