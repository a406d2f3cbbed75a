//===- PassAdapter.cpp - A rewrite pass as an MLIR pass --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PassAdapter.h"
#include "kb-opt/Assisted/ReplyTemplate.h"
#include "kb-opt/Rewrite/RewritePass.h"
#include "mlir/Pass/PassManager.h"

using namespace kbopt;

StepRunner::~StepRunner() = default;

PassAdapter::PassAdapter(const PassInfo &info, llvm::StringRef name)
    : OperationPass(mlir::TypeID::get<PassAdapter>()), info(&info), name(name) {
  for (const OptionInfo &option : info.options)
    own.push_back(std::make_unique<Option<std::string>>(*this, option.name,
                                                        llvm::cl::desc(option.summary),
                                                        llvm::cl::init(option.defaultValue.str())));
}

mlir::LogicalResult PassAdapter::initializeOptions(
    llvm::StringRef text, llvm::function_ref<mlir::LogicalResult(const llvm::Twine &)> report) {
  std::string declared;
  for (const WrittenOption &option : writtenOptions(text)) {
    if (isParameterName(option.name))
      parameters[option.name.str()] = option.value.trim("'\"").str();
    else
      declared += (option.whole + " ").str();
  }
  return OperationPass::initializeOptions(llvm::StringRef(declared).rtrim(), report);
}

void PassAdapter::runOnOperation() {
  llvm::Expected<Step> parsed = step();
  assert(parsed && "options are checked when the pipeline is parsed");
  assert(runner && "the pass manager runs inside a session");
  if (mlir::failed(runner->runStep(*parsed, getOperation())))
    signalPassFailure();
}

llvm::Expected<Step> PassAdapter::step() const {
  Step result;
  result.pass = info->name.str();
  result.kernel = kernel;
  result.site = site;
  result.reply = reply;
  if (!result.reply.empty()) {
    result.parameters = parameters;
    return result;
  }
  PassOptions checked(*info);
  for (size_t i = 0; i < own.size(); ++i) {
    const OptionInfo &option = info->options[i];
    std::string value = *own[i];
    if (llvm::Error error = checked.set(option.name, value))
      return std::move(error);
    if (value != option.defaultValue)
      result.parameters[option.name.str()] = value;
  }
  return result;
}

std::vector<PassAdapter *> kbopt::adaptersOf(mlir::OpPassManager &manager) {
  std::vector<PassAdapter *> adapters;
  for (mlir::Pass &pass : manager.getPasses())
    if (pass.getTypeID() == mlir::TypeID::get<PassAdapter>())
      adapters.push_back(static_cast<PassAdapter *>(&pass));
  return adapters;
}
