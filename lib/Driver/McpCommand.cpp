//===- McpCommand.cpp - kb-opt mcp ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the Model Context Protocol on stdio: one JSON-RPC message a line. What the
// tools do is McpTools.cpp's.
//
//===----------------------------------------------------------------------===//
#include "McpCommand.h"
#include "McpTools.h"
#include "Version.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include <iostream>

using namespace kbopt;
namespace json = llvm::json;

namespace {

enum RpcError {
  ParseError = -32700,
  InvalidRequest = -32600,
  MethodNotFound = -32601,
  InvalidParams = -32602
};

/// Versions of the protocol that are spoken alike here, oldest first.
constexpr llvm::StringLiteral protocolVersions[] = {"2024-11-05", "2025-03-26", "2025-06-18"};

json::Object failure(RpcError code, const llvm::Twine &message) {
  return json::Object{{"error", json::Object{{"code", int(code)}, {"message", message.str()}}}};
}

json::Object initialized(const json::Object &params) {
  llvm::StringRef asked = params.getString("protocolVersion").value_or("");
  llvm::StringRef spoken = llvm::is_contained(protocolVersions, asked)
                               ? asked
                               : llvm::StringRef(std::end(protocolVersions)[-1]);
  return json::Object{
      {"protocolVersion", spoken.str()},
      {"capabilities", json::Object{{"tools", json::Object()}}},
      {"serverInfo", json::Object{{"name", "kb-opt"}, {"version", kbOptVersion()}}}};
}

json::Object answered(McpResult result) {
  json::Object answer{{"content", json::Array{json::Object{{"type", "text"},
                                                           {"text", json::fixUTF8(result.text)}}}},
                      {"isError", result.isError}};
  if (result.facts.getAsObject())
    answer["structuredContent"] = std::move(result.facts);
  return answer;
}

/// `result` or `error` of the answer to a request.
json::Object answerTo(McpTools &tools, llvm::StringRef method, const json::Object &params) {
  if (method == "initialize")
    return json::Object{{"result", initialized(params)}};
  if (method == "ping")
    return json::Object{{"result", json::Object()}};
  if (method == "tools/list")
    return json::Object{{"result", json::Object{{"tools", McpTools::list()}}}};
  if (method != "tools/call")
    return failure(MethodNotFound, "there is no method '" + method + "'");
  static const json::Object none;
  llvm::StringRef name = params.getString("name").value_or("");
  const json::Object *arguments = params.getObject("arguments");
  std::optional<McpResult> result = tools.call(name, arguments ? *arguments : none);
  if (!result)
    return failure(InvalidParams, "there is no tool '" + name + "'");
  return json::Object{{"result", answered(std::move(*result))}};
}

/// Writes the answer to one line of input; a notification has none.
void serveLine(McpTools &tools, llvm::StringRef line) {
  json::Object answer;
  json::Value id = nullptr;
  llvm::Expected<json::Value> message = json::parse(line);
  if (!message) {
    answer = failure(ParseError, llvm::toString(message.takeError()));
  } else if (const json::Object *request = message->getAsObject();
             !request || !request->getString("method")) {
    if (request && (request->get("result") || request->get("error")))
      return;
    answer = failure(InvalidRequest, "a request is an object with a method");
  } else {
    if (!request->get("id"))
      return;
    id = *request->get("id");
    static const json::Object none;
    const json::Object *params = request->getObject("params");
    answer = answerTo(tools, *request->getString("method"), params ? *params : none);
  }
  answer["jsonrpc"] = "2.0";
  answer["id"] = std::move(id);
  llvm::outs() << json::Value(std::move(answer)) << "\n";
  llvm::outs().flush();
}

} // namespace

int kbopt::runMcpCommand(llvm::ArrayRef<const char *> arguments) {
  if (!arguments.empty()) {
    const bool help = llvm::StringRef(arguments.front()).trim('-') == "help";
    (help ? llvm::outs() : llvm::errs())
        << "usage: kb-opt mcp\n\nA server of the Model Context Protocol on standard input and "
           "output (docs/Mcp.md).\n";
    return static_cast<int>(help ? ExitStatus::Success : ExitStatus::Usage);
  }
  static int here;
  McpTools tools(llvm::sys::fs::getMainExecutable(nullptr, &here), realProcessRunner());
  for (std::string line; std::getline(std::cin, line);)
    if (!llvm::StringRef(line).trim().empty())
      serveLine(tools, line);
  return static_cast<int>(ExitStatus::Success);
}
