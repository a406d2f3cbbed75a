//===- RankingCheck.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/RankingCheck.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <numeric>

using namespace kbopt;

namespace {

constexpr size_t leastSchedules = 3, first = 4;
constexpr double good = 1.05;

/// Ranks of \p values from 1; equal ones share the mean of theirs.
std::vector<double> ranksOf(llvm::ArrayRef<double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i != order.size();) {
    size_t end = i;
    while (end != order.size() && values[order[end]] == values[order[i]])
      ++end;
    for (size_t j = i; j != end; ++j)
      ranks[order[j]] = (double(i + 1) + double(end)) / 2;
    i = end;
  }
  return ranks;
}

double correlationOf(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b) {
  const double mean = (double(a.size()) + 1) / 2;
  double both = 0, one = 0, other = 0;
  for (auto [x, y] : llvm::zip(a, b)) {
    both += (x - mean) * (y - mean);
    one += (x - mean) * (x - mean);
    other += (y - mean) * (y - mean);
  }
  return one > 0 && other > 0 ? both / std::sqrt(one * other) : 0;
}

/// \p times in the order in which they are tried; the best is 1.
OrderFigures figuresOf(llvm::ArrayRef<double> times) {
  OrderFigures figures;
  figures.firstOverBest = 1 / times.front();
  figures.fourOverBest = 1 / *llvm::min_element(times.take_front(first));
  for (double time : times) {
    ++figures.untilGood;
    if (time <= good)
      break;
  }
  std::vector<double> places(times.size());
  std::iota(places.begin(), places.end(), 1);
  figures.correlation = correlationOf(places, ranksOf(times));
  return figures;
}

using Trials = std::vector<std::pair<double, const Evidence *>>; ///< time, record

CheckedKernel checked(const KnowledgeBase &others, Trials trials) {
  llvm::stable_sort(trials, [](const auto &a, const auto &b) {
    return *a.second->estimatedUs < *b.second->estimatedUs;
  });
  const Evidence &any = *trials.front().second;
  CheckedKernel kernel{any.program, any.chip, any.device, any.nest, {}, {}, {}, {}};
  NestFacts facts{any.nest, {}};
  std::vector<std::string> byModel;
  std::map<std::string, double> timeOf;
  std::vector<double> times;
  const double best = llvm::min_element(trials, llvm::less_first())->first;
  for (const auto &[time, record] : trials) {
    const std::string &schedule = record->parameters.at("as");
    if (!timeOf.try_emplace(schedule, time / best).second)
      continue;
    byModel.push_back(schedule);
    facts.estimatesUs[schedule] = *record->estimatedUs;
    times.push_back(time / best);
  }
  kernel.model = figuresOf(times);
  times.clear();
  for (const std::string &schedule : others.orderSchedules(facts, byModel)) {
    const auto place = llvm::find(byModel, schedule) - byModel.begin();
    times.push_back(timeOf.at(schedule));
    kernel.schedules.push_back(
        {schedule, times.back(), unsigned(place) + 1, unsigned(times.size())});
  }
  kernel.evidence = figuresOf(times);
  kernel.voices = others.scheduleVoices(facts);
  return kernel;
}

} // namespace

llvm::Expected<std::vector<CheckedKernel>> kbopt::checkRanking(const EvidenceSet &evidence) {
  using Key = std::tuple<Digest, std::map<std::string, double>, std::string, std::string>;
  std::map<Digest, std::map<Key, Trials>> programs;
  for (const auto &[id, record] : evidence.records())
    if (!record.nest.empty() && record.achievedGain && record.parameters.count("as") &&
        record.estimatedUs.value_or(0) > 0)
      programs[record.program][{record.before, record.nest, record.chip, record.device}]
          .emplace_back(std::exp(-*record.achievedGain), &record);
  std::vector<CheckedKernel> result;
  for (const auto &[program, kernels] : programs) {
    EvidenceSet others;
    for (const auto &[id, record] : evidence.records())
      if (record.program != program)
        others.insert(record);
    for (const auto &[key, trials] : kernels) {
      if (trials.size() < leastSchedules)
        continue;
      llvm::Expected<ChipInfo> chip = loadChip(std::get<2>(key));
      if (!chip)
        return chip.takeError();
      KnowledgeBase base(*chip, std::get<3>(key));
      base.learn(others);
      result.push_back(checked(base, trials));
    }
  }
  return result;
}

OrderFigures kbopt::meanOf(llvm::ArrayRef<CheckedKernel> kernels,
                           OrderFigures CheckedKernel::*order) {
  OrderFigures mean;
  double firsts = 0, fours = 0, until = 0;
  for (const CheckedKernel &kernel : kernels) {
    const OrderFigures &each = kernel.*order;
    firsts += std::log(each.firstOverBest);
    fours += std::log(each.fourOverBest);
    until += each.untilGood;
    mean.correlation += each.correlation;
  }
  const double count = std::max<double>(1, kernels.size());
  mean.firstOverBest = std::exp(firsts / count);
  mean.fourOverBest = std::exp(fours / count);
  mean.untilGood = unsigned(std::lround(until / count));
  mean.correlation /= count;
  return mean;
}
