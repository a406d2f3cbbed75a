//===- Pipeline.cpp - Runs rewrite passes over one program ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Pipeline/Pipeline.h"
#include "SessionState.h"
#include "kb-opt/Support/Error.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"

using namespace kbopt;
using llvm::StringRef;

RewriteSession::RewriteSession() = default;
RewriteSession::~RewriteSession() = default;

llvm::Expected<std::unique_ptr<RewriteSession>>
RewriteSession::create(StringRef text, const CompileCommand &command,
                       const PipelineOptions &options, std::optional<ScheduleRun> run) {
  std::unique_ptr<RewriteSession> session(new RewriteSession());
  session->state = std::make_unique<State>(command, options);
  session->state->run = std::move(run);
  if (llvm::Error error = session->state->start(text))
    return std::move(error);
  return session;
}

StringRef RewriteSession::text() const { return state->parsed->text(); }
const ParsedProgram &RewriteSession::parsed() const { return *state->parsed; }

llvm::Expected<const ImportedProgram &> RewriteSession::imported() {
  if (llvm::Error error = state->import())
    return std::move(error);
  return *state->imported;
}

llvm::Expected<std::vector<Opportunity>>
RewriteSession::opportunities(bool assisted, const RecordedLaunches &recorded) {
  return state->opportunities(assisted, recorded);
}

llvm::Expected<std::vector<std::string>> RewriteSession::passesThatApply() {
  return state->passesThatApply();
}

llvm::Expected<StepResult> RewriteSession::apply(const Step &step) { return state->apply(step); }

llvm::Expected<std::unique_ptr<RewriteSession>> RewriteSession::derive(const Step &step,
                                                                       StepResult &result) {
  std::string text;
  llvm::Expected<StepResult> done = state->rewrite(step, text);
  if (!done)
    return done.takeError();
  result = std::move(*done);
  if (result.rewritten == 0)
    return nullptr;
  auto derived = create(text, state->command, state->options, result.run);
  if (!derived)
    return unparsableAfter(step.pass, derived.takeError());
  return derived;
}

namespace {

/// Runs the steps of one pass manager and collects what they did.
class Collector : public StepRunner {
public:
  Collector(RewriteSession &session, PipelineResult &result, bool keepNests)
      : session(session), result(result), keepNests(keepNests) {}

  mlir::LogicalResult runStep(const Step &step, kb::ProgramOp carrier) override {
    --remaining;
    llvm::Expected<StepResult> done = session.apply(step);
    if (!done)
      return fail(done.takeError());
    result.remarks.insert(result.remarks.end(), done->remarks.begin(), done->remarks.end());
    if (done->rewritten == 0)
      return mlir::success();
    if (done->written.empty())
      result.applied.push_back(step);
    llvm::append_range(result.applied, done->written);
    result.promise = std::max(result.promise, done->promise);
    result.assumes.insert(done->assumes.begin(), done->assumes.end());
    if (remaining == 0 && !keepNests)
      return mlir::success(); // the IR is not used any more
    return refresh(carrier);
  }

  /// Makes the operation that the pass manager runs on equal to the program: the import, with the
  /// nests that schedules were given to.
  mlir::LogicalResult refresh(kb::ProgramOp carrier) {
    auto program = session.program(/*all=*/keepNests);
    if (!program)
      return fail(program.takeError());
    mlir::Operation *copy = program->get();
    carrier->setAttrs(copy->getAttrDictionary());
    carrier->getRegion(0).takeBody(copy->getRegion(0));
    return mlir::success();
  }

  mlir::LogicalResult fail(llvm::Error failure) {
    error = llvm::joinErrors(std::move(error), std::move(failure));
    return mlir::failure();
  }

  size_t remaining = 0; ///< steps that have not run
  llvm::Error error = llvm::Error::success();

private:
  RewriteSession &session;
  PipelineResult &result;
  bool keepNests;
};

/// The raised kernels of \p program as text.
std::string nestsOf(kb::ProgramOp program) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(program.getLoc());
  auto copy = mlir::cast<kb::ProgramOp>(program->clone());
  module->push_back(copy);
  for (mlir::Operation &each : llvm::make_early_inc_range(copy.getBody().front()))
    if (mlir::isa<kb::KernelOp, kb::LaunchOp>(each))
      each.erase();
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, mlir::OpPrintingFlags().enableDebugInfo(false));
  return text;
}

} // namespace

llvm::Expected<PipelineResult> kbopt::runPipeline(StringRef text, const CompileCommand &command,
                                                  StringRef pipeline,
                                                  const PipelineOptions &options) {
  assert(options.registry && "a pipeline needs the passes that it may name");
  const PassRegistry &registry = *options.registry;
  // A bad pipeline is reported before anything is compiled.
  if (auto steps = parsePipeline(pipeline, registry); !steps)
    return steps.takeError();
  auto session = RewriteSession::create(text, command, options);
  if (!session)
    return session.takeError();
  llvm::Expected<const ImportedProgram &> imported = (*session)->imported();
  if (!imported)
    return imported.takeError();

  PipelineResult result;
  Collector collector(**session, result, options.keepNests);
  mlir::MLIRContext *context = imported->program->getContext();
  mlir::OwningOpRef<kb::ProgramOp> carrier(mlir::cast<kb::ProgramOp>(imported->program->clone()));
  mlir::PassManager manager(context, kb::ProgramOp::getOperationName());
  llvm::raw_string_ostream timing(result.timing);
  mlir::DefaultTimingManager timer;
  timer.setEnabled(options.timePasses);
  timer.setOutput(
      mlir::createOutputStrategy(mlir::DefaultTimingManager::OutputFormat::Text, timing));
  if (llvm::Error error = parseInto(manager, pipeline, registry))
    return std::move(error);
  for (PassAdapter *adapter : adaptersOf(manager)) {
    adapter->setRunner(&collector);
    ++collector.remaining;
  }
  {
    mlir::TimingScope scope = timer.getRootScope();
    manager.enableTiming(scope);
    mlir::LogicalResult ran = manager.run(carrier->getOperation());
    if (mlir::failed(ran)) {
      assert(bool(collector.error) && "a step that fails says why");
      return std::move(collector.error);
    }
    if (collector.error)
      return std::move(collector.error);
  }
  if (options.timePasses)
    timer.print();
  timer.clear();
  result.text = (*session)->text().str();
  if (options.keepNests) {
    if (mlir::failed(collector.refresh(*carrier)))
      return std::move(collector.error);
    result.nests = nestsOf(*carrier);
  }
  return result;
}
