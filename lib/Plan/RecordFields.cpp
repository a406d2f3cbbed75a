//===- RecordFields.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/RecordFields.h"
#include <cstring>
#include <map>

using namespace kbopt;
using namespace kbrt;

void SplitPlan::join(llvm::ArrayRef<uint8_t> varied, llvm::MutableArrayRef<uint8_t> out) const {
  std::memcpy(out.data(), varied.data(), originalBytes);
  for (const Piece &piece : pieces)
    for (uint64_t i = 0; i < piece.count; ++i)
      std::memcpy(out.data() + piece.from + i * piece.stride,
                  varied.data() + piece.to + i * piece.bytes, piece.bytes);
}

/// Whether \p upload is of whole records of \p layout.
static bool holdsRecords(const UploadStep &upload, const RecordLayout &layout) {
  return layout.bytes && !layout.fields.empty() && upload.pointers.empty() &&
         upload.to.height == 1 && upload.to.at.offset % layout.bytes == 0 && upload.to.bytes() &&
         upload.to.bytes() % layout.bytes == 0;
}

std::optional<SplitPlan> kbopt::splitRecords(const Plan &plan, llvm::StringRef data,
                                             llvm::ArrayRef<RecordLayout> layouts) {
  SplitPlan split;
  split.plan = plan;
  split.plan.steps.clear();
  split.data = data.str();
  split.originalBytes = data.size();
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> places; // by field of the data
  for (const Step &step : plan.steps) {
    const auto *upload = std::get_if<UploadStep>(&step);
    const uint32_t buffer = upload ? upload->to.at.buffer : 0;
    if (!upload || buffer >= layouts.size() || !holdsRecords(*upload, layouts[buffer]) ||
        upload->data + upload->to.bytes() > data.size()) {
      split.plan.steps.push_back(step);
      continue;
    }
    const RecordLayout &layout = layouts[buffer];
    const uint64_t count = upload->to.bytes() / layout.bytes;
    for (const RecordField &field : layout.fields) {
      const uint64_t bytes = elementBytes(field.element), from = upload->data + field.offset;
      auto [place, isNew] = places.try_emplace({from, count}, split.data.size());
      if (isNew) {
        split.pieces.push_back({from, layout.bytes, bytes, count, place->second});
        for (uint64_t i = 0; i < count; ++i)
          split.data.append(data.data() + from + i * layout.bytes, bytes);
      }
      Buffer own;
      own.bytes = count * bytes;
      own.element = field.element;
      UploadStep part;
      part.to = Region::linear({static_cast<uint32_t>(split.plan.buffers.size()), 0}, own.bytes);
      part.data = place->second;
      split.plan.buffers.push_back(own);
      split.plan.steps.push_back(part);
    }
  }
  if (split.pieces.empty())
    return std::nullopt;
  return split;
}
