//===- CountersJson.cpp - Reading the counters of a result ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading side of `counters` in docs/JobFormat.md. Absent numbers are
// zero: kb-run leaves out what did not happen.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Eval/Device.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace kbopt {
namespace {

double number(const json::Object &object, StringRef name) {
  return object.getNumber(name).value_or(0);
}

std::string text(const json::Object &object, StringRef name) {
  return object.getString(name).value_or("").str();
}

kbrt::AccessCounters readAccess(const json::Object *object) {
  kbrt::AccessCounters access;
  if (!object)
    return access;
  const std::pair<const char *, double kbrt::AccessCounters::*> fields[] = {
      {"requests", &kbrt::AccessCounters::requests},
      {"lanes", &kbrt::AccessCounters::lanes},
      {"bytesRequested", &kbrt::AccessCounters::bytesRequested},
      {"bytesUsed", &kbrt::AccessCounters::bytesUsed},
      {"sectors", &kbrt::AccessCounters::sectors},
      {"idealSectors", &kbrt::AccessCounters::idealSectors},
      {"l1HitSectors", &kbrt::AccessCounters::l1HitSectors},
      {"lineWavefronts", &kbrt::AccessCounters::lineWavefronts},
      {"sharedWavefronts", &kbrt::AccessCounters::sharedWavefronts},
      {"idealSharedWavefronts", &kbrt::AccessCounters::idealSharedWavefronts},
      {"atomicSerialisation", &kbrt::AccessCounters::atomicSerialisation}};
  for (const auto &[name, field] : fields)
    access.*field = number(*object, name);
  return access;
}

kbrt::TrafficCounters readTraffic(const json::Object &object) {
  kbrt::TrafficCounters traffic;
  const std::pair<const char *, double kbrt::TrafficCounters::*> fields[] = {
      {"l1LoadSectors", &kbrt::TrafficCounters::l1LoadSectors},
      {"l1LoadHitSectors", &kbrt::TrafficCounters::l1LoadHitSectors},
      {"l2ReadBytes", &kbrt::TrafficCounters::l2ReadBytes},
      {"l2WriteBytes", &kbrt::TrafficCounters::l2WriteBytes},
      {"l2AtomicBytes", &kbrt::TrafficCounters::l2AtomicBytes},
      {"uniqueReadBytes", &kbrt::TrafficCounters::uniqueReadBytes},
      {"uniqueWrittenBytes", &kbrt::TrafficCounters::uniqueWrittenBytes},
      {"atomicLineShare", &kbrt::TrafficCounters::atomicLineShare},
      {"dramReadBytes", &kbrt::TrafficCounters::dramReadBytes},
      {"dramWriteBytes", &kbrt::TrafficCounters::dramWriteBytes}};
  for (const auto &[name, field] : fields)
    traffic.*field = number(object, name);
  traffic.uniqueIsExact = object.getBoolean("uniqueIsExact").value_or(false);
  return traffic;
}

bool readMix(const json::Object *object, std::array<double, kbrt::opCount> &mix, json::Path path) {
  if (!object)
    return true;
  for (const auto &[name, value] : *object) {
    std::optional<double> count = value.getAsNumber();
    size_t index = 0;
    while (index < kbrt::opCount && StringRef(name) != kbrt::opNames[index])
      ++index;
    if (!count || index == kbrt::opCount) {
      path.field(name).report("unknown instruction class");
      return false;
    }
    mix[index] = *count;
  }
  return true;
}

// The names that kbrt prints are repeated here, since kb-opt does not link the
// CPU runtime.

/// Nothing for a site that moves no data (a barrier, a shuffle).
std::optional<kbrt::AccessKind> parseKind(StringRef name) {
  if (name == "load")
    return kbrt::AccessKind::Load;
  if (name == "store")
    return kbrt::AccessKind::Store;
  if (name == "atomic")
    return kbrt::AccessKind::Atomic;
  return std::nullopt;
}

std::optional<kbrt::MemorySpace> parseSpace(StringRef name) {
  const std::pair<const char *, kbrt::MemorySpace> names[] = {
      {"generic", kbrt::MemorySpace::Generic}, {"global", kbrt::MemorySpace::Global},
      {"shared", kbrt::MemorySpace::Shared},   {"constant", kbrt::MemorySpace::Constant},
      {"local", kbrt::MemorySpace::Local},     {"param", kbrt::MemorySpace::Param}};
  for (const auto &[text, space] : names)
    if (name == text)
      return space;
  return std::nullopt;
}

bool readSite(const json::Object &object, std::vector<kbrt::SiteCounters> &sites, json::Path path) {
  std::optional<kbrt::AccessKind> kind = parseKind(text(object, "kind"));
  if (!kind)
    return true;
  std::optional<kbrt::MemorySpace> space = parseSpace(text(object, "space"));
  if (!space) {
    path.field("space").report("unknown name");
    return false;
  }
  kbrt::SiteCounters &site = sites.emplace_back();
  site.kind = *kind;
  site.space = *space;
  site.site = static_cast<uint32_t>(number(object, "site"));
  site.elementBytes = static_cast<unsigned>(number(object, "elementBytes"));
  site.file = text(object, "file");
  site.array = text(object, "array");
  site.line = static_cast<unsigned>(number(object, "line"));
  site.column = static_cast<unsigned>(number(object, "column"));
  site.loadGroup = static_cast<unsigned>(number(object, "loadGroup"));
  site.isAlone = object.getBoolean("isAlone").value_or(false);
  site.access = readAccess(object.getObject("access"));
  return true;
}

kbrt::LineCounters readLine(const json::Object &object) {
  kbrt::LineCounters line;
  line.file = text(object, "file");
  line.line = static_cast<unsigned>(number(object, "line"));
  const std::pair<const char *, double kbrt::LineCounters::*> fields[] = {
      {"warpInstructions", &kbrt::LineCounters::warpInstructions},
      {"threadInstructions", &kbrt::LineCounters::threadInstructions},
      {"branches", &kbrt::LineCounters::branches},
      {"divergentBranches", &kbrt::LineCounters::divergentBranches},
      {"globalRequests", &kbrt::LineCounters::globalRequests},
      {"globalSectors", &kbrt::LineCounters::globalSectors},
      {"idealGlobalSectors", &kbrt::LineCounters::idealGlobalSectors},
      {"sharedWavefronts", &kbrt::LineCounters::sharedWavefronts},
      {"idealSharedWavefronts", &kbrt::LineCounters::idealSharedWavefronts}};
  for (const auto &[name, field] : fields)
    line.*field = number(object, name);
  return line;
}

} // namespace

bool fromJSON(const json::Value &value, kbrt::KernelCounters &counters, json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object) {
    path.report("expected an object");
    return false;
  }
  counters = {};
  counters.kernel = text(*object, "kernel");
  counters.blocks = static_cast<uint64_t>(number(*object, "blocks"));
  counters.sampledBlocks = static_cast<uint64_t>(number(*object, "sampledBlocks"));
  counters.threadsPerBlock = static_cast<unsigned>(number(*object, "threadsPerBlock"));
  counters.staticSharedBytes = static_cast<uint64_t>(number(*object, "staticSharedBytes"));
  counters.dynamicSharedBytes = static_cast<uint64_t>(number(*object, "dynamicSharedBytes"));
  const std::pair<const char *, double kbrt::KernelCounters::*> fields[] = {
      {"warps", &kbrt::KernelCounters::warps},
      {"warpInstructions", &kbrt::KernelCounters::warpInstructions},
      {"threadInstructions", &kbrt::KernelCounters::threadInstructions},
      {"branches", &kbrt::KernelCounters::branches},
      {"divergentBranches", &kbrt::KernelCounters::divergentBranches},
      {"blockBarriers", &kbrt::KernelCounters::blockBarriers},
      {"warpBarriers", &kbrt::KernelCounters::warpBarriers},
      {"shuffles", &kbrt::KernelCounters::shuffles},
      {"votes", &kbrt::KernelCounters::votes},
      {"integerOperations", &kbrt::KernelCounters::integerOperations},
      {"fp16Operations", &kbrt::KernelCounters::fp16Operations},
      {"fp32Operations", &kbrt::KernelCounters::fp32Operations},
      {"fp64Operations", &kbrt::KernelCounters::fp64Operations},
      {"tensorOperations", &kbrt::KernelCounters::tensorOperations}};
  for (const auto &[name, field] : fields)
    counters.*field = number(*object, name);
  counters.warpImbalance = object->getNumber("warpImbalance").value_or(1);
  counters.blockImbalance = object->getNumber("blockImbalance").value_or(1);
  counters.sampleError = float(object->getNumber("sampleError").value_or(0));
  if (!readMix(object->getObject("warpInstructionsByOp"), counters.warpInstructionsByOp,
               path.field("warpInstructionsByOp")) ||
      !readMix(object->getObject("threadInstructionsByOp"), counters.threadInstructionsByOp,
               path.field("threadInstructionsByOp")))
    return false;
  const std::pair<const char *, kbrt::AccessCounters kbrt::KernelCounters::*> accesses[] = {
      {"globalLoad", &kbrt::KernelCounters::globalLoad},
      {"globalStore", &kbrt::KernelCounters::globalStore},
      {"globalAtomic", &kbrt::KernelCounters::globalAtomic},
      {"sharedLoad", &kbrt::KernelCounters::sharedLoad},
      {"sharedStore", &kbrt::KernelCounters::sharedStore},
      {"sharedAtomic", &kbrt::KernelCounters::sharedAtomic},
      {"localLoad", &kbrt::KernelCounters::localLoad},
      {"localStore", &kbrt::KernelCounters::localStore},
      {"constantLoad", &kbrt::KernelCounters::constantLoad}};
  for (const auto &[name, field] : accesses)
    counters.*field = readAccess(object->getObject(name));
  if (const json::Object *traffic = object->getObject("traffic"))
    counters.traffic = readTraffic(*traffic);
  if (const json::Array *sites = object->getArray("sites"))
    for (const auto &[index, entry] : enumerate(*sites)) {
      const json::Object *site = entry.getAsObject();
      if (!site || !readSite(*site, counters.sites, path.field("sites").index(index)))
        return false;
    }
  if (const json::Array *lines = object->getArray("lines"))
    for (const json::Value &entry : *lines)
      if (const json::Object *line = entry.getAsObject())
        counters.lines.push_back(readLine(*line));
  return true;
}

} // namespace kbopt
