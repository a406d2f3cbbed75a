//===- PlanTouches.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "PlanTouches.h"
#include <algorithm>

namespace kbrt {

/// More intervals than these are not remembered: 32 bytes each.
static constexpr size_t mostIntervals = size_t(8) << 20;

PlanTouches::PlanTouches(const Plan &plan, Image &image, const std::vector<uint64_t> &address)
    : plan(plan), image(image), address(address), places(address.size(), 0),
      isUnordered(unorderedOperations(plan)), order(plan) {
  mattersAtAll = std::find(isUnordered.begin(), isUnordered.end(), true) != isUnordered.end();
}

void PlanTouches::endLaunch(const std::string &key) {
  current.reset();
  std::optional<touches::Touched> touched = touches::end();
  if (!touched) {
    unknown = "a launch touches more memory than the check can remember";
    return;
  }
  current = std::make_shared<const touches::Touched>(std::move(*touched));
  const size_t intervals =
      current->reads.get().size() + current->writes.get().size() + current->atomics.get().size();
  if (keptIntervals + intervals > mostIntervals || launches.count(key))
    return;
  keptIntervals += intervals;
  launches[key] = current;
}

uint64_t PlanTouches::beginOf(uint32_t buffer) const {
  return plan.buffers[buffer].kind == BufferKind::Symbol ? address[buffer] : places[buffer];
}

void PlanTouches::addRegion(IntervalSet &set, const Region &region) const {
  const uint64_t begin = beginOf(region.at.buffer) + region.at.offset;
  for (uint64_t row = 0; row < region.height; ++row)
    set.add(begin + row * region.pitch, begin + row * region.pitch + region.width);
}

void PlanTouches::addMatrix(IntervalSet &set, const MatmulStep &step,
                            const MatmulOperand &operand) const {
  uint64_t rows = &operand == &step.b ? step.k : step.m;
  uint64_t columns = &operand == &step.a ? step.k : step.n;
  if (operand.transposed)
    std::swap(rows, columns);
  const uint64_t begin = beginOf(operand.at.buffer) + operand.at.offset;
  for (uint64_t batch = 0; batch < step.batch; ++batch)
    for (uint64_t column = 0; column < columns; ++column) {
      const uint64_t at =
          begin + (batch * operand.stride + column * operand.leading) * sizeof(float);
      set.add(at, at + rows * sizeof(float));
    }
}

/// What \p step touches; nothing of steps that touch no memory, and of launches that wait for all
/// others.
std::optional<touches::Touched> PlanTouches::touchedBy(const Step &step) {
  touches::Touched touched;
  if (const auto *upload = std::get_if<UploadStep>(&step))
    addRegion(touched.writes, upload->to);
  else if (const auto *fill = std::get_if<FillStep>(&step))
    addRegion(touched.writes, fill->to);
  else if (const auto *read = std::get_if<ReadStep>(&step))
    addRegion(touched.reads, read->from);
  else if (const auto *copy = std::get_if<CopyStep>(&step)) {
    addRegion(touched.writes, copy->to);
    addRegion(touched.reads, copy->from);
  } else if (const auto *product = std::get_if<MatmulStep>(&step)) {
    addMatrix(touched.reads, *product, product->a);
    addMatrix(touched.reads, *product, product->b);
    addMatrix(touched.writes, *product, product->c);
  } else if (const auto *alloc = std::get_if<AllocStep>(&step); alloc && alloc->stream)
    addRegion(touched.writes,
              Region::linear({alloc->buffer, 0}, plan.buffers[alloc->buffer].bytes));
  else if (const auto *free = std::get_if<FreeStep>(&step); free && free->stream)
    addRegion(touched.writes, Region::linear({free->buffer, 0}, plan.buffers[free->buffer].bytes));
  else if (std::holds_alternative<LaunchStep>(step) && current)
    touched = *current;
  else
    return std::nullopt;
  return touched;
}

void PlanTouches::forgetFreed(const Step &step) {
  if (const auto *free = std::get_if<FreeStep>(&step))
    conflicts.forget(places[free->buffer], places[free->buffer] + plan.buffers[free->buffer].bytes);
}

std::string PlanTouches::nameOf(size_t index) const {
  const Step &step = plan.steps[index];
  auto on = [](uint32_t stream) {
    return stream ? " on stream " + std::to_string(stream) : std::string(" on the default stream");
  };
  if (const auto *launch = std::get_if<LaunchStep>(&step)) {
    const KernelInfo *kernel = image.findKernel(launch->kernel);
    return "the launch of " + (kernel ? std::string(kernel->displayName) : launch->kernel) +
           on(launch->stream);
  }
  if (const auto *upload = std::get_if<UploadStep>(&step))
    return upload->host == HostPart::Writes ? "the host" : "an upload" + on(upload->stream);
  if (const auto *fill = std::get_if<FillStep>(&step))
    return "a fill" + on(fill->stream);
  if (const auto *copy = std::get_if<CopyStep>(&step))
    return "a copy" + on(copy->stream);
  if (const auto *product = std::get_if<MatmulStep>(&step))
    return "a matrix product" + on(product->stream);
  if (const auto *alloc = std::get_if<AllocStep>(&step))
    return "cudaMallocAsync" + on(alloc->stream.value_or(0));
  if (const auto *free = std::get_if<FreeStep>(&step))
    return "cudaFreeAsync" + on(free->stream.value_or(0));
  const auto &read = std::get<ReadStep>(step);
  return read.implicit ? "the host" : "a copy to the host" + on(read.stream);
}

static const char *verbOf(const Step &step, Use use) {
  if (std::holds_alternative<AllocStep>(step))
    return "allocates";
  if (std::holds_alternative<FreeStep>(step))
    return "frees";
  return use == Use::Reads ? "reads" : use == Use::Writes ? "writes" : "atomically changes";
}

/// "element 4 of buffer 2 (y), bytes 16 to 19".
std::string PlanTouches::placeOf(const StepConflict &conflict) const {
  const uint64_t begin = conflict.begin;
  for (size_t id = 0; id < places.size(); ++id) {
    const Buffer &buffer = plan.buffers[id];
    const uint64_t at = beginOf(uint32_t(id));
    if (!at || begin < at || begin - at >= buffer.bytes)
      continue;
    std::string text = "buffer " + std::to_string(id);
    if (const unsigned bytes = elementBytes(buffer.element))
      text = "element " + std::to_string((begin - at) / bytes) + " of " + text;
    if (buffer.kind == BufferKind::Symbol)
      return text + " (" + buffer.symbol + ")";
    // By the parameter of a launch that points there.
    for (size_t step : {conflict.second, conflict.first})
      if (const auto *launch = std::get_if<LaunchStep>(&plan.steps[step]))
        if (const KernelInfo *kernel = image.findKernel(launch->kernel))
          for (size_t i = 0; i < launch->arguments.size() && i < kernel->paramCount; ++i)
            for (const PointerWord &word : launch->arguments[i].pointers)
              if (word.target.buffer == id && kernel->params[i].name && *kernel->params[i].name)
                return text + " (" + kernel->params[i].name + "), byte " +
                       std::to_string(begin - at);
    return text + ", byte " + std::to_string(begin - at);
  }
  return "device memory";
}

/// cudaMemcpy from pageable memory may return before its bytes have come; on GPUs as they are, they
/// have.
bool PlanTouches::isOnlyStaged(const StepConflict &conflict) const {
  const auto *upload = std::get_if<UploadStep>(&plan.steps[conflict.first]);
  return upload && upload->host == HostPart::Stages;
}

Finding PlanTouches::describe(const StepConflict &conflict) const {
  Finding finding;
  finding.kind = FindingKind::Unordered;
  finding.severity = isOnlyStaged(conflict) ? Severity::Benign : Severity::Error;
  finding.address = conflict.begin;
  finding.bytes = unsigned(std::min<uint64_t>(conflict.end - conflict.begin, ~0u));
  const Step &first = plan.steps[conflict.first], &second = plan.steps[conflict.second];
  finding.message = nameOf(conflict.second) + " (step " + std::to_string(conflict.second) + ") " +
                    verbOf(second, conflict.secondUse) + " what " + nameOf(conflict.first) +
                    " (step " + std::to_string(conflict.first) + ") " +
                    verbOf(first, conflict.firstUse) + ", " + placeOf(conflict) +
                    ", and nothing makes one wait for the other";
  return finding;
}

std::vector<Finding> PlanTouches::performed(size_t index) {
  std::vector<Finding> findings;
  const Step &step = plan.steps[index];
  if (!mattersAtAll)
    return findings;
  const Moment moment = order.next(step);
  std::optional<touches::Touched> touched = unknown.empty() ? touchedBy(step) : std::nullopt;
  current.reset();
  if (touched)
    for (const StepConflict &conflict : conflicts.add(index, moment, *touched))
      if (described
              .insert({nameOf(conflict.first), nameOf(conflict.second), isOnlyStaged(conflict)})
              .second)
        findings.push_back(describe(conflict));
  forgetFreed(step);
  if (!isOperation(step))
    conflicts.hostWaited(moment);
  if (conflicts.size() > mostIntervals)
    unknown = "what launches touch lies in too many places for the check to remember";
  return findings;
}

} // namespace kbrt
