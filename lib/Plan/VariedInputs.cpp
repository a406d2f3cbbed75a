//===- VariedInputs.cpp - Other input values for a plan ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "FloatBits.h"
#include "VariedTypes.h"
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Parallel.h"
#include "kb-opt/Support/Random.h"
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>

using namespace kbopt;
using namespace kbrt;

namespace {

/// Values of one buffer in the order of their places.
class Values {
public:
  Values(ElementType element, InputDistribution distribution, uint64_t seed, unsigned lessenings)
      : semantics(semanticsOf(element)), distribution(distribution), random(seed),
        equal(floatBits(random.normal(), semantics)),
        large(std::pow(std::sqrt(llvm::APFloat::getLargest(semantics).convertToDouble()) / 4,
                       std::ldexp(1, -static_cast<int>(lessenings)))),
        scale(std::ldexp(1, -3 * static_cast<int>(lessenings))) {}

  /// Whether `skip` goes anywhere at once: an element takes a known number of draws.
  bool canSkip() const {
    return distribution != InputDistribution::Denormal &&
           distribution != InputDistribution::NonFinite &&
           distribution != InputDistribution::WholeNumbers;
  }
  /// As if \p elements more had been asked for.
  void skip(uint64_t elements) {
    count += elements;
    if (distribution != InputDistribution::AllEqual)
      random.skip(2 * elements);
  }

  /// Bits of the next element.
  uint64_t next() {
    uint64_t index = count++;
    switch (distribution) {
    case InputDistribution::Normal:
      return floatBits(random.normal(), semantics);
    case InputDistribution::ScaledShifted:
      return floatBits((3 + 10 * random.normal()) * scale, semantics);
    case InputDistribution::AllEqual:
      return equal;
    case InputDistribution::OutlierRows:
      // One run of 32 in eight stands out.
      return floatBits(random.normal() * (index / 32 % 8 == 5 ? 1000 : 1) * scale, semantics);
    case InputDistribution::Denormal:
      return denormal();
    case InputDistribution::LargeMagnitude:
      return floatBits((random.below(2) ? 1 : -1) * large * (0.5 + random.uniform()), semantics);
    case InputDistribution::NonFinite:
      return nonFinite();
    case InputDistribution::FewValues: {
      static constexpr double few[] = {-1, -0.0, 0, 1, 2};
      double place = random.normal() * 4; // any of the five about as often
      return floatBits(few[static_cast<unsigned>(std::fabs(place) * 1000) % std::size(few)],
                       semantics);
    }
    case InputDistribution::Negative:
      return floatBits(-std::fabs(random.normal()), semantics);
    case InputDistribution::Offset:
      return floatBits((300 + 0.1 * random.normal()) * scale, semantics);
    case InputDistribution::WholeNumbers:
      return floatBits(static_cast<double>(random.below(9)) - 4, semantics);
    default:
      break; // the others are made from recorded values
    }
    llvm_unreachable("all distributions are handled");
  }

private:
  /// One in four is a zero of either sign. The others leave the upper bits of the mantissa free, so
  /// that sums of thousands of them round nowhere in any order: larger ones leave the range in
  /// which all sums are exact in one order and not in another, and what the original then makes of
  /// a sum that cancelled is no useful result.
  uint64_t denormal() {
    unsigned mantissaBits = (llvm::APFloat::semanticsPrecision(semantics) - 1) * 3 / 5;
    uint64_t sign = random.below(2) << (llvm::APFloat::semanticsSizeInBits(semantics) - 1);
    uint64_t mantissa = random.below(4) ? 1 + random.below((uint64_t{1} << mantissaBits) - 1) : 0;
    return sign | mantissa;
  }
  /// One in 97 is NaN, +Inf or -Inf.
  uint64_t nonFinite() {
    double value = random.normal();
    if (random.below(97) == 0) {
      uint64_t which = random.below(3);
      value = which == 0 ? std::nan("") : which == 1 ? HUGE_VAL : -HUGE_VAL;
    }
    return floatBits(value, semantics);
  }

  const llvm::fltSemantics &semantics;
  InputDistribution distribution;
  Random random;
  uint64_t equal; ///< bits
  double large, scale;
  uint64_t count = 0;
};

} // namespace

llvm::StringRef kbopt::toString(InputDistribution distribution) {
  switch (distribution) {
  case InputDistribution::Normal:
    return "normal";
  case InputDistribution::ScaledShifted:
    return "scaled-shifted";
  case InputDistribution::AllEqual:
    return "all-equal";
  case InputDistribution::OutlierRows:
    return "outlier-rows";
  case InputDistribution::Denormal:
    return "denormal";
  case InputDistribution::LargeMagnitude:
    return "large-magnitude";
  case InputDistribution::NonFinite:
    return "non-finite";
  case InputDistribution::FewValues:
    return "few-values";
  case InputDistribution::Negative:
    return "negative";
  case InputDistribution::Offset:
    return "offset";
  case InputDistribution::WholeNumbers:
    return "whole-numbers";
  case InputDistribution::Shuffled:
    return "shuffled";
  case InputDistribution::FewOfThem:
    return "few-of-them";
  case InputDistribution::SomeOther:
    return "some-other";
  case InputDistribution::AnyInteger:
    return "any-integer";
  case InputDistribution::AnyBits:
    return "any-bits";
  case InputDistribution::Moved:
    return "moved-together";
  case InputDistribution::AnyIndex:
    return "any-index";
  case InputDistribution::SprinkledNumbers:
    return "sprinkled";
  case InputDistribution::SprinkledIntegers:
    return "sprinkled-integers";
  case InputDistribution::FewSpecial:
    return "few-special";
  case InputDistribution::NotFinite:
    return "not-finite";
  case InputDistribution::ZeroRuns:
    return "zero-runs";
  case InputDistribution::EndRuns:
    return "end-runs";
  case InputDistribution::Searched:
    return "searched";
  }
  llvm_unreachable("all distributions are handled");
}

unsigned kbopt::mostLessenings(InputDistribution distribution) {
  switch (distribution) {
  case InputDistribution::ScaledShifted:
  case InputDistribution::OutlierRows:
  case InputDistribution::LargeMagnitude:
  case InputDistribution::Offset:
    return 6; // even float64's large numbers are below a thousand then
  default:
    return 0;
  }
}

void kbopt::fillDistribution(llvm::MutableArrayRef<uint8_t> bytes, ElementType element,
                             InputDistribution distribution, uint64_t seed, unsigned lessenings) {
  unsigned size = elementBytes(element);
  assert(isFloatingPoint(element) && "only floating-point values are varied");
  const size_t count = bytes.size() / size, piece = size_t(1) << 18;
  const Values first(element, distribution, seed, lessenings);
  auto fill = [&](Values values, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      uint64_t bits = values.next();
      std::memcpy(bytes.data() + i * size, &bits, size); // little endian
    }
  };
  if (!first.canSkip() || count < 4 * piece)
    return fill(first, 0, count);
  parallelFor(std::max(1u, std::thread::hardware_concurrency()), (count + piece - 1) / piece,
              [&](size_t i) {
                Values values = first;
                values.skip(i * piece);
                fill(values, i * piece, std::min(count, (i + 1) * piece));
              });
}

/// The type by which \p upload may be varied; Unknown if it may not.
static ElementType variedType(const Plan &plan, const UploadStep &upload) {
  ElementType element = plan.buffers[upload.to.at.buffer].element;
  unsigned size = elementBytes(element);
  bool fits = isFloatingPoint(element) && upload.to.at.offset % size == 0 &&
              upload.to.width % size == 0 && upload.to.pitch % size == 0;
  return fits ? element : ElementType::Unknown;
}

llvm::Expected<std::map<uint64_t, ElementType>> kbopt::variedTypes(const Plan &plan,
                                                                   llvm::StringRef data) {
  std::map<uint64_t, ElementType> types;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    auto *upload = std::get_if<UploadStep>(&plan.steps[i]);
    if (!upload)
      continue;
    if (upload->data > data.size() || upload->to.bytes() > data.size() - upload->data)
      return llvm::make_error<StoreError>("data.bin ends before the upload of step " +
                                          std::to_string(i));
    ElementType type = variedType(plan, *upload);
    auto [known, isNew] = types.try_emplace(upload->data, type);
    if (!isNew && known->second != type)
      known->second = ElementType::Unknown;
  }
  return types;
}

llvm::Expected<std::vector<NumberUpload>> kbopt::numberUploads(const Plan &plan,
                                                               llvm::StringRef data) {
  llvm::Expected<std::map<uint64_t, ElementType>> types = variedTypes(plan, data);
  if (!types)
    return types.takeError();
  std::vector<NumberUpload> all;
  std::set<uint64_t> done;
  unsigned number = 0;
  for (const Step &step : plan.steps) {
    const auto *upload = std::get_if<UploadStep>(&step);
    if (!upload)
      continue;
    const unsigned own = number++;
    ElementType type = (*types)[upload->data];
    if (const ElementType element = plan.buffers[upload->to.at.buffer].element; isInteger(element))
      type = element;
    if (type != ElementType::Unknown && upload->pointers.empty() &&
        upload->to.bytes() >= elementBytes(type) && done.insert(upload->data).second)
      all.push_back({upload, own, type});
  }
  return all;
}

/// Copies what no upload of a known type in \p types begins at, so that nothing is copied that is
/// written again. Uploads share their bytes wholly or not at all.
static void copyKept(const Plan &plan, const std::map<uint64_t, ElementType> &types,
                     llvm::StringRef data, llvm::MutableArrayRef<uint8_t> out) {
  std::map<uint64_t, uint64_t> varied; // begin and end
  for (const Step &step : plan.steps)
    if (const auto *upload = std::get_if<UploadStep>(&step))
      if (types.at(upload->data) != ElementType::Unknown) {
        uint64_t &end = varied[upload->data];
        end = std::max(end, upload->data + upload->to.bytes());
      }
  varied[data.size()] = data.size();
  uint64_t at = 0;
  for (auto [begin, end] : varied) {
    if (begin > at)
      std::memcpy(out.data() + at, data.data() + at, begin - at);
    at = std::max(at, end);
  }
}

llvm::Expected<VariedUploads> kbopt::varyInputs(const Plan &plan, llvm::StringRef data,
                                                llvm::MutableArrayRef<uint8_t> out, uint64_t seed,
                                                InputDistribution distribution, unsigned lessenings,
                                                bool alike) {
  llvm::Expected<std::map<uint64_t, ElementType>> types = variedTypes(plan, data);
  if (!types)
    return types.takeError();
  copyKept(plan, *types, data, out);
  VariedUploads result;
  uint64_t ordinal = 0; // of the upload: steps between uploads change no values
  std::set<uint64_t> done;
  for (const Step &step : plan.steps) {
    auto *upload = std::get_if<UploadStep>(&step);
    if (!upload)
      continue;
    ++ordinal;
    ElementType element = (*types)[upload->data];
    if (element == ElementType::Unknown) {
      ++result.uploadsKept;
      continue;
    }
    uint8_t *first = out.data() + upload->data;
    if (done.insert(upload->data).second)
      fillDistribution({first, upload->to.bytes()}, element, distribution,
                       seed * 0x9e3779b97f4a7c15u + (alike ? 0 : ordinal), lessenings);
    ++result.uploadsVaried;
  }
  return result;
}

llvm::Expected<VariedInputs> kbopt::varyInputs(const Plan &plan, llvm::StringRef data,
                                               uint64_t seed, InputDistribution distribution,
                                               unsigned lessenings) {
  VariedInputs result;
  result.data.resize(data.size());
  auto uploads =
      varyInputs(plan, data, {reinterpret_cast<uint8_t *>(result.data.data()), data.size()}, seed,
                 distribution, lessenings);
  if (!uploads)
    return uploads.takeError();
  static_cast<VariedUploads &>(result) = *uploads;
  return result;
}
