//===- ScheduleRanking.cpp - What other kernels tell of schedules ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/ScheduleRanking.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <set>

// A fused multiply-add would make the last bit depend on the machine.
#pragma STDC FP_CONTRACT OFF

using namespace kbopt;

namespace {

/// Distance of two nests for one doubling of a size, for one more of what is counted, and for a
/// sketch that fits one of them alone. These constants and the next ones order the schedules of
/// bench/schedules best, each program by the records of the others (docs/Learning.md).
constexpr double perDoubling = 0.15, perItem = 0.25, perSketch = 0.6;
/// Counted things that differ by more are as far apart as these.
constexpr double mostItems = 3;
/// Of two schedules of one sketch, however much they differ, and of two that differ in one key that
/// is no number; a factor of two in one key takes `perFactor` off the logarithm.
constexpr double sameSketch = 0.1, otherWord = 0.4, perFactor = 0.25;
/// So many alike schedules of one kernel, and so many alike kernels, are believed by half.
constexpr double halfTrials = 0.2, halfKernels = 0.5;
/// Kernels that are less alike are not asked.
constexpr double leastLikeness = 0.02;

using Figures = std::map<std::string, double>;
double distanceIn(llvm::StringRef figure, double a, double b) {
  const double apart = std::fabs(a - b);
  if (figure.starts_with("fits-"))
    return perSketch * apart;
  if (llvm::is_contained({"dims", "loops", "loads", "stores", "atomics", "sums"}, figure))
    return perItem * std::min(apart, mostItems);
  return perDoubling * apart;
}

double valueOf(const Figures &figures, const std::string &name) {
  auto found = figures.find(name);
  return found == figures.end() ? 0 : found->second;
}

double keyLikeness(const ScheduleKeys::Value &a, const ScheduleKeys::Value &b) {
  if (a.text == b.text)
    return 1;
  if (a.number <= 0 || b.number <= 0)
    return otherWord;
  return std::exp(-perFactor * std::fabs(std::log2(a.number / b.number)));
}

} // namespace

double kbopt::nestLikeness(const Figures &a, const Figures &b) {
  std::set<std::string> names;
  for (const Figures *each : {&a, &b})
    for (const auto &[name, value] : *each)
      names.insert(name);
  double distance = 0;
  for (const std::string &name : names)
    distance += distanceIn(name, valueOf(a, name), valueOf(b, name));
  return std::exp(-distance);
}

ScheduleKeys::ScheduleKeys(llvm::StringRef text) {
  auto [name, rest] = text.split(' ');
  sketch = name.str();
  llvm::SmallVector<llvm::StringRef> words;
  rest.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    auto [key, value] = word.split('=');
    double number = 0;
    if (value.getAsDouble(number))
      number = 0;
    values[key.str()] = {value.str(), number};
  }
}

double kbopt::scheduleLikeness(const ScheduleKeys &a, const ScheduleKeys &b) {
  if (a.sketch != b.sketch)
    return 0;
  double alike = 1;
  for (const auto &[key, value] : a.values) {
    auto other = b.values.find(key);
    alike *= other == b.values.end() ? otherWord : keyLikeness(value, other->second);
  }
  for (const auto &[key, value] : b.values)
    alike *= a.values.count(key) ? 1 : otherWord;
  return sameSketch + (1 - sameSketch) * alike;
}

ScheduleRanking::ScheduleRanking(const EvidenceSet &evidence,
                                 const std::map<Digest, Digest> &counted) {
  std::map<std::tuple<Digest, Figures, std::string, std::string>, std::vector<Tried>> byKernel;
  for (const auto &[id, record] : evidence.records()) {
    const bool isUsable =
        record.verdict == VerdictKind::Correct || record.verdict == VerdictKind::Screened;
    auto as = record.parameters.find("as");
    if (counted.at(id) != id || !isUsable || record.nest.empty() || !record.achievedGain ||
        record.estimatedUs.value_or(0) <= 0 || as == record.parameters.end())
      continue;
    byKernel[{record.before, record.nest, record.chip, record.device}].push_back(
        {id, ScheduleKeys(as->second), record.program,
         -*record.achievedGain - std::log(*record.estimatedUs)});
  }
  for (auto &[key, tried] : byKernel) {
    if (tried.size() < 2) // one alone tells nothing of an order
      continue;
    double mean = 0;
    for (const Tried &each : tried)
      mean += each.residual;
    mean /= double(tried.size());
    for (Tried &each : tried)
      each.residual -= mean;
    const auto &[before, figures, chip, device] = key;
    const Digest program = tried.front().program;
    kernels.push_back({figures, program, chip, device, std::move(tried)});
  }
}

double ScheduleRanking::correction(const NestFacts &facts, llvm::StringRef text,
                                   const Trust &trust) const {
  const ScheduleKeys schedule(text);
  double sum = 0, weights = 0;
  for (const Kernel &kernel : kernels) {
    const double likeness =
        nestLikeness(kernel.figures, facts.figures) * trust(kernel.chip, kernel.device);
    if (likeness < leastLikeness)
      continue;
    double residuals = 0, alike = 0;
    for (const Tried &each : kernel.tried) {
      const double weight = scheduleLikeness(each.schedule, schedule);
      residuals += weight * each.residual;
      alike += weight;
    }
    if (alike <= 0)
      continue;
    const double weight = likeness * alike / (alike + halfTrials);
    sum += weight * residuals / alike;
    weights += weight;
  }
  return sum / (weights + halfKernels);
}

std::vector<std::string> ScheduleRanking::order(const NestFacts &facts,
                                                llvm::ArrayRef<std::string> schedules,
                                                const Trust &trust) const {
  if (facts.figures.empty() || kernels.empty())
    return schedules.vec();
  // The given order is the model's, also where it gives no time: what stands further down takes
  // no less.
  std::vector<std::pair<double, const std::string *>> ranked;
  double least = 0;
  for (const std::string &schedule : schedules) {
    auto estimate = facts.estimatesUs.find(schedule);
    if (estimate != facts.estimatesUs.end() && estimate->second > 0)
      least = std::max(least, estimate->second);
    ranked.push_back(
        {std::log(std::max(least, 1e-3)) + correction(facts, schedule, trust), &schedule});
  }
  llvm::stable_sort(ranked, [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<std::string> ordered;
  for (const auto &[time, schedule] : ranked)
    ordered.push_back(*schedule);
  return ordered;
}

std::vector<RankingVoice> ScheduleRanking::voices(const NestFacts &facts,
                                                  const Trust &trust) const {
  std::vector<RankingVoice> voices;
  for (const Kernel &kernel : kernels) {
    const double weight =
        nestLikeness(kernel.figures, facts.figures) * trust(kernel.chip, kernel.device);
    if (weight < leastLikeness)
      continue;
    RankingVoice &voice =
        voices.emplace_back(RankingVoice{kernel.program, kernel.chip, kernel.device, weight, {}});
    for (const Tried &each : kernel.tried)
      voice.records.push_back(each.record);
  }
  llvm::stable_sort(
      voices, [](const RankingVoice &a, const RankingVoice &b) { return a.weight > b.weight; });
  return voices;
}
