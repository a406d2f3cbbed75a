//===- NodePlans.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "NodePlans.h"
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Rewrite/LaunchMap.h"
#include "kb-opt/Support/Error.h"

using namespace kbopt;

llvm::Expected<kbrt::Plan> kbopt::readPlanFrom(const std::string &folder) {
  std::string problem;
  auto plan = kbrt::readPlan(folder, problem);
  if (!plan)
    return llvm::make_error<StoreError>(problem);
  return std::move(*plan);
}

llvm::Expected<std::string> NodePlans::folder(const NodeId &id, const ProgramArtefacts &program,
                                              const TestCase &test) {
  if (id == nodes.root())
    return setup.cases.original(test);
  if (!setup.cases.sharesHost(program)) {
    auto mapped = mappedFolder(id, test);
    if (!mapped || !mapped->empty())
      return mapped;
  }
  TimedPart timed(&setup.tools.timings, "screening", "hosts that are run");
  return setup.cases.candidate(program, test);
}

llvm::Expected<std::string> NodePlans::mappedFolder(const NodeId &id, const TestCase &test) {
  auto folder = mapped.get({id, test.name}, [&] { return mapPlan(id, test); });
  if (!folder)
    return folder.takeError();
  return *folder;
}

llvm::Expected<std::string> NodePlans::mapPlan(const NodeId &id, const TestCase &test) {
  TimedPart timed(&setup.tools.timings, "screening", "launch maps");
  auto recorded = setup.cases.original(test);
  if (!recorded)
    return recorded.takeError();
  auto plan = readPlanFrom(*recorded);
  if (!plan)
    return plan.takeError();
  std::optional<kbrt::Plan> derived;
  if (llvm::Error error = nodes.withSessions(
          nodes.root(), id,
          [&](RewriteSession &original, RewriteSession &candidate) -> llvm::Error {
            std::string why;
            derived = LaunchMap(original.parsed(), candidate.parsed()).derivePlan(*plan, why);
            return llvm::Error::success();
          }))
    return std::move(error);
  if (!derived)
    return std::string();
  const std::string made =
      setup.folder + "/mapped/" + DigestBuilder().add(id).add(test.name).finish();
  if (llvm::Error error = writePlanWithData(*derived, *recorded, made))
    return std::move(error);
  return made;
}
