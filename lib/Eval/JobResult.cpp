//===- JobResult.cpp - Results of kb-run as records -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "JobResult.h"
#include "kb-opt/Support/Error.h"
#include "kbrt/Oracle.h"
#include "kbrt/Plan.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

std::optional<RunStatus> parseRunStatus(StringRef status) {
  if (status == "ok")
    return RunStatus::Ok;
  if (status == "timeout")
    return RunStatus::Timeout;
  if (status == "out-of-memory")
    return RunStatus::OutOfMemory;
  if (status == "unsupported")
    return RunStatus::Unsupported;
  for (StringRef fault :
       {"invalid-launch", "fault", "trap", "assert", "deadlock", "divergent-barrier", "crash"})
    if (status == fault)
      return RunStatus::Fault;
  return std::nullopt;
}

static DeviceFinding readFinding(const json::Object &object) {
  auto text = [&](StringRef key) { return object.getString(key).value_or("").str(); };
  DeviceFinding finding;
  finding.kind = text("kind");
  finding.benign = text("severity") == "benign";
  finding.kernel = text("kernel");
  finding.array = text("array");
  finding.text = text("text");
  if (finding.text.empty()) // a GPU knows no place
    finding.text = text("message");
  if (finding.array.empty())
    finding.array = text("buffer");
  if (const json::Object *place = object.getObject("place")) {
    finding.file = place->getString("file").value_or("").str();
    finding.line = static_cast<unsigned>(place->getInteger("line").value_or(0));
  }
  return finding;
}

void readDim(const json::Object &object, StringRef key, unsigned (&dim)[3]) {
  if (const json::Array *values = object.getArray(key))
    for (size_t i = 0; i < 3 && i < values->size(); ++i)
      dim[i] = static_cast<unsigned>((*values)[i].getAsInteger().value_or(1));
}

/// "" if all repetitions agree.
static std::string variationOf(const json::Object &result) {
  const json::Object *repetitions = result.getObject("repetitions");
  if (!repetitions || repetitions->getBoolean("identical").value_or(true))
    return "";
  std::string text = "results differ between executions";
  if (const json::Object *first = repetitions->getObject("firstDifference")) {
    text = formatv("execution {0} gives other results than the first",
                   first->getInteger("repetition").value_or(0) + 1);
    if (std::optional<int64_t> read = first->getInteger("read"))
      text += formatv(", first in output {0}", *read);
  }
  return text;
}

static bool readLaunch(const json::Value &value, LaunchRecord &launch, json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object) {
    path.report("expected an object");
    return false;
  }
  launch.kernel = object->getString("kernel").value_or("").str();
  readDim(*object, "grid", launch.grid);
  readDim(*object, "block", launch.block);
  launch.dynamicSharedBytes =
      static_cast<uint64_t>(object->getInteger("dynamicSharedBytes").value_or(0));
  launch.wallSeconds = object->getNumber("wallSeconds").value_or(0);
  launch.repeats = static_cast<unsigned>(object->getInteger("repeats").value_or(1));
  if (const json::Array *findings = object->getArray("findings"))
    for (const json::Value &entry : *findings)
      if (const json::Object *finding = entry.getAsObject())
        launch.findings.push_back(readFinding(*finding));
  if (const json::Value *counters = object->get("counters"))
    return fromJSON(*counters, launch.counters.emplace(), path.field("counters"));
  return true;
}

static std::set<kbrt::SourcePosition> readPositions(const json::Array *all) {
  std::set<kbrt::SourcePosition> positions;
  for (size_t i = 0; all && i < all->size(); ++i)
    if (const json::Array *one = (*all)[i].getAsArray(); one && one->size() == 2)
      positions.insert({static_cast<uint32_t>((*one)[0].getAsInteger().value_or(0)),
                        static_cast<uint32_t>((*one)[1].getAsInteger().value_or(0))});
  return positions;
}

static std::vector<kbrt::NearPlace> readNear(const json::Array &all) {
  std::vector<kbrt::NearPlace> places;
  for (const json::Value &entry : all) {
    const json::Array *one = entry.getAsArray();
    if (!one || one->size() != 6)
      continue;
    auto number = [&](size_t i) { return (*one)[i].getAsNumber().value_or(0); };
    places.push_back({{static_cast<uint32_t>(number(0)), static_cast<uint32_t>(number(1))},
                      static_cast<uint32_t>(number(2)),
                      number(3),
                      number(4),
                      number(5)});
  }
  return places;
}

bool readRunResult(const json::Value &value, RunResult &result, json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object || object->getInteger("version") != 1) {
    path.field("version").report("expected 1");
    return false;
  }
  std::optional<RunStatus> status = parseRunStatus(object->getString("status").value_or(""));
  if (!status) {
    path.field("status").report("unknown status");
    return false;
  }
  result.status = *status;
  result.message = object->getString("message").value_or("").str();
  if (result.status != RunStatus::Ok && result.message.empty())
    result.message = object->getString("status")->str();
  result.wallSeconds = object->getNumber("wallSeconds").value_or(0);
  result.busySeconds = object->getNumber("processorSeconds").value_or(result.wallSeconds);
  result.variation = variationOf(*object);
  result.orderUnknown = object->getString("orderUnknown").value_or("").str();
  if (const json::Object *coverage = object->getObject("coverage"))
    result.coverage = {readPositions(coverage->getArray("reached")),
                       readPositions(coverage->getArray("unreached"))};
  if (const json::Array *near = object->getArray("near"))
    result.near = readNear(*near);
  if (const json::Array *findings = object->getArray("findings"))
    for (const json::Value &entry : *findings)
      if (const json::Object *finding = entry.getAsObject())
        result.findings.push_back(readFinding(*finding));
  if (const json::Array *launches = object->getArray("launches"))
    for (size_t i = 0; i < launches->size(); ++i)
      if (!readLaunch((*launches)[i], result.launches.emplace_back(),
                      path.field("launches").index(i)))
        return false;
  return true;
}

Error cutOutputs(StringRef planFolder, RunMode mode, std::string observables, RunResult &result) {
  std::string error;
  std::optional<kbrt::Plan> plan = kbrt::readPlan(planFolder.str(), error);
  if (!plan)
    return make_error<StoreError>(error);
  std::vector<std::pair<uint64_t, uint64_t>> reads; // place and bytes
  uint64_t end = 0;
  for (const kbrt::Step &step : plan->steps)
    if (const auto *read = std::get_if<kbrt::ReadStep>(&step)) {
      if (mode == RunMode::Oracle) {
        const kbrt::ElementType type = kbrt::elementOf(*plan, read->from);
        const uint64_t bytes =
            kbrt::isFloatingPoint(type)
                ? read->from.bytes() / kbrt::elementBytes(type) * sizeof(kbrt::OracleElement)
                : 0;
        reads.push_back({end, bytes});
        end += bytes;
      } else {
        reads.push_back({read->observable, read->from.bytes()});
      }
      if (reads.back().first + reads.back().second > observables.size())
        return make_error<StoreError>(
            ("kb-run wrote fewer results than the plan in '" + planFolder + "' reads").str());
    }
  const SharedBytes all(std::move(observables)); // may be large
  for (const auto &[place, bytes] : reads)
    result.outputs.push_back(all.slice(place, bytes));
  return Error::success();
}

} // namespace kbopt
