//===- DeviceFacts.h - What the recorded device claims to be -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBRT_RECORD_DEVICEFACTS_H
#define KBRT_RECORD_DEVICEFACTS_H

#include <cstdint>
#include <string>
#include <string_view>

namespace kbrt {

/// A field of cudaDeviceProp by its name: the GPU's that runs the kernels, or else the H200's,
/// unless KBRECORD_DEVICE says otherwise ("multiProcessorCount=108;l2CacheSize=41943040"). 0 for a
/// name that is not kept. Beside the fields: "memoryLimit", the most that the program could
/// allocate on the recorded GPU, and "kernelRegisters", what each kernel needs per thread (0: what
/// its compiler says).
uint64_t deviceFact(std::string_view name);

/// Opens the device if that is a GPU, and asks it; once.
void settleFacts();

/// What a GPU said of itself, in the form of KBRECORD_DEVICE; empty without one. It is kept beside
/// the plan and taken up again, so that an oracle-fed run sees the same device.
std::string factsOfGpu();
void setRecordedFacts(const std::string &facts);

} // namespace kbrt

#endif // KBRT_RECORD_DEVICEFACTS_H
