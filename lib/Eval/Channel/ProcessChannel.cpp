//===- ProcessChannel.cpp - A kb-run on this machine ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns one `kb-run serve -`: starts it, hands it the jobs one after the other,
// and starts it again when it dies, hangs or talks nonsense. A thread of its own
// does that, because the server's sandbox dies with the thread that made it.
//
//===----------------------------------------------------------------------===//
#include "JobFiles.h"
#include "kb-opt/Support/ChildProcess.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Installation.h"
#include "kb-opt/Support/Interrupt.h"
#include "kb-opt/Support/TurnsFolder.h"
#include "kbrt/Plan.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

using namespace llvm;

namespace kbopt {
namespace {

class ProcessChannel : public JobChannel {
public:
  explicit ProcessChannel(ProcessChannelOptions options)
      : options(std::move(options)), thread([this] { work(); }) {}
  ~ProcessChannel() override;
  Expected<JobAnswer> run(const JobRequest &request) override;
  bool takesContents() const override { return true; }

private:
  void work();
  Expected<JobAnswer> answer(const JobRequest &request);
  /// The answer's line, or nothing with \p why and perhaps \p late.
  Expected<std::optional<std::string>> ask(const std::string &line, double limitSeconds,
                                           std::string &why, bool &late);
  Error startServer();
  Expected<SentSubject> stage(const JobSubject &subject, const std::string &folder);

  ProcessChannelOptions options;
  std::mutex turn;  ///< one caller after the other
  std::mutex mutex; ///< of the four below
  std::condition_variable changed;
  const JobRequest *waiting = nullptr;
  std::optional<Expected<JobAnswer>> done;
  bool ends = false;
  std::unique_ptr<ChildProcess> server; ///< the thread's alone
  std::vector<std::string> command;
  unsigned jobs = 0;
  std::thread thread; ///< last: it uses all the others
};

ProcessChannel::~ProcessChannel() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ends = true;
  }
  changed.notify_all();
  thread.join();
}

Expected<JobAnswer> ProcessChannel::run(const JobRequest &request) {
  std::lock_guard<std::mutex> mine(turn);
  std::unique_lock<std::mutex> lock(mutex);
  waiting = &request;
  changed.notify_all();
  changed.wait(lock, [&] { return done.has_value(); });
  Expected<JobAnswer> result = std::move(*done);
  done.reset();
  return result;
}

void ProcessChannel::work() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return ends || waiting; });
    if (ends)
      break;
    const JobRequest *request = waiting;
    waiting = nullptr;
    lock.unlock();
    Expected<JobAnswer> result = answer(*request);
    lock.lock();
    done.emplace(std::move(result));
    changed.notify_all();
  }
  server.reset();
}

Error ProcessChannel::startServer() {
  ProcessRequest request = kbRunRequest(options, {"serve", "-"});
  command = {options.kbRun, "serve", "-"};
  request.purpose = "kb-run server";
  Expected<std::unique_ptr<ChildProcess>> started = ChildProcess::start(request);
  if (!started)
    return started.takeError();
  server = std::move(*started);
  return Error::success();
}

/// Files of \p subject below \p folder, which the server sees; links cost nothing.
Expected<SentSubject> ProcessChannel::stage(const JobSubject &subject, const std::string &folder) {
  SentSubject sent;
  if (subject.planFolder.empty() && subject.image.empty())
    return sent;
  if (Error error = realFileSystem().createDirectories(folder))
    return std::move(error);
  sent = {folder, folder + "/image", ""};
  if (Error error = linkOrCopy(subject.image, sent.image))
    return std::move(error);
  for (StringRef name : {kbrt::planFileName, kbrt::dataFileName}) {
    std::string from = (subject.planFolder + "/" + name).str();
    if (name == kbrt::dataFileName && !sys::fs::exists(from))
      continue;
    if (Error error = linkOrCopy(from, (folder + "/" + name).str()))
      return std::move(error);
  }
  return sent;
}

Expected<std::optional<std::string>>
ProcessChannel::ask(const std::string &line, double limitSeconds, std::string &why, bool &late) {
  if (!server)
    if (Error error = startServer())
      return std::move(error);
  std::string text;
  double limit = limitSeconds > 0 ? limitSeconds + options.graceSeconds : 0;
  ChildProcess::Reply reply = server->ask(line, limit, options.mostResultBytes, text);
  if (reply == ChildProcess::Reply::Line)
    return std::optional<std::string>(std::move(text));
  ProcessResult ended = server->ending();
  server.reset();
  switch (reply) {
  case ChildProcess::Reply::Interrupted:
    return interruption();
  case ChildProcess::Reply::Late:
    why = formatv("gave no answer within {0:f0} s", limit);
    late = true;
    break;
  case ChildProcess::Reply::TooLong:
    why = formatv("answered with more than {0} bytes", options.mostResultBytes);
    break;
  default:
    why = "ended with " + ended.describe();
    break;
  }
  if (std::string tail = ended.errorTail(3); !tail.empty())
    why += ": " + tail;
  // A server that cannot even start is the machine's fault.
  if (ended.exitStatus == 127 || (options.sandboxed && StringRef(ended.err).contains("bwrap:")))
    return make_error<ToolError>("kb-run does not start", command, ended.exitStatus,
                                 ended.errorTail(),
                                 "try it by itself: " + options.kbRun + " devices");
  return std::optional<std::string>();
}

Expected<JobAnswer> ProcessChannel::answer(const JobRequest &request) {
  if (interrupted())
    return interruption();
  std::string number = std::to_string(jobs++);
  std::string in = options.directory + "/in" + number, out = options.directory + "/out/" + number;
  struct Remover {
    const std::string &folder;
    ~Remover() { (void)sys::fs::remove_directories(folder); }
  } removers[] = {{in}, {out}};
  if (Error error = realFileSystem().createDirectories(options.directory + "/out"))
    return std::move(error);
  Expected<SentSubject> subject = stage(request.subject, in);
  if (!subject)
    return subject.takeError();
  std::optional<SentSubject> baseline;
  if (request.baseline) {
    Expected<SentSubject> other = stage(*request.baseline, in + "/baseline");
    if (!other)
      return other.takeError();
    baseline = std::move(*other);
  }
  std::string line = jobText(request, *subject, baseline, "", request.wantsOutputs ? out : "");
  std::string why;
  for (unsigned attempt = 1; attempt <= options.attempts; ++attempt) {
    bool late = false;
    Expected<std::optional<std::string>> text = ask(line, request.limitSeconds, why, late);
    if (!text)
      return text.takeError();
    if (*text) {
      Expected<json::Object> result = parseResult(**text, "kb-run");
      if (!result) {
        server.reset(); // whatever it says next may belong to this job
        return result.takeError();
      }
      JobAnswer answer;
      answer.result = std::move(*result);
      if (request.wantsOutputs)
        if (Error error = takeOutputs(out, answer))
          return std::move(error);
      return std::move(answer);
    }
    if (options.notice)
      options.notice("kb-run " + why + "; it is started again");
    if (late)
      return JobAnswer{plainResult("timeout", "kb-run " + why), "", {}};
  }
  return JobAnswer{plainResult("crash", formatv("the job took down {0} servers, the last one {1}",
                                                options.attempts, why)),
                   "",
                   {}};
}

} // namespace

ProcessRequest kbRunRequest(const ProcessChannelOptions &options, std::vector<std::string> words) {
  ProcessRequest request;
  request.argv = std::move(words);
  request.argv.insert(request.argv.begin(), options.kbRun);
  request.memoryBytes = options.memoryBytes;
  if (!options.card.empty())
    request.environment.push_back("CUDA_VISIBLE_DEVICES=" + options.card);
  if (!options.sandboxed)
    return request;
  StringRef tools = sys::path::parent_path(options.kbRun);
  request.sandbox = Sandbox{{options.directory}, {options.directory + "/out"}};
  request.sandbox->seesGpus = options.seesGpus;
  if (std::optional<std::string> turns = options.seesGpus ? turnsFolder() : std::nullopt)
    request.sandbox->writable.push_back(*turns);
  // kb-run's library and the toolkit's may be below the home directory.
  if (!tools.empty())
    request.sandbox->readable.insert(request.sandbox->readable.begin(),
                                     sys::path::parent_path(tools).str());
  if (const char *toolkit = std::getenv("CUDA_PATH");
      options.seesGpus && toolkit && sys::fs::is_directory(toolkit))
    request.sandbox->readable.insert(request.sandbox->readable.begin(), toolkit);
  return request;
}

Error findKbRunFor(ProcessChannelOptions &options) {
  if (options.kbRun.empty()) {
    std::optional<std::string> found = findKbRun();
    if (!found)
      return make_error<ToolError>("cannot find kb-run beside this program or in PATH",
                                   std::vector<std::string>{"kb-run"}, -1, "", "run scripts/build");
    options.kbRun = *found;
  }
  return realFileSystem().createDirectories(options.directory + "/out");
}

Expected<std::unique_ptr<JobChannel>> createProcessChannel(ProcessChannelOptions options) {
  if (Error error = findKbRunFor(options))
    return std::move(error);
  return std::make_unique<ProcessChannel>(std::move(options));
}

} // namespace kbopt
