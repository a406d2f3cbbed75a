//===- RecipeSizes.h - What cases of both kinds of workload share -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_CANDIDATE_RECIPESIZES_H
#define KBOPT_LIB_CANDIDATE_RECIPESIZES_H

#include "kb-opt/Plan/PlanTransform.h"

namespace kbopt {

/// How much larger the sizes are at which launches alone are looked at, at least.
inline constexpr int64_t leastGrowth = 16;

/// TestCase's.
inline bool hasLargeValues(InputDistribution distribution) {
  return distribution == InputDistribution::FewSpecial ||
         distribution == InputDistribution::EndRuns;
}

/// The largest prime up to \p limit; 2 and less stay, but for what is below 1.
inline int64_t primeBelow(int64_t limit) {
  auto isPrime = [](int64_t n) {
    for (int64_t d = 2; d * d <= n; ++d)
      if (n % d == 0)
        return false;
    return n > 1;
  };
  while (limit > 2 && !isPrime(limit))
    --limit;
  return std::max<int64_t>(1, limit);
}

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_RECIPESIZES_H
