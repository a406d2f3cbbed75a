//===- RecordedPlan.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/RecordedPlan.h"
#include "kb-opt/Support/Error.h"

using namespace llvm;
using namespace kbopt;

Expected<RecordedPlan> kbopt::readRecordedPlan(StringRef folder) {
  std::string error;
  std::optional<kbrt::Plan> plan = kbrt::readPlan(folder.str(), error);
  if (!plan)
    return make_error<StoreError>(error);
  RecordedPlan recorded{std::move(*plan), nullptr};
  const std::string path = (folder + "/" + kbrt::dataFileName).str();
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (file)
    recorded.file = std::move(*file);
  else if (file.getError() != std::errc::no_such_file_or_directory)
    return make_error<StoreError>("cannot read '" + path + "': " + file.getError().message());
  return recorded;
}

Expected<bool> kbopt::isSameWork(const std::string &one, const std::string &other) {
  if (one == other)
    return true;
  Expected<RecordedPlan> first = readRecordedPlan(one), second = readRecordedPlan(other);
  if (!first || !second)
    return joinErrors(first.takeError(), second.takeError());
  first->plan.outcome = second->plan.outcome = {};
  return kbrt::planToJson(first->plan) == kbrt::planToJson(second->plan) &&
         first->data() == second->data();
}
