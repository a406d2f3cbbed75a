//===- Coverage.cpp - What of the source was executed ---------------------===//
#include "kbrt/Coverage.h"
#include "kbrt/CpuRuntime.h"

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

} // namespace kbrt
