//===- OtherResults.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OtherResults.h"
#include "CaseKeys.h"
#include "kb-opt/Plan/RecordedPlan.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Random.h"
#include "kbrt/RecordKeeper.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include <cstring>

using namespace kbopt;
using namespace kbrt;

/// Another order by Fisher and Yates, and other sizes.
template <typename T>
static void change(char *bytes, uint64_t count, ResultFactors factors, Random &random) {
  std::vector<T> values(count);
  std::memcpy(values.data(), bytes, count * sizeof(T));
  for (uint64_t i = count; i > 1; --i)
    std::swap(values[i - 1], values[random.below(i)]);
  for (T &value : values)
    value *= static_cast<T>(factors.least + (factors.most - factors.least) * random.uniform());
  std::memcpy(bytes, values.data(), count * sizeof(T));
}

/// Whether \p step hands something over to the device that a host may have made from results.
static bool handsOver(const kbrt::Step &step) {
  return std::holds_alternative<UploadStep>(step) || std::holds_alternative<LaunchStep>(step) ||
         std::holds_alternative<FillStep>(step) || std::holds_alternative<MatmulStep>(step);
}

llvm::Expected<bool> kbopt::writeOtherResults(FileSystem &files, const std::string &recording,
                                              ResultFactors factors, const std::string &folder) {
  auto recorded = readRecordedPlan(recording);
  if (!recorded)
    return recorded.takeError();
  const Plan &plan = recorded->plan;
  auto last = llvm::find_if(llvm::reverse(plan.steps), handsOver).base();
  std::vector<const ReadStep *> reads;
  for (const kbrt::Step &step : llvm::make_range(plan.steps.begin(), last))
    if (const auto *read = std::get_if<ReadStep>(&step)) {
      const ElementType type = plan.buffers[read->from.at.buffer].element;
      if (type == ElementType::F32 || type == ElementType::F64)
        reads.push_back(read);
    }
  if (reads.empty())
    return false;
  std::string problem;
  auto results = readObservables(recording, problem);
  if (!results)
    return llvm::make_error<StoreError>(problem);
  Random random(1);
  for (const ReadStep *read : reads) {
    const uint64_t bytes = read->from.bytes();
    if (read->observable > results->size() || bytes > results->size() - read->observable)
      continue;
    char *at = results->data() + read->observable;
    if (plan.buffers[read->from.at.buffer].element == ElementType::F32)
      change<float>(at, bytes / sizeof(float), factors, random);
    else
      change<double>(at, bytes / sizeof(double), factors, random);
  }
  if (llvm::Error error = files.write(joinPath(folder, observablesFileName), *results))
    return std::move(error);
  if (!writePlan(plan, folder, problem)) // a host that is fed sees the device in it
    return llvm::make_error<StoreError>(problem);
  return true;
}
