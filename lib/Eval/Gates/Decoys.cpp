//===- Decoys.cpp - Gate G5: wrong outputs that must be rejected ----------===//
#include "kb-opt/Eval/Decoys.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace llvm;

namespace kbopt {

StringRef toString(DecoyKind kind) {
  switch (kind) {
  case DecoyKind::Zeros: return "zeros";
  case DecoyKind::NaN: return "NaN";
  case DecoyKind::Untouched: return "output untouched";
  case DecoyKind::ConstantMean: return "constant mean";
  case DecoyKind::InputCopy: return "copy of an input";
  case DecoyKind::OtherSeed: return "another seed's output";
  case DecoyKind::TailMissing: return "last 1 % missing";
  case DecoyKind::TilePermuted: return "one tile permuted";
  }
  return "";
}

using Bytes = std::vector<uint8_t>;

static Bytes constantDecoy(const OutputView &view, size_t count, double value) {
  Bytes bytes(view.oracle.size());
  for (size_t i = 0; i < count; ++i)
    storeElement(view.type, bytes, i, value);
  return bytes;
}

static double meanOf(const OutputView &view, size_t count) {
  double sum = 0;
  size_t finite = 0;
  for (size_t i = 0; i < count; ++i) {
    double value = elementAsDouble(view.type, view.oracle, i);
    if (!std::isfinite(value))
      continue;
    sum += value;
    ++finite;
  }
  return finite ? sum / static_cast<double>(finite) : 0;
}

/// Exchanges the first tile with the first later one of other content. A tile
/// is what a warp writes, and for short outputs half of them.
static std::optional<Bytes> permuteTiles(const OutputView &view, size_t count, unsigned width) {
  size_t tile = std::min<size_t>(32, count / 2) * width;
  if (tile == 0)
    return std::nullopt;
  Bytes bytes(view.oracle.begin(), view.oracle.end());
  for (size_t other = tile; other + tile <= bytes.size(); other += tile) {
    if (std::memcmp(bytes.data(), bytes.data() + other, tile) == 0)
      continue;
    std::swap_ranges(bytes.begin(), bytes.begin() + tile, bytes.begin() + other);
    return bytes;
  }
  return bytes; // every tile is the same: the decoy is the truth and will be accepted
}

std::optional<Bytes> makeDecoy(DecoyKind kind, const AdmissionOutput &output) {
  const OutputView &view = output.view;
  unsigned width = std::max(1u, kbrt::elementBytes(view.type));
  if (view.oracle.empty() || view.oracle.size() % width != 0)
    return std::nullopt;
  size_t count = view.oracle.size() / width;
  switch (kind) {
  case DecoyKind::Zeros: return Bytes(view.oracle.size());
  case DecoyKind::NaN:
    if (!kbrt::isFloatingPoint(view.type))
      return std::nullopt;
    return constantDecoy(view, count, std::nan(""));
  case DecoyKind::Untouched:
    if (output.before.size() != view.oracle.size())
      return std::nullopt;
    return Bytes(output.before.begin(), output.before.end());
  case DecoyKind::ConstantMean:
    // Of one element the mean is the truth.
    if (count < 2)
      return std::nullopt;
    return constantDecoy(view, count, meanOf(view, count));
  case DecoyKind::InputCopy:
    for (ArrayRef<uint8_t> input : output.inputs)
      if (input.size() == view.oracle.size() &&
          acceptsOutput(view, input, output.tolerance)) // the most dangerous one
        return Bytes(input.begin(), input.end());
    for (ArrayRef<uint8_t> input : output.inputs)
      if (input.size() == view.oracle.size())
        return Bytes(input.begin(), input.end());
    return std::nullopt;
  case DecoyKind::OtherSeed:
    if (output.otherSeed.size() != view.oracle.size())
      return std::nullopt;
    return Bytes(output.otherSeed.begin(), output.otherSeed.end());
  case DecoyKind::TailMissing: {
    if (output.before.size() != view.oracle.size())
      return std::nullopt;
    // A program may read back more than it computes: the tail ends with the last element that changes.
    size_t end = count;
    while (end > 0 && std::memcmp(&output.before[(end - 1) * width], &view.oracle[(end - 1) * width], width) == 0)
      --end;
    Bytes bytes(view.oracle.begin(), view.oracle.end());
    size_t tail = std::min(std::max<size_t>(1, end / 100), end) * width;
    std::copy_n(output.before.begin() + (end * width - tail), tail, bytes.begin() + (end * width - tail));
    return bytes;
  }
  case DecoyKind::TilePermuted: return permuteTiles(view, count, width);
  }
  return std::nullopt;
}

Admission admitCase(ArrayRef<AdmissionOutput> outputs) {
  Admission admission;
  std::vector<std::string> names;
  for (DecoyKind kind : allDecoys) {
    bool made = false, rejected = false;
    for (const AdmissionOutput &output : outputs) {
      if (rejected)
        break;
      std::optional<Bytes> decoy = makeDecoy(kind, output);
      if (!decoy)
        continue;
      made = true;
      rejected = !acceptsOutput(output.view, *decoy, output.tolerance);
    }
    if (!made)
      continue;
    ++admission.tried;
    if (rejected)
      continue;
    admission.accepted.push_back(kind);
    names.push_back(toString(kind).str());
  }
  admission.admitted = admission.tried > 0 && admission.accepted.empty();
  if (!names.empty())
    admission.reason = join(names, " and ") + " would pass";
  else if (!admission.admitted)
    admission.reason = "it has no output";
  return admission;
}

} // namespace kbopt
