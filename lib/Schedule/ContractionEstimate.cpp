//===- ContractionEstimate.cpp - What a tile should take --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ContractionRanking.h"

using namespace kbopt;

/// The product of the extents of \p dims at \p sizes; nothing if one is not known.
static std::optional<double> productOf(llvm::ArrayRef<NestDim> dims, const LaunchSizes &sizes) {
  double product = 1;
  for (const NestDim &dim : dims) {
    auto extent = valueOf(dim.extent, sizes);
    if (!extent)
      return std::nullopt;
    product *= double(std::max<int64_t>(1, *extent));
  }
  return product;
}

std::optional<LaunchEstimate> kbopt::estimateContraction(kb::NestOp nest, const Schedule &schedule,
                                                         const LaunchSizes &sizes,
                                                         const ChipInfo &chip) {
  ContractionShape shape(schedule);
  Contraction contraction;
  if (!findContraction(nest, shape.core, contraction).empty())
    return std::nullopt;
  auto terms = productOf(contraction.depth, sizes), batches = productOf(contraction.batch, sizes),
       outputs = productOf({contraction.row, contraction.column}, sizes);
  if (!terms || !batches || !outputs)
    return std::nullopt;
  for (const RankedShape &each :
       rankShapes(contraction, chip, sizes, Freedom{true, true}, usualSides)) {
    if (each.shape.schedule() != shape.schedule() || each.rate <= 0)
      continue;
    double cycles = *outputs * *batches * *terms / (each.rate * chip.fp32PerClock * chip.smCount);
    return LaunchEstimate{cycles / chip.clockHz() * 1e6 + chip.launchOverheadUs, "multiplications"};
  }
  return std::nullopt;
}
