//===- RecordedCases.h - The ways a program is exercised --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the test cases of one original program: the runs of its host side under
// the recorder, the inputs varied from them, and the plans of candidates.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_RECORDEDCASES_H
#define KBOPT_CANDIDATE_RECORDEDCASES_H

#include "kb-opt/Candidate/CandidateTools.h"
#include "kb-opt/Candidate/CaseRecipes.h"
#include "kb-opt/Candidate/KernelParameters.h"
#include "kb-opt/Candidate/SortedArrays.h"
#include "kb-opt/Plan/InputFacts.h"
#include "kb-opt/Plan/Recorder.h"
#include "kb-opt/Support/OnceMap.h"
#include <atomic>
#include <mutex>

namespace kbopt {

class HostWays;

/// Thread-safe.
class RecordedCases : public CaseSource {
public:
  /// \p folder is private to this object. Runs nothing yet.
  RecordedCases(const CandidateTools &tools, Device &device, ProgramArtefacts original,
                Workload workload, Signature signature, std::string folder);
  ~RecordedCases() override;

  /// From here on original programs run on the GPU number \p index of this machine,
  /// as \p compiler compiles them; before anything has run. \p gpu says which one it is, and what
  /// driver it has. Candidates' host sides
  /// run without a device, but for whole programs. Cases with varied inputs have no
  /// observables then: full size is too much for the CPU device, and the judge runs
  /// the original by itself.
  void recordOnGpu(DeviceCompiler &compiler, unsigned index, std::string gpu);
  /// The compiler that tells hosts how many registers kernels need, where none runs on a GPU;
  /// before anything has run.
  void setCompiler(DeviceCompiler &speaker) { compiler = &speaker; }
  /// RecordRequest::kernelTypes; before anything has run.
  void setKernelTypes(KernelTypes types) { kernelTypes = std::move(types); }
  void setKernelRecords(KernelRecords records) { kernelRecords = std::move(records); }
  void setSortedArrays(std::vector<SortedArray> arrays) { sorted = std::move(arrays); }
  /// RecordRequest::onDraft of the program's own run; before it is made.
  void setOnDraft(std::function<void(const std::string &folder)> then) {
    onDraft = std::move(then);
  }

  std::vector<TestCase> cases() override;
  /// Those around the constants of its text.
  std::vector<TestCase> casesFor(const ProgramArtefacts &program) override;
  llvm::Expected<std::vector<ChangeableUpload>> changeableUploads() override;
  llvm::Error writeChanged(const ProgramArtefacts &program, llvm::ArrayRef<InputChange> changes,
                           const std::string &folder) override;
  std::optional<TestCase> changedCase(llvm::ArrayRef<InputChange> changes) override;
  /// The program's own run.
  TestCase recorded();
  llvm::Expected<std::string> original(const TestCase &test) override;
  llvm::Expected<std::string> candidate(const ProgramArtefacts &program,
                                        const TestCase &test) override;
  llvm::Expected<std::string> candidateElsewhere(const ProgramArtefacts &program,
                                                 const TestCase &recorded,
                                                 const OtherDevice &device) override;
  llvm::Expected<bool> asksDevice(const ProgramArtefacts &program) override;
  std::vector<TestCase> launchCases() override;
  llvm::Expected<std::vector<std::string>>
  branchesNotTaken(const ProgramArtefacts &program) override;
  double wholeSeconds() override;
  std::optional<llvm::Expected<WholeRun>>
  wholeProgram(const ProgramArtefacts &program, llvm::StringRef image = "",
               Rounding rounding = Rounding::Nearest) override;
  std::optional<TestCase> reseeded(const TestCase &test) override;
  bool hasOwnHost(const ProgramArtefacts &program) override {
    return workload.kind == WorkloadKind::Program && !sharesHost(program);
  }
  llvm::Expected<WholeRun> fedHost(const ProgramArtefacts &program) override;
  llvm::Expected<WholeRun> originalHost(unsigned number) override;
  bool readsOtherwise(const ProgramArtefacts &program) override;
  llvm::Expected<HostRun> runAgain(const ProgramArtefacts &program, const TestCase &test,
                                   const std::string &results) override;
  Tolerance tolerance(const TestCase &test, unsigned output) override;
  void lessen(const TestCase &test) override;
  std::vector<std::string> reliedOn() override;
  std::string remedy(const TestCase &test) override {
    return recipes.remedy(test.runsAgainOn.empty() ? test.name : test.runsAgainOn);
  }

  /// What the original printed when it was recorded; empty before that.
  llvm::StringRef originalOutput() const { return printed.out; }

  /// \p host is the digest of what HostText.h says of the program \p text.
  /// Candidates that share it with the original share its plan.
  void setHostDigest(llvm::StringRef text, Digest host);
  /// Whether the host side of \p program is the original's.
  bool sharesHost(const ProgramArtefacts &program) const;

private:
  /// The recipe of that name, of the workload or of a candidate's; null if there is none.
  const CaseRecipe *find(llvm::StringRef name) const;
  /// What the driver that makes \p recipe can do.
  std::vector<DriverRun> runsWith(const CaseRecipe &recipe) const;
  unsigned lessenings(const CaseRecipe &recipe) const;
  /// The program's host side as an executable, compiled at most once per text and sizes.
  llvm::Expected<std::string> executable(const ProgramArtefacts &program, const CaseRecipe &recipe);
  /// Whether the way of the host of \p program may depend on what its text does not give:
  /// arguments, files, clocks, the device.
  llvm::Expected<bool> asksOutside(const ProgramArtefacts &program);
  /// What the recorder needs of the device side of \p program: a CPU image or a cubin.
  llvm::Expected<std::string> imageFor(const ProgramArtefacts &program);
  /// Of \p program, which \p executable and \p image come from.
  llvm::Expected<RecordRequest> request(const ProgramArtefacts &program, const CaseRecipe &recipe,
                                        std::string executable, std::string image,
                                        std::string folder) const;
  /// The recording of the host of \p program, which is fed the results in \p base and ended when it
  /// has been quiet for
  /// \p quietSeconds after the last of them; 0: it ends by itself. \p elsewhere: RecordRequest's.
  llvm::Expected<std::string> feed(const ProgramArtefacts &program, const CaseRecipe &recordedAs,
                                   const std::string &base, double quietSeconds,
                                   const OtherDevice *elsewhere = nullptr);
  /// Whether the original may have numbers from generators or files, and is soon run again.
  llvm::Expected<bool> hasSources();
  /// A `CannotFollow` unless \p program seeds its generators in the lines in which the original
  /// does.
  llvm::Error checkSeeds(const ProgramArtefacts &program);
  /// The calls of the host of \p program on a case of `launchCases`.
  llvm::Expected<std::string> recordCalls(const ProgramArtefacts &program,
                                          const CaseRecipe &recipe);
  /// `feed`, under the name \p key.
  llvm::Expected<std::string> feedAs(const std::string &key, const ProgramArtefacts &program,
                                     const CaseRecipe &recordedAs, const std::string &base,
                                     double quietSeconds, const OtherDevice *elsewhere,
                                     unsigned clockPace = 1);
  /// The request behind a run of a host of \p program alone, which may take some times as long as
  /// the original's. Fails where it took too long once.
  llvm::Expected<RecordRequest> hostRequest(const ProgramArtefacts &program,
                                            const CaseRecipe &recordedAs, std::string folder,
                                            double quietSeconds, const OtherDevice *elsewhere);
  /// What \p recording, of a host alone, says against \p program; keeps what it printed under \p
  /// key. \p mayFail: it was told other results than its own.
  llvm::Error takeHostRun(const Recording &recording, const std::string &key,
                          const ProgramArtefacts &program, const CaseRecipe &recordedAs,
                          const OtherDevice *elsewhere, bool mayFail);
  /// Whether the host of \p program reads other results than the original's on \p recordedAs.
  bool readsOtherwise(const ProgramArtefacts &program, const CaseRecipe &recordedAs) const;
  /// `feed` of a host that reads other results than the original's: it runs by itself, with its
  /// kernels, and is fed what it read then.
  llvm::Expected<std::string> feedItself(const ProgramArtefacts &program,
                                         const CaseRecipe &recordedAs,
                                         const OtherDevice *elsewhere);
  /// `feed`, or `feedItself` where the host reads other results than those in \p base.
  llvm::Expected<std::string> feedAny(const ProgramArtefacts &program, const CaseRecipe &recordedAs,
                                      const std::string &base, double quietSeconds,
                                      const OtherDevice *elsewhere = nullptr);
  /// What the host printed whose feeding has the name \p key.
  WholeRun fedRun(const std::string &key) const;
  llvm::Expected<std::string> record(const CaseRecipe &recipe);
  llvm::Error writeHostResults(const Recording &recording) const;
  /// Whether a case from recorded values has other ones than \p recording, the program's own run.
  llvm::Expected<bool> changesWords(const CaseRecipe &recipe, const std::string &recording);
  /// What stays true of varied uploads of \p recording, the program's own run. Found out once.
  llvm::Expected<const std::vector<InputFacts> &> heldFacts(const std::string &recording);
  /// The recording of the original on other inputs, where \p recipe replaces what hosts upload and
  /// the original's goes by results; its own run elsewhere.
  llvm::Expected<std::string> replacedRun(const CaseRecipe &recipe);
  /// What the recorder puts into the place of uploads on \p recipe; nothing unless it replaces any.
  llvm::Expected<std::optional<UploadReplacement>> replacementFor(const CaseRecipe &recipe);
  /// The case whose recording \p recipe, which has a distribution, changes.
  const CaseRecipe &baseOf(const CaseRecipe &recipe) const;
  llvm::Expected<std::string> varied(const CaseRecipe &recipe);
  /// Of the case of other results.
  struct OtherResults {
    std::string results;   ///< the folder of what hosts are fed
    std::string recording; ///< of the original's; its own run where they make no difference
  };
  llvm::Expected<const OtherResults &> otherResults(const CaseRecipe &recipe);
  /// Whether there is room for the cases that are made from the recording \p folder; says how much
  /// they need, if it is much. Asked once.
  llvm::Error checkSpaceOnce(const std::string &folder);
  /// Runs \p body once per key; later calls get its folder.
  llvm::Expected<std::string> once(const std::string &key,
                                   llvm::function_ref<llvm::Error(const std::string &folder)> body);

  const CandidateTools &tools;
  Device &device;
  DeviceCompiler *compiler = nullptr;    ///< null: registers are not known
  DeviceCompiler *gpuCompiler = nullptr; ///< null: originals run on the CPU device
  unsigned gpuIndex = 0;
  std::string machine = "cpu";
  KernelTypes kernelTypes;
  KernelRecords kernelRecords;
  std::vector<SortedArray> sorted; ///< by the original's host
  std::function<void(const std::string &folder)> onDraft;
  CodeEmitter emitter;
  ProgramArtefacts first;
  Workload workload;
  Signature signature;
  std::string root;
  const CaseRecipes recipes;
  const ProgramConstants constants; ///< of the original
  const std::unique_ptr<HostWays> ways;
  mutable std::mutex mutex;                               ///< of what follows
  std::map<std::string, std::vector<CaseRecipe>> further; ///< by what CaseRecipes was asked
  std::optional<std::vector<UploadWords>>
      words; ///< what the program uploads; unknown before it was asked
  std::optional<std::vector<UploadWords>> fieldWords; ///< where the fields of records are apart
  bool hasFields = false;                             ///< known with `fieldWords`
  std::map<std::string, unsigned> lessened;           ///< how often, by case
  std::atomic<unsigned> wholeRuns = 0;                ///< folders of `wholeProgram`
  std::map<std::string, double> recordSeconds;        ///< of the original's host, by case
  std::map<std::string, Recording> endless; ///< by digest, candidates whose host took too long once
  std::map<Digest, Digest> hosts;           ///< text to host text
  /// Digests of candidates and names of cases on which their hosts read other results.
  std::set<std::pair<Digest, std::string>> otherReaders;
  std::atomic<unsigned> runsAgain = 0; ///< folders of `runAgain`
  OnceMap<std::string, std::string> done;
  OnceMap<unsigned, bool> hasSpace;
  OnceMap<unsigned, OtherResults> otherwise;
  OnceMap<unsigned, std::vector<InputFacts>> facts;
  WholeRun printed;                           ///< by the recorded run, written while that is made
  std::map<std::string, WholeRun> fedPrinted; ///< by hosts that were fed to their end, by key
};

} // namespace kbopt

#endif // KBOPT_CANDIDATE_RECORDEDCASES_H
