//===- StructuredReply.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/LLM/StructuredReply.h"
#include "kb-opt/LLM/JsonSchema.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;
namespace json = llvm::json;
using llvm::StringRef;

llvm::Expected<NoReply> kbopt::noReply(llvm::Error error) {
  NoReply none;
  llvm::Error other =
      llvm::handleErrors(std::move(error), [&](std::unique_ptr<ProviderError> why) -> llvm::Error {
        bool spent = why->status == ExitStatus::Budget;
        if (!spent && !why->retryable)
          return llvm::Error(std::move(why));
        none = {spent ? FailureClass::Budget : FailureClass::Unavailable, why->message};
        return llvm::Error::success();
      });
  if (other)
    return std::move(other);
  return none;
}

namespace {

class Conversation {
public:
  Conversation(Model &model, ModelRequest request, const json::Value &schema,
               llvm::ArrayRef<ModelTool> tools, const StructuredLimits &limits,
               const ReplyCheck &check)
      : model(model), request(std::move(request)), schema(schema), tools(tools), limits(limits),
        check(check) {}

  llvm::Expected<StructuredReply> run();

private:
  void describeShape();
  llvm::Error ask();
  /// Looks at the last reply. True: the conversation is over.
  bool take();
  /// Over with \p outcome, or once more with \p advice.
  bool repair(FailureClass outcome, std::string problem, StringRef advice);
  bool callTool(const json::Object &call);
  std::string toolAnswer(const json::Object &call);
  void say(std::string text);

  Model &model;
  ModelRequest request;
  const json::Value &schema;
  llvm::ArrayRef<ModelTool> tools;
  StructuredLimits limits;
  const ReplyCheck &check;
  StructuredReply result;
  ReplyEnd end = ReplyEnd::Complete;
  bool warned = false; ///< that no tool call is left
};

} // namespace

static std::string textOf(const json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

void Conversation::describeShape() {
  std::string &system = request.system;
  if (!system.empty())
    system += StringRef(system).ends_with("\n") ? "\n" : "\n\n";
  if (request.schema.empty())
    system +=
        "Answer with one JSON object of this form and nothing else:\n" + shapeOf(schema) + "\n";
  if (tools.empty() || !limits.toolCalls) {
    request.schema = textOf(schema);
    return;
  }
  json::Array names;
  system += "\nBefore you answer you may use tools, at most " + std::to_string(limits.toolCalls) +
            " times, one at a time: reply {\"tool\": NAME, \"arguments\": {…}}.\n";
  for (const ModelTool &tool : tools) {
    system +=
        "- " + tool.name + ": " + tool.summary + " Arguments: " + shapeOf(tool.arguments) + "\n";
    names.push_back(tool.name);
  }
  request.schema = textOf(json::Object{
      {"anyOf",
       json::Array{schema,
                   json::Object{{"type", "object"},
                                {"properties",
                                 json::Object{{"tool", json::Object{{"enum", std::move(names)}}},
                                              {"arguments", json::Object{{"type", "object"}}}}},
                                {"required", json::Array{"tool", "arguments"}}}}}});
}

llvm::Error Conversation::ask() {
  auto reply = model.complete(request);
  if (!reply)
    return reply.takeError();
  ++result.asked;
  result.usage.prompt += reply->usage.prompt;
  result.usage.completion += reply->usage.completion;
  result.usage.cached += reply->usage.cached;
  result.usage.estimated |= reply->usage.estimated;
  if (result.asked == 1)
    result.cost = reply->cost;
  else
    result.cost = result.cost && reply->cost ? std::optional<double>(*result.cost + *reply->cost)
                                             : std::nullopt;
  result.seconds += reply->seconds;
  result.model = reply->model;
  result.text = std::move(reply->text);
  end = reply->end;
  return llvm::Error::success();
}

void Conversation::say(std::string text) {
  // Services refuse empty turns.
  request.messages.push_back(
      {ModelMessage::Speaker::Model, result.text.empty() ? "(nothing)" : result.text});
  request.messages.push_back({ModelMessage::Speaker::User, std::move(text)});
}

bool Conversation::repair(FailureClass outcome, std::string problem, StringRef advice) {
  result.outcome = outcome;
  result.problem = std::move(problem);
  if (result.repairs >= limits.repairs)
    return true;
  ++result.repairs;
  say("Your reply cannot be used: " + result.problem + ".\n" + advice.str());
  return false;
}

std::string Conversation::toolAnswer(const json::Object &call) {
  StringRef name = call.getString("tool").value_or("");
  const auto *tool =
      llvm::find_if(tools, [&](const ModelTool &known) { return known.name == name; });
  if (tool == tools.end()) {
    std::string known;
    for (const ModelTool &one : tools)
      known += (known.empty() ? "" : ", ") + one.name;
    return "There is no tool '" + name.str() + "'; there are " + known + ".";
  }
  const json::Value *given = call.get("arguments");
  json::Value arguments = given ? *given : json::Value(json::Object{});
  auto finding = arguments.getAsObject() ? mismatch(arguments, tool->arguments)
                                         : std::optional<std::string>("$: expected an object");
  if (finding)
    return "The arguments of '" + name.str() + "' do not fit: " + *finding + ".";
  std::string answer = tool->run(*arguments.getAsObject());
  if (answer.size() > limits.toolBytes) {
    size_t cut = limits.toolBytes;
    while (cut && (static_cast<unsigned char>(answer[cut]) & 0xc0) == 0x80)
      --cut;
    answer.resize(cut);
    answer += "\n(cut off here: the answer is longer)";
  }
  // What a tool finds is text of others, like the program.
  return "Result of '" + name.str() + "', as data:\n" + answer;
}

bool Conversation::callTool(const json::Object &call) {
  if (result.toolCalls >= limits.toolCalls) {
    result.outcome = FailureClass::ToolLimit;
    result.problem =
        "it asks for a tool, and all " + std::to_string(limits.toolCalls) + " calls are used";
    if (warned)
      return true;
    warned = true;
    say("No tool call is left. Give your answer now.");
    return false;
  }
  ++result.toolCalls;
  std::string answer = toolAnswer(call);
  unsigned left = limits.toolCalls - result.toolCalls;
  say(answer + "\n\n" +
      (left ? std::to_string(left) + " tool calls are left."
            : std::string("No tool call is left: answer now.")));
  return false;
}

bool Conversation::take() {
  if (end == ReplyEnd::Refused) {
    result.outcome = FailureClass::Refused;
    StringRef why = StringRef(result.text).trim().split('\n').first;
    result.problem = why.empty() ? "it was refused without a reason"
                                 : "it was refused: " + why.take_front(200).str();
    return true;
  }
  std::string problem;
  std::vector<json::Value> objects = jsonObjectsIn(result.text, problem);
  if (end == ReplyEnd::Truncated)
    return repair(FailureClass::Truncated, "it was cut off at the limit of tokens",
                  "Answer again with one complete JSON object, and be much shorter.");
  std::string finding;
  for (json::Value &object : objects) {
    auto misfit = mismatch(object, schema);
    if (!misfit && check)
      if (std::string fault = check(object); !fault.empty())
        misfit = std::move(fault);
    if (!misfit) {
      result.outcome = FailureClass::None;
      result.problem.clear();
      result.value = std::move(object);
      return true;
    }
    if (finding.empty())
      finding = *misfit;
  }
  if (!tools.empty() && limits.toolCalls)
    for (const json::Value &object : objects)
      if (object.getAsObject()->getString("tool"))
        return callTool(*object.getAsObject());
  return repair(
      FailureClass::Malformed, objects.empty() ? problem : finding,
      "Answer again with one complete JSON object that fits the schema, and nothing else.");
}

llvm::Expected<StructuredReply> Conversation::run() {
  if (llvm::Error error = checkSchema(schema))
    return std::move(error);
  for (const ModelTool &tool : tools)
    if (llvm::Error error = checkSchema(tool.arguments))
      return std::move(error);
  describeShape();
  do {
    if (llvm::Error error = ask())
      return std::move(error);
  } while (!take());
  return std::move(result);
}

llvm::Expected<StructuredReply> kbopt::askStructured(Model &model, ModelRequest request,
                                                     const json::Value &schema,
                                                     llvm::ArrayRef<ModelTool> tools,
                                                     const StructuredLimits &limits,
                                                     const ReplyCheck &check) {
  return Conversation(model, std::move(request), schema, tools, limits, check).run();
}
