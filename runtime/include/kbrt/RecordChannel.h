//===- RecordChannel.h - From the recorded program to kb-opt -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the messages of a recorded program to the process that keeps its
// recording: a header, then bytes; some are answered.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORDCHANNEL_H
#define KBRT_RECORDCHANNEL_H

#include <cstddef>
#include <cstdint>

namespace kbrt {

class RecordKeeper;

enum class Message : uint32_t {
  Data,        ///< bytes
  Observables, ///< bytes
  Holds,       ///< bytes, `value` is their place; answered by a Reply of 1 or 0
  Oracle,      ///< answered by an OracleSize
  Answer,      ///< `value` is a count; answered by a Reply of that count and so many bytes, or of 0
  OracleDevice, ///< answered by a Reply of a count and so many bytes
  Device,       ///< bytes
  Step,         ///< `value` is a step's digest
  Finish,       ///< bytes; answered by a Reply of 1 or 0
  File,         ///< bytes of a path; none: of some that are not known
  Draft,        ///< bytes
  Replace,      ///< bytes; answered by a Reply of a count and so many bytes, or of 0
};

struct MessageHeader {
  Message message;
  uint32_t unused;
  uint64_t value;
  uint64_t bytes; ///< that follow
};

struct Reply {
  uint64_t value;
};

/// Does what comes from \p socket with \p keeper until the other side ends or says what is no
/// message. Each file takes at most
/// \p mostBytes, the plan as well.
void serveRecording(int socket, RecordKeeper &keeper, uint64_t mostBytes);

} // namespace kbrt

#endif // KBRT_RECORDCHANNEL_H
