//===- Sketches.cpp - The list of sketches ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Sketches.h"

using namespace kbopt;

llvm::ArrayRef<const Sketch *> kbopt::sketches() {
  static const std::vector<const Sketch *> all = {
      &scanSketch(),      &contractionSketch(), &columnsSketch(), &rowsSketch(),   &reuseSketch(),
      &transposeSketch(), &stencilSketch(),     &mapSketch(),     &scatterSketch()};
  return all;
}

std::optional<Schedule> Sketch::otherwise(kb::NestOp, const ChipInfo &, const Schedule &) const {
  return std::nullopt;
}

const Sketch *kbopt::findSketch(llvm::StringRef name) {
  for (const Sketch *sketch : sketches())
    if (sketch->name() == name)
      return sketch;
  return nullptr;
}
