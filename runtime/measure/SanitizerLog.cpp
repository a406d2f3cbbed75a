//===- SanitizerLog.cpp - what compute-sanitizer prints -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A log is a sequence of blocks of lines that start with nine equal signs. A
// block's first line stands one blank after them, the others are indented; a
// block ends with an empty line:
//
//   ========= Invalid __global__ write of size 4 bytes
//   =========     at _Z12writeOutsideiPi+0xb0 in kernels.cu:58
//   =========     by thread (232,0,0) in block (3,0,0)
//
// Older versions print the place as `0xb0 in kernels.cu:58:_Z12writeOutsideiPi`.
// A race names two places in its first two lines.
//
//===----------------------------------------------------------------------===//
#include "kbrt/SanitizerLog.h"

#include <algorithm>
#include <charconv>
#include <regex>

using namespace kbrt;

namespace {

constexpr std::string_view mark = "=========";

struct Place {
  std::string kernel, file;
  unsigned line = 0;
};

unsigned numberOf(const std::string &text) {
  unsigned value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The first place that the text names after "at ".
bool findPlace(const std::string &text, Place &place) {
  static const std::regex now(R"(\bat (\S.*?)\+0x[0-9a-f]+(?: in ([^\[]+?):(\d+))?(?=\s|$|\[))");
  static const std::regex before(R"(\bat 0x[0-9a-f]+ in (?:([^\s:]+):(\d+):)?(\S[^\[]*))");
  std::smatch match;
  if (std::regex_search(text, match, now))
    place = {match[1], match[2], numberOf(match[3])};
  else if (std::regex_search(text, match, before))
    place = {match[3], match[1], numberOf(match[2])};
  else
    return false;
  while (!place.kernel.empty() && place.kernel.back() == ' ')
    place.kernel.pop_back();
  return true;
}

std::string_view trimmed(std::string_view line) {
  size_t from = line.find_first_not_of(" \t\r");
  if (from == std::string_view::npos)
    return {};
  return line.substr(from, line.find_last_not_of(" \t\r") + 1 - from);
}

/// Threads and addresses tell two reports of one defect apart.
bool isOccurrence(std::string_view line) {
  return line.starts_with("by thread ") || line.starts_with("Access ") ||
         line.starts_with("Address ") || line.starts_with("and is ") ||
         line.starts_with("in block ");
}

bool isNoise(std::string_view line) {
  return line.starts_with("Saved host backtrace") || line.starts_with("Host Frame") ||
         line.starts_with("Device Frame");
}

class Reader {
public:
  Reader(const std::string &tool, SanitizerLog &log) : tool(tool), log(log) {}

  void line(std::string_view text) {
    if (!text.starts_with(mark))
      return;
    text.remove_prefix(mark.size());
    std::string_view content = trimmed(text);
    if (content.empty())
      finish();
    else if (text.starts_with("     ") || text.starts_with("\t"))
      block.emplace_back(content);
    else {
      finish();
      block.emplace_back(content);
    }
  }

  void finish() {
    std::vector<std::string> lines = std::move(block);
    block.clear();
    if (lines.empty() || lines[0] == "COMPUTE-SANITIZER" ||
        lines[0].find("SUMMARY") != std::string::npos)
      return;
    if (isTrouble(lines[0])) {
      if (log.trouble.empty())
        log.trouble = lines[0];
      return;
    }
    Place place;
    std::string text;
    bool isPlaced = false;
    for (const std::string &line : lines) {
      if (isNoise(line))
        continue;
      isPlaced = isPlaced || findPlace(line, place);
      if (!isOccurrence(line))
        text += (text.empty() ? "" : "; ") + line;
    }
    // What has no place in device code is a message, not a defect of a kernel.
    if (!isPlaced)
      return;
    for (SanitizerFinding &known : log.findings)
      if (known.text == text) {
        ++known.count;
        return;
      }
    log.findings.push_back({tool, place.kernel, place.file, place.line, text});
  }

private:
  static bool isTrouble(const std::string &line) {
    for (std::string_view start :
         {"Internal Sanitizer Error", "Error: Target application terminated",
          "Target application terminated", "Error: No attachable process", "Device not supported",
          "Error: Device not supported", "Unable to ", "Error: Unable to "})
      if (line.starts_with(start))
        return true;
    return false;
  }

  const std::string &tool;
  SanitizerLog &log;
  std::vector<std::string> block;
};

} // namespace

SanitizerLog kbrt::readSanitizerLog(const std::string &tool, std::string_view text) {
  SanitizerLog log;
  Reader reader(tool, log);
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    reader.line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  reader.finish();
  return log;
}
