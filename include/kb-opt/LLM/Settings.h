//===- Settings.h - Which model, how it is asked, at what limits -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the user says about models as a value: from `--llm=…` and from the
// file of `--llm-config` (docs/Model.md). No key is part of it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LLM_SETTINGS_H
#define KBOPT_LLM_SETTINGS_H

#include "kb-opt/LLM/Model.h"
#include <map>

namespace kbopt {

enum class ProviderKind {
  Off,
  OpenAi,    ///< chat completions, of OpenAI or a compatible service
  Anthropic, ///< messages
  Command,   ///< a program: prompt on stdin, reply on stdout
  Mailbox,   ///< a folder into which replies are written
  Replay,    ///< a transcript
};

/// `openai`, `anthropic`, `command:CMD`, `mailbox:DIR`, `replay:FILE` or `off`.
struct ProviderSpec {
  ProviderKind kind = ProviderKind::Off;
  std::string argument; ///< CMD, DIR or FILE

  /// As it was written.
  std::string text() const;
};
/// Errors are `UsageError`s that name what is wrong and what there is.
llvm::Expected<ProviderSpec> parseProvider(llvm::StringRef text);

/// Nothing: no limit. Zero allows nothing.
struct BudgetLimits {
  std::optional<double> dollars;
  std::optional<uint64_t> tokens; ///< of prompts and replies
  std::optional<uint64_t> calls;
  std::optional<double> seconds; ///< in which a call was under way
};

/// What one role uses; what is not said is the default's.
struct RoleSettings {
  std::optional<std::string> model;
  std::optional<double> temperature; ///< nothing: the service's own
  std::optional<uint64_t> maxTokens; ///< of a reply
  BudgetLimits budget;               ///< beside the overall one
};

/// In seconds. Nothing: 20, 300 and 1800 for services, 1800 in all for a command, no end for a
/// mailbox.
struct ModelTimeouts {
  std::optional<double> connect;
  std::optional<double> stall; ///< without a byte of a reply under way
  std::optional<double> total; ///< for one attempt
};

struct ModelSettings {
  ProviderSpec provider;
  std::string baseUrl;     ///< empty: the service's own
  std::string keyVariable; ///< empty: by custom (Keys.h)
  std::string keyFile;     ///< empty: `defaultKeyFile()`, if it is there
  RoleSettings defaults;
  std::map<ModelRole, RoleSettings> roles;
  ModelTimeouts timeouts;
  unsigned retries = 5;
  uint64_t replyBytes = 16u << 20; ///< a longer reply is an error
  std::string pricesFile;          ///< empty: costs are unknown
  std::string recordFile;          ///< empty: nothing is recorded
  BudgetLimits budget;             ///< of all roles together

  /// Without a budget; everything else is set, `model` perhaps to "".
  RoleSettings forRole(ModelRole role) const;
};

/// Reads a settings file (YAML, of which JSON is a part) over \p settings: what it
/// does not say stays. Paths in it are relative to the file. Errors are
/// `UsageError`s: "FILE:LINE:COLUMN: unknown key 'x'".
llvm::Error readModelSettings(llvm::StringRef text, llvm::StringRef file, ModelSettings &settings);

/// Whether \p text can be a base URL: `http` or `https`, a host, no user, no query.
llvm::Error checkBaseUrl(llvm::StringRef text);

} // namespace kbopt

#endif // KBOPT_LLM_SETTINGS_H
