//===- Coverage.cpp - What of the source was executed ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/Coverage.h"
#include "kbrt/CpuRuntime.h"
#include <cmath>
#include <map>
#include <tuple>

namespace kbrt {

Coverage coverageOf(const Image &image) {
  const ImageInfo &info = image.getInfo();
  // A function that nothing called says nothing of its code.
  std::set<uint32_t> called;
  for (uint32_t i = 0; i < info.placeCount; ++i)
    if (*info.places[i].reached)
      called.insert(info.places[i].function);
  Coverage coverage;
  for (uint32_t i = 0; i < info.placeCount; ++i) {
    const PlaceInfo &place = info.places[i];
    if (*place.reached)
      coverage.reached.insert({place.line, place.column});
    else if (called.count(place.function))
      coverage.unreached.insert({place.line, place.column});
  }
  for (const SourcePosition &position : coverage.reached)
    coverage.unreached.erase(position);
  return coverage;
}

namespace {

/// The nearest way from executed blocks to others.
class Ways {
public:
  explicit Ways(const ImageInfo &info) {
    for (uint32_t i = 0; i < info.edgeCount; ++i)
      into[info.edges[i].to].push_back(&info.edges[i]);
  }
  /// To the block of the flag \p block, which was not executed.
  std::optional<NearPlace> to(const uint8_t *block) const {
    std::set<const uint8_t *> seen{block}, front = seen;
    for (uint32_t branches = 1; !front.empty(); ++branches) {
      std::set<const uint8_t *> before;
      const NearestMiss *nearest = nullptr;
      for (const uint8_t *each : front)
        for (const EdgeInfo *edge : edgesInto(each)) {
          if (!*edge->from && seen.insert(edge->from).second)
            before.insert(edge->from);
          if (*edge->from && edge->nearest && std::isfinite(edge->nearest->distance) &&
              (!nearest || edge->nearest->distance < nearest->distance))
            nearest = edge->nearest;
        }
      if (nearest)
        return NearPlace{{}, branches, nearest->distance, nearest->left, nearest->right};
      front = std::move(before);
    }
    return std::nullopt;
  }

private:
  const std::vector<const EdgeInfo *> &edgesInto(const uint8_t *block) const {
    static const std::vector<const EdgeInfo *> none;
    auto found = into.find(block);
    return found == into.end() ? none : found->second;
  }
  std::map<const uint8_t *, std::vector<const EdgeInfo *>> into;
};

} // namespace

std::vector<NearPlace> nearPlaces(const Image &image) {
  const ImageInfo &info = image.getInfo();
  const Ways ways(info);
  const Coverage coverage = coverageOf(image);
  std::map<SourcePosition, NearPlace> nearest;
  auto isNearer = [](const NearPlace &a, const NearPlace &b) {
    return std::tie(a.branches, a.distance) < std::tie(b.branches, b.distance);
  };
  for (uint32_t i = 0; i < info.placeCount; ++i) {
    const SourcePosition position{info.places[i].line, info.places[i].column};
    if (!coverage.unreached.count(position))
      continue;
    std::optional<NearPlace> way = ways.to(info.places[i].reached);
    if (!way)
      continue;
    way->position = position;
    auto [known, isNew] = nearest.try_emplace(position, *way);
    if (!isNew && isNearer(*way, known->second))
      known->second = *way;
  }
  std::vector<NearPlace> all;
  for (const auto &[position, way] : nearest)
    all.push_back(way);
  return all;
}

} // namespace kbrt
