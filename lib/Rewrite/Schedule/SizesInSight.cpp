//===- SizesInSight.cpp - What launches say of a kernel's sizes -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sizes by which the schedules of a kernel are put in order: those of the recorded
// launch, or else the constants that all launches in sight pass.
//
//===----------------------------------------------------------------------===//
#include "LaunchText.h"
#include "kb-opt/Rewrite/SchedulePass.h"

using namespace kbopt;

/// The sizes of \p nest that are constants at \p launch.
static LaunchSizes sizesAt(kb::NestOp nest, const LaunchText &launch) {
  LaunchSizes sizes;
  auto add = [&](llvm::StringRef name, llvm::StringRef symbol) {
    if (std::optional<int64_t> value = launch.value(name))
      sizes[symbol] = *value;
  };
  for (llvm::StringRef axis : {"x", "y", "z"}) {
    add(("gridDim." + axis).str(), ("gdim." + axis).str());
    add(("blockDim." + axis).str(), ("bdim." + axis).str());
  }
  for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
    if (symbol.getOrigin() == kb::SymbolOrigin::Param)
      add(symbol.getName(), symbol.getName());
  return sizes;
}

LaunchSizes kbopt::knownSizes(const PassContext &context, const KernelView &kernel) {
  RaisedKernel raised = context.raised(kernel);
  if (!raised.nest)
    return {};
  if (const RecordedLaunch *recorded = context.recordedLaunch(raised.instance))
    return launchSizes(raised.nest, *recorded);
  std::optional<LaunchSizes> common;
  for (const LaunchFact &fact : kernel.launches) {
    llvm::Expected<LaunchText> launch =
        LaunchText::create(context, fact, context.imported().declOf(raised.instance));
    if (!launch) {
      llvm::consumeError(launch.takeError());
      return {};
    }
    LaunchSizes here = sizesAt(raised.nest, *launch);
    if (!common) {
      common = std::move(here);
      continue;
    }
    LaunchSizes both;
    for (const auto &[name, value] : *common)
      if (auto other = here.find(name); other != here.end() && other->second == value)
        both[name] = value;
    common = std::move(both);
  }
  return common.value_or(LaunchSizes());
}
