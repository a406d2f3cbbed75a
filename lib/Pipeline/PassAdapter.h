//===- PassAdapter.h - A rewrite pass as an MLIR pass -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the one adapter that makes an mlir::Pass on kb.program out of any
// RewritePass, with the options that its Pass.td declares.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_PIPELINE_PASSADAPTER_H
#define KBOPT_LIB_PIPELINE_PASSADAPTER_H

#include "kb-opt/IR/Kb.h"
#include "kb-opt/Pipeline/PipelineText.h"
#include "mlir/Pass/Pass.h"

namespace kbopt {

/// What runs a step: the adapter hands over, and copies the new IR back.
class StepRunner {
public:
  virtual ~StepRunner();
  /// Runs \p step and brings \p carrier up to date. Keeps the error for the
  /// caller of the pass manager.
  virtual mlir::LogicalResult runStep(const Step &step, kb::ProgramOp carrier) = 0;
};

class PassAdapter : public mlir::OperationPass<kb::ProgramOp> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PassAdapter)

  /// \p name is the pass's own name or one of its aliases.
  PassAdapter(const PassInfo &info, llvm::StringRef name);
  PassAdapter(const PassAdapter &other) : PassAdapter(*other.info, other.name) {
    parameters = other.parameters;
  }

  llvm::StringRef getName() const override { return info->name; }
  llvm::StringRef getArgument() const override { return name; }
  llvm::StringRef getDescription() const override { return info->summary; }
  std::unique_ptr<mlir::Pass> clonePass() const override {
    return std::make_unique<PassAdapter>(*this);
  }
  /// Keeps a reply's parameters, which no declaration knows, and leaves MLIR the rest.
  mlir::LogicalResult
  initializeOptions(llvm::StringRef text,
                    llvm::function_ref<mlir::LogicalResult(const llvm::Twine &)> report) override;
  void runOnOperation() override;

  /// The step that the parsed options stand for.
  llvm::Expected<Step> step() const;
  void setRunner(StepRunner *newRunner) { runner = newRunner; }

private:
  const PassInfo *info;
  std::string name;
  StepRunner *runner = nullptr;
  /// The pass's own, in the order of Pass.td. Held by pointer: an MLIR option
  /// registers its address with the pass.
  std::vector<std::unique_ptr<Option<std::string>>> own;
  std::map<std::string, std::string> parameters; ///< of the reply
  Option<std::string> reply{*this, "reply", llvm::cl::desc("A model's reply, by its digest")};
  Option<std::string> kernel{*this, "kernel", llvm::cl::desc("Only this kernel")};
  Option<unsigned> site{*this, "site", llvm::cl::desc("Only this site, from 1"), llvm::cl::init(0)};
};

/// One `name=value` in the braces of a pass. Both point into the text.
struct WrittenOption {
  llvm::StringRef name;
  llvm::StringRef value; ///< with its quotes; empty where there is none
  llvm::StringRef whole;
};
/// The options in \p text, what stands between the braces.
std::vector<WrittenOption> writtenOptions(llvm::StringRef text);

/// Parses \p text into \p manager, whose anchor is kb.program, with MLIR's
/// pipeline parser. Errors are as for `parsePipeline`.
llvm::Error parseInto(mlir::OpPassManager &manager, llvm::StringRef text,
                      const PassRegistry &registry);

/// The adapters of \p manager, in order.
std::vector<PassAdapter *> adaptersOf(mlir::OpPassManager &manager);

} // namespace kbopt

#endif // KBOPT_LIB_PIPELINE_PASSADAPTER_H
