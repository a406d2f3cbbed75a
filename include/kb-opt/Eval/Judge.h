//===- Judge.h - The gates in order ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the decision whether a candidate may be kept: runs the gates of
// EVALUATION.md in order, stops at the first failure and gives a three-valued
// verdict with a record per gate. Compilers, devices and recordings come in
// through interfaces. Times are a GPU's; without one there are none here, see
// CostModel.h.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_JUDGE_H
#define KBOPT_EVAL_JUDGE_H

#include "kb-opt/Core/PassInfo.h"
#include "kb-opt/Eval/Comparator.h"
#include "kb-opt/Eval/Device.h"
#include "kb-opt/Eval/Verdict.h"
#include "kb-opt/Plan/ChangedInputs.h"
#include "kb-opt/Plan/OtherDevice.h"
#include "kb-opt/Support/Clock.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileDigests.h"
#include "kb-opt/Support/Timings.h"
#include "kb-opt/Target/ChipInfo.h"
#include <functional>
#include <map>
#include <set>

namespace kbopt {

/// One replaced range of a step's text and the anchor that permits it.
struct JudgedEdit {
  size_t offset = 0, length = 0; ///< bytes of the text before the step
  std::string anchor;            ///< its name, for messages
  size_t anchorBegin = 0, anchorEnd = 0;
};

/// One rewrite on the way from the original to a candidate, as its session
/// committed it. `after` is what the edits and the formatting inside them made.
struct JudgedStep {
  std::string pass; ///< for messages
  std::string before, after;
  std::vector<JudgedEdit> edits; ///< by offset, not overlapping
  /// What a model's reply says it did; empty: a rule wrote the step.
  std::string reply = {};
};

/// What the passes behind a candidate declare.
/// The detail by which G6 says that results of a bitwise candidate could be those of sums in
/// another order.
inline constexpr llvm::StringLiteral withinReassociation =
    "the difference is within what another order of sums may make";

struct CandidatePromise {
  Promise result = Promise::Bitwise;
  /// Deny-list and precision names that a pass declares: "half", "bf16", "tf32",
  /// "approx", "global-state", "clock", "cache-policy", "griddepcontrol",
  /// "nanosleep", "device-launch", "printf".
  std::set<std::string> declares;
  /// G7 adds the cases that break these.
  std::set<Assumption> assumes;
  /// Rules of passes made it all, which guard the ways that they add by what they have proven: code
  /// that no case executes may stay.
  bool guardsItsWays = false;
};

/// One way to exercise the program.
struct TestCase {
  std::string name;      ///< "recorded", "n=33 seed=2 normal", …
  bool recorded = false; ///< the program's own run or the workload's benchmark shape
  bool small = true;     ///< cheap enough for access checks and repeated runs
  bool unseen = false;   ///< kept for G15
  /// The caller's pointers break this, as the workload lets it. Only for G7, and
  /// only if the original can do without.
  std::optional<Assumption> breaks = std::nullopt;
  /// The recorded case's plan with other input values.
  bool variesRecorded = false;
  /// The plan of another case with other input values.
  bool variesOther = false;
  /// It asks more of the program than its owner said that it can do: other integers, other sizes.
  /// Like a case that breaks an assumption it counts only where the original's own checked run of
  /// it is clean.
  bool asksMore = false;
  /// A few of its numbers, or runs of them, are larger than the others by many orders: where a rule
  /// multiplies a factor out, the small ones vanish beside them.
  bool hasLargeValues = false;
  /// About how many times the recorded case's work it is; 1 where that is not known.
  uint64_t timesRecorded = 1;
  /// What the program's first kernels make out of nothing is replaced: floating-point values by
  /// others, all else put into another order. Made by the judge, not by a CaseSource.
  bool remakes = false;
  /// The recorded case where the host sees this device, and other addresses. Made by the judge,
  /// for candidates whose host side is not the original's; the original's part is its recorded run.
  const OtherDevice *elsewhere = nullptr;
  /// The recorded case where the host reads other floating-point results than the device computed,
  /// before it hands over what it made from them.
  bool feedsOtherResults = false;
  /// A whole program runs anew with other arguments, or other numbers from where it has them: each
  /// program's host by itself.
  bool hasOtherSources = false;
  /// A test of the build that the program is part of. It counts where the original runs it without
  /// defects, and is never left out for want of time.
  bool isTest = false;
  /// How often a function is called, one call like the other.
  unsigned calls = 1;
  /// The case of this name, where each of the two hosts runs again until it has read what the steps
  /// that it asks for compute; empty: no such case. Made by the judge, for candidates whose host
  /// reads other results than the original's.
  std::string runsAgainOn = {};
  bool variesUploads() const { return variesRecorded || variesOther; }
  bool needsConsent() const { return breaks || asksMore || isTest; }
  /// Its sums are exact in every order: how many roundings the original counts allows for nothing.
  bool hasExactSums = false;
  /// All of its floating-point inputs are equal: so are the terms of sums, whose rounding errors
  /// add up.
  bool hasEqualValues = false;
  /// How often CaseSource::lessen can make these values smaller.
  unsigned mostLessenings = 0;
};

/// In the folder of a recording, where its host side says so: lines of what calls returned or left
/// in host memory, `kb-result NAME HASH VALUE…`.
inline constexpr const char *hostResultsFileName = "results.txt";

/// Nothing speaks against the program, but it cannot be followed: it uses what the recorder lacks,
/// or reads other results than the original. Undecided, where it is a candidate.
class CannotFollow : public llvm::ErrorInfo<CannotFollow, UsageError> {
public:
  static char ID;
  CannotFollow(std::string message, std::string note)
      : ErrorInfo(std::move(message), std::move(note), ExitStatus::Diagnostics) {}
};

/// Recordings of the original and of candidates. Thread-safe. Errors are the
/// environment's or the program's own (`ToolError` with status Diagnostics: it
/// failed or crashed by itself; the message says how).
class CaseSource {
public:
  virtual ~CaseSource();
  /// Every case, cheapest first; stable between calls.
  virtual std::vector<TestCase> cases() = 0;
  /// Further ones, all of which ask more, for what the text of \p program has and the original's
  /// has not; from then on they are cases as any.
  virtual std::vector<TestCase> casesFor(const ProgramArtefacts &program) {
    (void)program;
    return {};
  }
  /// What the original uploads in its recorded case that single changes may be made of.
  virtual llvm::Expected<std::vector<ChangeableUpload>> changeableUploads();
  /// Writes the plan of \p program on the recorded case with \p changes to \p folder. Where the
  /// original states or keeps something of its inputs, so do they.
  virtual llvm::Error writeChanged(const ProgramArtefacts &program,
                                   llvm::ArrayRef<InputChange> changes, const std::string &folder);
  /// The recorded case with \p changes, which is a case as any from then on; it asks more. Nothing
  /// where there are no `changeableUploads`.
  virtual std::optional<TestCase> changedCase(llvm::ArrayRef<InputChange> changes);
  /// Folder of the original's recording: plan.json, data.bin, observables.bin.
  virtual llvm::Expected<std::string> original(const TestCase &test) = 0;
  /// Folder of the candidate's: host code run against the recorder alone with
  /// the oracle's bytes, or the original's folder where host text is unchanged.
  virtual llvm::Expected<std::string> candidate(const ProgramArtefacts &program,
                                                const TestCase &test) = 0;
  /// The candidate's on the recorded case, as it is where its host sees \p device, and other
  /// addresses.
  virtual llvm::Expected<std::string> candidateElsewhere(const ProgramArtefacts &program,
                                                         const TestCase &recorded,
                                                         const OtherDevice &device);
  /// Branches of the host of \p program that its text has and the original's has not, and that none
  /// of its recordings so far has taken: the line and what is asked there, for a message.
  virtual llvm::Expected<std::vector<std::string>>
  branchesNotTaken(const ProgramArtefacts &program);
  /// Cases at sizes whose data no run could hold. Their recordings hold the calls of the host
  /// alone: nothing is executed, and what it reads is zero.
  virtual std::vector<TestCase> launchCases() { return {}; }
  /// Whether the host of \p program may ask what device it runs on, or what its kernels need there.
  virtual llvm::Expected<bool> asksDevice(const ProgramArtefacts &program);
  /// Makes the inputs of \p test smaller for all later calls of `original` and `candidate`: the
  /// original overflows on them. The judge asks for it before it asks for a candidate's folder.
  virtual void lessen(const TestCase &test);
  /// What the whole program prints and returns when rebuilt with \p program and
  /// run with kernels executing (G14); nothing for a workload without `main`.
  struct WholeRun {
    int exitStatus = 0;
    std::string out;
    std::map<std::string, std::string> files = {}; ///< that it wrote, by name
    std::string err = {};
  };
  /// \p image: the file of device code to run in the place of the program's own; empty: its own. \p
  /// rounding: of kernels on the CPU device.
  virtual std::optional<llvm::Expected<WholeRun>>
  wholeProgram(const ProgramArtefacts &program, llvm::StringRef image = "",
               Rounding rounding = Rounding::Nearest) = 0;
  /// Whether \p program is a whole program with a host of its own, not the original's.
  virtual bool hasOwnHost(const ProgramArtefacts &program);
  /// What the host of \p program, which has one of its own, prints when it reads the original's
  /// results of the recorded case, whatever its kernels compute.
  virtual llvm::Expected<WholeRun> fedHost(const ProgramArtefacts &program);
  /// The same of the original's host: its recorded run, which computed the results (0), and further
  /// runs that are fed them.
  virtual llvm::Expected<WholeRun> originalHost(unsigned number);
  /// Whether the host of \p program reads other results than the original's on a case that it was
  /// asked about. Its plan is then that of a run by itself, with its own results.
  virtual bool readsOtherwise(const ProgramArtefacts &program);
  /// A run of a host alone: the plan that it asks for, and what it prints; of a function, with the
  /// lines of what it returns.
  struct HostRun {
    std::string folder;
    WholeRun printed;
  };
  /// The host of \p program, the original or a candidate, on \p test, where it reads the results in
  /// the folder \p results, which has plan.json and observables.bin of a plan of its own. The steps
  /// have the inputs of \p test. What it prints when it has been told other results than its
  /// own is no failure, nor is the status that it ends with.
  virtual llvm::Expected<HostRun> runAgain(const ProgramArtefacts &program, const TestCase &test,
                                           const std::string &results);
  /// How long the program's own recorded run took, host and kernels; 0: unknown.
  virtual double wholeSeconds() { return 0; }
  /// Inputs of \p test under another seed, for the decoy of that name; nothing
  /// if the case has no seed.
  virtual std::optional<TestCase> reseeded(const TestCase &test) = 0;
  /// What the workload says about an output; the default is a Tolerance{}.
  virtual Tolerance tolerance(const TestCase &test, unsigned output);
  /// What both programs may rely on because all inputs keep it, one sentence each.
  virtual std::vector<std::string> reliedOn() { return {}; }
  /// The statement with which the program's owner would leave \p test out, as the end of a
  /// sentence; empty if there is none.
  virtual std::string remedy(const TestCase &test) { return ""; }
};

/// Search spends seconds on a candidate and skips what only a winner needs;
/// Final runs every gate on every case.
enum class JudgeEffort { Search, Final };

struct JudgeOptions {
  JudgeEffort effort = JudgeEffort::Final;
  unsigned shuffles = 2;         ///< G4: thread orders besides the natural one
  unsigned determinismRuns = 20; ///< G10; a tenth of it in a search
  unsigned maxCases = 64;        ///< G7, G15: at most this many each
  unsigned searchCases = 3;      ///< G7 in a search
  /// The final check compiles by the user's own compiler (`DeviceCompiler::compileExactly`).
  bool exactCode = true;
  /// Beside a GPU, and in the final check: threads for runs that gates will ask for. With one,
  /// each is made when it is asked for.
  unsigned threads = 1;
  double secondsPerRun = 60;
  double totalSeconds = 600; ///< the judge gives up as inconclusive after that
  uint64_t memoryBytes = uint64_t(8) << 30;
  /// Only with a GPU. The CPU device gets this long for a run of the original; a case
  /// that takes longer is not checked there (a candidate gets three times as long).
  double cpuSeconds = 3;
  /// Of the GPU, for G13's floor. Must outlive the judge; absent: no floor.
  const ChipInfo *chip = nullptr;
  Timings *timings = nullptr; ///< gets what the judge does for how long; null: not recorded
  /// Shared with other users of the same large files; null: the judge has its own.
  FileDigests *digests = nullptr;
};

/// What a verdict rests on, by content (G0).
struct RunIdentity {
  Digest input;   ///< plan and data of the recorded case
  Digest harness; ///< the program that executes plans
  Digest image;   ///< the original's device image
  bool operator==(const RunIdentity &) const = default;
};

/// What the judge knows of the original, computed once per program.
struct BaselineReport {
  /// Absent: the program may be optimized. Otherwise it races, goes out of
  /// bounds or fails by itself, is left alone, and this says how.
  std::optional<GateRecord> problem;
  DeviceCode code;
  RunIdentity identity;
  bool deterministic = true;
  /// Why the CPU device checked no case (only with a GPU); empty if it did.
  std::string unchecked;
  /// Cases that the comparator's decoys admitted, and why others were not.
  std::vector<TestCase> admitted;
  std::vector<std::string> notAdmitted;
};

/// Where single answers are kept, so that what a run found before it was cut short is not asked
/// again. What is stored under a name must depend on nothing but the two programs, the cases and
/// the tools: an implementation names them all in its keys. Thread-safe.
class GateStore {
public:
  virtual ~GateStore();
  virtual std::optional<std::string> find(llvm::StringRef name) = 0;
  virtual void keep(llvm::StringRef name, llvm::StringRef text) = 0;
};

/// Judges candidates of one original. Thread-safe: what is known of the original is
/// computed once and shared.
class Judge {
public:
  /// \p device checks and counts. With \p gpu every plain run is made there, the gates that
  /// need a GPU run, and verdicts carry times.
  Judge(ProgramArtefacts original, DeviceCompiler &compiler, Device &device, CaseSource &cases,
        Clock &clock, JudgeOptions options = {}, GpuDevice *gpu = nullptr);
  ~Judge();

  /// Called before each gate with a line for the terminal, from any thread.
  std::function<void(llvm::StringRef)> onProgress;

  /// \p store keeps what is known of the original; set it before anything is judged, and let it
  /// outlive the judge.
  void keepOriginalIn(GateStore *store);

  /// G1, G4, G5, G8 and G10 on the original itself; cached.
  llvm::Expected<const BaselineReport &> baseline();

  /// \p steps lead from the original to \p candidate; G0 rejects a candidate that
  /// they do not explain.
  llvm::Expected<Verdict> judge(const ProgramArtefacts &candidate, llvm::ArrayRef<JudgedStep> steps,
                                const CandidatePromise &promise);
  /// The same with another effort than the options'. Gates from G4 on are answered from \p store
  /// where an earlier run kept them there.
  llvm::Expected<Verdict> judge(const ProgramArtefacts &candidate, llvm::ArrayRef<JudgedStep> steps,
                                const CandidatePromise &promise, JudgeEffort effort,
                                GateStore *store = nullptr);

  /// G0 to G3 alone, which need no run, for a candidate that is screened: correct where none of
  /// them refuses it. Asks nothing about the original but its code.
  llvm::Expected<Verdict> inspect(const ProgramArtefacts &candidate,
                                  llvm::ArrayRef<JudgedStep> steps,
                                  const CandidatePromise &promise);

  /// G7 on every case of the final check, and, if \p whole, G14, for a candidate that passed a
  /// search's gates.
  llvm::Expected<Verdict> examine(const ProgramArtefacts &candidate,
                                  const CandidatePromise &promise, bool whole);

  /// The original measured against itself on the recorded case. Only with a GPU.
  llvm::Expected<const TimingReport &> originalTiming();
  /// Metric sets A to D of the original on the recorded case. Only with a GPU.
  llvm::Expected<const GpuProfile &> originalProfile();

  /// \p left gives the seconds that the whole command may still take. The final check leaves out
  /// what does not fit, and says so; set it before anything is judged.
  void setSecondsLeft(std::function<double()> left);
  /// What it gives now; infinite without a limit.
  double secondsLeft() const;

  /// Makes at once what judging \p program begins with: its machine code, the CPU device's
  /// images, and the recordings of a changed host. An error is reported when the result is
  /// requested.
  void prepare(const ProgramArtefacts &program);

  /// Machine code of a program, compiled at most once.
  llvm::Expected<const DeviceCode &> code(const ProgramArtefacts &program);

  /// Names everything that decides a program's speed: machine code of the kernels
  /// and the plan's launches on the recorded case. Programs of equal key are
  /// never measured twice.
  llvm::Expected<Digest> measurementKey(const ProgramArtefacts &program);

  /// Counters of \p program on the recorded case (count mode). \p options gives
  /// the caches and the number of sampled blocks.
  llvm::Expected<RunResult> count(const ProgramArtefacts &program, RunOptions options = {});

  struct Impl;

private:
  std::unique_ptr<Impl> impl;
};

} // namespace kbopt

#endif // KBOPT_EVAL_JUDGE_H
