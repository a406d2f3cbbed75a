//===- RewriteRecord.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/RewriteRecord.h"
#include "kb-opt/Support/JsonBytes.h"

using namespace kbopt;
namespace json = llvm::json;

CandidatePromise kbopt::weaken(CandidatePromise before, const RewriteRecord &rewrite) {
  before.result = std::max(before.result, rewrite.promise);
  before.assumes.insert(rewrite.assumes.begin(), rewrite.assumes.end());
  return before;
}

//===-- Edits -------------------------------------------------------------===//

static json::Array editsJson(llvm::ArrayRef<JudgedEdit> edits) {
  json::Array list;
  for (const JudgedEdit &edit : edits)
    list.push_back(json::Object{{"offset", edit.offset},
                                {"length", edit.length},
                                {"anchor", edit.anchor},
                                {"begin", edit.anchorBegin},
                                {"end", edit.anchorEnd}});
  return list;
}

static bool readEdits(const json::Array &list, std::vector<JudgedEdit> &edits, json::Path path) {
  for (auto [number, value] : llvm::enumerate(list)) {
    JudgedEdit &edit = edits.emplace_back();
    json::ObjectMapper mapper(value, path.index(number));
    uint64_t offset, length, begin, end;
    if (!mapper || !mapper.map("offset", offset) || !mapper.map("length", length) ||
        !mapper.map("anchor", edit.anchor) || !mapper.map("begin", begin) ||
        !mapper.map("end", end))
      return false;
    edit.offset = offset;
    edit.length = length;
    edit.anchorBegin = begin;
    edit.anchorEnd = end;
  }
  return true;
}

//===-- Schedules ---------------------------------------------------------===//

static bool readRun(const json::Object &object, std::optional<ScheduleRun> &run, json::Path path) {
  std::optional<std::string> base = bytesOfJson(object.get("base"));
  const json::Object *schedules = object.getObject("schedules");
  if (!base || !schedules)
    return true;
  run = ScheduleRun{std::move(*base), {}};
  for (const auto &[kernel, schedule] : *schedules)
    if (!json::fromJSON(schedule, run->schedules[kernel.str()],
                        path.field("schedules").field(kernel)))
      return false;
  return true;
}

//===-- Promises ----------------------------------------------------------===//

static bool readPromise(const json::Object &object, RewriteRecord &record, json::Path path) {
  auto promise = promiseFromName(object.getString("promise").value_or(""));
  const json::Array *assumes = object.getArray("assumes");
  if (!promise || !assumes) {
    path.report("the record does not say what the rewrite promises");
    return false;
  }
  record.promise = *promise;
  for (const json::Value &each : *assumes) {
    auto assumption = assumptionFromName(each.getAsString().value_or(""));
    if (!assumption) {
      path.field("assumes").report("unknown assumption");
      return false;
    }
    record.assumes.push_back(*assumption);
  }
  return true;
}

static bool readRule(llvm::StringRef name, RewriteRecord &record, json::Path path) {
  const EditRuleInfo *rule =
      llvm::find_if(editRules(), [&](const EditRuleInfo &each) { return each.name == name; });
  if (rule == editRules().end()) {
    path.report("unknown rule");
    return false;
  }
  record.refusedBy = rule->rule;
  return true;
}

//===-- Records -----------------------------------------------------------===//

json::Value kbopt::toJSON(const RewriteRecord &record) {
  json::Object object;
  if (!record.text) {
    object["reason"] = record.reason;
    if (record.refusedBy)
      object["rule"] = editRuleName(*record.refusedBy);
    return object;
  }
  object["text"] = jsonOfBytes(*record.text);
  object["host"] = record.host;
  object["edits"] = editsJson(record.edits);
  object["promise"] = promiseName(record.promise);
  json::Array assumes;
  for (Assumption assumption : record.assumes)
    assumes.push_back(assumptionName(assumption));
  object["assumes"] = std::move(assumes);
  if (record.run) {
    object["base"] = jsonOfBytes(record.run->base);
    object["schedules"] = json::Object();
    for (const auto &[kernel, schedule] : record.run->schedules)
      (*object.getObject("schedules"))[kernel] = schedule;
  }
  return object;
}

bool kbopt::fromJSON(const json::Value &value, RewriteRecord &record, json::Path path) {
  json::ObjectMapper mapper(value, path);
  if (!mapper)
    return false;
  const json::Object &object = *value.getAsObject();
  record = RewriteRecord();
  record.text = bytesOfJson(object.get("text"));
  if (!record.text) {
    auto rule = object.getString("rule");
    return mapper.map("reason", record.reason) &&
           (!rule || readRule(*rule, record, path.field("rule")));
  }
  const json::Array *edits = object.getArray("edits");
  if (!edits) {
    path.field("edits").report("expected array");
    return false;
  }
  return mapper.map("host", record.host) && readEdits(*edits, record.edits, path.field("edits")) &&
         readPromise(object, record, path) && readRun(object, record.run, path);
}
