//===- PlanWriter.cpp - The plan as JSON ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "PlanJson.h"
#include "kbrt/Plan.h"
#include "kbrt/RecordKeeper.h"
#include "kbrt/Sha256.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace kbrt;
using Json = nlohmann::ordered_json;

namespace {

std::string hexAddress(uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

std::string hexBytes(const std::vector<uint8_t> &bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

Json toJson(const Region &region) {
  Json json{{"buffer", region.at.buffer}, {"offset", region.at.offset}};
  if (region.height == 1) {
    json["bytes"] = region.width;
    return json;
  }
  json["width"] = region.width;
  json["height"] = region.height;
  json["pitch"] = region.pitch;
  return json;
}

Json toJson(const Dim3 &dim) { return Json::array({dim.x, dim.y, dim.z}); }

void addPointers(Json &json, const std::vector<PointerWord> &pointers) {
  for (const PointerWord &word : pointers)
    json["pointers"].push_back(
        {{"at", word.at}, {"buffer", word.target.buffer}, {"offset", word.target.offset}});
}

Json toJson(const Argument &argument) {
  Json json{{"bytes", hexBytes(argument.bytes)}};
  addPointers(json, argument.pointers);
  return json;
}

/// Fields of one step besides "step".
struct StepWriter {
  Json json;

  void stream(uint32_t id) {
    if (id)
      json["stream"] = id;
  }
  /// Unlike `stream`, tells the default stream from none.
  void optionalStream(std::optional<uint32_t> id) {
    if (id)
      json["stream"] = *id;
  }
  void operator()(const AllocStep &step) {
    json["buffer"] = step.buffer;
    optionalStream(step.stream);
  }
  void operator()(const FreeStep &step) {
    json["buffer"] = step.buffer;
    optionalStream(step.stream);
  }
  void operator()(const UploadStep &step) {
    json["to"] = toJson(step.to);
    json["data"] = step.data;
    stream(step.stream);
    addPointers(json, step.pointers);
    if (step.source)
      json["source"] = {{"upload", step.source->upload}, {"offset", step.source->offset}};
    if (step.host != HostPart::Enqueues)
      json["host"] = hostPartName(step.host);
  }
  void operator()(const FillStep &step) {
    json["to"] = toJson(step.to);
    json["value"] = step.value;
    stream(step.stream);
  }
  void operator()(const CopyStep &step) {
    json["to"] = toJson(step.to);
    json["from"] = toJson(step.from);
    stream(step.stream);
  }
  void operator()(const LaunchStep &step) {
    json["kernel"] = step.kernel;
    json["grid"] = toJson(step.grid);
    json["block"] = toJson(step.block);
    if (step.sharedBytes)
      json["sharedBytes"] = step.sharedBytes;
    stream(step.stream);
    json["arguments"] = Json::array();
    for (const Argument &argument : step.arguments)
      json["arguments"].push_back(toJson(argument));
  }
  void operator()(const ReadStep &step) {
    json["from"] = toJson(step.from);
    json["observable"] = step.observable;
    stream(step.stream);
    if (step.implicit)
      json["implicit"] = true;
    if (step.asynchronous)
      json["asynchronous"] = true;
  }
  void operator()(const SyncStep &step) {
    optionalStream(step.stream);
    if (step.event)
      json["event"] = *step.event;
  }
  void operator()(const EventStep &step) {
    json["event"] = step.event;
    stream(step.stream);
  }
  void operator()(const WaitStep &step) {
    json["event"] = step.event;
    stream(step.stream);
  }
  static Json operand(const MatmulOperand &operand) {
    Json json{{"buffer", operand.at.buffer},
              {"offset", operand.at.offset},
              {"leading", operand.leading},
              {"stride", operand.stride}};
    if (operand.transposed)
      json["transposed"] = true;
    return json;
  }
  void operator()(const MatmulStep &step) {
    json["m"] = step.m;
    json["n"] = step.n;
    json["k"] = step.k;
    json["batch"] = step.batch;
    json["alpha"] = step.alpha;
    json["beta"] = step.beta;
    json["a"] = operand(step.a);
    json["b"] = operand(step.b);
    json["c"] = operand(step.c);
    stream(step.stream);
  }
  void operator()(const ErrorStep &step) {
    json["call"] = step.call;
    json["code"] = step.code;
    json["name"] = step.name;
    if (!step.detail.empty())
      json["detail"] = step.detail;
  }
};

Json toJson(const Buffer &buffer, size_t id) {
  Json json{{"id", id},
            {"bytes", buffer.bytes},
            {"kind", bufferKindNames[static_cast<size_t>(buffer.kind)]},
            {"address", hexAddress(buffer.address)},
            {"element", elementTypeName(buffer.element)}};
  if (buffer.kind == BufferKind::Symbol)
    json["symbol"] = buffer.symbol;
  return json;
}

/// Text that the user's program chose may be no UTF-8; it is shown, not kept.
std::string dump(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string arrayOf(const std::vector<std::string> &lines) {
  std::string text = "[";
  for (size_t i = 0; i < lines.size(); ++i)
    text += (i ? ",\n  " : "\n  ") + lines[i];
  return text + (lines.empty() ? "]" : "\n]");
}

} // namespace

uint64_t kbrt::stepDigest(const Step &step) {
  StepWriter writer{Json{{"step", stepName(step)}}};
  std::visit(writer, step);
  for (const char *later : {"data", "pointers"})
    writer.json.erase(later);
  if (auto arguments = writer.json.find("arguments"); arguments != writer.json.end())
    for (Json &argument : *arguments)
      argument.erase("pointers");
  return std::strtoull(sha256(dump(writer.json)).substr(0, 16).c_str(), nullptr, 16);
}

std::string kbrt::planToJson(const Plan &plan) {
  std::vector<std::string> buffers, streams, steps;
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    buffers.push_back(dump(toJson(plan.buffers[i], i)));
  for (const Stream &stream : plan.streams)
    streams.push_back(dump(Json{
        {"id", stream.id}, {"nonBlocking", stream.nonBlocking}, {"priority", stream.priority}}));
  for (const Step &step : plan.steps) {
    StepWriter writer{Json{{"step", stepName(step)}}};
    std::visit(writer, step);
    steps.push_back(dump(writer.json));
  }
  const Outcome &outcome = plan.outcome;
  Json ending{{"ending", endingNames[static_cast<size_t>(outcome.ending)]},
              {"message", outcome.message},
              {"exitStatus", outcome.exitStatus},
              {"stdoutDigest", outcome.stdoutDigest}};
  for (const HeldObjects &held : outcome.held)
    ending["held"].push_back({{"what", held.what},
                              {"bytes", held.bytes},
                              {"count", held.count},
                              {"moments", held.moments}});
  if (!outcome.taken.empty())
    ending["taken"] = outcome.taken;
  return "{\n\"version\": " + std::to_string(planVersion) + ",\n\"outcome\": " + dump(ending) +
         ",\n\"streams\": " + arrayOf(streams) + ",\n\"buffers\": " + arrayOf(buffers) +
         ",\n\"steps\": " + arrayOf(steps) + "\n}\n";
}

bool kbrt::writePlan(const Plan &plan, const std::string &folder, std::string &error) {
  std::string path = folder + "/" + planFileName;
  std::string temporary = path + ".tmp" + std::to_string(getpid());
  std::string text = planToJson(plan);
  std::FILE *file = std::fopen(temporary.c_str(), "wb");
  bool good = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int reason = errno;
  if (file && std::fclose(file) != 0 && good) {
    good = false;
    reason = errno;
  }
  if (good && std::rename(temporary.c_str(), path.c_str()) != 0) {
    good = false;
    reason = errno;
  }
  if (!good) {
    error = path + ": " + std::strerror(reason);
    std::remove(temporary.c_str());
  }
  return good;
}
