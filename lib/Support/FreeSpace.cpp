//===- FreeSpace.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/FreeSpace.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <limits>
#include <linux/magic.h>
#include <sys/vfs.h>

using namespace kbopt;
using llvm::StringRef;

static constexpr uint64_t unknown = std::numeric_limits<uint64_t>::max();

/// Files of the kernel have no size.
static std::string textOf(const llvm::Twine &path) {
  auto file = llvm::MemoryBuffer::getFileAsStream(path.str());
  return file ? (*file)->getBuffer().str() : "";
}

static uint64_t ofMachine() {
  uint64_t kibibytes = 0;
  const std::string text = textOf("/proc/meminfo");
  StringRef rest = text;
  rest = rest.drop_front(std::min(rest.find("MemAvailable:"), rest.size()));
  rest.consume_front("MemAvailable:");
  rest = rest.ltrim();
  if (rest.consumeInteger(10, kibibytes))
    return unknown;
  return kibibytes << 10;
}

/// Names of a control group's files, and of the entry of memory.stat that gives way.
struct GroupNames {
  StringRef root, limit, used, cached;
};
static constexpr GroupNames version2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                        "\ninactive_file "},
                            version1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                        "memory.usage_in_bytes", "\ntotal_inactive_file "};

static uint64_t ofGroup(const GroupNames &names, StringRef group) {
  const std::string folder = (names.root + group + "/").str(), limit = textOf(folder + names.limit),
                    now = textOf(folder + names.used), parts = textOf(folder + "memory.stat");
  uint64_t most = 0, used = 0, cached = 0;
  if (StringRef(limit).trim().getAsInteger(10, most) ||
      StringRef(now).trim().getAsInteger(10, used))
    return unknown; // "max": there is no limit
  StringRef stat = parts;
  stat = stat.drop_front(std::min(stat.find(names.cached), stat.size()));
  if (!stat.consume_front(names.cached) || stat.consumeInteger(10, cached))
    cached = 0;
  used -= std::min(used, cached);
  return most - std::min(most, used);
}

uint64_t kbopt::availableMemory() {
  uint64_t least = ofMachine();
  const std::string text = textOf("/proc/self/cgroup");
  llvm::SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    auto [controllers, group] = line.split(':').second.split(':');
    if (!controllers.empty() && controllers != "memory")
      continue;
    // Every group above has a limit of its own; a container may see its group as the root.
    const GroupNames &names = controllers.empty() ? version2 : version1;
    group = group.rtrim('/');
    for (; !group.empty(); group = group.take_front(std::min(group.rfind('/'), group.size() - 1)))
      least = std::min(least, ofGroup(names, group));
    least = std::min(least, ofGroup(names, ""));
  }
  return least;
}

uint64_t kbopt::freeDiskSpace(StringRef folder) {
  auto space = llvm::sys::fs::disk_space(folder);
  return space ? space->available : unknown;
}

bool kbopt::liesInMemory(StringRef folder) {
  struct statfs status;
  return ::statfs(folder.str().c_str(), &status) == 0 && status.f_type == TMPFS_MAGIC;
}
