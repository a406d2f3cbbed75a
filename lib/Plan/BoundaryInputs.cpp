//===- BoundaryInputs.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/BoundaryInputs.h"
#include "FloatBits.h"
#include "VariedTypes.h"
#include "kb-opt/Support/Random.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>

using namespace kbopt;
using namespace kbrt;

namespace {

/// One element in so many is a value of the dictionary.
constexpr uint64_t sprinkleEvery = 4;

llvm::APFloat fromBits(uint64_t bits, ElementType type) {
  return llvm::APFloat(semanticsOf(type), llvm::APInt(8 * elementBytes(type), bits, false, true));
}

/// The elements of one upload.
class Elements {
public:
  Elements(llvm::MutableArrayRef<uint8_t> bytes, ElementType type)
      : bytes(bytes), type(type), size(elementBytes(type)), count(bytes.size() / size) {}

  /// Whether they begin with zero and never fall, as the offsets of an array's parts.
  bool areOffsets() const {
    uint64_t before = 0;
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t value = 0;
      std::memcpy(&value, bytes.data() + i * size, size);
      if (value < before || (i == 0 && value))
        return false;
      before = value;
    }
    return count > 2 && before;
  }
  void set(uint64_t index, uint64_t bits) { std::memcpy(bytes.data() + index * size, &bits, size); }
  /// Some of them become \p values, each about as often as the others.
  void sprinkle(llvm::ArrayRef<uint64_t> values, Random &random) {
    uint64_t next = random.below(values.size());
    for (uint64_t i = 0; i < count; ++i)
      if (random.below(sprinkleEvery) == 0)
        set(i, values[next++ % values.size()]);
  }
  /// Each number by a factor of its own between 1 and 2.
  void stretch(Random &random);
  /// A few of each of \p values, each in a part of the elements of its own.
  void place(llvm::ArrayRef<uint64_t> values, Random &random) {
    constexpr uint64_t rare = 256, mostOfOne = 8;
    const uint64_t times = std::clamp<uint64_t>(count / rare, 1, mostOfOne) * values.size(),
                   part = count / times;
    for (uint64_t i = 0; i < times && part; ++i)
      set(i * part + random.below(part), values[i % values.size()]);
  }
  /// The first and the last eighth become \p ends, the third in the middle \p middle: whole rows,
  /// where there are a few.
  void setRuns(uint64_t ends, uint64_t middle) {
    auto setAll = [&](uint64_t begin, uint64_t end, uint64_t bits) {
      for (uint64_t i = begin; i < end; ++i)
        set(i, bits);
    };
    setAll(0, count / 8, ends);
    setAll(count / 3, count - count / 3, middle);
    setAll(count - count / 8, count, ends);
  }

private:
  llvm::MutableArrayRef<uint8_t> bytes;
  ElementType type;
  uint64_t size, count;
};

/// \p bytes, which hold numbers of type \p T, in the way of Elements::stretch.
template <typename T> void stretchAs(llvm::MutableArrayRef<uint8_t> bytes, Random &random) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    number = static_cast<T>(number * (1 + random.uniform()));
    std::memcpy(bytes.data() + at, &number, sizeof number);
  }
}

void Elements::stretch(Random &random) {
  if (type == ElementType::F32)
    return stretchAs<float>(bytes, random);
  if (type == ElementType::F64)
    return stretchAs<double>(bytes, random);
  const llvm::fltSemantics &semantics = semanticsOf(type);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    llvm::APFloat number = fromBits(bits, type);
    bool losesInfo;
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    set(i, floatBits(number.convertToDouble() * (1 + random.uniform()), semantics));
  }
}

/// Bits of the finite values at which programs round, vanish or branch, and of \p constants with
/// their neighbours.
std::vector<uint64_t> dictionary(ElementType type, const ProgramConstants &constants) {
  const llvm::fltSemantics &semantics = semanticsOf(type);
  std::vector<uint64_t> values;
  auto add = [&](const llvm::APFloat &number) {
    if (number.isFinite())
      values.push_back(number.bitcastToAPInt().getZExtValue());
  };
  auto addBothSigns = [&](llvm::APFloat number) {
    add(number);
    number.changeSign();
    add(number);
  };
  addBothSigns(llvm::APFloat::getZero(semantics));
  addBothSigns(llvm::APFloat::getSmallest(semantics));
  addBothSigns(llvm::APFloat::getSmallestNormalized(semantics));
  llvm::APFloat subnormal = llvm::APFloat::getSmallestNormalized(semantics);
  subnormal.next(/*nextDown=*/true);
  addBothSigns(subnormal);
  auto of = [&](double value) { return fromBits(floatBits(value, semantics), type); };
  for (double tie : {0.5, 1.5, 2.5, 3.5})
    addBothSigns(of(tie));
  auto addAround = [&](double value) {
    llvm::APFloat number = of(value), above = number, below = number;
    above.next(/*nextDown=*/false);
    below.next(/*nextDown=*/true);
    add(number);
    add(above);
    add(below);
  };
  addAround(1);
  for (double number : constants.numbers) {
    addAround(number);
    addAround(-number);
  }
  for (int64_t number : constants.integers)
    addAround(static_cast<double>(number));
  return values;
}

/// Bits of the integers at the ends of \p type, around zero, and around \p constants.
std::vector<uint64_t> integerDictionary(ElementType type, const ProgramConstants &constants) {
  const unsigned width = 8 * elementBytes(type);
  const uint64_t top = uint64_t{1} << (width - 1);
  std::vector<uint64_t> values = {0, 1, ~uint64_t{0}, top, top - 1};
  for (int64_t number : constants.integers)
    for (int64_t distance : {-1, 0, 1})
      values.push_back(static_cast<uint64_t>(number) + static_cast<uint64_t>(distance));
  return values;
}

/// Bits of what a sum, a product or a comparison does not get rid of. The largest finite numbers
/// are not among them: sums with them overflow in one order and not in another.
std::vector<uint64_t> specials(ElementType type) {
  const llvm::fltSemantics &semantics = semanticsOf(type);
  const double large = std::sqrt(llvm::APFloat::getLargest(semantics).convertToDouble()) / 4;
  return {floatBits(large, semantics), floatBits(-large, semantics)};
}

std::vector<uint64_t> notFinite(ElementType type) {
  const llvm::fltSemantics &semantics = semanticsOf(type);
  return {floatBits(std::nan(""), semantics), floatBits(HUGE_VAL, semantics),
          floatBits(-HUGE_VAL, semantics)};
}

uint64_t negativeZero(ElementType type) { return uint64_t{1} << (8 * elementBytes(type) - 1); }

/// Bits of the largest and of the lowest value.
std::pair<uint64_t, uint64_t> endsOf(ElementType type) {
  if (isFloatingPoint(type)) {
    const std::vector<uint64_t> large = specials(type);
    return {large.front(), large.back()};
  }
  const unsigned width = 8 * elementBytes(type);
  const bool isSigned = type == ElementType::I8 || type == ElementType::I16 ||
                        type == ElementType::I32 || type == ElementType::I64;
  return isSigned ? std::pair((uint64_t{1} << (width - 1)) - 1, uint64_t{1} << (width - 1))
                  : std::pair(~uint64_t{0}, uint64_t{0});
}

/// Changes \p elements of an upload, which is the one that is named or not, in the way of \p
/// distribution; false if it leaves them.
bool change(Elements elements, ElementType type, bool isNamed, InputDistribution distribution,
            const ProgramConstants &constants, Random &random) {
  const bool isFloat = isFloatingPoint(type);
  switch (distribution) {
  case InputDistribution::SprinkledNumbers:
    if (!isFloat || !isNamed)
      return false;
    elements.stretch(random);
    elements.sprinkle(dictionary(type, constants), random);
    return true;
  case InputDistribution::SprinkledIntegers:
    if (isFloat || !isNamed)
      return false;
    elements.sprinkle(integerDictionary(type, constants), random);
    return true;
  case InputDistribution::FewSpecial:
    if (!isFloat)
      return false;
    if (isNamed)
      elements.place(specials(type), random);
    else
      elements.setRuns(0, 0);
    return true;
  case InputDistribution::NotFinite:
    if (!isFloat || !isNamed)
      return false;
    elements.place(notFinite(type), random);
    return true;
  case InputDistribution::ZeroRuns:
    if (!isNamed && !isFloat)
      return false;
    if (isNamed)
      elements.setRuns(0, isFloat ? negativeZero(type) : 0);
    else
      elements.stretch(random);
    return true;
  case InputDistribution::EndRuns:
    if (!isNamed)
      return false;
    elements.setRuns(endsOf(type).first, endsOf(type).second);
    return true;
  default:
    llvm_unreachable("the others are made elsewhere");
  }
}

} // namespace

ProgramConstants ProgramConstants::without(const ProgramConstants &other, size_t most) const {
  ProgramConstants rest;
  for (double number : numbers)
    if (!other.numbers.count(number) && rest.numbers.size() < most)
      rest.numbers.insert(number);
  for (int64_t number : integers)
    if (!other.integers.count(number) && rest.integers.size() < most)
      rest.integers.insert(number);
  return rest;
}

std::string kbopt::describe(const ProgramConstants &constants) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto separate = [&] {
    if (!text.empty())
      os << ", ";
  };
  for (double number : constants.numbers) {
    separate();
    os << llvm::format("%g", number);
  }
  for (int64_t number : constants.integers) {
    separate();
    os << number;
  }
  return text;
}

llvm::Expected<unsigned> kbopt::fillIntegers(const Plan &plan, llvm::MutableArrayRef<uint8_t> out) {
  llvm::Expected<std::vector<NumberUpload>> uploads =
      numberUploads(plan, {reinterpret_cast<const char *>(out.data()), out.size()});
  if (!uploads)
    return uploads.takeError();
  std::optional<uint8_t> letter;
  unsigned filled = 0;
  for (const NumberUpload &upload : *uploads) {
    if (!isInteger(upload.type))
      continue;
    const uint64_t size = elementBytes(upload.type);
    const llvm::MutableArrayRef<uint8_t> all =
        out.slice(upload.step->data, upload.step->to.bytes() / size * size);
    if (size == 1)
      all.front() = *(letter = letter.value_or(all.front()));
    for (uint64_t at = size; at < all.size(); at += size)
      std::memcpy(all.data() + at, all.data(), size);
    ++filled;
  }
  return filled;
}

llvm::Expected<VariedUploads> kbopt::varyAtBoundaries(const Plan &plan, llvm::StringRef data,
                                                      llvm::MutableArrayRef<uint8_t> out,
                                                      uint64_t seed, InputDistribution distribution,
                                                      std::optional<unsigned> only,
                                                      const ProgramConstants &constants) {
  llvm::Expected<std::vector<NumberUpload>> uploads = numberUploads(plan, data);
  if (!uploads)
    return uploads.takeError();
  if (!data.empty())
    std::memcpy(out.data(), data.data(), data.size());
  VariedUploads result;
  for (const NumberUpload &upload : *uploads) {
    Random random(seed * 0x9e3779b97f4a7c15u + upload.number);
    Elements elements({out.data() + upload.step->data, upload.step->to.bytes()}, upload.type);
    const bool isNamed = !only || *only == upload.number,
               isKept = !isFloatingPoint(upload.type) && elements.areOffsets();
    result.uploadsVaried +=
        !isKept && change(elements, upload.type, isNamed, distribution, constants, random);
  }
  result.uploadsKept =
      static_cast<unsigned>(llvm::count_if(
          plan.steps, [](const Step &step) { return std::holds_alternative<UploadStep>(step); })) -
      result.uploadsVaried;
  return result;
}
