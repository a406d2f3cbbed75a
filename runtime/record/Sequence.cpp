//===- Sequence.cpp ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Sequence.h"
#include "kbrt/RepeatedLaunches.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

using namespace kbrt;

namespace {

/// Payloads of at least so many bytes that are there already are not written again.
constexpr uint64_t sharedPayloadBytes = 4096;

} // namespace

bool PayloadFile::append(RecordKeeper &keeper, const void *bytes, uint64_t count) {
  written += count;
  return count == 0 || keeper.append(payload, bytes, count);
}

void Sequence::open() {
  if (mode == Mode::Oracle && keeper)
    oracle = keeper->oracle();
}

void Sequence::add(Step step) {
  if (const auto *copy = std::get_if<CopyStep>(&step))
    order.enqueue(copy->stream);
  else if (const auto *fill = std::get_if<FillStep>(&step))
    order.enqueue(fill->stream);
  else if (const auto *launch = std::get_if<LaunchStep>(&step))
    order.enqueue(launch->stream);
  else if (const auto *product = std::get_if<MatmulStep>(&step))
    order.enqueue(product->stream);
  else if (const auto *alloc = std::get_if<AllocStep>(&step); alloc && alloc->stream)
    order.enqueue(*alloc->stream);
  else if (const auto *free = std::get_if<FreeStep>(&step); free && free->stream)
    order.enqueue(*free->stream);
  else if (const auto *event = std::get_if<EventStep>(&step))
    order.record(event->event, event->stream);
  else if (const auto *wait = std::get_if<WaitStep>(&step))
    order.wait(wait->event, wait->stream);
  if (std::holds_alternative<LaunchStep>(step) || std::holds_alternative<MatmulStep>(step))
    hasUnreadLaunch = true;
  launchCount += std::holds_alternative<LaunchStep>(step);
  if (!recording())
    return;
  if (keeper)
    keeper->noteStep(stepDigest(step));
  plan.steps.push_back(std::move(step));
}

void Sequence::append(PayloadFile &file, const void *bytes, uint64_t count, const char *what) {
  if (file.size() + count > fileBytesLimit)
    stop(Ending::TooLarge, std::string(what) + " of the recording exceeds its limit of " +
                               std::to_string(fileBytesLimit >> 20) + " MiB");
  if (!file.append(*keeper, bytes, count))
    stop(Ending::TooLarge,
         std::string("cannot write ") + what + " of the recording: " + std::strerror(errno));
}

std::optional<uint64_t> Sequence::findPayload(const char *bytes, uint64_t count, uint64_t hash) {
  auto [first, last] = payloads.equal_range(hash);
  for (; first != last; ++first)
    if (auto [place, length] = first->second; length == count && keeper->holds(place, bytes, count))
      return place;
  return std::nullopt;
}

void Sequence::noteSource(UploadStep &step, const char *source) {
  const uint64_t bytes = step.to.bytes();
  for (auto known = sources.rbegin(); known != sources.rend() && !step.source; ++known)
    if (source < known->begin + known->bytes && known->begin < source + bytes)
      step.source = SharedSource{known->upload, source - known->begin};
  constexpr size_t mostSources = 4096; // looked through for each upload
  if (sources.size() < mostSources)
    sources.push_back({uploadCount, source, bytes});
}

Rows Sequence::replaced(Rows source, uint64_t width, uint64_t height) {
  if (!replacesUploads || !keeper || isDry)
    return source;
  std::vector<char> bytes(width * height), others;
  for (uint64_t y = 0; y < height; ++y)
    std::memcpy(bytes.data() + y * width, source.at + y * source.pitch, width);
  if (!keeper->replace(bytes.data(), bytes.size(), others))
    return source;
  replacements.push_back(std::move(others));
  return {replacements.back().data(), width};
}

void Sequence::upload(const Region &region, Rows source, uint64_t height, uint32_t stream,
                      bool isStaged, HostPart host) {
  if (host != HostPart::Writes)
    order.enqueue(stream);
  if (!recording())
    return;
  if (isDry)
    return add(UploadStep{region, 0, stream});
  uint64_t width = region.bytes() / height, bytes = region.bytes();
  bool isOnePiece = height == 1 || source.pitch == width;
  auto addUpload = [&](uint64_t place) {
    UploadStep step{region, place, stream};
    if (isOnePiece && !isStaged)
      noteSource(step, source.at);
    step.host = host;
    ++uploadCount;
    add(std::move(step));
  };
  // Bytes that are all the same say nothing of what they are; each buffer keeps its own.
  bool isUniform = isOnePiece && std::memcmp(source.at, source.at + 1, bytes - 1) == 0;
  if (isOnePiece && bytes >= sharedPayloadBytes && !isUniform) {
    uint64_t hash = contentHash(source.at, bytes);
    if (auto place = findPayload(source.at, bytes, hash))
      return addUpload(*place);
    payloads.emplace(hash, std::pair(data.size(), bytes));
  }
  addUpload(data.size());
  if (isOnePiece)
    return append(data, source.at, bytes, "the uploaded data");
  for (uint64_t y = 0; y < height; ++y)
    append(data, source.at + y * source.pitch, width, "the uploaded data");
}

void Sequence::read(const Region &region, const void *memory, void *target, uint64_t targetPitch,
                    uint32_t stream, bool implicit, bool asynchronous) {
  const bool wasPastCut = isPastCut;
  // Nothing before the cut used this memory, or the original's run ended here.
  if (wasPastCut && mode != Mode::Run &&
      (region.at.buffer >= plan.buffers.size() ||
       (mode == Mode::Oracle && answered == oracle.bytes)))
    endOfRun();
  isPastCut = false;
  readNow(region, memory, target, targetPitch, stream, implicit, asynchronous);
  isPastCut = wasPastCut;
  hasUnreadLaunch = false;
  if (isPastCut)
    readPastCut();
}

void Sequence::readNow(const Region &region, const void *memory, void *target, uint64_t targetPitch,
                       uint32_t stream, bool implicit, bool asynchronous) {
  if (!implicit)
    order.enqueue(stream);
  if (recording())
    add(ReadStep{region, observables.size(), stream, implicit, asynchronous});
  if (mode == Mode::Oracle) {
    answer(region, target, targetPitch);
  } else if (memory != target) {
    auto *from = static_cast<char *>(const_cast<void *>(memory));
    fetch({static_cast<char *>(target), targetPitch}, {from, region.pitch}, region.width,
          region.height);
  }
  if (!recording())
    return;
  if (mode == Mode::Oracle) // has them already
    return observables.skip(region.bytes());
  auto *row = static_cast<const char *>(target);
  for (uint64_t y = 0; y < region.height; ++y, row += targetPitch)
    append(observables, row, region.width, "what the host reads");
  if (hasRead)
    hasRead();
}

std::function<void()> Sequence::uploadedLate(Rows source, uint64_t height) {
  if (isDry)
    return [] {};
  const size_t step = plan.steps.size() - 1;
  const uint64_t bytes = std::get<UploadStep>(plan.steps[step]).to.bytes(), width = bytes / height;
  auto gather = [=] {
    std::vector<char> now(bytes);
    for (uint64_t y = 0; y < height; ++y)
      std::memcpy(now.data() + y * width, source.at + y * source.pitch, width);
    return now;
  };
  const uint64_t before = contentHash(gather().data(), bytes);
  return [=, this] {
    std::vector<char> now = gather();
    if (contentHash(now.data(), bytes) == before)
      return;
    std::get<UploadStep>(plan.steps[step]).data = data.size();
    append(data, now.data(), bytes, "the uploaded data");
  };
}

void Sequence::answer(const Region &region, void *target, uint64_t targetPitch) {
  if (isDry) {
    constexpr uint64_t mostCleared = uint64_t(1) << 20; // more is the host's own fresh memory
    for (uint64_t y = 0; y < region.height && region.bytes() <= mostCleared; ++y)
      std::memset(static_cast<char *>(target) + y * targetPitch, 0, region.width);
    return;
  }
  std::string which = "read " + std::to_string(++readCount);
  const uint64_t all = oracle.bytes;
  if (answered == all)
    stop(Ending::Mismatch, which + " has no answer: the original program reads " +
                               std::to_string(oracle.reads) + " times");
  // A result may be read in pieces, which follow each other.
  if (region.bytes() > all - answered)
    stop(Ending::Mismatch, which + " asks for " + std::to_string(region.bytes()) +
                               " bytes where the original program reads " +
                               std::to_string(all - answered));
  bool good = true;
  answered += region.bytes();
  auto *row = static_cast<char *>(target);
  for (uint64_t y = 0; y < region.height && good; ++y, row += targetPitch)
    good = keeper->answer(row, region.width);
  if (!good)
    stop(Ending::Mismatch, which + ": the original's results end too early");
  if (answered == all && allAnswered)
    allAnswered();
}
