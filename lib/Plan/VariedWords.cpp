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
  void replaceByBits(Random &random);
  void reach(Random &random, llvm::ArrayRef<uint64_t> lengths);

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

void Elements::replaceByBits(Random &random) {
  if (!isInteger(type))
    return;
  const uint64_t ends[] = {~uint64_t{0}, 0, uint64_t{1} << (8 * size - 1), (uint64_t{1} << (8 * size - 1)) - 1};
  for (uint64_t i = 0; i < count; ++i)
    set(i, static_cast<int64_t>(random.below(16) ? random.next() : ends[random.below(std::size(ends))]));
}

/// Takes the elements for indices into the shortest array of \p lengths that is longer than they say.
void Elements::reach(Random &random, llvm::ArrayRef<uint64_t> lengths) {
  if (!isInteger(type) || count == 0)
    return;
  int64_t high = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (get(i) < 0)
      return;
    high = std::max(high, get(i));
  }
  uint64_t end = 0;
  for (uint64_t length : lengths)
    if (length > static_cast<uint64_t>(high) + 1 && (!end || length < end))
      end = length;
  for (uint64_t i = 0; end && i < count; i += 2)
    set(i, static_cast<int64_t>(random.below(end)));
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

/// Bytes of what \p upload may be varied by; 0 if it may not.
static uint64_t wordBytes(const Plan &plan, const UploadStep &upload, const RecordSizes &records) {
  const uint32_t buffer = upload.to.at.buffer;
  const ElementType type = plan.buffers[buffer].element;
  uint64_t size = isFloatingPoint(type) ? 0 : elementBytes(type); // those are varied in other cases
  if (type == ElementType::Unknown && buffer < records.size())
    size = records[buffer];
  return size && upload.to.bytes() % size == 0 && upload.pointers.empty() ? size : 0;
}

std::vector<UploadWords> kbopt::uploadWords(const Plan &plan, const RecordSizes &records) {
  std::vector<UploadWords> words;
  for (const Step &step : plan.steps)
    if (const auto *upload = std::get_if<UploadStep>(&step)) {
      const bool known = wordBytes(plan, *upload, records) != 0;
      words.push_back(!known ? UploadWords::Kept
                             : isInteger(plan.buffers[upload->to.at.buffer].element) ? UploadWords::Integers
                                                                                    : UploadWords::Records);
    }
  return words;
}

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
  std::vector<uint64_t> lengths;
  for (const Buffer &buffer : plan.buffers)
    lengths.push_back(buffer.bytes / std::max(1u, elementBytes(buffer.element)));
  for (auto [number, upload] : llvm::enumerate(*uploads)) {
    const ElementType type = plan.buffers[upload->to.at.buffer].element;
    const uint64_t size = wordBytes(plan, *upload, records);
    if ((only && number != *only) || !size || !done.insert(upload->data).second) {
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
    case InputDistribution::AnyBits:
      elements.replaceByBits(random);
      break;
    case InputDistribution::AnyIndex:
      elements.reach(random, lengths);
      break;
    default:
      elements.replaceAll(random);
    }
    ++result.uploadsVaried;
  }
  return result;
}

std::optional<std::vector<KnownPiece>> kbopt::findPieces(llvm::ArrayRef<llvm::StringRef> known,
                                                        llvm::StringRef bytes) {
  for (bool whole : {true, false})
    for (auto [number, other] : llvm::enumerate(known)) {
      if (other.size() < bytes.size() || whole != (other.size() == bytes.size()))
        continue;
      if (size_t place = other.find(bytes); place != llvm::StringRef::npos)
        return {{{number, place, bytes.size()}}};
    }
  // Whole ones beside each other, the longest that fits at each place.
  constexpr uint64_t leastPiece = 64;
  std::vector<KnownPiece> pieces;
  while (!bytes.empty()) {
    std::optional<size_t> best;
    for (auto [number, other] : llvm::enumerate(known))
      if (other.size() >= leastPiece && bytes.starts_with(other) && (!best || other.size() > known[*best].size()))
        best = number;
    if (!best)
      return std::nullopt;
    pieces.push_back({*best, 0, known[*best].size()});
    bytes = bytes.drop_front(known[*best].size());
  }
  return pieces;
}

llvm::Expected<std::string> kbopt::varyLike(const Plan &original, llvm::StringRef before,
                                            llvm::StringRef after, const Plan &plan,
                                            llvm::StringRef data) {
  auto known = uploadsOf(original, before), uploads = uploadsOf(plan, data);
  if (!known || !uploads)
    return llvm::joinErrors(known.takeError(), uploads.takeError());
  std::string result = data.str();
  std::vector<llvm::StringRef> all;
  for (const UploadStep *other : *known)
    all.push_back(bytesOf(*other, before));
  for (auto [number, upload] : llvm::enumerate(*uploads)) {
    llvm::StringRef bytes = bytesOf(*upload, data);
    // The upload of the same number goes first.
    std::optional<std::vector<KnownPiece>> pieces;
    if (number < all.size() && all[number] == bytes)
      pieces = {{{number, 0, bytes.size()}}};
    else
      pieces = findPieces(all, bytes);
    uint64_t to = upload->data;
    for (const KnownPiece &piece : pieces.value_or(std::vector<KnownPiece>())) {
      const uint64_t from = (*known)[piece.number]->data + piece.offset;
      if (from + piece.bytes <= after.size())
        std::memcpy(result.data() + to, after.data() + from, piece.bytes);
      to += piece.bytes;
    }
  }
  return result;
}
