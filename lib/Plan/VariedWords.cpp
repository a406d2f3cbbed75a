//===- VariedWords.cpp - Recorded values in other orders and other integers ---===//
//
// Owns the variations that start from what a program uploaded: integers and records mean
// something (an index, a length), so that most of them must stay what they are.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Random.h"
#include <cstring>
#include <set>

using namespace kbopt;
using namespace kbrt;

namespace {

bool isSigned(ElementType type) {
  return type == ElementType::I8 || type == ElementType::I16 || type == ElementType::I32 ||
         type == ElementType::I64;
}
bool isInteger(ElementType type) {
  return type != ElementType::Unknown && type != ElementType::Bool && !isFloatingPoint(type);
}

/// Elements of one upload.
class Elements {
public:
  Elements(llvm::MutableArrayRef<uint8_t> bytes, uint64_t size, ElementType type)
      : bytes(bytes), size(size), type(type), count(bytes.size() / size) {}

  void shuffle(Random &random);
  void repeatFew();
  void replaceSome(Random &random);
  void replaceAll(Random &random);

private:
  uint8_t *at(uint64_t index) { return bytes.data() + index * size; }
  int64_t get(uint64_t index) {
    uint64_t bits = 0;
    std::memcpy(&bits, at(index), size); // little endian
    const unsigned unused = 64 - 8 * static_cast<unsigned>(size);
    return isSigned(type) ? static_cast<int64_t>(bits << unused) >> unused : static_cast<int64_t>(bits);
  }
  void set(uint64_t index, int64_t value) { std::memcpy(at(index), &value, size); }

  llvm::MutableArrayRef<uint8_t> bytes;
  uint64_t size;
  ElementType type;
  uint64_t count;
};

void Elements::shuffle(Random &random) {
  std::vector<uint8_t> kept(size);
  for (uint64_t i = count; i > 1; --i) {
    uint8_t *one = at(i - 1), *other = at(random.below(i));
    std::memcpy(kept.data(), one, size);
    std::memmove(one, other, size);
    std::memcpy(other, kept.data(), size);
  }
}

void Elements::repeatFew() {
  // Mostly the first: counters of one byte overflow.
  for (uint64_t i = 1; i < count * 7 / 8; ++i)
    std::memcpy(at(i), at(0), size);
  const uint64_t rest = std::max<uint64_t>(1, count * 7 / 8);
  for (uint64_t i = rest + 2; i < count; ++i)
    std::memcpy(at(i), at(rest + i % 2), size);
}

void Elements::replaceSome(Random &random) {
  if (!isInteger(type) || count == 0)
    return;
  int64_t low = get(0), high = get(0);
  for (uint64_t i = 0; i < count; ++i) {
    low = std::min(low, get(i));
    high = std::max(high, get(i));
  }
  const int64_t others[] = {isSigned(type) ? -high - 1 : high + 1, 0, high + 1, low - isSigned(type),
                            isSigned(type) ? -1 : 1};
  for (uint64_t i = random.below(8); i < count; i += 1 + random.below(15))
    set(i, others[random.below(std::size(others))]);
}

void Elements::replaceAll(Random &random) {
  if (!isInteger(type))
    return;
  const uint64_t bound = size == 1 ? 128 : size == 2 ? 1 << 14 : size == 4 ? 1 << 20 : uint64_t{1} << 34;
  for (uint64_t i = 0; i < count; ++i) {
    int64_t value = static_cast<int64_t>(random.below(bound));
    set(i, isSigned(type) && random.below(2) ? -value : value);
  }
}

llvm::Error beyond(uint64_t upload) {
  return llvm::make_error<StoreError>("data.bin ends before upload " + std::to_string(upload));
}

/// The uploads of \p plan in order; an error if one leaves \p data.
llvm::Expected<std::vector<const UploadStep *>> uploadsOf(const Plan &plan, llvm::StringRef data) {
  std::vector<const UploadStep *> uploads;
  for (const Step &step : plan.steps)
    if (const auto *upload = std::get_if<UploadStep>(&step)) {
      if (upload->data > data.size() || upload->to.bytes() > data.size() - upload->data)
        return beyond(uploads.size());
      uploads.push_back(upload);
    }
  return uploads;
}

llvm::StringRef bytesOf(const UploadStep &upload, llvm::StringRef data) {
  return data.substr(upload.data, upload.to.bytes());
}

} // namespace

llvm::Expected<VariedInputs> kbopt::varyRecorded(const Plan &plan, llvm::StringRef data, uint64_t seed,
                                                 InputDistribution distribution,
                                                 std::optional<unsigned> only,
                                                 const RecordSizes &records) {
  auto uploads = uploadsOf(plan, data);
  if (!uploads)
    return uploads.takeError();
  VariedInputs result;
  result.data = data.str();
  std::set<uint64_t> done;
  for (auto [number, upload] : llvm::enumerate(*uploads)) {
    const uint32_t buffer = upload->to.at.buffer;
    const ElementType type = plan.buffers[buffer].element;
    uint64_t size = isFloatingPoint(type) ? 0 : elementBytes(type); // those are varied in other cases
    if (type == ElementType::Unknown && buffer < records.size())
      size = records[buffer];
    if ((only && number != *only) || !size || upload->to.bytes() % size || !upload->pointers.empty() ||
        !done.insert(upload->data).second) {
      ++result.uploadsKept;
      continue;
    }
    auto *first = reinterpret_cast<uint8_t *>(result.data.data()) + upload->data;
    Elements elements({first, upload->to.bytes()}, size, type);
    Random random(seed * 0x9e3779b97f4a7c15u + number);
    switch (distribution) {
    case InputDistribution::Shuffled:
      elements.shuffle(random);
      break;
    case InputDistribution::FewOfThem:
      elements.repeatFew();
      break;
    case InputDistribution::SomeOther:
      elements.replaceSome(random);
      break;
    default:
      elements.replaceAll(random);
    }
    ++result.uploadsVaried;
  }
  return result;
}

llvm::Expected<std::string> kbopt::varyLike(const Plan &original, llvm::StringRef before,
                                            llvm::StringRef after, const Plan &plan,
                                            llvm::StringRef data) {
  auto known = uploadsOf(original, before), uploads = uploadsOf(plan, data);
  if (!known || !uploads)
    return llvm::joinErrors(known.takeError(), uploads.takeError());
  std::string result = data.str();
  for (auto [number, upload] : llvm::enumerate(*uploads)) {
    llvm::StringRef bytes = bytesOf(*upload, data);
    // The upload of the same number, one of the same bytes, one that holds them.
    std::optional<uint64_t> from;
    if (number < known->size() && bytesOf(*(*known)[number], before) == bytes)
      from = (*known)[number]->data;
    for (bool whole : {true, false})
      for (const UploadStep *other : *known) {
        llvm::StringRef its = bytesOf(*other, before);
        if (from || its.size() < bytes.size() || whole != (its.size() == bytes.size()))
          continue;
        if (size_t place = its.find(bytes); place != llvm::StringRef::npos)
          from = other->data + place;
      }
    if (from && *from + bytes.size() <= after.size())
      std::memcpy(result.data() + upload->data, after.data() + *from, bytes.size());
  }
  return result;
}
