//===- Job.cpp - reading job files ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Job.h"
#include "kbrt/ImageInfo.h"
#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

namespace kbrun {

using Json = nlohmann::json;
using kbrt::ImageMode;

namespace {

/// What is wrong with a job; caught in readJob.
struct Wrong {
  std::string what;
};

class Fields {
public:
  Fields(const Json &object, std::string where) : object(object), where(std::move(where)) {
    if (!object.is_object())
      throw Wrong{this->where + ": is no object"};
  }
  ~Fields() noexcept(false) {
    if (std::uncaught_exceptions())
      return;
    for (auto &[name, value] : object.items())
      if (std::find(known.begin(), known.end(), name) == known.end())
        throw Wrong{path(name) + ": unknown field"};
  }
  const Json *find(const char *name) {
    known.emplace_back(name);
    auto it = object.find(name);
    return it == object.end() ? nullptr : &*it;
  }
  std::string path(const std::string &name) const {
    return where.empty() ? name : where + "." + name;
  }

  void text(const char *name, std::string &into, bool isRequired = false) {
    const Json *value = find(name);
    if (!value && isRequired)
      throw Wrong{path(name) + ": is missing"};
    if (value && !value->is_string())
      throw Wrong{path(name) + ": is no string"};
    if (value)
      into = value->get<std::string>();
  }
  template <typename T>
  void number(const char *name, T &into, uint64_t most = std::numeric_limits<T>::max()) {
    const Json *value = find(name);
    if (!value)
      return;
    if (!value->is_number_unsigned() || value->get<uint64_t>() > most)
      throw Wrong{path(name) + ": is no whole number from 0 to " + std::to_string(most)};
    into = static_cast<T>(value->get<uint64_t>());
  }
  /// 64 bits, which some writers of JSON know as signed only.
  void seed(const char *name, uint64_t &into) {
    const Json *value = find(name);
    if (!value)
      return;
    if (!value->is_number_integer())
      throw Wrong{path(name) + ": is no whole number"};
    into = value->is_number_unsigned() ? value->get<uint64_t>()
                                       : static_cast<uint64_t>(value->get<int64_t>());
  }
  void seconds(const char *name, double &into) {
    const Json *value = find(name);
    if (!value)
      return;
    if (!value->is_number() || !(value->get<double>() >= 0) || !std::isfinite(value->get<double>()))
      throw Wrong{path(name) + ": is no number of seconds"};
    into = value->get<double>();
  }
  void boolean(const char *name, bool &into) {
    const Json *value = find(name);
    if (value && !value->is_boolean())
      throw Wrong{path(name) + ": is neither true nor false"};
    if (value)
      into = value->get<bool>();
  }

private:
  const Json &object;
  std::string where;
  std::vector<std::string> known;
};

int roundingFromName(const std::string &name) {
  if (name == "nearest")
    return FE_TONEAREST;
  if (name == "up")
    return FE_UPWARD;
  if (name == "down")
    return FE_DOWNWARD;
  if (name == "zero")
    return FE_TOWARDZERO;
  throw Wrong{"rounding: '" + name + "' is none of nearest, up, down, zero"};
}

ImageMode modeFromName(const std::string &name) {
  constexpr std::pair<const char *, ImageMode> modes[] = {{"plain", ImageMode::Plain},
                                                          {"check", ImageMode::Check},
                                                          {"count", ImageMode::Count},
                                                          {"oracle", ImageMode::Oracle},
                                                          {"search", ImageMode::Search}};
  for (auto &[text, mode] : modes)
    if (name == text)
      return mode;
  throw Wrong{"mode: '" + name + "' is none of plain, check, count, oracle, search"};
}

void readSubject(Fields &fields, JobSubject &subject) {
  fields.text("plan", subject.plan, true);
  fields.text("image", subject.image, true);
  fields.text("dataSha256", subject.dataSha256);
}

kbrt::cuda::TimingOptions readTiming(Fields fields, std::optional<JobSubject> &baseline) {
  kbrt::cuda::TimingOptions timing;
  fields.number("minSamples", timing.stop.minSamples, 1000000);
  fields.seconds("minSeconds", timing.stop.minSeconds);
  fields.seconds("maxSeconds", timing.stop.maxSeconds);
  fields.seconds("warmUpSeconds", timing.warmUpSeconds);
  fields.seconds("noise", timing.stop.noise);
  fields.seconds("apartRatio", timing.stop.apartRatio);
  fields.seconds("batchBelowUs", timing.batchBelowUs);
  fields.boolean("hot", timing.hot);
  fields.seed("seed", timing.seed);
  timing.accept.seed = timing.seed;
  if (const Json *value = fields.find("baseline")) {
    Fields entry(*value, fields.path("baseline"));
    readSubject(entry, baseline.emplace());
  }
  return timing;
}

kbrt::cuda::ProfileOptions readProfile(Fields fields) {
  kbrt::cuda::ProfileOptions profile;
  fields.text("sets", profile.sets);
  if (profile.sets.empty() || profile.sets.find_first_not_of("ABCD") != std::string::npos)
    throw Wrong{fields.path("sets") + ": '" + profile.sets + "' is not made of A, B, C and D"};
  fields.number("launches", profile.launches, 10000);
  if (!profile.launches)
    throw Wrong{fields.path("launches") + ": is 0"};
  fields.boolean("pcSampling", profile.pcSampling);
  return profile;
}

void readSanitizer(const Json &json, CudaJob &cuda) {
  if (!json.is_array())
    throw Wrong{"sanitizer: is no array"};
  for (const Json &tool : json) {
    std::string name = tool.is_string() ? tool.get<std::string>() : tool.dump();
    if (name != "memcheck" && name != "racecheck" && name != "initcheck" && name != "synccheck")
      throw Wrong{"sanitizer: '" + name + "' is none of memcheck, racecheck, initcheck, synccheck"};
    cuda.sanitizer.push_back(name);
  }
}

void readConstParameters(const Json &json, CudaJob &cuda) {
  for (auto &[kernel, flags] : json.items()) {
    std::vector<bool> &into = cuda.constParameters[kernel];
    for (const Json &flag : flags) {
      if (!flag.is_boolean())
        throw Wrong{"constParameters." + kernel + ": is no array of true and false"};
      into.push_back(flag.get<bool>());
    }
  }
}

/// {"salt": 32 hexadecimal digits, "known": digests}
kbrt::cuda::ReadContents readContents(const Json &json) {
  Fields fields(json, "contents");
  kbrt::cuda::ReadContents contents;
  std::string salt;
  fields.text("salt", salt, true);
  constexpr size_t digits = 16;
  if (salt.size() != 2 * digits || salt.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw Wrong{fields.path("salt") + ": is not 32 hexadecimal digits"};
  for (size_t i = 0; i < 2; ++i)
    contents.salts[i] = std::stoull(salt.substr(i * digits, digits), nullptr, 16);
  if (const Json *known = fields.find("known")) {
    if (!known->is_array())
      throw Wrong{fields.path("known") + ": is no array"};
    for (const Json &digest : *known) {
      if (!digest.is_string())
        throw Wrong{fields.path("known") + ": has something else than strings"};
      contents.known.insert(digest.get<std::string>());
    }
  }
  return contents;
}

/// [{"begin": step, "period": steps, "count": periods, "periods": that are executed}, …]
std::vector<kbrt::cuda::RestingRepetition> readResting(const Json &json) {
  if (!json.is_array())
    throw Wrong{"resting: is no array"};
  std::vector<kbrt::cuda::RestingRepetition> all;
  for (const Json &each : json) {
    Fields fields(each, "resting");
    kbrt::cuda::RestingRepetition known;
    fields.number("begin", known.repetition.begin);
    fields.number("period", known.repetition.period);
    fields.number("count", known.repetition.count);
    fields.number("periods", known.periods);
    if (!known.repetition.period || !known.periods || known.periods > known.repetition.count)
      throw Wrong{fields.path("periods") + ": is none of the repetition's"};
    all.push_back(known);
  }
  return all;
}

void readCuda(Fields &fields, Job &job) {
  fields.text("arch", job.cuda.arch);
  fields.number("deviceIndex", job.cuda.deviceIndex, 1023);
  if (const Json *value = fields.find("constParameters")) {
    if (!value->is_object())
      throw Wrong{"constParameters: is no object"};
    readConstParameters(*value, job.cuda);
  }
  if (const Json *value = fields.find("timing"))
    job.cuda.timing = readTiming(Fields(*value, "timing"), job.cuda.baseline);
  if (const Json *value = fields.find("profile"))
    job.cuda.profile = readProfile(Fields(*value, "profile"));
  fields.boolean("audit", job.cuda.audit);
  fields.boolean("separateBuffers", job.cuda.separateBuffers);
  if (const Json *value = fields.find("resting"))
    job.cuda.resting = readResting(*value);
  if (const Json *contents = fields.find("contents"))
    job.cuda.contents = readContents(*contents);
  if (const Json *value = fields.find("sanitizer"))
    readSanitizer(*value, job.cuda);
  fields.seconds("sanitizerSeconds", job.cuda.sanitizerSeconds);
}

Job parse(const Json &json) {
  Job job;
  Fields fields(json, "");
  uint32_t version = 0;
  fields.number("version", version);
  if (version != 1)
    throw Wrong{"version: is not 1, the only one this kb-run knows"};
  std::string device = "cpu";
  fields.text("device", device);
  if (device != "cpu" && device != "cuda")
    throw Wrong{"device: '" + device + "' is neither cpu nor cuda"};
  job.isCuda = device == "cuda";
  fields.text("id", job.id);
  fields.text("session", job.session);
  readSubject(fields, job.subject);
  fields.text("blobs", job.blobs);
  fields.text("outputs", job.outputs);
  fields.text("result", job.result);
  if (job.isCuda)
    readCuda(fields, job);
  std::string mode, rounding = "nearest";
  fields.text("mode", mode);
  if (!mode.empty())
    job.mode = modeFromName(mode);
  fields.text("rounding", rounding);
  kbrt::LaunchOptions &launch = job.options.launch;
  launch.rounding = roundingFromName(rounding);
  launch.wallSeconds = 60;
  fields.seconds("wallSeconds", launch.wallSeconds);
  fields.seed("seed", launch.seed);
  fields.number("memoryPoison", job.options.poison);
  fields.number("sharedPoison", launch.sharedPoison);
  fields.number("sampledBlocks", launch.sampledBlocks);
  fields.number("l1Bytes", launch.l1Bytes);
  fields.number("l2Bytes", launch.l2Bytes);
  fields.number("maxFindings", launch.maxFindings);
  fields.number("maxSharedBytes", launch.maxSharedBytes);
  fields.number("deviceBytes", job.options.deviceBytes);
  fields.number("repetitions", job.repetitions, 100000);
  if (!job.repetitions)
    throw Wrong{"repetitions: is 0"};
  fields.boolean("varySeed", job.varySeed);
  fields.boolean("stopAtFinding", job.options.stopAtFinding);
  fields.boolean("worstCaseErrors", job.options.worstCaseErrors);
  fields.boolean("checkConstInputs", job.options.checkConstInputs);
  fields.boolean("checkGuards", launch.checkGuards);
  if (const Json *list = fields.find("overrides")) {
    if (!list->is_array())
      throw Wrong{"overrides: is no array"};
    for (size_t i = 0; i < list->size(); ++i) {
      Fields entry((*list)[i], "overrides[" + std::to_string(i) + "]");
      Override override;
      if (!entry.find("step"))
        throw Wrong{entry.path("step") + ": is missing"};
      entry.number("step", override.step);
      entry.text("file", override.file, true);
      entry.number("offset", override.offset);
      job.overrides.push_back(override);
    }
  }
  return job;
}

} // namespace

double Job::limitSeconds() const {
  double each = options.launch.wallSeconds;
  if (each <= 0)
    return 0;
  double all = each * repetitions;
  if (cuda.timing)
    all += each + 2 * cuda.timing->stop.patience * cuda.timing->stop.maxSeconds +
           cuda.timing->warmUpSeconds;
  if (cuda.profile)
    all += cuda.profile->pcSampling ? 2 * each : each;
  if (cuda.audit)
    all += each;
  return all + double(cuda.sanitizer.size()) * cuda.sanitizerSeconds;
}

std::optional<Job> parseJob(const std::string &text, const std::string &name,
                            const std::string &where, std::string &error) {
  try {
    Job job = parse(Json::parse(text));
    std::filesystem::path folder = std::filesystem::absolute(where);
    auto absolute = [&](std::string &p) {
      if (!p.empty())
        p = (folder / p).lexically_normal().string();
    };
    absolute(job.subject.plan);
    absolute(job.subject.image);
    if (job.cuda.baseline) {
      absolute(job.cuda.baseline->plan);
      absolute(job.cuda.baseline->image);
    }
    if (job.blobs.empty())
      job.blobs = "blobs";
    absolute(job.blobs);
    absolute(job.outputs);
    if (job.result.empty())
      job.result = "result.json";
    absolute(job.result);
    for (Override &override : job.overrides)
      absolute(override.file);
    return job;
  } catch (const Wrong &wrong) {
    error = name + ": " + wrong.what;
  } catch (const Json::exception &e) {
    error = name + ": is no JSON: " + e.what();
  }
  return std::nullopt;
}

std::optional<Job> readJob(const std::string &path, std::string &error) {
  std::optional<std::string> text = readFile(path, error);
  if (!text)
    return std::nullopt;
  return parseJob(*text, path, std::filesystem::absolute(path).parent_path().string(), error);
}

std::optional<std::string> readFile(const std::string &path, std::string &error) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in)
    text << in.rdbuf();
  if (!in || in.bad()) {
    error = path + ": " + strerror(errno ? errno : EIO);
    return std::nullopt;
  }
  return std::move(text).str();
}

bool writeFile(const std::string &path, std::string_view text, std::string &error) {
  if (std::filesystem::is_character_file(path) || std::filesystem::is_fifo(path)) {
    std::ofstream out(path, std::ios::binary);
    out << text << std::flush;
    if (!out)
      error = "cannot write " + path + ": " + strerror(errno);
    return bool(out);
  }
  std::string temporary = path + ".tmp" + std::to_string(getpid());
  int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool isWritten = fd >= 0;
  while (isWritten && !text.empty()) {
    ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR)
      continue;
    isWritten = n > 0;
    if (isWritten)
      text.remove_prefix(static_cast<size_t>(n));
  }
  if (isWritten && close(fd) == 0 && rename(temporary.c_str(), path.c_str()) == 0)
    return true;
  error = "cannot write " + path + ": " + strerror(errno);
  unlink(temporary.c_str());
  return false;
}

} // namespace kbrun
