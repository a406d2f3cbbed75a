//===- EventStream.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "EventStream.h"

using namespace kbopt;
using llvm::StringRef;

bool EventStream::feed(StringRef bytes, llvm::function_ref<bool(StringRef)> onEvent) {
  for (char c : bytes) {
    bool isSecondHalf = c == '\n' && lastWasReturn; // of "\r\n"
    lastWasReturn = c == '\r';
    if (isSecondHalf)
      continue;
    if (c != '\n' && c != '\r') {
      line += c;
      continue;
    }
    StringRef field = line;
    if (field.empty()) {
      bool complete = hasData;
      std::string event = std::move(data);
      data.clear();
      hasData = false;
      if (complete && !onEvent(event))
        return false;
    } else if (field.consume_front("data:")) {
      field.consume_front(" ");
      if (hasData)
        data += '\n';
      data += field;
      hasData = true;
    }
    line.clear();
  }
  return true;
}
