//===- Decoys.cpp - Gate G5: wrong outputs that must be rejected ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/Decoys.h"
#include "kb-opt/Support/Parallel.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <set>

using namespace llvm;

namespace kbopt {

StringRef toString(DecoyKind kind) {
  switch (kind) {
  case DecoyKind::Zeros:
    return "zeros";
  case DecoyKind::NaN:
    return "NaN";
  case DecoyKind::Untouched:
    return "output untouched";
  case DecoyKind::ConstantMean:
    return "constant mean";
  case DecoyKind::InputCopy:
    return "copy of an input";
  case DecoyKind::OtherSeed:
    return "another seed's output";
  case DecoyKind::TailMissing:
    return "last 1 % missing";
  case DecoyKind::TilePermuted:
    return "one tile permuted";
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

/// The mean of evenly spread elements: a constant need not be the mean to the last bit.
static double meanOf(const OutputView &view, size_t count) {
  double sum = 0;
  size_t finite = 0;
  constexpr size_t most = size_t(1) << 20;
  for (size_t i = 0, step = (count + most - 1) / most; i < count; i += step) {
    double value = elementAsDouble(view.type, view.oracle, i);
    if (!std::isfinite(value))
      continue;
    sum += value;
    ++finite;
  }
  return finite ? sum / static_cast<double>(finite) : 0;
}

/// A tile is what a warp writes, and for short outputs half of them.
static size_t tileBytes(size_t count, unsigned width) {
  return std::min<size_t>(32, count / 2) * width;
}

/// Where the first tile of other content than the first begins; nothing if every tile is the same:
/// the decoy is the truth then and will be accepted.
static std::optional<size_t> otherTile(const OutputView &view, size_t tile) {
  for (size_t other = tile; other + tile <= view.oracle.size(); other += tile)
    if (std::memcmp(view.oracle.data(), view.oracle.data() + other, tile) != 0)
      return other;
  return std::nullopt;
}

/// An output may be large, and most decoys are rejected by few of their elements: a decoy is made
/// in parts.
using Decoy = PartOfBytes; // of elements

static Decoy partsOf(ArrayRef<uint8_t> bytes, unsigned width) {
  return [bytes, width](size_t begin, size_t end) {
    return Bytes(bytes.begin() + begin * width, bytes.begin() + end * width);
  };
}

/// \p bytes with what \p other has from byte \p from to byte \p to in its place.
static Decoy replaced(ArrayRef<uint8_t> bytes, const PartOfBytes &other, size_t from, size_t to,
                      unsigned width) {
  return [=](size_t begin, size_t end) {
    Bytes part(bytes.begin() + begin * width, bytes.begin() + end * width);
    const size_t first = std::max(from, begin * width), last = std::min(to, end * width);
    if (first < last)
      llvm::copy(other(first, last), part.begin() + (first - begin * width));
    return part;
  };
}

/// Where the elements end that a run changed; a program may read back more than it computes.
static size_t endOfChanges(const AdmissionOutput &output, size_t count, unsigned width) {
  constexpr size_t part = size_t(1) << 16;
  for (size_t end = count; end > 0;) {
    const size_t begin = end > part ? end - part : 0;
    const Bytes before = output.before(begin * width, end * width);
    for (; end > begin; --end)
      if (std::memcmp(&before[(end - 1 - begin) * width], &output.view.oracle[(end - 1) * width],
                      width) != 0)
        return end;
  }
  return 0;
}

/// The first tile and the one at \p other exchanged.
static Decoy permuted(const OutputView &view, size_t tile, std::optional<size_t> other,
                      unsigned width) {
  return [=, oracle = view.oracle](size_t begin, size_t end) {
    Bytes part(oracle.begin() + begin * width, oracle.begin() + end * width);
    auto put = [&](size_t to, size_t from) {
      const size_t first = std::max(to, begin * width), last = std::min(to + tile, end * width);
      if (first < last)
        std::copy_n(oracle.begin() + from + (first - to), last - first,
                    part.begin() + (first - begin * width));
    };
    if (other) {
      put(0, *other);
      put(*other, 0);
    }
    return part;
  };
}

/// Whether \p output rejects \p decoy: by its first, its last or some elements between, or else by
/// any of them.
static bool rejects(const AdmissionOutput &output, const Decoy &decoy) {
  constexpr size_t part = size_t(1) << 16, sample = size_t(1) << 12, samples = 64;
  const size_t count =
      output.view.oracle.size() / std::max(1u, kbrt::elementBytes(output.view.type));
  auto accepts = [&](size_t begin, size_t end) {
    return acceptsElements(output.view, begin, decoy(begin, end), output.tolerance);
  };
  if (count <= 2 * part)
    return !acceptsOutput(output.view, decoy(0, count), output.tolerance);
  if (!accepts(0, part) || !accepts(count - part, count))
    return true;
  for (size_t i = 1; i < samples; ++i)
    if (const size_t begin = i * (count / samples);
        !accepts(begin, std::min(begin + sample, count)))
      return true;
  std::atomic<bool> isRejected = false;
  parallelFor(std::thread::hardware_concurrency(), (count + part - 1) / part, [&](size_t i) {
    if (!isRejected && !accepts(i * part, std::min((i + 1) * part, count)))
      isRejected = true;
  });
  return isRejected;
}

static std::optional<Decoy> decoyOf(DecoyKind kind, const AdmissionOutput &output) {
  const OutputView &view = output.view;
  const unsigned width = std::max(1u, kbrt::elementBytes(view.type));
  if (view.oracle.empty() || view.oracle.size() % width != 0)
    return std::nullopt;
  const size_t count = view.oracle.size() / width;
  auto constant = [&](double value) -> Decoy {
    return
        [&view, value](size_t begin, size_t end) { return constantPart(view, value, begin, end); };
  };
  switch (kind) {
  case DecoyKind::Zeros:
    return [width](size_t begin, size_t end) { return Bytes((end - begin) * width); };
  case DecoyKind::NaN:
    if (!kbrt::isFloatingPoint(view.type))
      return std::nullopt;
    return constant(std::nan(""));
  case DecoyKind::Untouched:
    if (!output.before)
      return std::nullopt;
    return [&output, width](size_t begin, size_t end) {
      return output.before(begin * width, end * width);
    };
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
      Decoy made = partsOf(input, width);
      if (!rejects(output, made)) // the most dangerous one
        return made;
      if (!copy)
        copy = std::move(made);
    }
    return copy;
  }
  case DecoyKind::OtherSeed:
    if (output.otherSeed.size() != view.oracle.size())
      return std::nullopt;
    return partsOf(output.otherSeed, width);
  case DecoyKind::TailMissing: {
    if (!output.before)
      return std::nullopt;
    const size_t end = endOfChanges(output, count, width);
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
  return (*decoy)(0,
                  output.view.oracle.size() / std::max(1u, kbrt::elementBytes(output.view.type)));
}

/// Whether what most functions do to a number would show in \p input, of elements of \p type: it
/// has fractions, numbers of both signs and such beyond one, or integers of many values.
static bool isTelling(kbrt::ElementType type, ArrayRef<uint8_t> input) {
  const size_t count = std::min<size_t>(input.size() / kbrt::elementBytes(type), 1 << 16);
  bool fraction = false, negative = false, positive = false, large = false;
  std::set<double> values;
  for (size_t i = 0; i < count; ++i) {
    const double value = elementAsDouble(type, input, i);
    if (values.size() < 16)
      values.insert(value);
    fraction |= std::isfinite(value) && value != std::floor(value);
    negative |= value < 0;
    positive |= value > 0;
    large |= std::isfinite(value) && std::abs(value) > 1;
  }
  return kbrt::isFloatingPoint(type) ? fraction && negative && positive && large
                                     : values.size() >= 16;
}

/// Whether the program does nothing but copy an input to \p output: the very bytes, of this seed
/// and of the other one. A copy is no wrong answer then.
static bool isCopy(const AdmissionOutput &output) {
  if (output.otherSeed.empty() || output.uploads.size() != output.otherUploads.size())
    return false;
  for (auto [input, other] : llvm::zip_equal(output.uploads, output.otherUploads))
    if (input == output.view.oracle && other == output.otherSeed && input != other &&
        isTelling(output.view.type, input))
      return true;
  return false;
}

Admission admitCase(ArrayRef<AdmissionOutput> outputs) {
  Admission admission;
  std::vector<std::string> names;
  for (DecoyKind kind : allDecoys) {
    bool made = false, rejected = false;
    if (kind == DecoyKind::InputCopy && llvm::all_of(outputs, isCopy))
      continue;
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
