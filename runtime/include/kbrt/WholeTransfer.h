//===- WholeTransfer.h - All bytes or none -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the loops that move a whole message through a socket or a pipe.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_WHOLETRANSFER_H
#define KBRT_WHOLETRANSFER_H

#include <cstdint>

namespace kbrt {

/// Whole or not at all; false at the other side's end. A socket raises no SIGPIPE; of a pipe the
/// caller ignores it.
bool sendAll(int descriptor, const void *bytes, uint64_t count);
bool receiveAll(int descriptor, void *bytes, uint64_t count);

} // namespace kbrt

#endif // KBRT_WHOLETRANSFER_H
