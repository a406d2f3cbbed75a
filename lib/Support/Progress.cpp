//===- Progress.cpp -------------------------------------------------------===//
#include "kb-opt/Support/Progress.h"

using namespace kbopt;

/// Longest status text; longer ones would wrap and could not be redrawn.
static constexpr size_t statusColumns = 79;

Progress::~Progress() { clear(); }

void Progress::clearLocked() {
  if (shown.empty())
    return;
  os << "\r\x1b[K";
  os.flush();
  shown.clear();
}

void Progress::clear() {
  std::lock_guard<std::mutex> lock(mutex);
  clearLocked();
}

void Progress::status(llvm::StringRef text) {
  std::lock_guard<std::mutex> lock(mutex);
  if (quiet || !isTerminal)
    return;
  clearLocked();
  shown = text.take_front(statusColumns).str();
  os << shown;
  os.flush();
}

void Progress::line(llvm::StringRef text) {
  std::lock_guard<std::mutex> lock(mutex);
  if (quiet)
    return;
  clearLocked();
  os << text << "\n";
  os.flush();
}
