//===- Services.cpp - printf, heap, clocks, ends --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Machine.h"
#include "Shadow.h"
#include <cstdio>
#include <cstring>

namespace kbrt {

namespace {

/// Reads vprintf's packed arguments: each at its natural alignment.
class PackedArguments {
public:
  explicit PackedArguments(const void *p) : base(static_cast<const char *>(p)) {}
  template <typename T> T next() {
    offset = (offset + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value;
    memcpy(&value, base + offset, sizeof value);
    offset += sizeof value;
    ++count;
    return value;
  }
  int32_t count = 0;

private:
  const char *base;
  size_t offset = 0;
};

template <typename T> void append(std::string &out, const std::string &spec, T value) {
  char text[512];
  int n = snprintf(text, sizeof text, spec.c_str(), value);
  if (n > 0)
    out.append(text, std::min<size_t>(size_t(n), sizeof text - 1));
}

/// Formats one conversion that starts at \p f (after the percent sign); returns where it ends.
const char *formatOne(const char *f, PackedArguments &arguments, std::string &out) {
  std::string spec = "%";
  while (*f && strchr("-+ #0", *f))
    spec += *f++;
  auto number = [&] {
    if (*f == '*') {
      spec += std::to_string(arguments.next<int32_t>());
      ++f;
    }
    while (*f >= '0' && *f <= '9')
      spec += *f++;
  };
  number();
  if (*f == '.') {
    spec += *f++;
    number();
  }
  bool isLong = false;
  while (*f && strchr("hlzjtL", *f)) {
    isLong |= *f != 'h' && *f != 'L';
    spec += *f++;
  }
  char c = *f;
  if (!c)
    return f;
  spec += c;
  ++f;
  switch (c) {
  case 'd':
  case 'i':
    isLong ? append(out, spec, arguments.next<int64_t>())
           : append(out, spec, arguments.next<int32_t>());
    break;
  case 'u':
  case 'x':
  case 'X':
  case 'o':
    isLong ? append(out, spec, arguments.next<uint64_t>())
           : append(out, spec, arguments.next<uint32_t>());
    break;
  case 'c':
    append(out, spec, arguments.next<int32_t>());
    break;
  case 'e':
  case 'E':
  case 'f':
  case 'F':
  case 'g':
  case 'G':
  case 'a':
  case 'A':
    append(out, spec, arguments.next<double>());
    break;
  case 'p':
    append(out, spec, arguments.next<void *>());
    break;
  case 's': {
    const char *s = arguments.next<const char *>();
    if (spec == "%s")
      out += s ? s : "(null)";
    else
      append(out, spec, s ? s : "(null)");
    break;
  }
  case '%':
    out += '%';
    break;
  default:
    out += spec; // as CUDA: an unknown conversion is printed as it stands
  }
  return f;
}

void print(const std::string &text) {
  if (machine.options->print)
    machine.options->print(text);
  else
    fwrite(text.data(), 1, text.size(), stdout);
}

/// One call of clock() is taken for as many cycles.
constexpr uint64_t clockStep = 32, globalTimerStepNanoseconds = 1000;
uint64_t clockCycles = 0, globalTimer = 0;

} // namespace
} // namespace kbrt

using namespace kbrt;

extern "C" {

int32_t kbrt_vprintf(const char *format, const void *arguments) {
  PackedArguments packed(arguments);
  std::string out;
  for (const char *f = format; *f;) {
    if (*f != '%') {
      out += *f++;
      continue;
    }
    f = formatOne(f + 1, packed, out);
  }
  print(out);
  return packed.count;
}

void *kbrt_malloc(uint64_t bytes) {
  return bytes ? DeviceMemory::get().allocate(bytes, MemoryKind::Heap, "device heap") : nullptr;
}

void kbrt_free(void *pointer) {
  if (!pointer)
    return;
  const MemoryBuffer *buffer = DeviceMemory::get().find(pointer);
  if (!buffer || buffer->kind != MemoryKind::Heap ||
      buffer->address != reinterpret_cast<uint64_t>(pointer))
    machine.stop(LaunchStatus::Fault,
                 "free() of a pointer that malloc() in a kernel did not return, in " +
                     machine.whereAmI(machine.lastSite) + " or after");
  DeviceMemory::get().free(pointer);
}

uint64_t kbrt_clock() { return clockCycles += clockStep; }
uint64_t kbrt_globaltimer() { return globalTimer += globalTimerStepNanoseconds; }

void kbrt_trap(uint32_t site) {
  machine.stop(LaunchStatus::Trap, "trap in " + machine.whereAmI(site));
}

void kbrt_assertfail(uint32_t site, const char *message, const char *file, uint32_t line,
                     const char *function) {
  Dim b = machine.block.ctaid, t = machine.current().tid;
  char head[128];
  snprintf(head, sizeof head, "block: [%u,%u,%u], thread: [%u,%u,%u] ", b.x, b.y, b.z, t.x, t.y,
           t.z);
  std::string text = std::string(file ? file : "") + ":" + std::to_string(line) + ": " +
                     (function ? function : "") + ": " + head + "Assertion `" +
                     (message ? message : "") + "` failed.";
  machine.stop(LaunchStatus::Assert, std::move(text));
}

void kbrt_unsupported(uint32_t index) {
  std::string what = "a construct";
  if (index < machine.info->unsupportedCount) {
    const UnsupportedInfo &info = machine.info->unsupported[index];
    what = std::string("'") + info.construct + "' (" + baseName(info.file) + ":" +
           std::to_string(info.line) + ")";
  }
  machine.stop(LaunchStatus::Unsupported, "the CPU device cannot execute " + what +
                                              ", reached by " + machine.whereAmI(machine.lastSite));
}
}
