//===- HostValues.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/HostValues.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <cstring>
#include <set>

using namespace kbopt;
using namespace kbrt;

template <typename T>
static bool areClose(llvm::StringRef bytes, llvm::StringRef other, double relative) {
  for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, bytes.data() + i, sizeof a);
    std::memcpy(&b, other.data() + i, sizeof b);
    if (!(a == b || std::fabs(a - b) <= relative * std::fabs(b)))
      return false;
  }
  return true;
}

bool kbopt::areSameNumbers(llvm::StringRef bytes, llvm::StringRef other, ElementType element) {
  // 16 roundings: a sum of a few thousand numbers is hardly off by more in another order, and one
  // of them that is missing shows.
  constexpr double f32 = 0x1p-20, f64 = 0x1p-49;
  if (bytes.size() != other.size() || bytes.empty())
    return false;
  if (element == ElementType::F32)
    return bytes.size() % sizeof(float) == 0 && areClose<float>(bytes, other, f32);
  return element == ElementType::F64 && bytes.size() % sizeof(double) == 0 &&
         areClose<double>(bytes, other, f64);
}

namespace {

/// One of the known byte strings inside an argument.
struct Place {
  size_t known, at, bytes;
};

/// Numbers are told from each other by so many bytes.
constexpr size_t leastBytes = 16, wordBytes = 4;

bool saysSomething(llvm::StringRef bytes) {
  return bytes.size() >= leastBytes && bytes.find_first_not_of(bytes[0]) != llvm::StringRef::npos;
}

/// Where \p argument has whole ones of \p known, none over another.
std::vector<Place> placesIn(llvm::StringRef argument, llvm::ArrayRef<llvm::StringRef> known) {
  std::vector<size_t> order(known.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::stable_sort(order, [&](size_t a, size_t b) { return known[a].size() > known[b].size(); });
  std::vector<Place> places;
  for (size_t i : order) {
    const llvm::StringRef bytes = known[i];
    if (bytes.empty() || bytes.size() > argument.size())
      continue;
    if (bytes == argument && bytes.size() >= wordBytes)
      return {{i, 0, bytes.size()}};
    if (!saysSomething(bytes))
      continue;
    for (size_t at = argument.find(bytes); at != llvm::StringRef::npos;
         at = argument.find(bytes, at + 1)) {
      const bool isFree = llvm::none_of(places, [&](const Place &other) {
        return at < other.at + other.bytes && other.at < at + bytes.size();
      });
      if (at % wordBytes || !isFree)
        continue;
      places.push_back({i, at, bytes.size()});
      break;
    }
  }
  return places;
}

llvm::StringRef bytesOf(const Argument &argument) {
  return {reinterpret_cast<const char *>(argument.bytes.data()), argument.bytes.size()};
}

} // namespace

uint64_t kbopt::unknownBytes(llvm::StringRef argument, llvm::ArrayRef<llvm::StringRef> known) {
  uint64_t left = argument.size();
  for (const Place &place : placesIn(argument, known))
    left -= place.bytes;
  return left;
}

void kbopt::varyArgumentsLike(const Plan &original, llvm::StringRef before, llvm::StringRef after,
                              Plan &plan) {
  std::vector<llvm::StringRef> known, replaced;
  std::set<std::string> passed;
  for (const Step &step : original.steps) {
    if (const auto *upload = std::get_if<UploadStep>(&step)) {
      const uint64_t end = upload->data + upload->to.bytes();
      if (!upload->pointers.empty() || end > before.size() || end > after.size())
        continue;
      known.push_back(before.substr(upload->data, upload->to.bytes()));
      replaced.push_back(after.substr(upload->data, upload->to.bytes()));
    }
    if (const auto *launch = std::get_if<LaunchStep>(&step))
      for (const Argument &argument : launch->arguments)
        passed.insert(bytesOf(argument).str());
  }
  for (Step &step : plan.steps) {
    auto *launch = std::get_if<LaunchStep>(&step);
    if (!launch)
      continue;
    for (Argument &argument : launch->arguments) {
      if (passed.count(bytesOf(argument).str()))
        continue;
      const std::string recorded = bytesOf(argument).str();
      for (const Place &place : placesIn(recorded, known))
        std::memcpy(argument.bytes.data() + place.at, replaced[place.known].data(), place.bytes);
      const size_t whole =
          argument.pointers.empty() && saysSomething(recorded)
              ? static_cast<size_t>(llvm::find_if(known,
                                                  [&](llvm::StringRef bytes) {
                                                    return bytes.size() > recorded.size() &&
                                                           bytes.contains(recorded);
                                                  }) -
                                    known.begin())
              : known.size();
      if (whole < known.size()) // a part of what the original uploads
        std::memcpy(argument.bytes.data(), replaced[whole].data() + known[whole].find(recorded),
                    recorded.size());
    }
  }
}
