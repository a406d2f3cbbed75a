//===- PlanReader.cpp - JSON to a plan, with the path of what is wrong ------===//
// SPDX-License-Identifier: Apache-2.0
#include "PlanJson.h"
#include "kbrt/Plan.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

using namespace kbrt;
using Json = nlohmann::json;

namespace {

/// Thrown inside this file only; `planFromJson` turns it into its message.
struct Wrong {
  std::string what;
};

/// A JSON value and its path, "steps[3].to.buffer".
class Field {
public:
  Field(const Json &json, std::string path) : json(json), path(std::move(path)) {}

  [[noreturn]] void fail(const std::string &what) const { throw Wrong{path + ": " + what}; }

  Field operator[](const char *name) const {
    requireObject();
    auto found = json.find(name);
    if (found == json.end())
      fail(std::string("lacks the field '") + name + "'");
    return {*found, path.empty() ? name : path + "." + name};
  }
  Field item(size_t index) const { return {json[index], path + "[" + std::to_string(index) + "]"}; }
  bool has(const char *name) const {
    requireObject();
    return json.contains(name);
  }
  size_t size() const {
    if (!json.is_array())
      fail("expected an array");
    return json.size();
  }
  template <typename T> T number(T least = 0, T most = std::numeric_limits<T>::max()) const {
    if (!json.is_number_integer())
      fail("expected an integer");
    if (json.is_number_unsigned()) {
      auto value = json.get<uint64_t>();
      if (value <= static_cast<uint64_t>(most) &&
          (least <= T(0) || value >= static_cast<uint64_t>(least)))
        return static_cast<T>(value);
    } else {
      auto value = json.get<int64_t>();
      if constexpr (std::is_signed_v<T>)
        if (value >= least && value <= most)
          return static_cast<T>(value);
    }
    fail(json.dump() + " is out of range");
  }
  template <typename T> T number(const char *name, T otherwise) const {
    return has(name) ? (*this)[name].number<T>() : otherwise;
  }
  bool boolean(const char *name) const {
    if (!has(name))
      return false;
    Field field = (*this)[name];
    if (!field.json.is_boolean())
      field.fail("expected true or false");
    return field.json.get<bool>();
  }
  float real() const {
    if (!json.is_number())
      fail("expected a number");
    return json.get<float>();
  }
  std::string text() const {
    if (!json.is_string())
      fail("expected a string");
    return json.get<std::string>();
  }
  template <size_t N> size_t oneOf(const char *const (&names)[N]) const {
    std::string value = text(), all;
    for (size_t i = 0; i < N; ++i) {
      if (value == names[i])
        return i;
      all += (i ? ", " : "") + std::string(names[i]);
    }
    fail("'" + value + "' is none of " + all);
  }

private:
  void requireObject() const {
    if (!json.is_object())
      fail("expected an object");
  }
  const Json &json;
  std::string path;
};

class Reader {
public:
  explicit Reader(Plan &plan) : plan(plan) {}

  void read(const Field &root) {
    Field version = root["version"];
    if (int number = version.number<int>(); number != planVersion)
      version.fail("version " + std::to_string(number) + ", this reader knows " +
                   std::to_string(planVersion));
    Field outcome = root["outcome"];
    plan.outcome.ending = static_cast<Ending>(outcome["ending"].oneOf(endingNames));
    plan.outcome.message = outcome["message"].text();
    plan.outcome.exitStatus = outcome["exitStatus"].number<int>(std::numeric_limits<int>::min());
    plan.outcome.stdoutDigest = outcome["stdoutDigest"].text();
    for (size_t i = 0; outcome.has("held") && i < outcome["held"].size(); ++i) {
      Field held = outcome["held"].item(i);
      plan.outcome.held.push_back({held["what"].text(), held["bytes"].number<uint64_t>(),
                                   held["count"].number<uint64_t>(),
                                   held["moments"].number<uint64_t>()});
    }
    for (size_t i = 0; outcome.has("taken") && i < outcome["taken"].size(); ++i)
      plan.outcome.taken.push_back(outcome["taken"].item(i).number<uint32_t>());
    Field streams = root["streams"], buffers = root["buffers"], steps = root["steps"];
    for (size_t i = 0; i < streams.size(); ++i)
      plan.streams.push_back(
          {streams.item(i)["id"].number<uint32_t>(1), streams.item(i).boolean("nonBlocking"),
           streams.item(i)["priority"].number<int>(std::numeric_limits<int>::min())});
    for (size_t i = 0; i < buffers.size(); ++i)
      readBuffer(buffers.item(i), i);
    for (size_t i = 0; i < steps.size(); ++i)
      readStep(steps.item(i));
  }

private:
  void readBuffer(const Field &field, size_t index) {
    if (field["id"].number<size_t>() != index)
      field["id"].fail("expected " + std::to_string(index) + ", the place in the list");
    Buffer buffer;
    buffer.bytes = field["bytes"].number<uint64_t>();
    buffer.kind = static_cast<BufferKind>(field["kind"].oneOf(bufferKindNames));
    buffer.address = hexNumber(field["address"]);
    auto element = elementTypeFromName(field["element"].text());
    if (!element)
      field["element"].fail("'" + field["element"].text() + "' is no element type");
    buffer.element = *element;
    if (buffer.kind == BufferKind::Symbol)
      buffer.symbol = field["symbol"].text();
    live.push_back(buffer.kind == BufferKind::Symbol);
    plan.buffers.push_back(std::move(buffer));
  }

  static uint64_t hexNumber(const Field &field) {
    std::string text = field.text();
    char *end = nullptr;
    errno = 0;
    uint64_t value = std::strtoull(text.c_str(), &end, 16);
    if (text.rfind("0x", 0) != 0 || text.size() < 3 || *end || errno)
      field.fail("expected an address such as \"0x600000000000\"");
    return value;
  }

  uint32_t bufferId(const Field &field, bool mustLive) const {
    auto id = field.number<uint32_t>();
    if (id >= plan.buffers.size())
      field.fail("no buffer " + std::to_string(id) + " (the plan has " +
                 std::to_string(plan.buffers.size()) + ")");
    if (mustLive && !live[id])
      field.fail("buffer " + std::to_string(id) + " is not allocated at this step");
    return id;
  }

  Region region(const Field &field) const {
    Region region;
    region.at.buffer = bufferId(field["buffer"], true);
    region.at.offset = field["offset"].number<uint64_t>();
    if (field.has("bytes")) {
      region.width = region.pitch = field["bytes"].number<uint64_t>();
    } else {
      region.width = field["width"].number<uint64_t>();
      region.height = field["height"].number<uint64_t>();
      region.pitch = field["pitch"].number<uint64_t>();
    }
    uint64_t all = plan.buffers[region.at.buffer].bytes, last = 0, end = 0, payload = 0;
    bool overflow =
        __builtin_mul_overflow(region.height ? region.height - 1 : 0, region.pitch, &last) ||
        __builtin_add_overflow(last, region.width, &end) ||
        __builtin_add_overflow(end, region.at.offset, &end) ||
        __builtin_mul_overflow(region.width, region.height, &payload);
    if (overflow || end > all)
      field.fail("reaches beyond the " + std::to_string(all) + " bytes of buffer " +
                 std::to_string(region.at.buffer));
    return region;
  }

  static uint64_t fileOffset(const Field &field, const Region &region) {
    auto offset = field.number<uint64_t>();
    uint64_t end;
    if (__builtin_add_overflow(offset, region.bytes(), &end))
      field.fail("offset and size overflow");
    return offset;
  }

  static Dim3 dim(const Field &field) {
    if (field.size() != 3)
      field.fail("expected three numbers");
    return {field.item(0).number<uint32_t>(1), field.item(1).number<uint32_t>(1),
            field.item(2).number<uint32_t>(1)};
  }

  static uint8_t hexDigit(const Field &field, char c) {
    if (c >= '0' && c <= '9')
      return static_cast<uint8_t>(c - '0');
    if (c >= 'a' && c <= 'f')
      return static_cast<uint8_t>(c - 'a' + 10);
    field.fail("expected pairs of lower-case hexadecimal digits");
  }

  Argument argument(const Field &field) const {
    Argument argument;
    Field bytes = field["bytes"];
    std::string text = bytes.text();
    if (text.size() % 2)
      bytes.fail("expected pairs of lower-case hexadecimal digits");
    for (size_t i = 0; i < text.size(); i += 2)
      argument.bytes.push_back(
          static_cast<uint8_t>(hexDigit(bytes, text[i]) << 4 | hexDigit(bytes, text[i + 1])));
    argument.pointers = pointers(field, argument.bytes.size(), "the argument's ");
    return argument;
  }

  std::vector<PointerWord> pointers(const Field &field, uint64_t bytes, const char *whose) const {
    std::vector<PointerWord> result;
    if (!field.has("pointers"))
      return result;
    Field words = field["pointers"];
    uint64_t least = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      PointerWord word;
      word.at = words.item(i)["at"].number<uint64_t>();
      if (word.at % 8 || word.at < least || word.at + uint64_t{8} > bytes)
        words.item(i)["at"].fail("expected ascending multiples of 8 inside " + std::string(whose) +
                                 std::to_string(bytes) + " bytes");
      least = word.at + uint64_t{8};
      word.target.buffer = bufferId(words.item(i)["buffer"], false);
      word.target.offset = words.item(i)["offset"].number<uint64_t>();
      if (word.target.offset > plan.buffers[word.target.buffer].bytes)
        words.item(i)["offset"].fail("lies beyond the buffer");
      result.push_back(word);
    }
    return result;
  }

  LaunchStep launch(const Field &field) const {
    LaunchStep step;
    step.kernel = field["kernel"].text();
    step.grid = dim(field["grid"]);
    step.block = dim(field["block"]);
    step.sharedBytes = field.number<uint64_t>("sharedBytes", 0);
    step.stream = stream(field);
    Field arguments = field["arguments"];
    for (size_t i = 0; i < arguments.size(); ++i)
      step.arguments.push_back(argument(arguments.item(i)));
    return step;
  }

  MatmulOperand operand(const Field &field) const {
    MatmulOperand operand;
    operand.at = {bufferId(field["buffer"], true), field["offset"].number<uint64_t>()};
    operand.leading = field["leading"].number<uint64_t>();
    operand.stride = field["stride"].number<uint64_t>();
    operand.transposed = field.boolean("transposed");
    return operand;
  }

  MatmulStep matmul(const Field &field) const {
    MatmulStep step;
    step.m = field["m"].number<uint32_t>();
    step.n = field["n"].number<uint32_t>();
    step.k = field["k"].number<uint32_t>();
    step.batch = field["batch"].number<uint32_t>();
    step.alpha = field["alpha"].real();
    step.beta = field["beta"].real();
    step.a = operand(field["a"]);
    step.b = operand(field["b"]);
    step.c = operand(field["c"]);
    step.stream = stream(field);
    if (step.c.transposed)
      field["c"]["transposed"].fail("a product is not written transposed");
    for (auto [name, operand] : {std::pair("a", &step.a), {"b", &step.b}, {"c", &step.c}}) {
      std::optional<uint64_t> extent = step.extentOf(*operand);
      uint64_t all = plan.buffers[operand->at.buffer].bytes;
      if (!extent || operand->at.offset > all || *extent > all - operand->at.offset)
        field[name].fail("reaches beyond the " + std::to_string(all) + " bytes of buffer " +
                         std::to_string(operand->at.buffer));
      if (operand->at.offset % sizeof(float))
        field[name]["offset"].fail("expected a multiple of 4");
    }
    return step;
  }

  static std::optional<SharedSource> source(const Field &field) {
    if (!field.has("source"))
      return std::nullopt;
    return SharedSource{
        field["source"]["upload"].number<uint32_t>(),
        field["source"]["offset"].number<int64_t>(std::numeric_limits<int64_t>::min())};
  }
  static uint32_t stream(const Field &field) { return field.number<uint32_t>("stream", 0); }
  static std::optional<uint32_t> optional(const Field &field, const char *name) {
    return field.has(name) ? std::optional(field[name].number<uint32_t>()) : std::nullopt;
  }
  static HostPart hostPart(const Field &field) {
    if (!field.has("host"))
      return HostPart::Enqueues;
    if (auto part = hostPartFromName(field["host"].text()))
      return *part;
    field["host"].fail("'" + field["host"].text() + "' is nothing that a host does");
  }

  Step step(const Field &field, const std::string &kind) {
    if (kind == "alloc")
      return AllocStep{alive(field["buffer"], true), optional(field, "stream")};
    if (kind == "free")
      return FreeStep{alive(field["buffer"], false), optional(field, "stream")};
    if (kind == "upload") {
      Region to = region(field["to"]);
      return UploadStep{to,
                        fileOffset(field["data"], to),
                        stream(field),
                        pointers(field, to.bytes(), "the upload's "),
                        source(field),
                        hostPart(field)};
    }
    if (kind == "fill")
      return FillStep{region(field["to"]), field["value"].number<uint8_t>(), stream(field)};
    if (kind == "copy") {
      Region to = region(field["to"]), from = region(field["from"]);
      if (to.width != from.width || to.height != from.height)
        field["to"].fail("differs in shape from 'from'");
      return CopyStep{to, from, stream(field)};
    }
    if (kind == "launch")
      return launch(field);
    if (kind == "read") {
      Region from = region(field["from"]);
      return ReadStep{from, fileOffset(field["observable"], from), stream(field),
                      field.boolean("implicit"), field.boolean("asynchronous")};
    }
    if (kind == "sync")
      return SyncStep{optional(field, "stream"), optional(field, "event")};
    if (kind == "event")
      return EventStep{field["event"].number<uint32_t>(), stream(field)};
    if (kind == "wait")
      return WaitStep{field["event"].number<uint32_t>(), stream(field)};
    if (kind == "matmul")
      return matmul(field);
    if (kind == "error")
      return ErrorStep{field["call"].text(), field["code"].number<int>(), field["name"].text(),
                       field.has("detail") ? field["detail"].text() : ""};
    field["step"].fail("'" + kind + "' is no kind of step");
  }

  void readStep(const Field &field) { plan.steps.push_back(step(field, field["step"].text())); }

  uint32_t alive(const Field &field, bool now) {
    uint32_t id = bufferId(field, !now);
    if (plan.buffers[id].kind == BufferKind::Symbol)
      field.fail("buffer " + std::to_string(id) + " is a symbol, which lives with the image");
    if (now && live[id])
      field.fail("buffer " + std::to_string(id) + " is allocated already");
    live[id] = now;
    return id;
  }

  Plan &plan;
  std::vector<bool> live;
};

} // namespace

std::optional<Plan> kbrt::planFromJson(std::string_view text, std::string_view name,
                                       std::string &error) {
  try {
    Json json = Json::parse(text);
    Plan plan;
    Reader(plan).read(Field(json, ""));
    return plan;
  } catch (const Wrong &wrong) {
    error = std::string(name) + ": " +
            (wrong.what.rfind(": ", 0) == 0 ? wrong.what.substr(2) : wrong.what);
  } catch (const Json::exception &exception) {
    error = std::string(name) + ": " + exception.what();
  }
  return std::nullopt;
}

std::optional<Plan> kbrt::readPlan(const std::string &folder, std::string &error) {
  std::string path = folder + "/" + planFileName;
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file) {
    error = path + ": " + std::strerror(errno);
    return std::nullopt;
  }
  std::string text;
  char block[1 << 16];
  for (size_t got; (got = std::fread(block, 1, sizeof block, file)) > 0;)
    text.append(block, got);
  bool bad = std::ferror(file);
  std::fclose(file);
  if (bad) {
    error = path + ": cannot be read";
    return std::nullopt;
  }
  return planFromJson(text, path, error);
}
