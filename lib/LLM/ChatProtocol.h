//===- ChatProtocol.h - How a service is spoken to --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the interface between the HTTP provider and the two protocols: what goes
// into a request, what comes out of a reply. Protocols send nothing themselves.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_LLM_CHATPROTOCOL_H
#define KBOPT_LIB_LLM_CHATPROTOCOL_H

#include "kb-opt/LLM/Keys.h"
#include "kb-opt/LLM/Settings.h"
#include "llvm/Support/JSON.h"
#include <memory>
#include <set>

namespace kbopt {

/// What a service says went wrong, in its own words.
struct ServiceFault {
  std::string type, message;
  std::string parameter; ///< of the request that it does not like
};

/// A reply as it comes in.
struct IncomingReply {
  ModelReply reply;
  bool ended = false; ///< the service said that this is all
  bool counted = false;
  std::optional<ServiceFault> fault;
};

/// Parts of a request that some services refuse.
enum class Feature { Schema, StreamUsage, Temperature, MaxTokens };
using Features = std::set<Feature>;

class ChatProtocol {
public:
  virtual ~ChatProtocol();
  virtual llvm::StringRef defaultBaseUrl() const = 0;
  /// Behind the base URL.
  virtual llvm::StringRef path() const = 0;
  virtual std::vector<std::pair<std::string, std::string>> headers(const ApiKey &key) const = 0;
  virtual llvm::StringRef requestIdHeader() const = 0;
  virtual llvm::json::Value body(const ModelRequest &request, const RoleSettings &role,
                                 const Features &without) const = 0;
  /// One event of a stream. Returns whether more may follow.
  virtual bool event(const llvm::json::Object &event, IncomingReply &incoming) const = 0;
  /// A reply that did not come as a stream.
  virtual void whole(const llvm::json::Object &object, IncomingReply &incoming) const = 0;
  /// The feature to leave out when a service refuses a request with \p fault.
  virtual std::optional<Feature> unsupported(const ServiceFault &fault) const = 0;
  /// Whether \p fault is about what was said, not how: the content is refused.
  virtual bool isRefusal(const ServiceFault &fault) const = 0;
};

/// The object {"error": {…}} or {"error": "…"} that services answer with.
std::optional<ServiceFault> faultIn(const llvm::json::Object &object);

std::unique_ptr<ChatProtocol> makeOpenAiProtocol();
std::unique_ptr<ChatProtocol> makeAnthropicProtocol();

} // namespace kbopt

#endif // KBOPT_LIB_LLM_CHATPROTOCOL_H
