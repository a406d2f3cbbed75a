//===- LaunchCosts.cpp - What all models of a launch share ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Target/LaunchCosts.h"
#include <algorithm>
#include <cmath>

double kbopt::joined(llvm::ArrayRef<double> cycles) {
  constexpr double order = 8;
  double longest = 0, sum = 0;
  for (double each : cycles)
    longest = std::max(longest, each);
  if (longest <= 0)
    return 0;
  for (double each : cycles)
    sum += std::pow(each / longest, order);
  return longest * std::pow(sum, 1 / order);
}

double kbopt::turnOf(double work, double waiting, double warps) {
  double order = std::log(2) / std::log1p(0.8 / std::sqrt(std::max(1.0, warps)));
  double longest = std::max(work, waiting);
  if (longest <= 0)
    return 0;
  return longest *
         std::pow(std::pow(work / longest, order) + std::pow(waiting / longest, order), 1 / order);
}

double kbopt::turnsOfWaves(double waves) {
  constexpr double many = 8;
  return std::max(1.0, waves < many ? std::ceil(waves) : waves + 0.5);
}
