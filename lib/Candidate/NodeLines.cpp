//===- NodeLines.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "NodeLines.h"
#include "kb-opt/Candidate/HotLines.h"

using namespace kbopt;

llvm::Expected<LinesRecord> NodeLines::sample(const ProgramArtefacts &program) {
  TimedPart timed(&setup.tools.timings, "effects", "stalls by line");
  auto code = setup.judge.code(program);
  if (!code)
    return code.takeError();
  auto plan = setup.cases.candidate(program, setup.cases.recorded());
  if (!plan)
    return plan.takeError();
  auto profile = setup.gpu->profile({code->cubinPath, *plan}, "A", /*sampleLines=*/true);
  if (!profile)
    return profile.takeError();
  LinesRecord record;
  for (const auto &[kernel, lines] : profile->lines) {
    record.kernels[kernel] = sentencesForModel(
        setup.tools.input, sampledLines(setup.tools.input, *profile, kernel), sampleMeasure);
  }
  return record;
}

llvm::Expected<LinesRecord> NodeLines::lines(const NodeId &id) {
  auto program = nodes.artefacts(id);
  if (!program)
    return program.takeError();
  auto code = setup.judge.code(*program);
  if (!code)
    return code.takeError();
  const Digest key = nodes.codeWithHost(code->digest, id);
  if (setup.gpu) {
    auto sampled = answers.ask<LinesRecord>("stalls", answers.request({key}),
                                            [&] { return sample(*program); });
    if (!sampled || !sampled->kernels.empty())
      return sampled;
  }
  auto modelled = models.model(*program, key);
  if (!modelled)
    return modelled.takeError();
  LinesRecord record;
  for (const auto &[kernel, speed] : modelled->kernels)
    record.kernels[kernel] = speed.lines;
  return record;
}

std::vector<std::string> NodeLines::hotLines(const NodeId &id, llvm::StringRef kernel) {
  std::vector<std::string> sentences;
  auto find = [&]() -> llvm::Error {
    auto known = lines(id);
    if (!known)
      return known.takeError();
    auto names = nodes.instances(id, kernel);
    if (!names)
      return names.takeError();
    for (const std::string &name : *names)
      llvm::append_range(sentences, known->kernels[name]);
    return llvm::Error::success();
  };
  // A prompt without them is a prompt all the same.
  llvm::consumeError(find());
  return sentences;
}
