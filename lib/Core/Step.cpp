//===- Step.cpp - Steps as text -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Core/Step.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;

static std::string quoted(llvm::StringRef value) {
  bool isPlain = !value.empty() && value.find_first_of(" \t\n,{}'\"()") == llvm::StringRef::npos;
  llvm::StringRef quote = isPlain ? "" : value.contains('"') ? "'" : "\"";
  return (quote + value + quote).str();
}

std::string Step::text() const {
  std::vector<std::string> inside;
  for (const auto &[name, value] : parameters)
    inside.push_back(name + "=" + quoted(value));
  if (!reply.empty())
    inside.push_back("reply=" + reply);
  if (!kernel.empty())
    inside.push_back("kernel=" + quoted(kernel));
  if (site)
    inside.push_back("site=" + std::to_string(site));
  return pass + (inside.empty() ? "" : "{" + llvm::join(inside, " ") + "}");
}

std::string kbopt::printPipeline(llvm::ArrayRef<Step> steps) {
  std::vector<std::string> texts;
  for (const Step &step : steps)
    texts.push_back(step.text());
  return llvm::join(texts, ",");
}
