//===- SizesInSight.cpp - What launches say of a kernel's sizes -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sizes by which the schedules of a kernel are put in order: those of the recorded
// launch, or else what all launches in sight pass, if it is constant or decided by the workload.
//
//===----------------------------------------------------------------------===//
#include "LaunchText.h"
#include "kb-opt/Rewrite/SchedulePass.h"

using namespace kbopt;

/// The sizes of \p nest that are constants at \p launch or, \p withWorkload, that the workload
/// decides there.
static LaunchSizes sizesAt(const PassContext &context, kb::NestOp nest, const LaunchText &launch,
                           bool withWorkload) {
  LaunchSizes sizes;
  auto add = [&](llvm::StringRef name, llvm::StringRef symbol) {
    const LaunchText::Meaning *meaning = launch.meaning(name);
    std::optional<int64_t> value = meaning ? meaning->value : std::nullopt;
    if (meaning && !value && withWorkload)
      value = valueAtEntry(context, meaning->expr, launch.fact().host);
    if (value)
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

/// What all launches of \p kernel in sight have in common.
static LaunchSizes sizesInSight(const PassContext &context, const KernelView &kernel,
                                const RaisedKernel &raised, bool withWorkload) {
  std::optional<LaunchSizes> common;
  for (const LaunchFact &fact : kernel.launches) {
    llvm::Expected<LaunchText> launch =
        LaunchText::create(context, fact, context.imported().declOf(raised.instance));
    if (!launch) {
      llvm::consumeError(launch.takeError());
      return {};
    }
    LaunchSizes here = sizesAt(context, raised.nest, *launch, withWorkload);
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

LaunchSizes kbopt::knownSizes(const PassContext &context, const KernelView &kernel) {
  RaisedKernel raised = context.raised(kernel);
  if (!raised.nest)
    return {};
  if (const RecordedLaunch *recorded = context.recordedLaunch(raised.instance))
    return launchSizes(raised.nest, *recorded);
  return sizesInSight(context, kernel, raised, /*withWorkload=*/true);
}

bool kbopt::decidesSizes(const PassContext &context, const KernelView &kernel) {
  RaisedKernel raised = context.raised(kernel);
  if (!raised.nest || context.recordedLaunch(raised.instance))
    return false;
  return sizesInSight(context, kernel, raised, true).size() >
         sizesInSight(context, kernel, raised, false).size();
}
