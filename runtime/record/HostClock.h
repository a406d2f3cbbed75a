//===- HostClock.h - The time of day that programs see ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBRT_RECORD_HOSTCLOCK_H
#define KBRT_RECORD_HOSTCLOCK_H

namespace kbrt {

/// The program launches its first kernel: from now on its time of day passes as time does.
void hostClockGoesOn();

} // namespace kbrt

#endif // KBRT_RECORD_HOSTCLOCK_H
