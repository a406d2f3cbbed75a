//===- BlockWork.cpp - what all blocks of a launch do ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "BlockWork.h"
#include "kbrt/Counters.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace kbrt::count {

/// \p work to within a percent.
static uint64_t rounded(uint64_t work) {
  constexpr int digits = 7;
  const int dropped = std::max(0, int(std::bit_width(work)) - digits);
  return work >> dropped << dropped;
}

/// A block that executes nothing has been started all the same.
static double costOf(uint64_t work) { return double(work) + 1; }

void BlockWork::add(uint64_t instructions) {
  Class &same = classes[rounded(instructions)];
  same.blocks += 1;
  same.work += costOf(instructions);
  most = std::max(most, instructions);
}

std::vector<double> BlockWork::weights(const std::vector<uint64_t> &samples) const {
  struct Group {
    double sampled = 0, all = 0;
  };
  std::map<uint64_t, Group> groups;
  for (uint64_t work : samples)
    groups[rounded(work)].sampled += costOf(work);
  for (const auto &[work, blocks] : classes) {
    auto distance = [&, work = work](const auto &group) {
      return std::abs(std::log(costOf(group.first) / costOf(work)));
    };
    auto nearest =
        std::min_element(groups.begin(), groups.end(),
                         [&](const auto &a, const auto &b) { return distance(a) < distance(b); });
    if (nearest != groups.end())
      nearest->second.all += blocks.work;
  }
  std::vector<double> weights;
  for (uint64_t work : samples) {
    const Group &group = groups[rounded(work)];
    weights.push_back(group.all / group.sampled);
  }
  return weights;
}

double BlockWork::imbalance() const {
  Class all;
  for (const auto &[work, blocks] : classes) {
    all.blocks += blocks.blocks;
    all.work += blocks.work;
  }
  return all.blocks > 0 ? costOf(most) * all.blocks / all.work : 1;
}

std::vector<uint64_t> blocksByWork(std::span<const uint64_t> work, uint64_t count) {
  // Multiples of an odd number near 2^64 over the golden ratio (Knuth, The Art of Computer
  // Programming, volume 3, section 6.4).
  constexpr uint64_t factor = 0x9e3779b97f4a7c15;
  struct Entry {
    uint64_t work, order, number;
    bool operator<(const Entry &other) const {
      return work != other.work ? work < other.work : order < other.order;
    }
  };
  std::vector<Entry> all;
  double total = 0;
  for (uint64_t number = 0; number < work.size(); ++number) {
    all.push_back({rounded(work[number]), number * factor, number});
    total += costOf(work[number]);
  }
  std::sort(all.begin(), all.end());
  std::vector<uint64_t> chosen;
  double before = 0;
  uint64_t part = 0;
  for (const Entry &each : all) {
    before += costOf(work[each.number]);
    if (part == count || before * double(count) <= (double(part) + 0.5) * total)
      continue;
    chosen.push_back(each.number);
    ++part; // a block longer than a part stands for one; the next one follows it
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

void AtomicLines::add(uint64_t address) {
  const uint64_t line = address / lineBytes;
  if (line != lastLine) {
    lastLine = line;
    lastLanes = &lanes[line]; // stays where it is
  }
  ++*lastLanes;
}

double AtomicLines::largestShare() const {
  uint64_t most = 0, all = 0;
  for (const auto &[line, count] : lanes) {
    most = std::max(most, count);
    all += count;
  }
  return all ? double(most) / double(all) : 0;
}

} // namespace kbrt::count
