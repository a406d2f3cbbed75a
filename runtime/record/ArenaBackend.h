//===- ArenaBackend.h - Device memory in this process ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns memory for the backends without a GPU: the arena of the CPU device.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_ARENABACKEND_H
#define KBRT_RECORD_ARENABACKEND_H

#include "Backend.h"
#include "RepeatedFills.h"

namespace kbrt {

class ArenaBackend : public Backend {
public:
  ArenaBackend();
  void *allocate(uint64_t bytes, bool isHostVisible) override;
  void free(void *p) override;
  MemoryAmount memory() override;
  void write(Rows to, Rows from, uint64_t width, uint64_t height) override;
  void read(Rows to, Rows from, uint64_t width, uint64_t height) override;
  void copy(Rows to, Rows from, uint64_t width, uint64_t height) override;
  void fill(Rows to, uint8_t value, uint64_t width, uint64_t height) override;
  void noteHostWrite(const void *p, uint64_t bytes) override;

private:
  const bool isDry; ///< KBRECORD_DRY: memory is handed out and never touched
  RepeatedFills fills;
};

} // namespace kbrt

#endif // KBRT_RECORD_ARENABACKEND_H
