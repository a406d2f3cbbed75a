//===- SpoolChannel.cpp - A kb-run somewhere else -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the asker's side of a spool folder (docs/JobFormat.md): files by digest,
// jobs by rename, names by content. The server's side is tools/kb-run/Serve.cpp.
//
//===----------------------------------------------------------------------===//
#include "JobFiles.h"
#include "kb-opt/Support/Clock.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Interrupt.h"
#include "kbrt/Plan.h"
#include "kbrt/Sha256.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <thread>

using namespace llvm;

namespace kbopt {
namespace {

/// Between two looks at the folder, in milliseconds; it doubles up to the second.
constexpr unsigned firstWaitMs = 5, mostWaitMs = 250;
/// Times a job is written that another process took away.
constexpr unsigned mostSubmissions = 5;

class SpoolChannel : public JobChannel {
public:
  explicit SpoolChannel(SpoolChannelOptions options) : options(std::move(options)) {}
  Expected<JobAnswer> run(const JobRequest &request) override;

private:
  std::string at(StringRef kind, StringRef name) const {
    return (options.directory + "/" + kind + "/" + name).str();
  }
  Error checkFolder() const;
  Error gone() const;
  Expected<std::string> sendBlob(const std::string &path);
  Expected<SentSubject> send(const JobSubject &subject);
  Error submit(const std::string &name, const std::string &text);
  Expected<json::Object> await(const std::string &name, const std::string &text);

  /// A name that is not waited for in this process; the same for the same requests
  /// in another run.
  std::string take(const std::string &text);
  void giveBack(const std::string &name);

  SpoolChannelOptions options;
  SentDigests digests;
  std::mutex mutex;           ///< of what follows
  std::set<std::string> open; ///< names
  bool told = false;          ///< that no kb-run answers
};

Error SpoolChannel::gone() const {
  return make_error<StoreError>(
      "the spool folder '" + options.directory + "' is gone",
      "make it again, start 'kb-run serve " + options.directory +
          "' where the GPU is, and run the same command; finished effects are kept");
}

Error SpoolChannel::checkFolder() const {
  return sys::fs::is_directory(options.directory) ? Error::success() : gone();
}

/// Whether \p path was sent before; the server is to see that it is still of use.
static bool isThere(const std::string &path) {
  return utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0;
}

/// Puts the file at \p path into blobs/ under its digest, which is returned.
Expected<std::string> SpoolChannel::sendBlob(const std::string &path) {
  Expected<std::string> digest = digests.get(path);
  if (!digest)
    return digest;
  std::string blob = at("blobs", *digest);
  if (isThere(blob))
    return digest;
  auto bytes = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!bytes)
    return make_error<StoreError>("cannot read '" + path + "': " + bytes.getError().message());
  if (Error error = realFileSystem().write(blob, (*bytes)->getBuffer()))
    return std::move(error);
  return digest;
}

Expected<SentSubject> SpoolChannel::send(const JobSubject &subject) {
  SentSubject sent;
  if (subject.planFolder.empty() && subject.image.empty())
    return sent;
  Expected<std::string> image = sendBlob(subject.image);
  if (!image)
    return image.takeError();
  sent.image = "blobs/" + *image;
  std::string planFile = subject.planFolder + "/" + kbrt::planFileName;
  Expected<std::string> plan = digests.get(planFile);
  if (!plan)
    return plan.takeError();
  sent.plan = "plans/" + *plan;
  std::string to = at(sent.plan, kbrt::planFileName);
  FileSystem &files = realFileSystem();
  if (!isThere(to)) {
    Expected<std::string> text = files.read(planFile);
    if (!text)
      return text.takeError();
    if (Error error = files.createDirectories(at("plans", *plan)))
      return std::move(error);
    if (Error error = files.write(to, *text))
      return std::move(error);
  }
  std::string data = subject.planFolder + "/" + kbrt::dataFileName;
  if (files.exists(data)) {
    Expected<std::string> digest = sendBlob(data);
    if (!digest)
      return digest.takeError();
    sent.dataSha256 = *digest;
  }
  return sent;
}

Error SpoolChannel::submit(const std::string &name, const std::string &text) {
  Error error = realFileSystem().write(at("jobs", name + ".json"), text + "\n");
  if (!error || sys::fs::is_directory(at("jobs", "")))
    return error;
  consumeError(std::move(error));
  return gone();
}

std::string SpoolChannel::take(const std::string &text) {
  std::string content = kbrt::sha256(text).substr(0, 32);
  std::lock_guard<std::mutex> lock(mutex);
  std::string name = content;
  for (unsigned i = 1; !open.insert(name).second; ++i)
    name = content + "-" + std::to_string(i);
  return name;
}

void SpoolChannel::giveBack(const std::string &name) {
  std::lock_guard<std::mutex> lock(mutex);
  open.erase(name);
}

/// Modification time of \p path, or nothing if it is not there.
static std::optional<sys::TimePoint<>> timeOf(const std::string &path) {
  sys::fs::file_status status;
  if (sys::fs::status(path, status))
    return std::nullopt;
  return status.getLastModificationTime();
}

/// Waits for the result of \p name, submitting the job where it is not there yet.
Expected<json::Object> SpoolChannel::await(const std::string &name, const std::string &text) {
  std::string result = at("results", name + ".json"), job = at("jobs", name + ".json"),
              claim = at("claims", name + ".json");
  FileSystem &files = realFileSystem();
  unsigned submissions = 0, waitMs = firstWaitMs;
  std::optional<sys::TimePoint<>> claimed;
  double lastSign = realClock().monotonicSeconds();
  for (;;) {
    if (files.exists(result)) {
      Expected<std::string> bytes = files.read(result);
      if (!bytes)
        return bytes.takeError();
      Expected<json::Object> answer = parseResult(*bytes, "the spool's server");
      if (Error error = files.remove(result))
        consumeError(std::move(error)); // a concurrent request consumed it
      // The machine's fault at another time says nothing about now.
      if (!answer || submissions || answer->getString("status") != "environment")
        return answer;
    }
    if (Error error = checkFolder())
      return std::move(error);
    if (interrupted())
      return interruption();
    std::optional<sys::TimePoint<>> sign = timeOf(claim);
    bool isThere = sign || files.exists(job) || files.exists(claim) || files.exists(result);
    double now = realClock().monotonicSeconds();
    if (!isThere) {
      if (++submissions > mostSubmissions)
        return make_error<ToolError>("job " + name + " vanishes from the spool folder '" +
                                         options.directory + "'",
                                     std::vector<std::string>{"kb-run", "serve", options.directory},
                                     -1, "", "another process removes files from that folder");
      if (Error error = submit(name, text))
        return std::move(error);
      lastSign = now;
      waitMs = firstWaitMs;
    } else if (sign && sign != claimed) {
      claimed = sign;
      lastSign = now;
    }
    double silent = now - lastSign;
    if (silent > options.giveUpSeconds)
      return make_error<ToolError>(
          formatv("no kb-run has answered in the spool folder '{0}' for {1:f0} s",
                  options.directory, silent)
              .str(),
          std::vector<std::string>{"kb-run", "serve", options.directory}, -1, "",
          "start 'kb-run serve " + options.directory +
              "' where the GPU is and run the same command again: the job stays there");
    if (silent > options.noticeSeconds && options.notice) {
      std::lock_guard<std::mutex> lock(mutex);
      if (!told)
        options.notice("waiting for a server: start 'kb-run serve " + options.directory +
                       "' where the GPU is");
      told = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(waitMs));
    waitMs = std::min(mostWaitMs, waitMs * 2);
  }
}

Expected<JobAnswer> SpoolChannel::run(const JobRequest &request) {
  if (Error error = checkFolder())
    return std::move(error);
  for (StringRef kind : {"jobs", "claims", "results", "blobs", "plans", "outputs"})
    if (Error error = realFileSystem().createDirectories(options.directory + "/" + kind.str()))
      return std::move(error);
  Expected<SentSubjects> sent =
      sendSubjects(request, [&](const JobSubject &subject) { return send(subject); });
  if (!sent)
    return sent.takeError();
  // The folder for outputs is named after the job, and the job after everything else.
  std::string name = take(jobText(request, sent->subject, sent->baseline, "blobs",
                                  request.wantsOutputs ? "outputs" : ""));
  std::string outputs = request.wantsOutputs ? "outputs/" + name : "";
  std::string text = jobText(request, sent->subject, sent->baseline, "blobs", outputs);
  Expected<json::Object> result = await(name, text);
  JobAnswer answer;
  Error failure = Error::success();
  if (result && request.wantsOutputs)
    failure =
        joinErrors(std::move(failure), takeOutputs(options.directory + "/" + outputs, answer));
  giveBack(name);
  if (!result)
    return joinErrors(result.takeError(), std::move(failure));
  if (failure)
    return std::move(failure);
  answer.result = std::move(*result);
  return std::move(answer);
}

} // namespace

Expected<std::unique_ptr<JobChannel>> createSpoolChannel(SpoolChannelOptions options) {
  if (!sys::fs::is_directory(options.directory))
    return make_error<StoreError>("no spool folder '" + options.directory + "'",
                                  "make it, and start 'kb-run serve " + options.directory +
                                      "' where the GPU is");
  return std::make_unique<SpoolChannel>(std::move(options));
}

} // namespace kbopt
