//===- Keys.cpp -----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/LLM/Keys.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Secrets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Process.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace kbopt;
using llvm::StringRef;

std::string ApiKey::redact(StringRef text) const {
  std::string result = text.str();
  if (secret.empty())
    return result;
  constexpr llvm::StringLiteral shown = "[key]";
  for (size_t at = 0; (at = result.find(secret, at)) != std::string::npos; at += shown.size())
    result.replace(at, secret.size(), shown);
  return result;
}

UrlHost kbopt::hostOf(StringRef url) {
  UrlHost result;
  auto [scheme, rest] = url.split("://");
  result.encrypted = scheme == "https";
  result.host = rest.split('/').first.lower();
  StringRef host = result.host;
  if (host.consume_back(result.encrypted ? ":443" : ":80"))
    result.host = host.str();
  StringRef name = result.host;
  // The port stands behind the last colon that is not inside [brackets].
  if (size_t colon = name.rfind(':'); colon != StringRef::npos && !name.substr(colon).contains(']'))
    name = name.take_front(colon);
  auto isAddress = [](StringRef text) {
    return llvm::all_of(text, [](char c) { return llvm::isDigit(c) || c == '.'; });
  };
  result.loopback =
      name == "localhost" || name == "[::1]" || (name.starts_with("127.") && isAddress(name));
  return result;
}

static llvm::Error badKey(const llvm::Twine &what, const llvm::Twine &note) {
  return llvm::make_error<ProviderError>(what.str(), 0, "", false, note.str());
}

/// Whether \p secret can stand in a header. A line break would begin another one.
static bool isUsable(StringRef secret) {
  return !secret.empty() &&
         llvm::all_of(secret, [](char c) { return llvm::isPrint(c) && c != ' '; });
}

static llvm::Expected<ApiKey> usable(StringRef secret, const llvm::Twine &source) {
  if (!isUsable(secret))
    return badKey("what " + source + " holds is no key: it has spaces or control characters",
                  "set it to the key alone");
  return ApiKey(secret.str(), source.str());
}

/// The whole of a file that only its owner can read. The text never reaches a message.
static llvm::Expected<std::string> readPrivateFile(const std::string &file) {
  int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return badKey("cannot read the keys in '" + file + "': " + std::strerror(errno),
                  "name another file as 'key-file' in the file of --llm-config");
  llvm::scope_exit close([&] { ::close(descriptor); });
  struct stat status;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    return badKey("'" + file + "' is no file of keys", "it holds lines 'HOST KEY'");
  if (status.st_mode & 077)
    return badKey("others can read the keys in '" + file + "'", "chmod 600 '" + file +
                                                                    "'; if others may have "
                                                                    "read it, have new keys made");
  std::string bytes(static_cast<size_t>(std::min<off_t>(status.st_size, 1 << 20)), '\0');
  ssize_t got = ::read(descriptor, bytes.data(), bytes.size());
  bytes.resize(std::max<ssize_t>(got, 0));
  return bytes;
}

/// The key for \p host among lines "HOST KEY"; an empty one if there is none.
static llvm::Expected<ApiKey> findLine(StringRef text, StringRef host, const std::string &source) {
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (const auto &[number, line] : llvm::enumerate(lines)) {
    StringRef content = line.trim();
    if (content.empty() || content.starts_with("#"))
      continue;
    auto [name, secret] = llvm::getToken(content);
    secret = secret.trim();
    std::string where = lines.size() > 1 ? source + ":" + std::to_string(number + 1) : source;
    if (!isUsable(secret))
      return badKey(where + ": expected 'HOST KEY'", "as in: api.example.com KEY");
    if (name.lower() == host)
      return ApiKey(secret.str(), where);
  }
  return ApiKey();
}

static llvm::Expected<ApiKey> lookUp(const ModelSettings &settings, const UrlHost &host) {
  auto variable = [](StringRef name) { return llvm::sys::Process::GetEnv(name).value_or(""); };
  if (!settings.keyVariable.empty()) {
    std::string secret = variable(settings.keyVariable);
    if (secret.empty())
      return badKey("the variable '" + settings.keyVariable + "' holds no key",
                    "export it, or drop 'key-env' from the file of --llm-config");
    return usable(secret, settings.keyVariable);
  }
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> customs[] = {
      {"api.openai.com", "OPENAI_API_KEY"}, {"api.anthropic.com", "ANTHROPIC_API_KEY"}};
  for (const auto &[service, name] : customs)
    if (host.host == service)
      if (std::string secret = variable(name); !secret.empty())
        return usable(secret, name);
  if (std::string line = variable("KBOPT_LLM_KEY"); !line.empty()) {
    auto key = findLine(line, host.host, "KBOPT_LLM_KEY");
    if (!key || *key)
      return key;
  }
  std::string file = settings.keyFile.empty() ? defaultKeyFile() : settings.keyFile;
  if (settings.keyFile.empty() && ::access(file.c_str(), F_OK) != 0)
    return ApiKey();
  auto text = readPrivateFile(file);
  if (!text)
    return text.takeError();
  return findLine(*text, host.host, file);
}

llvm::Expected<ApiKey> kbopt::findKey(const ModelSettings &settings, StringRef baseUrl) {
  UrlHost host = hostOf(baseUrl);
  auto key = lookUp(settings, host);
  if (key && *key && !host.encrypted && !host.loopback)
    return badKey("the key of " + key->origin() + " would go to '" + host.host +
                      "' without encryption",
                  "use https, or an address of this machine");
  return key;
}
