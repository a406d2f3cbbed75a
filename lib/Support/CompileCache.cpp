//===- CompileCache.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
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

/// A path as it is now: the content of a file, or what changes with it where it is large; the names
/// in a folder; empty where there is nothing to read.
static Digest stateOf(const std::string &file) {
  constexpr uint64_t largeBytes = uint64_t(64) << 20;
  struct stat status;
  if (::stat(file.c_str(), &status) != 0)
    return Digest();
  if (S_ISDIR(status.st_mode)) {
    DigestBuilder names;
    for (const std::string &name : realFileSystem().list(file))
      names.add(name);
    return names.finish();
  }
  if (!S_ISREG(status.st_mode))
    return Digest();
  if (static_cast<uint64_t>(status.st_size) > largeBytes) {
    DigestBuilder stamp;
    for (auto value : {uint64_t(status.st_dev), uint64_t(status.st_ino), uint64_t(status.st_size)})
      stamp.add(value);
    for (const timespec &time : {status.st_mtim, status.st_ctim}) // programs cannot set the second
      stamp.add(uint64_t(time.tv_sec)).add(uint64_t(time.tv_nsec));
    return stamp.finish();
  }
  auto bytes =
      llvm::MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return bytes ? digestOf((*bytes)->getBuffer()) : Digest();
}

//===-- The form of an entry ----------------------------------------------===//

/// The magic line, the digest of what follows, a line of JSON, and the outputs' bytes. \p names are
/// those of the large files here.
static std::string entryText(const NewCompile &made, llvm::ArrayRef<std::string> names) {
  json::Array inputs, outputs, files;
  for (auto [own, here] : llvm::zip(made.outcome.files, names))
    files.push_back(json::Array{own, here});
  for (const std::string &input : made.inputs)
    inputs.push_back(json::Array{input, stateOf(input)});
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
                                        {"outputs", std::move(outputs)},
                                        {"files", std::move(files)}})
                                 << '\n'
                                 << bytes;
  return (magic + digestOf(body) + "\n" + body).str();
}

/// Nothing if \p text is no whole entry, or if an input has changed since. \p names receives what
/// its large files are named here.
static std::optional<CompileOutcome> readEntry(StringRef text, std::vector<std::string> &names) {
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
    if (stateOf(pair[0].getAsString()->str()) != *pair[1].getAsString())
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
  if (const json::Array *files = object->getArray("files"))
    for (const json::Value &file : *files) {
      const json::Array &pair = *file.getAsArray();
      outcome.files.push_back(pair[0].getAsString()->str());
      names.push_back(pair[1].getAsString()->str());
    }
  return outcome;
}

//===-- The folder --------------------------------------------------------===//

void CompileCache::report(const std::string &message) {
  if (!isReported.exchange(true) && options.onTrouble)
    options.onTrouble(message);
}

/// pruneCache takes care of files with this prefix.
static constexpr StringRef prefix = "llvmcache-";

static std::string inFolder(StringRef folder, const llvm::Twine &name) {
  return (folder + "/" + name).str();
}

llvm::Expected<std::string> CompileCache::nameOf(const std::string &file) {
  FileDigests once;
  auto digest = (options.digests ? *options.digests : once).get(file);
  if (!digest)
    return digest.takeError();
  return (prefix + *digest).str();
}

/// \p from under the name \p to as well, or a copy of it where that cannot be. \p to is written
/// whole or not at all.
static llvm::Error share(const std::string &from, const std::string &to) {
  llvm::SmallString<128> temporary;
  std::error_code code = fs::createUniqueFile(to + ".%%%%%%%%.tmp", temporary);
  if (!code) {
    code = fs::remove(temporary);
    if (!code && fs::create_hard_link(from, temporary))
      code = fs::copy_file(from, temporary);
    if (!code) // what is shared stays as it is
      code = fs::setPermissions(temporary, fs::owner_read);
    if (!code)
      code = fs::rename(temporary, to);
    // A second name of one file is renamed to the first by doing nothing.
    (void)fs::remove(temporary);
  }
  if (!code)
    return llvm::Error::success();
  return llvm::make_error<StoreError>("cannot write '" + to + "': " + code.message());
}

void CompileCache::keep(const std::string &path, const NewCompile &made, StringRef folder) {
  uint64_t bytes = 0;
  for (const std::string &file : made.outcome.files) {
    uint64_t own = 0;
    if (fs::file_size(inFolder(folder, file), own))
      return;
    bytes += own;
  }
  if (bytes > options.maxBytes / 2)
    return;
  FileSystem &files = realFileSystem();
  std::vector<std::string> names;
  llvm::Error error = files.createDirectories(options.folder);
  if (!error && !made.outcome.files.empty()) // a program's data
    (void)fs::setPermissions(options.folder, fs::owner_all);
  for (const std::string &file : made.outcome.files) {
    if (error)
      break;
    const std::string own = inFolder(folder, file);
    llvm::Expected<std::string> name = nameOf(own);
    error = name ? share(own, inFolder(options.folder, *name)) : name.takeError();
    if (!error)
      names.push_back(*name);
  }
  if (!error)
    error = files.write(path, entryText(made, names));
  if (error)
    report(options.what + " are not kept: " + llvm::toString(std::move(error)));
  llvm::CachePruningPolicy policy;
  // A few large files fill the folder within a minute.
  policy.Interval = std::chrono::seconds(bytes > options.maxBytes / 100 ? 0 : 60);
  policy.Expiration = std::chrono::hours(24 * 90);
  policy.MaxSizeBytes = options.maxBytes;
  llvm::pruneCache(options.folder, policy);
}

std::optional<CompileOutcome> CompileCache::find(const std::string &path, StringRef folder) {
  auto bytes =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  std::vector<std::string> names;
  std::optional<CompileOutcome> outcome;
  if (bytes)
    outcome = readEntry((*bytes)->getBuffer(), names);
  if (!outcome)
    return std::nullopt;
  for (const auto &[own, here] : llvm::zip(outcome->files, names)) {
    const std::string to = inFolder(folder, own), from = inFolder(options.folder, here);
    llvm::Error error = share(from, to);
    llvm::Expected<std::string> content = error ? here : nameOf(to);
    if (!error && !content)
      error = content.takeError();
    if (!error && *content == here) {
      const timespec times[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
      ::utimensat(AT_FDCWD, from.c_str(), times, 0);
      continue;
    }
    if (!error)
      (void)fs::remove(from); // damaged
    llvm::consumeError(std::move(error));
    // What is made in its place writes to files of its own.
    for (const std::string &each : outcome->files)
      (void)fs::remove(inFolder(folder, each));
    return std::nullopt;
  }
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // its last use, by which entries leave
  return outcome;
}

llvm::Expected<CompileOutcome> CompileCache::getOrCompile(
    const Digest &key, llvm::function_ref<llvm::Expected<NewCompile>()> compile, StringRef folder) {
  std::string path = inFolder(options.folder, prefix + key);
  if (options.maxBytes)
    if (std::optional<CompileOutcome> outcome = find(path, folder)) {
      ++hitCount;
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
    keep(path, *made, folder);
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
