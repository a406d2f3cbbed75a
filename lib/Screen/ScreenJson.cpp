//===- ScreenJson.cpp - Jobs and answers of kb-run hold -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ScreenJson.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

std::string screenJob(StringRef op, StringRef program, const ScreenSubject &subject,
                      const ScreenRequest &request) {
  json::Object job{{"version", 1},
                   {"op", op},
                   {"image", subject.cubinPath},
                   {"plans", json::Array(subject.planFolders)},
                   {"poison", request.poison},
                   {"leastLimitSeconds", request.leastLimitSeconds},
                   {"mostSamples", request.mostSamples},
                   {"apartRatio", request.apartRatio},
                   {"timed", request.isTimed},
                   {"fresh", request.isFresh}};
  if (!program.empty())
    job["name"] = program;
  return formatv("{0}", json::Value(std::move(job))).str();
}

static uint64_t countOf(const json::Object &object, StringRef key) {
  return static_cast<uint64_t>(object.getInteger(key).value_or(0));
}

static OutputMatch readMatch(const json::Object &object) {
  OutputMatch match;
  match.name = object.getString("name").value_or("").str();
  match.type = kbrt::elementTypeFromName(object.getString("type").value_or("").str())
                   .value_or(kbrt::ElementType::Unknown);
  match.elements = countOf(object, "elements");
  match.differing = countOf(object, "differing");
  match.otherClass = countOf(object, "otherClass");
  match.largestError = object.getNumber("largestError").value_or(0);
  match.relativeL2 = object.getNumber("relativeL2").value_or(0);
  return match;
}

Expected<ScreenReport> readScreenReport(StringRef line, StringRef op, Timings *timings) {
  const std::vector<std::string> command = {"kb-run", "hold"};
  Expected<json::Value> value = json::parse(line);
  if (!value)
    consumeError(value.takeError());
  const json::Object *answer = value ? value->getAsObject() : nullptr;
  std::optional<StringRef> status = answer ? answer->getString("status") : std::nullopt;
  if (!status || answer->getInteger("version") != 1)
    return make_error<ToolError>("kb-run gave no result", command, 0, line.take_front(400).str(),
                                 "kb-run and kb-opt must come from one build");
  const std::string message = answer->getString("message").value_or("").str();
  // To open a program takes memory of the machine; what a candidate takes is its own.
  if (*status == "environment" || *status == "usage" ||
      (*status == "out-of-memory" && op == "open"))
    return make_error<ToolError>(message, command, 0, "",
                                 answer->getString("note").value_or("").str());
  if (const json::Object *seconds = answer->getObject("seconds"); seconds && timings)
    for (const auto &[part, each] : *seconds)
      timings->add("inside kb-run", (op + ": " + StringRef(part)).str(),
                   each.getAsNumber().value_or(0));
  ScreenReport report;
  report.status = *status == "ok"              ? RunStatus::Ok
                  : *status == "timeout"       ? RunStatus::Timeout
                  : *status == "out-of-memory" ? RunStatus::OutOfMemory
                  : *status == "unsupported"   ? RunStatus::Unsupported
                  : *status == "lost"          ? RunStatus::Lost
                                               : RunStatus::Fault;
  report.message = message;
  report.set = static_cast<unsigned>(countOf(*answer, "set"));
  if (report.status != RunStatus::Ok)
    return report;
  if (const json::Array *sets = answer->getArray("matches"))
    for (const json::Value &set : *sets) {
      report.matches.emplace_back();
      if (const json::Array *matches = set.getAsArray())
        for (const json::Value &match : *matches)
          if (const json::Object *object = match.getAsObject())
            report.matches.back().push_back(readMatch(*object));
    }
  if (const json::Array *launches = answer->getArray("launches"))
    for (const json::Value &launch : *launches)
      if (const json::Object *object = launch.getAsObject())
        report.launches.push_back(
            {object->getString("kernel").value_or("").str(), object->getNumber("us").value_or(0)});
  report.originalUs = answer->getNumber("originalUs").value_or(0);
  report.candidateUs = answer->getNumber("candidateUs").value_or(0);
  report.samples = static_cast<unsigned>(countOf(*answer, "samples"));
  report.peakDeviceBytes = countOf(*answer, "peakDeviceBytes");
  return report;
}

} // namespace kbopt
