//===- Json.cpp - results as JSON -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the objects described in docs/JobFormat.md. Field names are those of the
// structures, so that one search finds both.
//
//===----------------------------------------------------------------------===//
#include "kbrt/CpuRuntime.h"
#include <nlohmann/json.hpp>

namespace kbrt {

using Json = nlohmann::ordered_json;

namespace {

Json json(const Dim3 &d) { return Json::array({d.x, d.y, d.z}); }

Json json(const AccessCounters &c) {
  Json o = {{"requests", c.requests},
            {"lanes", c.lanes},
            {"bytesRequested", c.bytesRequested},
            {"bytesUsed", c.bytesUsed}};
  auto optional = [&](const char *name, double value) {
    if (value != 0)
      o[name] = value;
  };
  optional("sectors", c.sectors);
  optional("idealSectors", c.idealSectors);
  optional("l1HitSectors", c.l1HitSectors);
  optional("lineWavefronts", c.lineWavefronts);
  optional("sharedWavefronts", c.sharedWavefronts);
  optional("idealSharedWavefronts", c.idealSharedWavefronts);
  optional("atomicSerialisation", c.atomicSerialisation);
  return o;
}

Json json(const SiteCounters &s) {
  return {{"site", s.site},
          {"kind", toString(s.kind)},
          {"space", toString(s.space)},
          {"elementBytes", s.elementBytes},
          {"file", s.file},
          {"line", s.line},
          {"column", s.column},
          {"array", s.array},
          {"loadGroup", s.loadGroup},
          {"isAlone", s.isAlone},
          {"access", json(s.access)}};
}

Json json(const LineCounters &l) {
  return {{"file", l.file},
          {"line", l.line},
          {"warpInstructions", l.warpInstructions},
          {"threadInstructions", l.threadInstructions},
          {"branches", l.branches},
          {"divergentBranches", l.divergentBranches},
          {"globalRequests", l.globalRequests},
          {"globalSectors", l.globalSectors},
          {"idealGlobalSectors", l.idealGlobalSectors},
          {"sharedWavefronts", l.sharedWavefronts},
          {"idealSharedWavefronts", l.idealSharedWavefronts}};
}

Json json(const TrafficCounters &t) {
  return {{"l1LoadSectors", t.l1LoadSectors},
          {"l1LoadHitSectors", t.l1LoadHitSectors},
          {"l2ReadBytes", t.l2ReadBytes},
          {"l2WriteBytes", t.l2WriteBytes},
          {"l2AtomicBytes", t.l2AtomicBytes},
          {"uniqueReadBytes", t.uniqueReadBytes},
          {"uniqueWrittenBytes", t.uniqueWrittenBytes},
          {"atomicLineShare", t.atomicLineShare},
          {"uniqueIsExact", t.uniqueIsExact},
          {"dramReadBytes", t.dramReadBytes},
          {"dramWriteBytes", t.dramWriteBytes}};
}

Json mix(const std::array<double, opCount> &ops) {
  Json o = Json::object();
  for (unsigned i = 0; i < opCount; ++i)
    if (ops[i] != 0)
      o[opNames[i]] = ops[i];
  return o;
}

Json json(const KernelCounters &c) {
  Json o = {{"kernel", c.kernel},
            {"blocks", c.blocks},
            {"sampledBlocks", c.sampledBlocks},
            {"threadsPerBlock", c.threadsPerBlock},
            {"staticSharedBytes", c.staticSharedBytes},
            {"dynamicSharedBytes", c.dynamicSharedBytes},
            {"warps", c.warps},
            {"warpInstructions", c.warpInstructions},
            {"threadInstructions", c.threadInstructions},
            {"warpInstructionsByOp", mix(c.warpInstructionsByOp)},
            {"threadInstructionsByOp", mix(c.threadInstructionsByOp)},
            {"branches", c.branches},
            {"divergentBranches", c.divergentBranches},
            {"blockBarriers", c.blockBarriers},
            {"warpBarriers", c.warpBarriers},
            {"shuffles", c.shuffles},
            {"votes", c.votes},
            {"integerOperations", c.integerOperations},
            {"fp16Operations", c.fp16Operations},
            {"fp32Operations", c.fp32Operations},
            {"fp64Operations", c.fp64Operations},
            {"tensorOperations", c.tensorOperations},
            {"warpImbalance", c.warpImbalance},
            {"blockImbalance", c.blockImbalance},
            {"sampleError", c.sampleError}};
  const std::pair<const char *, const AccessCounters *> accesses[] = {
      {"globalLoad", &c.globalLoad},     {"globalStore", &c.globalStore},
      {"globalAtomic", &c.globalAtomic}, {"sharedLoad", &c.sharedLoad},
      {"sharedStore", &c.sharedStore},   {"sharedAtomic", &c.sharedAtomic},
      {"localLoad", &c.localLoad},       {"localStore", &c.localStore},
      {"constantLoad", &c.constantLoad}};
  for (auto &[name, access] : accesses)
    if (access->requests > 0)
      o[name] = json(*access);
  o["traffic"] = json(c.traffic);
  o["sites"] = Json::array();
  for (const SiteCounters &site : c.sites)
    o["sites"].push_back(json(site));
  o["lines"] = Json::array();
  for (const LineCounters &line : c.lines)
    o["lines"].push_back(json(line));
  return o;
}

Json json(const AccessPlace &p) {
  return {{"site", p.site},          {"access", p.access}, {"file", p.file},
          {"line", p.line},          {"column", p.column}, {"block", json(p.block)},
          {"thread", json(p.thread)}};
}

Json json(const Finding &f) {
  Json o = {{"kind", toString(f.kind)}, {"severity", toString(f.severity)},
            {"kernel", f.kernel},       {"array", f.array},
            {"message", f.message},     {"text", toText(f)},
            {"place", json(f.place)}};
  if (f.other)
    o["other"] = json(*f.other);
  o["offset"] = f.offset;
  o["bytes"] = f.bytes;
  o["count"] = f.count;
  return o;
}

std::string dump(const Json &o, int indent) {
  // Names and messages may hold bytes of the user's that are no UTF-8.
  return o.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace

std::string toJson(const KernelCounters &counters, int indent) {
  return dump(json(counters), indent);
}
std::string toJson(const Finding &finding, int indent) { return dump(json(finding), indent); }

std::string toJson(const LaunchResult &result, int indent) {
  Json o = {{"status", toString(result.status)},
            {"message", result.message},
            {"wallSeconds", result.wallSeconds}};
  o["findings"] = Json::array();
  for (const Finding &finding : result.findings)
    o["findings"].push_back(json(finding));
  o["notes"] = result.notes;
  if (result.counters)
    o["counters"] = json(*result.counters);
  return dump(o, indent);
}

} // namespace kbrt
