//===- DeviceFacts.h - What the recorded device claims to be -----*- C++ -*-===//
#ifndef KBRT_RECORD_DEVICEFACTS_H
#define KBRT_RECORD_DEVICEFACTS_H

#include <cstdint>
#include <string_view>

namespace kbrt {

/// A field of cudaDeviceProp by its name: the H200's, unless KBRECORD_DEVICE
/// says otherwise ("multiProcessorCount=108;l2CacheSize=41943040"). 0 for a
/// name that is not kept.
uint64_t deviceFact(std::string_view name);

} // namespace kbrt

#endif // KBRT_RECORD_DEVICEFACTS_H
