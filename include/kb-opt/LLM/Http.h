//===- Http.h - Asking a service over HTTP ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the interface to HTTP and libcurl behind it, which is loaded when first
// needed: without a network provider kb-opt runs without it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LLM_HTTP_H
#define KBOPT_LLM_HTTP_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kbopt {

struct HttpRequest {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  double connectSeconds = 20;
  double stallSeconds = 300; ///< without a byte in either direction
  double totalSeconds = 1800;
  uint64_t replyBytes = 16u << 20;
};

/// What became of a request. Certificates are checked, redirects are not followed.
struct HttpOutcome {
  enum class End {
    Complete,
    NoLibrary,   ///< libcurl is not installed
    Unreachable, ///< no name, no connection
    Untrusted,   ///< TLS failed
    Stalled,
    TimedOut,
    CutOff, ///< the connection ended in the middle
    TooLarge,
    Interrupted,
  };
  End end = End::Complete;
  std::string what;                           ///< without Complete: in words
  int status = 0;                             ///< 0: none arrived
  std::map<std::string, std::string> headers; ///< names in lower case
  std::string body;                           ///< all that arrived
  bool sent = false;                          ///< the whole request went out
};

/// Thread-safe.
class HttpClient {
public:
  virtual ~HttpClient();
  /// POSTs. \p onData sees the bytes of a reply with status 200 as they arrive; false
  /// ends the transfer, which is then complete.
  virtual HttpOutcome post(const HttpRequest &request,
                           llvm::function_ref<bool(llvm::StringRef bytes)> onData) = 0;
};

HttpClient &curlHttpClient();

} // namespace kbopt

#endif // KBOPT_LLM_HTTP_H
