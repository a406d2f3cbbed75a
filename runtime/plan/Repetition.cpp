//===- Repetition.cpp - Steps that a plan does again and again ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/Repetition.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

using namespace kbrt;

namespace {

constexpr size_t longestPeriod = 512;
/// Two to see that nothing changes, and one to leave out.
constexpr size_t fewestPeriods = 3;

/// Writes all that two equal steps have in common.
class StepText {
public:
  std::string text;

  template <typename T> StepText &add(T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text.append(bytes, sizeof bytes);
    return *this;
  }
  StepText &add(const std::string &value) {
    add(value.size());
    text += value;
    return *this;
  }
  StepText &add(const Location &at) { return add(at.buffer).add(at.offset); }
  StepText &add(const Region &region) {
    return add(region.at).add(region.width).add(region.height).add(region.pitch);
  }
  StepText &add(const Dim3 &dim) { return add(dim.x).add(dim.y).add(dim.z); }
  StepText &add(const std::vector<PointerWord> &words) {
    add(words.size());
    for (const PointerWord &word : words)
      add(word.at).add(word.target);
    return *this;
  }
  StepText &add(const MatmulOperand &side) {
    return add(side.at).add(side.leading).add(side.stride).add(side.transposed);
  }

  // Memory that comes or goes is another one each time: such a step is equal to none.
  bool describe(const AllocStep &) { return false; }
  bool describe(const FreeStep &) { return false; }
  bool describe(const UploadStep &step) {
    add(step.to).add(step.data).add(step.stream).add(step.pointers).add(step.host);
    return true;
  }
  bool describe(const FillStep &step) {
    add(step.to).add(step.value).add(step.stream);
    return true;
  }
  bool describe(const CopyStep &step) {
    add(step.to).add(step.from).add(step.stream);
    return true;
  }
  bool describe(const LaunchStep &step) {
    add(step.kernel).add(step.grid).add(step.block).add(step.sharedBytes).add(step.stream);
    for (const Argument &argument : step.arguments) {
      add(argument.bytes.size());
      text.append(argument.bytes.begin(), argument.bytes.end());
      add(argument.pointers);
    }
    return true;
  }
  bool describe(const ReadStep &step) {
    add(step.from).add(step.stream).add(step.implicit).add(step.asynchronous);
    return true;
  }
  bool describe(const SyncStep &step) {
    add(step.stream.has_value()).add(step.stream.value_or(0)).add(step.event.has_value());
    return true;
  }
  // Events only order: which one it is may change from period to period.
  bool describe(const EventStep &step) {
    add(step.stream);
    return true;
  }
  bool describe(const WaitStep &step) {
    add(step.stream);
    return true;
  }
  bool describe(const ErrorStep &step) {
    add(step.call).add(step.code);
    return true;
  }
  bool describe(const MatmulStep &step) {
    add(step.m).add(step.n).add(step.k).add(step.batch).add(step.alpha).add(step.beta);
    add(step.a).add(step.b).add(step.c).add(step.stream);
    return true;
  }
};

class Finder {
public:
  explicit Finder(const Plan &plan) {
    std::unordered_map<std::string, uint32_t> numbers;
    for (const Step &step : plan.steps) {
      StepText text;
      text.add(step.index());
      const bool isComparable = std::visit([&](const auto &s) { return text.describe(s); }, step);
      if (!isComparable)
        text.add(ids.size()); // its own
      ids.push_back(
          numbers.try_emplace(text.text, static_cast<uint32_t>(numbers.size())).first->second);
      computes.push_back(computes.empty() ? 0 : computes.back());
      computes.back() +=
          std::holds_alternative<LaunchStep>(step) || std::holds_alternative<MatmulStep>(step);
    }
  }

  void find(size_t begin, size_t end, std::vector<Repetition> &into) const {
    const Repetition best = bestIn(begin, end);
    if (!best.count)
      return;
    find(begin, best.begin, into);
    into.push_back(best);
    find(best.end(), end, into);
  }
  size_t size() const { return ids.size(); }

private:
  size_t computesIn(size_t begin, size_t end) const {
    return computes[end - 1] - (begin ? computes[begin - 1] : 0);
  }

  Repetition bestIn(size_t begin, size_t end) const {
    Repetition best;
    size_t mostSaved = 0;
    for (size_t period = 1; period <= longestPeriod && fewestPeriods * period <= end - begin;
         ++period)
      for (size_t i = begin; i + period < end;) {
        const size_t first = i;
        while (i + period < end && ids[i] == ids[i + period])
          ++i;
        const size_t count = (i - first) / period + 1;
        const size_t saved = count < fewestPeriods
                                 ? 0
                                 : computesIn(first, first + period) * (count - fewestPeriods + 1);
        if (saved > mostSaved) {
          mostSaved = saved;
          best = {first, period, count};
        }
        ++i;
      }
    return best;
  }

  std::vector<uint32_t> ids;    ///< of equal steps
  std::vector<size_t> computes; ///< steps up to here that compute
};

} // namespace

std::vector<Repetition> kbrt::findRepetitions(const Plan &plan) {
  std::vector<Repetition> found;
  const Finder finder(plan);
  finder.find(0, finder.size(), found);
  return found;
}
