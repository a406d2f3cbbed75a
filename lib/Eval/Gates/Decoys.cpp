//===- Decoys.cpp - Gate G5: wrong outputs that must be rejected ----------===//
#include "kb-opt/Eval/Decoys.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

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

/// Elements of \p view from \p begin to \p end that are all \p value.
static Bytes constantPart(const OutputView &view, double value, size_t begin, size_t end) {
  const unsigned width = kbrt::elementBytes(view.type);
  Bytes bytes((end - begin) * width);
  if (bytes.empty())
    return bytes;
  storeElement(view.type, bytes, 0, value);
  for (size_t at = width; at < bytes.size(); at += width)
    std::memcpy(&bytes[at], bytes.data(), width);
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

/// A tile is what a warp writes, and for short outputs half of them.
static size_t tileBytes(size_t count, unsigned width) { return std::min<size_t>(32, count / 2) * width; }

/// Where the first tile of other content than the first begins; nothing if every tile is the same: the decoy is the
/// truth then and will be accepted.
static std::optional<size_t> otherTile(const OutputView &view, size_t tile) {
  for (size_t other = tile; other + tile <= view.oracle.size(); other += tile)
    if (std::memcmp(view.oracle.data(), view.oracle.data() + other, tile) != 0)
      return other;
  return std::nullopt;
}

/// An output may be large, and most decoys are rejected by their first elements: a decoy is made in parts.
using Decoy = std::function<Bytes(size_t begin, size_t end)>; // elements

static Decoy partsOf(ArrayRef<uint8_t> bytes, unsigned width) {
  return [bytes, width](size_t begin, size_t end) {
    return Bytes(bytes.begin() + begin * width, bytes.begin() + end * width);
  };
}

/// \p bytes with what \p other has from byte \p from to byte \p to in its place.
static Decoy replaced(ArrayRef<uint8_t> bytes, ArrayRef<uint8_t> other, size_t from, size_t to, unsigned width) {
  return [=](size_t begin, size_t end) {
    Bytes part(bytes.begin() + begin * width, bytes.begin() + end * width);
    const size_t first = std::max(from, begin * width), last = std::min(to, end * width);
    if (first < last)
      std::copy(other.begin() + first, other.begin() + last, part.begin() + (first - begin * width));
    return part;
  };
}

/// The first tile and the one at \p other exchanged.
static Decoy permuted(const OutputView &view, size_t tile, std::optional<size_t> other, unsigned width) {
  return [=, oracle = view.oracle](size_t begin, size_t end) {
    Bytes part(oracle.begin() + begin * width, oracle.begin() + end * width);
    auto put = [&](size_t to, size_t from) {
      const size_t first = std::max(to, begin * width), last = std::min(to + tile, end * width);
      if (first < last)
        std::copy_n(oracle.begin() + from + (first - to), last - first, part.begin() + (first - begin * width));
    };
    if (other) {
      put(0, *other);
      put(*other, 0);
    }
    return part;
  };
}

static std::optional<Decoy> decoyOf(DecoyKind kind, const AdmissionOutput &output) {
  const OutputView &view = output.view;
  const unsigned width = std::max(1u, kbrt::elementBytes(view.type));
  if (view.oracle.empty() || view.oracle.size() % width != 0)
    return std::nullopt;
  const size_t count = view.oracle.size() / width;
  const bool knowsBefore = output.before.size() == view.oracle.size();
  auto constant = [&](double value) -> Decoy {
    return [&view, value](size_t begin, size_t end) { return constantPart(view, value, begin, end); };
  };
  switch (kind) {
  case DecoyKind::Zeros:
    return [width](size_t begin, size_t end) { return Bytes((end - begin) * width); };
  case DecoyKind::NaN:
    if (!kbrt::isFloatingPoint(view.type))
      return std::nullopt;
    return constant(std::nan(""));
  case DecoyKind::Untouched:
    if (!knowsBefore)
      return std::nullopt;
    return partsOf(output.before, width);
  case DecoyKind::ConstantMean:
    // Of one element the mean is the truth.
    if (count < 2)
      return std::nullopt;
    return constant(meanOf(view, count));
  case DecoyKind::InputCopy: {
    std::optional<Decoy> copy;
    for (ArrayRef<uint8_t> input : output.inputs) {
      if (input.size() != view.oracle.size())
        continue;
      if (acceptsOutput(view, input, output.tolerance)) // the most dangerous one
        return partsOf(input, width);
      if (!copy)
        copy = partsOf(input, width);
    }
    return copy;
  }
  case DecoyKind::OtherSeed:
    if (output.otherSeed.size() != view.oracle.size())
      return std::nullopt;
    return partsOf(output.otherSeed, width);
  case DecoyKind::TailMissing: {
    if (!knowsBefore)
      return std::nullopt;
    // A program may read back more than it computes: the tail ends with the last element that changes.
    size_t end = count;
    while (end > 0 && std::memcmp(&output.before[(end - 1) * width], &view.oracle[(end - 1) * width], width) == 0)
      --end;
    const size_t tail = std::min(std::max<size_t>(1, end / 100), end);
    return replaced(view.oracle, output.before, (end - tail) * width, end * width, width);
  }
  case DecoyKind::TilePermuted: {
    const size_t tile = tileBytes(count, width);
    if (tile == 0)
      return std::nullopt;
    return permuted(view, tile, otherTile(view, tile), width);
  }
  }
  return std::nullopt;
}

std::optional<Bytes> makeDecoy(DecoyKind kind, const AdmissionOutput &output) {
  std::optional<Decoy> decoy = decoyOf(kind, output);
  if (!decoy)
    return std::nullopt;
  return (*decoy)(0, output.view.oracle.size() / std::max(1u, kbrt::elementBytes(output.view.type)));
}

/// Whether \p output rejects \p decoy: by its first or last elements, or else as a whole.
static bool rejects(const AdmissionOutput &output, const Decoy &decoy) {
  constexpr size_t part = size_t(1) << 16;
  const size_t count = output.view.oracle.size() / std::max(1u, kbrt::elementBytes(output.view.type));
  if (count > 2 * part)
    for (size_t begin : {size_t(0), count - part})
      if (!acceptsElements(output.view, begin, decoy(begin, begin + part), output.tolerance))
        return true;
  return !acceptsOutput(output.view, decoy(0, count), output.tolerance);
}

Admission admitCase(ArrayRef<AdmissionOutput> outputs) {
  Admission admission;
  std::vector<std::string> names;
  for (DecoyKind kind : allDecoys) {
    bool made = false, rejected = false;
    for (const AdmissionOutput &output : outputs) {
      if (rejected)
        break;
      std::optional<Decoy> decoy = decoyOf(kind, output);
      if (!decoy)
        continue;
      made = true;
      rejected = rejects(output, *decoy);
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
