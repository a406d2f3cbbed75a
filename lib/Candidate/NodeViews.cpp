//===- NodeViews.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "NodeViews.h"
#include "FailingCase.h"
#include "kb-opt/Eval/PtxText.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

std::string NodeViews::shownText(const NodeId &id) {
  return withoutWorkload(nodes.program(id).text);
}

std::vector<std::string> NodeViews::launches(const NodeId &id) {
  auto find = [&]() -> llvm::Expected<std::vector<std::string>> {
    auto program = nodes.artefacts(id);
    if (!program)
      return program.takeError();
    auto folder = plans.folder(id, *program, setup.cases.recorded());
    if (!folder)
      return folder.takeError();
    auto plan = readPlanFrom(*folder);
    if (!plan)
      return plan.takeError();
    return describeLaunches(*plan);
  };
  auto lines = find();
  if (lines)
    return std::move(*lines);
  llvm::consumeError(lines.takeError()); // a prompt without them is a prompt all the same
  return {};
}

std::vector<std::string> NodeViews::failingCase(const Attempt &failed) {
  const std::vector<TestCase> cases = setup.cases.cases();
  const TestCase *test =
      caseNamedIn(failed.reason + "\n" + llvm::join(failed.details, "\n"), cases);
  if (!test || test->unseen)
    return {};
  std::vector<std::string> lines{"case " + test->name};
  auto folder = setup.cases.original(*test);
  auto recorded =
      folder ? readRecordedPlan(*folder) : llvm::Expected<RecordedPlan>(folder.takeError());
  if (!recorded)
    llvm::consumeError(recorded.takeError()); // the name of the case is told all the same
  else
    llvm::append_range(lines, describeInputs(*recorded));
  return lines;
}

/// A line for each figure that is known.
static std::string describeKernel(const KernelResources &kernel) {
  std::string text;
  auto line = [&](llvm::StringRef what, const std::optional<unsigned> &value) {
    if (value)
      text += llvm::formatv("{0}: {1}\n", what, *value);
  };
  line("registers", kernel.registers);
  line("static shared bytes", kernel.sharedBytes);
  line("bytes of spilled stores", kernel.spillStoreBytes);
  line("bytes of spilled loads", kernel.spillLoadBytes);
  return text;
}

std::string NodeViews::generatedCode(const NodeId &id, llvm::StringRef kernel) {
  std::string text;
  auto find = [&]() -> llvm::Error {
    auto program = nodes.artefacts(id);
    if (!program)
      return program.takeError();
    auto code = setup.judge.code(*program);
    if (!code)
      return code.takeError();
    auto names = nodes.instances(id, kernel);
    if (!names)
      return names.takeError();
    for (const std::string &name : *names) {
      if (const KernelResources *found = code->find(name))
        text += describeKernel(*found);
      text += kernelPtx(code->ptx, name) + "\n";
    }
    return llvm::Error::success();
  };
  if (llvm::Error error = find())
    return "It does not compile: " + llvm::toString(std::move(error));
  return text.empty() ? "The kernel is not compiled: nothing launches it." : text;
}
