//===- PlanJson.h - Names shared by plan.json's writer and reader -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBRT_PLAN_PLANJSON_H
#define KBRT_PLAN_PLANJSON_H

namespace kbrt {

/// In the order of `BufferKind` and `Ending`.
inline constexpr const char *bufferKindNames[] = {"device", "managed", "pinned", "symbol"};
inline constexpr const char *endingNames[] = {"running",  "exit",      "abort",
                                              "crash",    "fault",     "unsupported",
                                              "mismatch", "too-large", "no-device"};

} // namespace kbrt

#endif // KBRT_PLAN_PLANJSON_H
