//===- HeldMemory.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HeldMemory.h"

#ifdef KBRUN_HAS_CUDA
#include <algorithm>

namespace kbrun {

using namespace kbrt;
using namespace kbrt::cuda;
using Json = nlohmann::ordered_json;

namespace {

/// The share of the device's memory that the workers' contexts and our own kernels are left.
constexpr uint64_t contextShare = 64;

/// A read is looked for among so many that were read last.
constexpr size_t mostCompared = 8;
/// What places of references are multiples of.
constexpr uint64_t placeBytes = 512;

std::string sizeText(uint64_t bytes) {
  char text[32];
  const double mib = static_cast<double>(bytes) / (1 << 20);
  snprintf(text, sizeof text, mib >= 1000 ? "%.1f GiB" : "%.1f MiB",
           mib >= 1000 ? mib / 1024 : mib);
  return text;
}

/// What the reads of \p plan take if those of one place always have the same bytes.
uint64_t distinctReadBytes(const Plan &plan) {
  uint64_t bytes = 0;
  std::vector<const ReadStep *> distinct;
  for (const ReadStep *step : stepsOf<ReadStep>(plan)) {
    auto isSame = [&](const ReadStep *other) { return other->from == step->from; };
    if (std::any_of(distinct.rbegin(),
                    distinct.rbegin() +
                        static_cast<ptrdiff_t>(std::min(distinct.size(), mostCompared)),
                    isSame))
      continue;
    bytes += (step->from.bytes() + placeBytes - 1) / placeBytes * placeBytes;
    distinct.push_back(step);
  }
  return bytes;
}

} // namespace

void HeldMemory::open(Problem &problem) {
  device = Device::open({0, ""}, problem);
  if (!device)
    return;
  turn.emplace(device->getFacts().uuid);
  comparison = ResultComparison::create(*device, problem);
}

bool HeldMemory::allocate(const std::string &name, const HeldProgram &program, Problem &problem) {
  uint64_t inputBytes = 0, workBytes = 0, resultBytes = 0, referenceBytes = 0;
  for (const HeldSet &set : program.sets) {
    uploads.push_back(set.places.uploads);
    for (uint64_t &place : uploads.back())
      place += inputBytes;
    inputBytes += set.places.uploadBytes;
    referenceBytes += distinctReadBytes(set.inputs->plan);
    workBytes = std::max(workBytes, set.places.workBytes);
    resultBytes = std::max(resultBytes, set.places.readBytes);
  }
  const uint64_t all = inputBytes + workBytes + resultBytes + referenceBytes;
  const uint64_t free = freeMemory(*device);
  tooMuch = {LaunchStatus::OutOfMemory,
             "screening '" + name + "' takes " + sizeText(all) + " of the GPU's memory, and " +
                 sizeText(free) + " are free",
             "use a smaller workload, or free the device (nvidia-smi shows which processes have "
             "its memory)"};
  if (all + device->getFacts().memoryBytes / contextShare > free)
    problem = tooMuch;
  auto make = [&](std::unique_ptr<DeviceBlock> &block, uint64_t bytes) {
    if (!problem)
      block = DeviceBlock::create(*device, bytes, DeviceBlock::Sharing::Shareable, problem);
    if (problem.status == LaunchStatus::OutOfMemory)
      problem = tooMuch;
  };
  make(inputs, inputBytes);
  make(workBlock, workBytes);
  make(results, resultBytes);
  return !problem;
}

bool HeldMemory::fillInputs(const HeldProgram &program, Problem &problem) {
  uint64_t end = 0; // of what is there
  for (size_t i = 0; i < program.sets.size(); ++i) {
    const HeldSet &set = program.sets[i];
    const std::string_view data = set.inputs->payloads.data;
    size_t number = 0;
    for (const UploadStep *step : stepsOf<UploadStep>(set.inputs->plan)) {
      const uint64_t bytes = step->to.bytes(), to = uploads[i][number++];
      if (step->data + bytes > data.size())
        problem = {LaunchStatus::Environment,
                   set.folder + "/" + dataFileName + ": is shorter than its plan says", ""};
      if (problem)
        return false;
      if (to < end)
        continue; // the same bytes as an earlier one
      if (!inputs->write(to, data.data() + step->data, bytes, problem))
        return false;
      end = to + bytes;
    }
  }
  return true;
}

void HeldMemory::growWork(uint64_t bytes, Problem &problem) {
  const uint64_t before = workBlock->bytes();
  workBlock.reset();
  workBlock = DeviceBlock::create(*device, bytes, DeviceBlock::Sharing::Shareable, problem);
  if (workBlock)
    return;
  problem.message = "its buffers take " + sizeText(bytes) + ": " + problem.message;
  Problem again;
  workBlock = DeviceBlock::create(*device, before, DeviceBlock::Sharing::Shareable, again);
  if (!workBlock)
    problem = again;
}

std::optional<uint64_t> HeldMemory::placeReferences(std::vector<Reference> &list,
                                                    Problem &problem) {
  uint64_t end = 0;
  std::vector<const Reference *> distinct;
  for (Reference &read : list) {
    const Reference *same = nullptr;
    for (size_t i = distinct.size(); i-- > 0 && !same && i + mostCompared >= distinct.size();) {
      ComparedResult compared;
      if (distinct[i]->bytes != read.bytes || distinct[i]->type != read.type)
        continue;
      if (!comparison->compare(results->address() + distinct[i]->result,
                               results->address() + read.result, read.bytes, read.type, {},
                               compared, problem))
        return std::nullopt;
      if (!compared.differing)
        same = distinct[i];
    }
    read.reference = same ? same->reference : end;
    if (same)
      continue;
    end += (read.bytes + placeBytes - 1) / placeBytes * placeBytes;
    distinct.push_back(&read);
  }
  return end;
}

bool HeldMemory::keepReferences(const HeldSet &set, Problem &problem) {
  std::vector<Reference> &list = reads.emplace_back();
  const Plan &plan = set.inputs->plan;
  for (const ReadStep *step : stepsOf<ReadStep>(plan)) {
    const Buffer &buffer = plan.buffers[step->from.at.buffer];
    Reference read;
    read.name = buffer.symbol.empty() ? "output " + std::to_string(list.size()) : buffer.symbol;
    read.type = buffer.element;
    read.bytes = step->from.bytes();
    read.result = set.places.reads[list.size()];
    // A region that cuts elements in two has no type of its own.
    const uint64_t width = elementBytes(read.type);
    if (width && (step->from.at.offset % width || step->from.width % width))
      read.type = ElementType::Unknown;
    list.push_back(std::move(read));
  }
  turn->shared();
  std::optional<uint64_t> bytes = placeReferences(list, problem);
  std::unique_ptr<DeviceBlock> block;
  if (bytes)
    block = DeviceBlock::create(*device, *bytes, DeviceBlock::Sharing::Private, problem);
  if (problem.status == LaunchStatus::OutOfMemory)
    problem = tooMuch;
  for (size_t i = 0; i < list.size() && !problem; ++i)
    // Of those that share a place the last one is as good as the first.
    if (block->copy(list[i].reference, results->address() + list[i].result, list[i].bytes, problem))
      comparison->measureReference(block->address() + list[i].reference, list[i].bytes,
                                   list[i].type, list[i].figures, problem);
  turn->leave();
  references.push_back(std::move(block));
  return !problem;
}

void HeldMemory::compare(size_t set, Json &matches, Problem &problem) {
  if (matches.is_null())
    matches = Json::array();
  turn->shared();
  for (size_t i = 0; i < reads[set].size(); ++i) {
    const Reference &read = reads[set][i];
    ComparedResult compared;
    if (!comparison->compare(references[set]->address() + read.reference,
                             results->address() + read.result, read.bytes, read.type, read.figures,
                             compared, problem))
      break;
    Json match = {{"name", read.name},
                  {"type", elementTypeName(read.type)},
                  {"elements", compared.elements},
                  {"differing", compared.differing},
                  {"otherClass", compared.otherClass},
                  {"largestError", compared.largestError},
                  {"relativeL2", compared.relativeL2}};
    if (matches.size() > i)
      for (const char *figure : {"differing", "otherClass", "largestError", "relativeL2"})
        match[figure] = std::max(match[figure], matches[i][figure]);
    matches[i] = std::move(match);
  }
  turn->leave();
}

} // namespace kbrun
#endif
