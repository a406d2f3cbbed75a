//===- ProgramEnvironment.h - Programs as a search sees them ----*- C++ -*-===//
//
// Owns the tie between the search and the compiler: a node is a program text, a
// step a rewrite, judging is Eval's. Every effect goes through the journal.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_PROGRAMENVIRONMENT_H
#define KBOPT_CANDIDATE_PROGRAMENVIRONMENT_H

#include "kb-opt/Agents/Assistant.h"
#include "kb-opt/Candidate/CandidateSetup.h"
#include "kb-opt/Eval/CostModel.h"
#include "kb-opt/Pipeline/Pipeline.h"
#include "kb-opt/Policy/Environment.h"
#include "kb-opt/Screen/Screen.h"
#include <future>
#include <set>

namespace kbopt {

/// Thread-safe: the table of nodes has one lock, the parsed program of a node its
/// own; everything else is shared objects that are thread-safe themselves.
class ProgramEnvironment : public Environment, public ShownPrograms, private GateStore {
public:
  /// \p model outlives it; null where none is asked.
  ProgramEnvironment(const CandidateSetup &setup, Model *model);

  NodeId root() override { return rootNode; }
  bool measures() const override { return gpu; }
  llvm::Expected<std::vector<Action>> actions(const NodeId &node) override;
  llvm::Expected<StepOutcome> apply(const NodeId &node, const Step &step) override;
  llvm::Expected<StepOutcome> rewrite(const NodeId &node, const Step &step) override;
  llvm::Expected<NodeJudgement> judge(const NodeId &node) override;
  llvm::Expected<NodeJudgement> confirm(const NodeId &node) override;
  llvm::Expected<NodeJudgement> examine(const NodeId &node, const NodeJudgement &judged) override;
  bool screens() const override { return gpu; }
  llvm::Expected<NodeJudgement> screen(const NodeId &node) override;
  std::optional<double> proofSeconds() override;
  llvm::Expected<Proposal> propose(const NodeId &node, const ProposalRequest &request) override;
  llvm::Expected<Proposal> repair(const NodeId &node, const ProposalRequest &request,
                                  const Attempt &failed) override;
  llvm::Expected<Reflection> suggest(const SuggestionRequest &request) override;
  llvm::Expected<Reflection> reflect(const ReplayBuffer &buffer) override;

  std::string shownText(const NodeId &node) override;
  llvm::Error withProgram(const NodeId &node,
                          llvm::function_ref<llvm::Error(RewriteSession &)> look) override;
  std::vector<std::string> hotLines(const NodeId &node, llvm::StringRef kernel) override;
  std::string generatedCode(const NodeId &node, llvm::StringRef kernel) override;

  /// With a GPU: begins to record the original, while others look what may be done to it.
  void recordEarly();
  /// With a GPU: writes and compiles the first schedules that the search is going to try, while the
  /// original is recorded. What was recorded may still change a choice; then this was in vain.
  void proposeEarly();

  /// The text of a node that `apply` made.
  llvm::StringRef text(const NodeId &node);
  /// Whether some rule applies somewhere in the original, whether or not the workload launches it.
  llvm::Expected<bool> appliesAnywhere();
  /// Why passes do not apply to the original, by pass and site.
  llvm::Expected<std::vector<Remark>> missed();
  /// Why no schedule applies to \p kernel of the original; empty if one does.
  llvm::Expected<std::string> whyUnscheduled(llvm::StringRef kernel);
  /// \p node as the judge sees it.
  llvm::Expected<ProgramArtefacts> artefacts(const NodeId &node);
  /// The gates that the last `confirm` of \p node ran.
  std::vector<GateRecord> gates(const NodeId &node);
  /// What the last `confirm` of \p node measured; nothing without a GPU.
  std::optional<TimingReport> timing(const NodeId &node);

private:
  struct Node {
    std::string text;
    Digest host;                             ///< of its host text
    CandidatePromise promise;                ///< of all the steps behind it
    std::optional<ScheduleRun> run;          ///< the steps that the next schedule composes with
    std::mutex mutex;                        ///< of what follows
    std::vector<JudgedStep> steps;           ///< from the original to it
    std::unique_ptr<RewriteSession> session; ///< made when first needed
    std::vector<GateRecord> gates;           ///< of its confirmation
    std::optional<TimingReport> timing;      ///< likewise
  };

  /// \p judgement, unless the verifier rejects what a model wrote.
  llvm::Expected<NodeJudgement> verified(const NodeId &node, NodeJudgement judgement);
  llvm::Expected<std::vector<std::string>> instances(const NodeId &node, llvm::StringRef kernel);
  AssistantFacts assistantFacts() const;
  /// One line on the reply that \p step carries out; empty: it carries out none.
  std::string replySummary(const Step &step) const;

  /// The journal's answer to \p request, or \p compute's.
  llvm::Expected<llvm::json::Value>
  answered(llvm::StringRef kind, const Digest &request,
           llvm::function_ref<llvm::Expected<llvm::json::Value>()> compute);
  NodeId addNode(std::string text, Digest host, const CandidatePromise &promise,
                 const std::optional<ScheduleRun> &run = std::nullopt);
  /// Stays where it is; all but what its own mutex guards is constant.
  Node &node(const NodeId &id);
  /// Device bitcode of \p text, compiled at most once.
  llvm::Expected<std::string> bitcodeFile(llvm::StringRef text);
  PipelineOptions pipelineOptions();
  /// The steps from the original to \p node.
  std::vector<JudgedStep> stepsTo(const NodeId &node);
  /// Call with the node's mutex held, and keep it while using the session.
  llvm::Expected<RewriteSession &> session(Node &node);
  struct CompiledNode {
    ProgramArtefacts program;
    const DeviceCode &code; ///< the judge's
  };
  llvm::Expected<CompiledNode> compiled(const NodeId &node);
  /// Digest of a request that depends on \p parts and on everything that is the
  /// same for the whole run.
  Digest request(std::initializer_list<llvm::StringRef> parts) const;
  Digest codeWithHost(llvm::StringRef code, const NodeId &node);
  /// Counters and modelled time of \p program, whose machine code and host are named by
  /// \p code; empty if it does not run to its end on the CPU device. Counted once per code.
  llvm::Expected<llvm::json::Object> model(const ProgramArtefacts &program, const Digest &code);
  llvm::Expected<llvm::json::Value> computeModel(const ProgramArtefacts &program);
  /// Times and metrics of a correct program: measured where \p timing is, else modelled.
  llvm::Error addSpeed(const NodeId &node, const ProgramArtefacts &program,
                       const TimingReport *timing, llvm::json::Object &answer);
  /// Counters of the GPU in the form of `model`, with the reason in `degraded` if there are none.
  llvm::Expected<llvm::json::Object> counters(const NodeId &node, const ProgramArtefacts &program,
                                              const Digest &code);
  /// Whether the original takes more times as long (\p ratio) as any program before this one.
  bool isFastest(double ratio);
  llvm::Expected<std::optional<llvm::json::Object>>
  withoutCounters(const NodeId &node, const TimingReport &timing,
                  const llvm::json::Object &modelled);
  /// The sentences of the hottest lines by kernel (mangled): sampled where a GPU does it, else
  /// modelled.
  llvm::Expected<llvm::json::Object> lines(const NodeId &node);
  llvm::Expected<llvm::json::Value> computeSamples(const ProgramArtefacts &program);
  llvm::Expected<llvm::json::Value> computeCounters(const NodeId &node,
                                                    const ProgramArtefacts &program);
  /// The time that \p timing stands for in the search.
  llvm::Expected<double> acceptedUs(const NodeId &node, const TimingReport &timing);
  /// Kernels of the original that its recorded run does not launch: nothing done to them shows.
  llvm::Expected<const std::set<std::string> &> idleKernels();
  llvm::Expected<llvm::StringMap<RecordedLaunch>> recordLaunches(llvm::StringRef text);
  /// A kernel of \p code that the program \p before does not have, where no launch of the workload
  /// takes any such kernel, by what was \p modelled of \p code; empty where one takes one, where
  /// there is none, and where that is not known.
  std::string idleAddition(const NodeId &before, const DeviceCode &code,
                           const llvm::json::Object &modelled);
  /// How \p text, or else the original, launches \p kernel when it is recorded; null if they do
  /// not.
  const RecordedLaunch *launchIn(llvm::StringRef text, llvm::StringRef kernel);
  /// The kernels that the recorded run of \p of launches, the others being fallbacks; empty if that
  /// is not known.
  std::set<std::string> kernelsLeft(const Node &of, const ParsedProgram &parsed);
  llvm::Expected<llvm::json::Value> computeActions(const NodeId &node);
  llvm::Expected<llvm::json::Value> computeRewrite(const NodeId &node, const Step &step);
  llvm::Expected<llvm::json::Value> computeExamination(const NodeId &node);

  //===-- Screening (NodeScreening.cpp) -----------------------------------===//
  /// The original where it is screened.
  struct OpenScreen {
    std::unique_ptr<Screen> screen;
    ScreenedProgram original;
  };
  /// The process that keeps a program's data on a GPU of this machine; null where there is none.
  std::unique_ptr<ScreenDevice> startVault();
  /// By an earlier run: then nothing is done early.
  bool isScreenedAlready();
  std::vector<ProgramArtefacts> earlyCandidates();
  llvm::Expected<OpenScreen> openScreen();
  /// The recorded case, and one with other inputs where that is soon made.
  llvm::Expected<std::vector<TestCase>> screenedCases();
  /// The folder of the plan of \p node on \p test, where it follows from the original's: no host is
  /// run for it. Empty where it does not.
  llvm::Expected<std::string> mappedFolder(const NodeId &node, const TestCase &test);
  llvm::Expected<std::string> mapPlan(const NodeId &node, const TestCase &test);
  /// Learns how \p node launches its kernels before its mutex is taken to look for actions.
  void lookUpLaunches(const NodeId &node);
  /// The largest launch of each kernel in \p plan.
  static llvm::StringMap<RecordedLaunch> recordedLaunches(const kbrt::Plan &plan);
  llvm::Expected<std::string> planFolder(const NodeId &node, const ProgramArtefacts &program,
                                         const TestCase &test);
  llvm::Expected<ScreenSubject> screenSubject(const NodeId &node);
  llvm::Expected<llvm::json::Value> computeScreening(const NodeId &node);
  /// `idleAddition` by the launches that screening saw.
  std::string idleInScreening(const ProgramArtefacts &program, const ScreenedProgram &report);
  /// The program of \p node without bitcode, which only the CPU device needs.
  ProgramArtefacts sourceOf(const NodeId &node);

  //===-- What the judge keeps of the original ----------------------------===//
  std::optional<std::string> find(llvm::StringRef name) override;
  void keep(llvm::StringRef name, llvm::StringRef text) override;

  llvm::Expected<llvm::json::Value> computeJudgement(const NodeId &node, JudgeEffort effort);
  llvm::Expected<NodeJudgement> judgeWith(const NodeId &node, JudgeEffort effort);

  const CandidateTools &tools;
  const ChipInfo &chip;
  Journal &journal;
  Judge &judgeOf;
  RecordedCases &cases;
  GpuDevice *gpu; ///< null: times are modelled
  const ProgramArtefacts &original;
  Digest run;           ///< CandidateSetup::run
  Model *languageModel; ///< null: none is
  const Workload &workload;
  GpuFacts gpuFacts;
  std::string folder;
  CodeEmitter emitter;
  ReplyStore replies;
  std::unique_ptr<Assistant> assistant; ///< where there is a model
  NodeId rootNode;
  std::map<NodeId, Node> nodes;
  std::mutex mutex;     ///< of `nodes` and `bestRatio`
  double bestRatio = 1; ///< original's time over that of the fastest program measured so far
  OnceMap<Digest, std::string> bitcodes;         ///< of texts, paths
  OnceMap<unsigned, std::set<std::string>> idle; ///< idleKernels
  /// How the recorded run of a text launches each kernel, by mangled name.
  OnceMap<Digest, llvm::StringMap<RecordedLaunch>> launches;
  OnceMap<std::pair<NodeId, std::string>, std::string> mapped; ///< mappedFolder, by case
  std::unique_ptr<ScreenDevice> vault;                         ///< until it is opened
  OnceMap<unsigned, OpenScreen> screened;
  std::future<void> recording, proposals; ///< early ones; before anything else goes
};

} // namespace kbopt

#endif // KBOPT_CANDIDATE_PROGRAMENVIRONMENT_H
