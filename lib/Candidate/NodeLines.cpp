//===- NodeLines.cpp - The hottest lines of nodes -------------------------===//
//
// Owns what roles are told of the lines that a kernel's time goes to: a GPU's samples
// with what warps wait for, or the cost model's counters by line.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Candidate/HotLines.h"
#include "kb-opt/Candidate/ProgramEnvironment.h"
#include "kb-opt/Support/Error.h"

using namespace kbopt;
namespace json = llvm::json;

llvm::Expected<json::Value> ProgramEnvironment::computeSamples(const ProgramArtefacts &program) {
  TimedPart timed(&tools.timings, "effects", "stalls by line");
  auto code = judgeOf.code(program);
  if (!code)
    return code.takeError();
  auto plan = cases.candidate(program, cases.recorded());
  if (!plan)
    return plan.takeError();
  auto profile = gpu->profile({code->cubinPath, *plan}, "A", /*sampleLines=*/true);
  if (!profile)
    return profile.takeError();
  json::Object kernels;
  for (const auto &[kernel, lines] : profile->lines) {
    std::vector<HotLine> hottest = sampledLines(tools.input, *profile, kernel);
    keepHottest(hottest);
    json::Array sentences;
    for (const HotLine &line : hottest)
      sentences.push_back(sentence(tools.input, line, sampleMeasure));
    kernels[kernel] = json::Object{{"lines", std::move(sentences)}};
  }
  return json::Value(json::Object{{"kernels", std::move(kernels)}});
}

llvm::Expected<json::Object> ProgramEnvironment::lines(const NodeId &id) {
  auto node = compiled(id);
  if (!node)
    return node.takeError();
  Digest key = codeWithHost(node->code.digest, id);
  if (gpu) {
    auto sampled =
        answered("stalls", request({key}), [&] { return computeSamples(node->program); });
    if (!sampled)
      return sampled.takeError();
    const json::Object *kernels = sampled->getAsObject()->getObject("kernels");
    if (kernels && !kernels->empty())
      return std::move(*sampled->getAsObject());
  }
  return model(node->program, key);
}

std::vector<std::string> ProgramEnvironment::hotLines(const NodeId &id, llvm::StringRef kernel) {
  std::vector<std::string> sentences;
  auto find = [&]() -> llvm::Error {
    auto answer = lines(id);
    if (!answer)
      return answer.takeError();
    auto names = instances(id, kernel);
    if (!names)
      return names.takeError();
    const json::Object *kernels = answer->getObject("kernels");
    for (const std::string &name : *names)
      if (const json::Object *found = kernels ? kernels->getObject(name) : nullptr)
        for (const json::Value &line : *found->getArray("lines"))
          sentences.push_back(line.getAsString()->str());
    return llvm::Error::success();
  };
  // A prompt without them is a prompt all the same.
  llvm::consumeError(find());
  return sentences;
}
