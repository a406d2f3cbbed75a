//===- StructuredReply.h - A reply that is checked JSON ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the conversation that ends in one JSON object of a given shape: taking the
// object out of the text, checking it, asking again with what was wrong, and the
// tool loop. What the object means is the caller's.
//
// Tools are a protocol in the reply's text, so that every provider can use them:
// a reply {"tool": "search", "arguments": {…}} is answered and asked again.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LLM_STRUCTUREDREPLY_H
#define KBOPT_LLM_STRUCTUREDREPLY_H

#include "kb-opt/Core/Verdict.h"
#include "kb-opt/LLM/Model.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"
#include <functional>

namespace kbopt {

/// Something that a model may ask for on its way to a reply.
struct ModelTool {
  std::string name;
  std::string summary;         ///< one line, for the model
  llvm::json::Value arguments; ///< schema of an object
  /// Answers with text, also for what it cannot do. Not called with arguments that do not fit.
  std::function<std::string(const llvm::json::Object &arguments)> run;
};

struct StructuredLimits {
  unsigned repairs = 2; ///< times it is asked again after a reply that does not fit
  unsigned toolCalls = 6;
  size_t toolBytes = 16u << 10; ///< of one answer of a tool; the rest is cut off
};

struct StructuredReply {
  /// None: `value` fits. Else Refused, Truncated, Malformed or ToolLimit.
  FailureClass outcome = FailureClass::Malformed;
  llvm::json::Value value = nullptr; ///< where it is ok: fits the schema and the check
  std::string problem;               ///< where it is not: one line of what was wrong last
  std::string text;                  ///< of the last reply, as it came
  std::string model;                 ///< of the last reply
  unsigned asked = 0, repairs = 0, toolCalls = 0;
  /// Over all that were asked; the cost is nothing if any is unknown.
  TokenUsage usage;
  std::optional<double> cost;
  double seconds = 0;

  bool ok() const { return outcome == FailureClass::None; }
};

/// What is wrong with an object that fits the schema, in one line; empty: nothing. For what a
/// schema cannot say, such as a name that has to be one of those in the request.
using ReplyCheck = std::function<std::string(const llvm::json::Value &)>;

/// Asks \p model until a reply fits \p schema, which describes an object and lies in the subset of
/// JsonSchema.h, and \p check finds no fault with it. The request's system text is given the tools,
/// and the schema unless the request names one: then its text tells the shape already. Errors are
/// the provider's and the budget's; whatever a model may say is an outcome.
llvm::Expected<StructuredReply> askStructured(Model &model, ModelRequest request,
                                              const llvm::json::Value &schema,
                                              llvm::ArrayRef<ModelTool> tools = {},
                                              const StructuredLimits &limits = {},
                                              const ReplyCheck &check = {});

/// Why there is no reply, where a search goes on without one.
struct NoReply {
  /// Budget: one is spent. Unavailable: the service does not answer now.
  FailureClass failure = FailureClass::None;
  std::string reason;
};
/// The error of `askStructured` as that. Anything else (a refused key, a transcript that lacks
/// the question) is for the user to mend and stays an error.
llvm::Expected<NoReply> noReply(llvm::Error error);

/// The JSON objects in \p text, likeliest first: the whole text, fenced blocks, then
/// balanced braces. Raw line breaks within strings are forgiven. \p problem is
/// set where there is none.
std::vector<llvm::json::Value> jsonObjectsIn(llvm::StringRef text, std::string &problem);

} // namespace kbopt

#endif // KBOPT_LLM_STRUCTUREDREPLY_H
