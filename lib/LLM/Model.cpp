//===- Model.cpp ----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/LLM/Model.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

Model::~Model() = default;

static constexpr std::pair<ModelRole, llvm::StringLiteral> roles[] = {
    {ModelRole::Compose, "compose"},
    {ModelRole::Planner, "planner"},
    {ModelRole::Coder, "coder"},
    {ModelRole::Debugger, "debugger"},
    {ModelRole::Verifier, "verifier"},
    {ModelRole::State, "state"},
    {ModelRole::Evaluator, "evaluator"},
    {ModelRole::GapAnalyst, "gap-analyst"},
    {ModelRole::Updater, "updater"},
    {ModelRole::Minimal, "minimal"},
    {ModelRole::Generalizer, "generalizer"},
};

llvm::StringRef kbopt::roleName(ModelRole role) {
  return llvm::find_if(roles, [&](const auto &entry) { return entry.first == role; })->second;
}

std::optional<ModelRole> kbopt::roleFromName(llvm::StringRef name) {
  for (const auto &[role, known] : roles)
    if (known == name)
      return role;
  return std::nullopt;
}

llvm::StringRef kbopt::stepRolesName(StepRoles roles) {
  return roles == StepRoles::Compose ? "compose" : "plan-code";
}

std::optional<StepRoles> kbopt::stepRolesFromName(llvm::StringRef name) {
  for (StepRoles roles : {StepRoles::Compose, StepRoles::PlanCode})
    if (stepRolesName(roles) == name)
      return roles;
  return std::nullopt;
}

Digest ModelRequest::digest() const {
  DigestBuilder builder;
  builder.add("model request 1").add(roleName(role)).add(system).add(schema).add(sample);
  for (const ModelMessage &message : messages)
    builder.add(message.speaker == ModelMessage::Speaker::User ? "user" : "model")
        .add(message.text);
  return builder.finish();
}
