//===- NestFigures.cpp - A nest in a few numbers ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Schedule/NestFigures.h"
#include "NestWork.h"
#include <cmath>

using namespace kbopt;

/// One more than \p value, so that nothing is a number, too.
static double logOf(double value) { return std::log2(1 + std::max(0.0, value)); }

std::map<std::string, double> kbopt::nestFigures(kb::NestOp nest, const LaunchSizes &sizes) {
  std::map<std::string, double> figures;
  auto dims = sizedDims(nest, sizes);
  if (!dims)
    return figures;
  const size_t points = nest.getDims().size();
  double pointCount = 1, termCount = 1;
  for (auto [number, dim] : llvm::enumerate(*dims))
    (number < points ? pointCount : termCount) *= double(std::max<int64_t>(1, dim.extent));
  figures["points"] = logOf(pointCount);
  figures["terms"] = logOf(termCount);
  figures["row"] = points ? logOf(double((*dims)[points - 1].extent)) : 0;
  figures["dims"] = double(points);
  figures["loops"] = double(dims->size() - points);
  const NestWork work(nest, *dims);
  for (const WorkAccess &access : work.accesses) {
    ++figures[access.isAtomic ? "atomics" : access.isStore ? "stores" : "loads"];
    double &widest = figures["bytes"];
    widest = std::max(widest, logOf(double(access.operand.getBytes())));
  }
  double instructions = 0, special = 0, doubles = 0;
  for (const WorkStatement &statement : work.statements) {
    instructions += statement.instructions;
    special += statement.special;
    doubles += statement.doubles;
    figures["sums"] += statement.combines;
  }
  figures["instructions"] = logOf(instructions);
  figures["special"] = logOf(special);
  figures["doubles"] = logOf(doubles);
  for (const Sketch *sketch : sketches())
    if (sketch->whyNot(nest).empty())
      figures["fits-" + sketch->name().str()] = 1;
  return figures;
}
