//===- EventStream.h - Server-sent events -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_LLM_EVENTSTREAM_H
#define KBOPT_LIB_LLM_EVENTSTREAM_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace kbopt {

/// Splits a stream into events (WHATWG HTML, section "Server-sent events") however its bytes are
/// cut. Names of events are left out: both protocols repeat them in the data.
class EventStream {
public:
  /// Calls \p onEvent with the data of every event that \p bytes complete, until it returns false.
  /// Returns whether to go on.
  bool feed(llvm::StringRef bytes, llvm::function_ref<bool(llvm::StringRef data)> onEvent);

private:
  std::string line, data;
  bool hasData = false, lastWasReturn = false;
};

} // namespace kbopt

#endif // KBOPT_LIB_LLM_EVENTSTREAM_H
