//===- Keys.h - Keys, bound to their hosts ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns reading a key from the environment or a private file. A key belongs to one
// host and is given out for no other; it never becomes part of a message.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LLM_KEYS_H
#define KBOPT_LLM_KEYS_H

#include "kb-opt/LLM/Settings.h"

namespace kbopt {

/// Empty: none.
class ApiKey {
public:
  ApiKey() = default;
  explicit ApiKey(std::string secret, std::string source)
      : secret(std::move(secret)), source(std::move(source)) {}
  explicit operator bool() const { return !secret.empty(); }
  /// For the header of a request to its host, and nothing else.
  const std::string &reveal() const { return secret; }
  /// Where it came from, in words: "ANTHROPIC_API_KEY".
  const std::string &origin() const { return source; }
  /// \p text with the key taken out.
  std::string redact(llvm::StringRef text) const;

private:
  std::string secret, source;
};

/// The parts of a base URL that matter for keys.
struct UrlHost {
  std::string host; ///< lower case, with the port where it is not the scheme's
  bool encrypted = false;
  bool loopback = false; ///< this machine
};
UrlHost hostOf(llvm::StringRef url);

/// The key for \p baseUrl: `OPENAI_API_KEY` for api.openai.com, `ANTHROPIC_API_KEY` for
/// api.anthropic.com, `KBOPT_LLM_KEY` ("HOST KEY") and the key file (lines "HOST KEY") for the
/// host they name, `settings.keyVariable` for the host of \p baseUrl. No key is no error. Errors:
/// a file that others can read, a line that is none, a key for a host that is reached
/// without encryption.
llvm::Expected<ApiKey> findKey(const ModelSettings &settings, llvm::StringRef baseUrl);

} // namespace kbopt

#endif // KBOPT_LLM_KEYS_H
