//===- Settings.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/LLM/Settings.h"
#include "kb-opt/Core/PassInfo.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/YamlTree.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace kbopt;
using llvm::Error;
using llvm::StringRef;

static constexpr uint64_t defaultMaxTokens = 16000;

static Error usage(const llvm::Twine &message, const llvm::Twine &note) {
  return llvm::make_error<UsageError>(message.str(), note.str());
}

static const char *const providers =
    "it is openai, anthropic, command:CMD, mailbox:DIR, replay:FILE or off";

std::string ProviderSpec::text() const {
  switch (kind) {
  case ProviderKind::Off:
    return "off";
  case ProviderKind::OpenAi:
    return "openai";
  case ProviderKind::Anthropic:
    return "anthropic";
  case ProviderKind::Command:
    return "command:" + argument;
  case ProviderKind::Mailbox:
    return "mailbox:" + argument;
  case ProviderKind::Replay:
    return "replay:" + argument;
  }
  llvm_unreachable("unknown provider");
}

llvm::Expected<ProviderSpec> kbopt::parseProvider(StringRef text) {
  if (text == "off")
    return ProviderSpec{};
  if (text == "openai")
    return ProviderSpec{ProviderKind::OpenAi, ""};
  if (text == "anthropic")
    return ProviderSpec{ProviderKind::Anthropic, ""};
  static constexpr struct {
    llvm::StringLiteral name;
    ProviderKind kind;
    llvm::StringLiteral names;
  } withArgument[] = {{"command", ProviderKind::Command, "command"},
                      {"mailbox", ProviderKind::Mailbox, "folder"},
                      {"replay", ProviderKind::Replay, "file"}};
  auto [name, argument] = text.split(':');
  for (const auto &known : withArgument) {
    if (name != known.name)
      continue;
    if (argument.trim().empty())
      return usage("'" + text + "' names no " + known.names, providers);
    return ProviderSpec{known.kind, argument.str()};
  }
  if (name == "openai" || name == "anthropic")
    return usage("'" + text + "': a service takes no argument",
                 "name another address with --llm-base-url=URL, a model with --llm-model=NAME");
  return usage("unknown model provider '" + text + "'", providers);
}

Error kbopt::checkBaseUrl(StringRef text) {
  static const char *const note =
      "it looks like https://api.example.com/v1 or http://localhost:8000/v1";
  auto [scheme, rest] = text.split("://");
  if (rest.empty() || (scheme != "https" && scheme != "http"))
    return usage("'" + text + "' is no address of a service", note);
  StringRef authority = rest.split('/').first;
  // What stands before '@' is a password on a command line.
  if (rest.contains('@'))
    return llvm::make_error<UsageError>("the address of a service must hold no user or password",
                                        "give the key as docs/Privacy.md says");
  auto isHost = [](char c) { return llvm::isAlnum(c) || StringRef(".-_:[]").contains(c); };
  auto isPath = [](char c) { return llvm::isPrint(c) && !StringRef(" ?#\"'\\").contains(c); };
  if (authority.empty() || !llvm::all_of(authority, isHost) || !llvm::all_of(rest, isPath))
    return usage("'" + text + "' is no address of a service", note);
  return Error::success();
}

RoleSettings ModelSettings::forRole(ModelRole role) const {
  RoleSettings result = defaults;
  if (auto it = roles.find(role); it != roles.end()) {
    if (it->second.model)
      result.model = it->second.model;
    if (it->second.temperature)
      result.temperature = it->second.temperature;
    if (it->second.maxTokens)
      result.maxTokens = it->second.maxTokens;
  }
  result.budget = {};
  result.model = result.model.value_or("");
  result.maxTokens = result.maxTokens.value_or(defaultMaxTokens);
  return result;
}

namespace {

/// Reads mappings key by key; every failure names its place.
class Reader {
public:
  Reader(StringRef file, ModelSettings &settings) : file(file), settings(settings) {}
  Error readRoot(const YamlValue &root);

private:
  using Field = std::pair<StringRef, std::function<Error(const YamlValue &)>>;

  Error fields(const YamlValue &mapping, StringRef what, llvm::ArrayRef<Field> known) {
    if (mapping.kind == YamlValue::Null)
      return Error::success();
    if (mapping.kind != YamlValue::Mapping)
      return mapping.error("expected a mapping for " + what);
    llvm::SmallVector<StringRef> names;
    for (const Field &field : known)
      names.push_back(field.first);
    for (const auto &[key, value] : mapping.fields) {
      const Field *field =
          llvm::find_if(known, [&](const Field &f) { return f.first == key.scalar; });
      if (field == known.end()) {
        auto nearest = nearestName(key.scalar, names);
        return key.error("unknown key '" + key.scalar + "' in " + what,
                         nearest ? "did you mean '" + *nearest + "'?"
                                 : "there are " + llvm::join(names, ", "));
      }
      if (Error error = field->second(value))
        return error;
    }
    return Error::success();
  }

  static Error text(const YamlValue &value, StringRef key, std::string &into) {
    if (value.kind != YamlValue::Scalar || value.scalar.empty())
      return value.error("expected a text for '" + key + "'");
    into = value.scalar;
    return Error::success();
  }
  static Field textField(StringRef key, std::string &into) {
    return {key, [key, &into](const YamlValue &value) { return text(value, key, into); }};
  }
  static Field textField(StringRef key, std::optional<std::string> &into) {
    return {key, [key, &into](const YamlValue &value) { return text(value, key, into.emplace()); }};
  }
  /// A path relative to the settings file.
  Field pathField(StringRef key, std::string &into) {
    return {key, [this, key, &into](const YamlValue &value) -> Error {
              if (Error error = text(value, key, into))
                return error;
              into = beside(into);
              return Error::success();
            }};
  }
  std::string beside(StringRef path) const {
    if (llvm::sys::path::is_absolute(path))
      return path.str();
    llvm::SmallString<128> result = llvm::sys::path::parent_path(file);
    llvm::sys::path::append(result, path);
    return result.str().str();
  }
  static Field numberField(StringRef key, std::optional<double> &into, double most = 1e9) {
    return {key, [key, &into, most](const YamlValue &value) -> Error {
              double number;
              if (value.kind != YamlValue::Scalar || StringRef(value.scalar).getAsDouble(number) ||
                  !std::isfinite(number) || number < 0 || number > most)
                return value.error("expected a number from 0 to " + llvm::Twine(uint64_t(most)) +
                                   " for '" + key + "'");
              into = number;
              return Error::success();
            }};
  }
  template <typename Into>
  static Field countField(StringRef key, Into &into, uint64_t least = 0,
                          uint64_t most = uint64_t(1) << 40) {
    return {key, [key, &into, least, most](const YamlValue &value) -> Error {
              uint64_t number;
              if (value.kind != YamlValue::Scalar ||
                  StringRef(value.scalar).getAsInteger(10, number) || number < least ||
                  number > most)
                return value.error("expected a whole number from " + llvm::Twine(least) + " to " +
                                   llvm::Twine(most) + " for '" + key + "'");
              into = number;
              return Error::success();
            }};
  }
  static Field group(StringRef key, std::function<Error(const YamlValue &)> read) {
    return {key, std::move(read)};
  }

  Error readBudget(const YamlValue &value, BudgetLimits &into) {
    return fields(value, "a budget",
                  {numberField("dollars", into.dollars), countField("tokens", into.tokens),
                   countField("calls", into.calls), numberField("seconds", into.seconds)});
  }
  Error readTimeouts(const YamlValue &value) {
    ModelTimeouts &into = settings.timeouts;
    return fields(value, "timeouts",
                  {numberField("connect", into.connect), numberField("stall", into.stall),
                   numberField("total", into.total)});
  }
  Error readRoles(const YamlValue &value) {
    if (value.kind != YamlValue::Mapping)
      return value.error("expected a mapping from roles to their settings");
    for (const auto &[key, entry] : value.fields) {
      auto role = roleFromName(key.scalar);
      if (!role)
        return key.error("unknown role '" + key.scalar + "'",
                         "there are planner, coder, debugger, verifier, state, evaluator, "
                         "gap-analyst, updater, minimal");
      RoleSettings &into = settings.roles[*role];
      if (Error error = fields(
              entry, "role '" + key.scalar + "'",
              {textField("model", into.model), numberField("temperature", into.temperature, 2),
               countField("max-tokens", into.maxTokens, 1),
               group("budget",
                     [&](const YamlValue &budget) { return readBudget(budget, into.budget); })}))
        return error;
    }
    return Error::success();
  }
  Error readProvider(const YamlValue &value);

  StringRef file;
  ModelSettings &settings;
};

} // namespace

Error Reader::readProvider(const YamlValue &value) {
  std::string name;
  if (Error error = text(value, "provider", name))
    return error;
  auto spec = parseProvider(name);
  if (!spec) {
    std::string message, note;
    llvm::handleAllErrors(spec.takeError(), [&](const KbError &error) {
      message = error.message;
      note = error.note;
    });
    return value.error(message, note);
  }
  settings.provider = std::move(*spec);
  if (settings.provider.kind == ProviderKind::Mailbox ||
      settings.provider.kind == ProviderKind::Replay)
    settings.provider.argument = beside(settings.provider.argument);
  return Error::success();
}

Error Reader::readRoot(const YamlValue &root) {
  RoleSettings &defaults = settings.defaults;
  return fields(
      root, "the settings of models",
      {group("provider", [&](const YamlValue &value) { return readProvider(value); }),
       group("base-url",
             [&](const YamlValue &value) -> Error {
               if (Error error = text(value, "base-url", settings.baseUrl))
                 return error;
               if (Error error = checkBaseUrl(settings.baseUrl)) {
                 llvm::consumeError(std::move(error));
                 return value.error(
                     "'base-url' is no address of a service, or holds a password",
                     "it looks like https://api.example.com/v1; keys: docs/Privacy.md");
               }
               return Error::success();
             }),
       textField("key-env", settings.keyVariable), pathField("key-file", settings.keyFile),
       textField("model", defaults.model), numberField("temperature", defaults.temperature, 2),
       countField("max-tokens", defaults.maxTokens, 1),
       group("timeouts", [&](const YamlValue &value) { return readTimeouts(value); }),
       countField("retries", settings.retries, 0, 20),
       countField("reply-bytes", settings.replyBytes, 1024),
       pathField("prices", settings.pricesFile), pathField("record", settings.recordFile),
       group("budget", [&](const YamlValue &value) { return readBudget(value, settings.budget); }),
       group("roles", [&](const YamlValue &value) { return readRoles(value); })});
}

Error kbopt::readModelSettings(StringRef text, StringRef file, ModelSettings &settings) {
  auto root = parseYaml(text, file, /*firstLine=*/1);
  if (root)
    return Reader(file, settings).readRoot(*root);
  return root.takeError();
}
