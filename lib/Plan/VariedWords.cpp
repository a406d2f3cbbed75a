//===- VariedWords.cpp - Recorded values in other orders and other integers ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the variations that start from what a program uploaded: integers and records mean
// something (an index, a length), so that most of them must stay what they are.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Plan/HostValues.h"
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Random.h"
#include "llvm/Support/xxhash.h"
#include <cstring>
#include <map>
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
  void move();
  void reach(Random &random, llvm::ArrayRef<uint64_t> lengths);
  /// Whether each element is where the next part of an array of one of \p lengths begins: from
  /// zero, never less than the one before, to the end.
  bool areOffsets(llvm::ArrayRef<uint64_t> lengths);
  /// Other offsets with the same end: the parts in another order, nearly all in the first, or of
  /// any length.
  void replaceOffsets(Random &random, InputDistribution distribution);

private:
  uint8_t *at(uint64_t index) { return bytes.data() + index * size; }
  int64_t get(uint64_t index) {
    uint64_t bits = 0;
    std::memcpy(&bits, at(index), size); // little endian
    const unsigned unused = 64 - 8 * static_cast<unsigned>(size);
    return isSigned(type) ? static_cast<int64_t>(bits << unused) >> unused
                          : static_cast<int64_t>(bits);
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
  const int64_t others[] = {isSigned(type) ? -high - 1 : high + 1, 0, high + 1,
                            low - isSigned(type), isSigned(type) ? -1 : 1};
  for (uint64_t i = random.below(8); i < count; i += 1 + random.below(15))
    set(i, others[random.below(std::size(others))]);
}

void Elements::replaceAll(Random &random) {
  if (!isInteger(type))
    return;
  const uint64_t bound = size == 1   ? 128
                         : size == 2 ? 1 << 14
                         : size == 4 ? 1 << 20
                                     : uint64_t{1} << 34;
  for (uint64_t i = 0; i < count; ++i) {
    int64_t value = static_cast<int64_t>(random.below(bound));
    set(i, isSigned(type) && random.below(2) ? -value : value);
  }
}

void Elements::replaceByBits(Random &random) {
  if (!isInteger(type))
    return;
  const uint64_t ends[] = {~uint64_t{0}, 0, uint64_t{1} << (8 * size - 1),
                           (uint64_t{1} << (8 * size - 1)) - 1};
  for (uint64_t i = 0; i < count; ++i)
    set(i, static_cast<int64_t>(random.below(16) ? random.next()
                                                 : ends[random.below(std::size(ends))]));
}

/// Keys that are looked for elsewhere are found all the same, at other places of a table, and more
/// of them at one.
void Elements::move() {
  constexpr uint64_t factor = 64, distance = 1009;
  for (uint64_t i = 0; i < count && isInteger(type); ++i)
    set(i, static_cast<int64_t>(factor * static_cast<uint64_t>(get(i)) + distance));
}

/// Takes the elements for indices into the shortest array of \p lengths that is longer than they
/// say.
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

bool Elements::areOffsets(llvm::ArrayRef<uint64_t> lengths) {
  constexpr uint64_t fewest = 3;
  if (!isInteger(type) || count < fewest || get(0) != 0)
    return false;
  for (uint64_t i = 1; i < count; ++i)
    if (get(i) < get(i - 1))
      return false;
  const int64_t end = get(count - 1);
  return end > 0 && llvm::is_contained(lengths, static_cast<uint64_t>(end));
}

void Elements::replaceOffsets(Random &random, InputDistribution distribution) {
  const int64_t end = get(count - 1);
  std::vector<int64_t> others; // all but the first and the last
  if (distribution == InputDistribution::Shuffled) {
    std::vector<int64_t> parts;
    for (uint64_t i = 1; i < count; ++i)
      parts.push_back(get(i) - get(i - 1));
    for (uint64_t i = parts.size(); i > 1; --i)
      std::swap(parts[i - 1], parts[random.below(i)]);
    for (int64_t part : llvm::ArrayRef(parts).drop_back())
      others.push_back((others.empty() ? 0 : others.back()) + part);
  } else if (distribution == InputDistribution::FewOfThem) {
    others.assign(count - 2, end - end / 8);
  } else {
    for (uint64_t i = 2; i < count; ++i)
      others.push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(end) + 1)));
    llvm::sort(others);
  }
  for (const auto &[i, value] : llvm::enumerate(others))
    set(i + 1, value);
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
      const ElementType type = plan.buffers[upload->to.at.buffer].element;
      if (isFloatingPoint(type) && upload->pointers.empty())
        words.push_back(UploadWords::Numbers);
      else if (!wordBytes(plan, *upload, records))
        words.push_back(UploadWords::Kept);
      else
        words.push_back(isInteger(type) ? UploadWords::Integers : UploadWords::Records);
    }
  return words;
}

llvm::Expected<VariedUploads> kbopt::varyRecorded(const Plan &plan, llvm::StringRef data,
                                                  llvm::MutableArrayRef<uint8_t> out, uint64_t seed,
                                                  InputDistribution distribution,
                                                  std::optional<unsigned> only,
                                                  const RecordSizes &records) {
  auto uploads = uploadsOf(plan, data);
  if (!uploads)
    return uploads.takeError();
  if (!data.empty())
    std::memcpy(out.data(), data.data(), data.size());
  VariedUploads result;
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
    uint8_t *first = out.data() + upload->data;
    Elements elements({first, upload->to.bytes()}, size, type);
    Random random(seed * 0x9e3779b97f4a7c15u + number);
    // Code that reads rows between offsets may rely on their order.
    std::vector<uint64_t> ofOthers = lengths;
    ofOthers.erase(ofOthers.begin() + upload->to.at.buffer);
    if (elements.areOffsets(ofOthers)) {
      if (distribution == InputDistribution::Moved)
        continue;
      elements.replaceOffsets(random, distribution);
      ++result.uploadsVaried;
      continue;
    }
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
    case InputDistribution::Moved:
      elements.move();
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

llvm::Expected<VariedInputs> kbopt::varyRecorded(const Plan &plan, llvm::StringRef data,
                                                 uint64_t seed, InputDistribution distribution,
                                                 std::optional<unsigned> only,
                                                 const RecordSizes &records) {
  VariedInputs result;
  result.data.resize(data.size());
  auto uploads =
      varyRecorded(plan, data, {reinterpret_cast<uint8_t *>(result.data.data()), data.size()}, seed,
                   distribution, only, records);
  if (!uploads)
    return uploads.takeError();
  static_cast<VariedUploads &>(result) = *uploads;
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
  // Those that follow one another, however short.
  for (size_t first = 0; first < known.size(); ++first) {
    std::vector<KnownPiece> pieces;
    llvm::StringRef rest = bytes;
    for (size_t next = first; next < known.size() && !rest.empty() && !known[next].empty() &&
                              rest.starts_with(known[next]);
         ++next) {
      pieces.push_back({next, 0, known[next].size()});
      rest = rest.drop_front(known[next].size());
    }
    if (rest.empty() && !pieces.empty())
      return pieces;
  }
  // Whole ones beside each other, the longest that fits at each place.
  constexpr uint64_t leastPiece = 64;
  std::vector<KnownPiece> pieces;
  while (!bytes.empty()) {
    std::optional<size_t> best;
    for (auto [number, other] : llvm::enumerate(known))
      if (other.size() >= leastPiece && bytes.starts_with(other) &&
          (!best || other.size() > known[*best].size()))
        best = number;
    if (!best)
      return std::nullopt;
    pieces.push_back({*best, 0, known[*best].size()});
    bytes = bytes.drop_front(known[*best].size());
  }
  return pieces;
}

namespace {

/// Which of the original's bytes a candidate's uploads take, one upload after the other.
class TakenPieces {
public:
  TakenPieces(llvm::ArrayRef<const UploadStep *> uploads, llvm::ArrayRef<llvm::StringRef> bytes,
              const Plan &plan)
      : uploads(uploads), bytes(bytes), plan(plan), taken(uploads.size()) {}

  /// What \p upload, which carries \p data, takes: what the original makes again, or what an
  /// earlier one took, from the same memory of the host, the same upload, the same place of a
  /// buffer as large, a free place, or any.
  std::vector<KnownPiece> take(size_t number, const UploadStep &upload, const Plan &its,
                               llvm::StringRef data) {
    std::vector<KnownPiece> found = find(number, upload, its, data);
    for (const KnownPiece &piece : found)
      taken[piece.number].push_back(piece);
    byUpload.push_back(found.size() == 1 ? std::optional(found.front()) : std::nullopt);
    return found;
  }

private:
  bool isTaken(const KnownPiece &piece) const {
    return llvm::any_of(taken[piece.number], [&](const KnownPiece &other) {
      return other.offset < piece.offset + piece.bytes && piece.offset < other.offset + other.bytes;
    });
  }
  /// Whether the host has read a result before, and may have made \p upload from it.
  bool followsRead(const UploadStep &upload) const {
    for (const Step &step : plan.steps) {
      if (std::holds_alternative<ReadStep>(step))
        return true;
      if (std::get_if<UploadStep>(&step) == &upload)
        return false;
    }
    return false;
  }
  std::vector<KnownPiece> find(size_t number, const UploadStep &upload, const Plan &its,
                               llvm::StringRef data) const;

  llvm::ArrayRef<const UploadStep *> uploads;
  llvm::ArrayRef<llvm::StringRef> bytes;
  const Plan &plan;
  std::vector<std::vector<KnownPiece>> taken;
  std::vector<std::optional<KnownPiece>> byUpload; ///< of the candidate
};

std::vector<KnownPiece> TakenPieces::find(size_t number, const UploadStep &upload, const Plan &its,
                                          llvm::StringRef data) const {
  if (upload.source && upload.source->upload < byUpload.size())
    if (const std::optional<KnownPiece> &earlier = byUpload[upload.source->upload]) {
      // The original may make it again from that memory as well, and other values of it.
      for (const auto &[i, known] : llvm::enumerate(uploads))
        if (const KnownPiece again{i, 0, data.size()};
            known->source && known->source->upload == earlier->number && bytes[i] == data &&
            known->source->offset == upload.source->offset && !isTaken(again))
          return {again};
      const int64_t offset = static_cast<int64_t>(earlier->offset) + upload.source->offset;
      const KnownPiece piece{earlier->number, static_cast<uint64_t>(offset), data.size()};
      if (offset >= 0 && bytes[piece.number].substr(piece.offset, piece.bytes) == data)
        return {piece};
    }
  if (number < bytes.size() && bytes[number] == data)
    return {{number, 0, data.size()}};
  const uint64_t size = its.buffers[upload.to.at.buffer].bytes, begin = upload.to.at.offset;
  for (const auto &[i, known] : llvm::enumerate(uploads)) {
    const uint64_t first = known->to.at.offset;
    const KnownPiece piece{i, begin - first, data.size()};
    if (plan.buffers[known->to.at.buffer].bytes == size && known->to.height == 1 &&
        first <= begin && bytes[i].substr(piece.offset, piece.bytes) == data && !isTaken(piece))
      return {piece};
  }
  for (bool whole : {true, false})
    for (const auto &[i, other] : llvm::enumerate(bytes)) {
      if (whole != (other.size() == data.size()))
        continue;
      for (size_t at = other.find(data); at != llvm::StringRef::npos;) {
        const KnownPiece piece{i, at, data.size()};
        if (!isTaken(piece))
          return {piece};
        // Behind what is in the way: data of one value has its bytes everywhere.
        size_t next = at + 1;
        for (const KnownPiece &way : taken[i])
          if (way.offset < at + data.size() && at < way.offset + way.bytes)
            next = std::max<size_t>(next, way.offset + way.bytes);
        at = other.find(data, next);
      }
    }
  if (auto pieces = findPieces(bytes, data))
    return *pieces;
  // What a host computed from results in another order is the same input; G7 holds it to others.
  for (bool isSameNumber : {true, false})
    for (const auto &[i, other] : llvm::enumerate(bytes))
      if (const KnownPiece piece{i, 0, data.size()};
          isSameNumber == (i == number) && followsRead(*uploads[i]) && !isTaken(piece) &&
          areSameNumbers(data, other, plan.buffers[uploads[i]->to.at.buffer].element))
        return {piece};
  return {};
}

} // namespace

llvm::Expected<std::string> kbopt::varyLike(const Plan &original, llvm::StringRef before,
                                            llvm::StringRef after, Plan &plan,
                                            llvm::StringRef data) {
  auto known = uploadsOf(original, before), uploads = uploadsOf(plan, data);
  if (!known || !uploads)
    return llvm::joinErrors(known.takeError(), uploads.takeError());
  std::string result = data.str();
  std::vector<llvm::StringRef> all;
  for (const UploadStep *other : *known)
    all.push_back(bytesOf(*other, before));
  TakenPieces pieces(*known, all, original);
  std::map<uint64_t, uint64_t> placed; // a hash of what came, by place in the data
  size_t number = 0;
  for (Step &step : plan.steps) {
    auto *upload = std::get_if<UploadStep>(&step);
    if (!upload)
      continue;
    std::string bytes = bytesOf(*upload, data).str();
    uint64_t to = 0;
    for (const KnownPiece &piece : pieces.take(number++, *upload, plan, bytesOf(*upload, data))) {
      const uint64_t from = (*known)[piece.number]->data + piece.offset;
      if (from + piece.bytes <= after.size())
        std::memcpy(bytes.data() + to, after.data() + from, piece.bytes);
      to += piece.bytes;
    }
    // Equal bytes of two uploads are recorded once; what takes their places may differ.
    const uint64_t hash = llvm::xxh3_64bits(bytes);
    if (auto [place, isNew] = placed.try_emplace(upload->data, hash);
        isNew || place->second == hash) {
      std::memcpy(result.data() + upload->data, bytes.data(), bytes.size());
      continue;
    }
    upload->data = result.size();
    result += bytes;
  }
  return result;
}
