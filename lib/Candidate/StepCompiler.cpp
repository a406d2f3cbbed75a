//===- StepCompiler.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "StepCompiler.h"
#include "kb-opt/Support/Error.h"

using namespace kbopt;

/// A compiler that refuses \p candidate is a verdict; a full disk or an interrupt
/// says nothing about it and stays an error.
static llvm::Expected<StepOutcome> blameCandidate(StepOutcome candidate, llvm::Error error) {
  llvm::Error rest =
      llvm::handleErrors(std::move(error), [&](std::unique_ptr<KbError> refusal) -> llvm::Error {
        if (refusal->status != ExitStatus::Diagnostics)
          return llvm::Error(std::move(refusal));
        candidate.gate = GateId::G1;
        candidate.failure = FailureClass::Compile;
        candidate.reason = refusal->message;
        return llvm::Error::success();
      });
  if (rest)
    return std::move(rest);
  return candidate;
}

llvm::Expected<StepOutcome> StepCompiler::compile(const NodeId &before, StepOutcome candidate) {
  if (setup.gpu) { // only its machine code is needed, and nothing is modelled
    auto code = setup.judge.code(nodes.source(candidate.node));
    if (!code)
      return blameCandidate(std::move(candidate), code.takeError());
    candidate.code = nodes.codeWithHost(code->digest, candidate.node);
    return candidate;
  }
  auto program = nodes.artefacts(candidate.node);
  if (!program)
    return blameCandidate(std::move(candidate), program.takeError());
  auto judged = judgements.isJudged(candidate.node);
  if (!judged)
    return judged.takeError();
  if (!*judged)
    setup.judge.prepare(*program);
  auto code = setup.judge.code(*program);
  if (!code)
    return blameCandidate(std::move(candidate), code.takeError());
  candidate.code = nodes.codeWithHost(code->digest, candidate.node);
  auto modelled = models.model(*program, candidate.code);
  if (!modelled) { // then the floor is unknown, and the gates say what is wrong
    llvm::consumeError(modelled.takeError());
    return candidate;
  }
  std::set<std::string> launched;
  for (const auto &[kernel, speed] : modelled->kernels)
    launched.insert(kernel);
  std::string idle = modelled->us ? launches.idleAddition(before, *code, launched) : "";
  if (!idle.empty()) {
    StepOutcome refused;
    refused.failure = FailureClass::Idle;
    refused.reason = idleReason(idle);
    return refused;
  }
  candidate.floorUs = modelled->floorUs;
  candidate.modelledUs = modelled->us.value_or(0);
  return candidate;
}
