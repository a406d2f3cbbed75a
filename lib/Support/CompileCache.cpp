//===- CompileCache.cpp ---------------------------------------------------===//
#include "kb-opt/Support/CompileCache.h"

#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <fcntl.h>
#include <sys/stat.h>

using namespace kbopt;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace json = llvm::json;
namespace path = llvm::sys::path;

/// Changes with the form of an entry.
static constexpr StringRef magic = "kb-opt compile 1\n";

Digest kbopt::toolIdentity(llvm::ArrayRef<std::string> paths) {
  DigestBuilder builder;
  for (const std::string &tool : paths) {
    builder.add(tool);
    fs::file_status status;
    if (!fs::status(tool, status))
      builder.add(status.getSize())
          .add(uint64_t(status.getLastModificationTime().time_since_epoch().count()));
  }
  return builder.finish();
}

/// \p names as absolute paths, sorted, each once.
static std::vector<std::string> absolutePaths(std::vector<std::string> names, StringRef directory) {
  for (std::string &name : names)
    if (path::is_relative(name)) {
      llvm::SmallString<128> whole(directory);
      path::append(whole, name);
      name = whole.str().str();
    }
  llvm::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> kbopt::inputsOfMakeRule(StringRef rule, StringRef directory) {
  std::vector<std::string> names;
  std::string name;
  auto finish = [&] {
    if (!name.empty() && name.back() != ':')
      names.push_back(name);
    name.clear();
  };
  for (size_t i = 0; i < rule.size(); ++i) {
    char c = rule[i], next = i + 1 < rule.size() ? rule[i + 1] : 0;
    if (c == '\\' && next == '\n')
      finish(), ++i;
    else if (c == '\\' && (next == ' ' || next == '#' || next == '\\'))
      name += next, ++i;
    else if (c == '$' && next == '$')
      name += c, ++i;
    else if (llvm::isSpace(c))
      finish();
    else
      name += c;
  }
  finish();
  return absolutePaths(std::move(names), directory);
}

std::vector<std::string> kbopt::inputsOfPreprocessed(StringRef text, StringRef directory) {
  std::vector<std::string> names;
  StringRef last;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    StringRef line = text.slice(at, end);
    at = end + 1;
    // # 12 "name" flags, or #line 12 "name"
    if (!line.consume_front("# ") && !line.consume_front("#line "))
      continue;
    StringRef name = line.drop_while([](char c) { return llvm::isDigit(c); }).ltrim();
    if (!name.consume_front("\""))
      continue;
    name = name.take_until([](char c) { return c == '"'; });
    // <built-in> and the like are no files.
    if (name == last || name.empty() || name.starts_with("<"))
      continue;
    last = name;
    names.push_back(name.str());
  }
  return absolutePaths(std::move(names), directory);
}

/// Of a file as it is now; empty if it cannot be read.
static Digest digestOfFile(const std::string &file) {
  auto bytes =
      llvm::MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return bytes ? digestOf((*bytes)->getBuffer()) : Digest();
}

//===-- The form of an entry ----------------------------------------------===//

/// The magic line, the digest of what follows, a line of JSON, and the outputs' bytes.
static std::string entryText(const NewCompile &made) {
  json::Array inputs, outputs;
  for (const std::string &input : made.inputs)
    inputs.push_back(json::Array{input, digestOfFile(input)});
  std::string bytes;
  for (const auto &[name, content] : made.outcome.outputs) {
    outputs.push_back(json::Array{name, int64_t(content.size())});
    bytes += content;
  }
  std::string body;
  llvm::raw_string_ostream(body) << json::Value(json::Object{
                                        {"status", made.outcome.exitStatus},
                                        {"messages", json::fixUTF8(made.outcome.messages)},
                                        {"inputs", std::move(inputs)},
                                        {"outputs", std::move(outputs)}})
                                 << '\n'
                                 << bytes;
  return (magic + digestOf(body) + "\n" + body).str();
}

/// Nothing if \p text is no whole entry, or if an input has changed since.
static std::optional<CompileOutcome> readEntry(StringRef text) {
  if (!text.consume_front(magic))
    return std::nullopt;
  auto [digest, body] = text.split('\n');
  if (digestOf(body) != digest)
    return std::nullopt;
  auto [head, bytes] = body.split('\n');
  llvm::Expected<json::Value> value = json::parse(head);
  const json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object) {
    if (!value)
      llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  for (const json::Value &input : *object->getArray("inputs")) {
    const json::Array &pair = *input.getAsArray();
    if (digestOfFile(pair[0].getAsString()->str()) != *pair[1].getAsString())
      return std::nullopt;
  }
  CompileOutcome outcome;
  outcome.exitStatus = int(*object->getInteger("status"));
  outcome.messages = object->getString("messages")->str();
  for (const json::Value &output : *object->getArray("outputs")) {
    const json::Array &pair = *output.getAsArray();
    size_t size = size_t(*pair[1].getAsInteger());
    outcome.outputs[pair[0].getAsString()->str()] = bytes.take_front(size).str();
    bytes = bytes.drop_front(size);
  }
  return outcome;
}

//===-- The folder --------------------------------------------------------===//

void CompileCache::report(const std::string &message) {
  if (!isReported.exchange(true) && options.onTrouble)
    options.onTrouble(message);
}

void CompileCache::keep(const std::string &path, const NewCompile &made) {
  FileSystem &files = realFileSystem();
  llvm::Error error = files.createDirectories(options.folder);
  if (!error)
    error = files.write(path, entryText(made));
  if (error) {
    report("compiles are not kept: " + llvm::toString(std::move(error)));
    return;
  }
  llvm::CachePruningPolicy policy;
  policy.Interval = std::chrono::seconds(60);
  policy.Expiration = std::chrono::hours(24 * 90);
  policy.MaxSizeBytes = options.maxBytes;
  llvm::pruneCache(options.folder, policy);
}

llvm::Expected<CompileOutcome>
CompileCache::getOrCompile(const Digest &key,
                           llvm::function_ref<llvm::Expected<NewCompile>()> compile) {
  // pruneCache takes care of files with this prefix.
  std::string path = options.folder + "/llvmcache-" + key;
  if (options.maxBytes)
    if (auto bytes = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                                 /*RequiresNullTerminator=*/false))
      if (std::optional<CompileOutcome> outcome = readEntry((*bytes)->getBuffer())) {
        ++hitCount;
        ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // its last use, by which entries leave
        return std::move(*outcome);
      }
  ++missCount;
  // Times of files are those of the kernel's last tick.
  constexpr std::chrono::milliseconds tick(20);
  const llvm::sys::TimePoint<> begin = std::chrono::system_clock::now() - tick;
  llvm::Expected<NewCompile> made = compile();
  if (!made)
    return made.takeError();
  // Which state of an input the compiler read is not known if it changed meanwhile.
  bool isSettled = llvm::none_of(made->inputs, [&](const std::string &input) {
    fs::file_status status;
    return !fs::status(input, status) && status.getLastModificationTime() >= begin;
  });
  if (made->isRepeatable && isSettled && options.maxBytes)
    keep(path, *made);
  return std::move(made->outcome);
}

llvm::Expected<CompileOutcome>
kbopt::compileThrough(CompileCache *cache, const Digest &key,
                      llvm::function_ref<llvm::Expected<NewCompile>()> compile) {
  if (cache)
    return cache->getOrCompile(key, compile);
  llvm::Expected<NewCompile> made = compile();
  if (!made)
    return made.takeError();
  return std::move(made->outcome);
}
