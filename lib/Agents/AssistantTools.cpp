//===- AssistantTools.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AssistantTools.h"
#include "kb-opt/Knowledge/Catalogue.h"

using namespace kbopt;
namespace json = llvm::json;

DocumentIndex kbopt::documentsOf(const PassRegistry &passes) {
  DocumentIndex index;
  for (const PassRegistration &pass : passes.passes()) {
    const PassInfo &info = *pass.info;
    index.add(info.name, (info.summary + "\n\n" + info.description).str());
    if (info.assisted)
      index.add(info.name, info.assisted->prompt);
  }
  for (const Optimization &entry : Catalogue::builtin().optimizations())
    index.add(entry.name, entry.summary + ". " + entry.hint);
  return index;
}

static std::string answerSearch(const DocumentIndex &documents, llvm::StringRef query) {
  constexpr unsigned shownPassages = 4;
  std::string text;
  for (const Passage &passage : documents.search(query, shownPassages))
    text += "## " + passage.title + "\n\n" + passage.text + "\n\n";
  return text.empty() ? "Nothing is known in these words." : text;
}

std::vector<ModelTool> kbopt::assistantTools(const DocumentIndex &documents,
                                             ShownPrograms &programs, const NodeId &node,
                                             std::string kernel) {
  auto schema = [](json::Object properties) {
    json::Array required;
    for (const auto &property : properties)
      required.push_back(property.first.str());
    return json::Value(json::Object{{"type", "object"},
                                    {"properties", std::move(properties)},
                                    {"required", std::move(required)}});
  };
  std::vector<ModelTool> tools;
  tools.push_back({"search", "Passages of the documentation of optimizations that match the words.",
                   schema(json::Object{{"query", json::Object{{"type", "string"}}}}),
                   [&documents](const json::Object &arguments) {
                     return answerSearch(documents, arguments.getString("query").value_or(""));
                   }});
  tools.push_back(
      {"generated_code", "Registers, spills, shared bytes and PTX of the kernel as it is now.",
       schema(json::Object()), [&programs, node, kernel = std::move(kernel)](const json::Object &) {
         return programs.generatedCode(node, kernel);
       }});
  return tools;
}
