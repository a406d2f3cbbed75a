//===- JobFiles.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "JobFiles.h"
#include "kb-opt/Support/FileSystem.h"
#include "kbrt/Plan.h"
#include "kbrt/Sha256.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace kbopt {

JobChannel::~JobChannel() = default;

static void addSubject(json::Object &into, const SentSubject &subject) {
  into["plan"] = subject.plan;
  into["image"] = subject.image;
  if (!subject.dataSha256.empty())
    into["dataSha256"] = subject.dataSha256;
}

std::string jobText(const JobRequest &request, const SentSubject &subject,
                    const std::optional<SentSubject> &baseline, StringRef blobs,
                    StringRef outputs) {
  json::Object job = request.fields;
  job["version"] = 1;
  addSubject(job, subject);
  if (baseline)
    if (json::Object *timing = job.getObject("timing")) {
      json::Object other;
      addSubject(other, *baseline);
      (*timing)["baseline"] = std::move(other);
    }
  if (!blobs.empty())
    job["blobs"] = blobs;
  if (!outputs.empty())
    job["outputs"] = outputs;
  return formatv("{0}", json::Value(std::move(job))).str();
}

Expected<std::string> SentDigests::get(const std::string &path) {
  sys::fs::file_status status;
  if (std::error_code code = sys::fs::status(path, status))
    return make_error<StoreError>("cannot read '" + path + "': " + code.message());
  std::string key = formatv("{0} {1} {2}", path, status.getSize(),
                            status.getLastModificationTime().time_since_epoch().count());
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = known.find(key);
    if (found != known.end())
      return found->second;
  }
  auto bytes = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!bytes)
    return make_error<StoreError>("cannot read '" + path + "': " + bytes.getError().message());
  std::string digest =
      kbrt::sha256(std::string_view((*bytes)->getBufferStart(), (*bytes)->getBufferSize()));
  std::lock_guard<std::mutex> lock(mutex);
  return known[key] = digest;
}

Expected<SentSubjects> sendSubjects(const JobRequest &request,
                                    function_ref<Expected<SentSubject>(const JobSubject &)> send) {
  SentSubjects sent;
  Expected<SentSubject> subject = send(request.subject);
  if (!subject)
    return subject.takeError();
  sent.subject = std::move(*subject);
  if (!request.baseline)
    return std::move(sent);
  Expected<SentSubject> baseline = send(*request.baseline);
  if (!baseline)
    return baseline.takeError();
  sent.baseline = std::move(*baseline);
  return std::move(sent);
}

Error linkOrCopy(const std::string &from, const std::string &to) {
  if (!sys::fs::create_hard_link(from, to))
    return Error::success();
  if (std::error_code code = sys::fs::copy_file(from, to))
    return make_error<StoreError>("cannot copy '" + from + "' to '" + to + "': " + code.message());
  return Error::success();
}

Expected<json::Object> parseResult(StringRef text, StringRef sender) {
  auto garbage = [&](const std::string &why) {
    return make_error<ToolError>((sender + " gave no result: " + why).str(),
                                 std::vector<std::string>{"kb-run"}, 0, text.take_front(400).str(),
                                 "kb-run and kb-opt must come from one build");
  };
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return garbage(toString(value.takeError()));
  json::Object *object = value->getAsObject();
  if (!object || object->getInteger("version") != 1 || !object->getString("status"))
    return garbage("no version 1 or no status");
  return std::move(*object);
}

json::Object plainResult(StringRef status, const std::string &message) {
  return json::Object{
      {"version", 1}, {"status", status}, {"message", message}, {"launches", json::Array()}};
}

Error takeOutputs(const std::string &outputs, JobAnswer &answer) {
  FileSystem &files = realFileSystem();
  if (!files.exists(outputs))
    return Error::success();
  for (const std::string &name : files.list(outputs)) {
    const std::string path = outputs + "/" + name;
    if (name == kbrt::observablesFileName) {
      Expected<std::string> read = files.read(path);
      if (!read)
        return read.takeError();
      answer.observables = std::move(*read);
      continue;
    }
    auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!file)
      return make_error<StoreError>("cannot read '" + path + "': " + file.getError().message());
    answer.contents.emplace(name, SharedBytes(std::move(*file)));
  }
  (void)sys::fs::remove_directories(outputs);
  return Error::success();
}

} // namespace kbopt
