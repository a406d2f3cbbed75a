//===- Model.h - One question to a language model ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the request and the reply as plain data, and the interface that every
// provider, decorator (budget, transcript, journal) and fake implements. What a
// reply means is the caller's; its text is data and never obeyed.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LLM_MODEL_H
#define KBOPT_LLM_MODEL_H

#include "kb-opt/Support/Digest.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

/// The role that asks. Each role has its own settings, budget and context window
/// (docs/Model.md says what each is shown and what it answers).
enum class ModelRole {
  Compose,     ///< does one step: chooses a pass and fills the anchors, or names a schedule
  Planner,     ///< picks the pass and the anchors
  Coder,       ///< fills the anchors
  Debugger,    ///< repairs what a compiler or a gate refused
  Verifier,    ///< may reject the winner, nothing else
  State,       ///< refines or names a performance state
  Evaluator,   ///< policy evaluation: predicted against achieved
  GapAnalyst,  ///< performance-gap analysis: why they differ
  Updater,     ///< parameter update: lessons to keep
  Generalizer, ///< writes a proven rewrite so that a recipe comes of it
  Minimal,     ///< the baseline: whole kernel in, whole kernel out
};
/// "planner", "coder", …
llvm::StringRef roleName(ModelRole role);
std::optional<ModelRole> roleFromName(llvm::StringRef name);

/// The roles that answer for one step of a search.
enum class StepRoles {
  Compose,  ///< `ModelRole::Compose` alone
  PlanCode, ///< a planner, and then a coder
};
/// "compose", "plan-code".
llvm::StringRef stepRolesName(StepRoles roles);
std::optional<StepRoles> stepRolesFromName(llvm::StringRef name);

/// One turn of a conversation. System text is `ModelRequest::system`.
struct ModelMessage {
  enum class Speaker { User, Model } speaker = Speaker::User;
  std::string text;
};

struct ModelRequest {
  ModelRole role = ModelRole::Coder;
  std::string system;
  std::vector<ModelMessage> messages; ///< the last is the user's
  /// JSON schema of the wanted reply; empty for free text. Providers that can pass
  /// it on do; the caller checks the reply whatever they do.
  std::string schema;
  /// Tells apart equal questions that want different answers ("2" for the second
  /// sample); part of the digest, not of the prompt.
  std::string sample;

  /// The reply is given up after so long; 0: after the provider's own time. Set by
  /// budgets; no part of the digest.
  double limitSeconds = 0;

  /// Of everything above but the limit: the key in journals and transcripts. It does not depend
  /// on provider, model or temperature.
  Digest digest() const;
};

/// Counted by the provider; where it does not count, estimated and said so.
struct TokenUsage {
  uint64_t prompt = 0, completion = 0;
  uint64_t cached = 0; ///< part of `prompt` that the provider had cached
  bool estimated = false;
  uint64_t total() const { return prompt + completion; }
};

/// Why a reply ended.
enum class ReplyEnd {
  Complete,
  Truncated, ///< the limit on tokens
  Refused,   ///< the provider or the model refused the content
};

struct ModelReply {
  std::string text;
  ReplyEnd end = ReplyEnd::Complete;
  TokenUsage usage;
  std::string model;     ///< as the provider names it; empty: unknown
  std::string requestId; ///< the provider's, for errors and support
  double seconds = 0;    ///< from sending to the last byte, retries included
  /// US dollars; nothing where the price is unknown.
  std::optional<double> cost;
};

/// Thread-safe: many requests may be outstanding at once.
class Model {
public:
  virtual ~Model();
  /// A refused or truncated reply is a reply. Errors are `ProviderError`s: no key,
  /// a refused key, an unknown model, no connection after all retries, a
  /// transcript that lacks the request; a budget that is spent has the status
  /// `Budget`.
  virtual llvm::Expected<ModelReply> complete(const ModelRequest &request) = 0;
};

} // namespace kbopt

#endif // KBOPT_LLM_MODEL_H
