//===- Progress.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/Progress.h"
#include <chrono>

using namespace kbopt;

/// Longest status text; longer ones would wrap and could not be redrawn.
static constexpr size_t statusColumns = 79;

/// \p text without what a terminal would obey: C0 and C1 controls, these also in UTF-8.
static std::string harmless(llvm::StringRef text) {
  std::string out;
  for (size_t i = 0; i != text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    bool isC1 = byte == 0xC2 && i + 1 < text.size() &&
                (static_cast<unsigned char>(text[i + 1]) & 0xE0) == 0x80;
    if (isC1)
      ++i;
    bool obeyed = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F || isC1;
    out += obeyed ? '?' : text[i];
  }
  return out;
}

Progress::~Progress() { clear(); }

void Progress::eraseLocked() {
  if (shown.empty())
    return;
  os << "\r\x1b[K";
  os.flush();
  shown.clear();
}

void Progress::drawLocked() {
  std::string text = headText ? headText() : "";
  if (!text.empty() && !rest.empty())
    text += " | ";
  text = harmless(text + rest);
  size_t end = std::min(text.size(), statusColumns);
  while (end && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end; // not within a character
  text.resize(end);
  for (char &c : text)
    c = c == '\n' || c == '\t' ? ' ' : c;
  if (text == shown)
    return;
  eraseLocked();
  os << text;
  os.flush();
  shown = std::move(text);
}

void Progress::tick() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!ends.wait_for(lock, std::chrono::seconds(1), [this] { return !headText; }))
    drawLocked();
}

void Progress::head(std::function<std::string()> text) {
  if (!redraws() || !text)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  headText = std::move(text);
  drawLocked();
  if (!ticker.joinable())
    ticker = std::thread([this] { tick(); });
}

void Progress::clear() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    headText = nullptr;
    rest.clear();
    eraseLocked();
  }
  ends.notify_all();
  if (ticker.joinable())
    ticker.join();
}

void Progress::status(llvm::StringRef text) {
  if (!redraws())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  rest = text.str();
  drawLocked();
}

void Progress::line(llvm::StringRef text) {
  if (quiet)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  eraseLocked();
  os << harmless(text) << "\n";
  os.flush();
  // What was under way ends with its line.
  rest.clear();
  if (headText)
    drawLocked();
}
