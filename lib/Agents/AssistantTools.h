//===- AssistantTools.h - What roles may look up ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the tools of the roles: a search over what kb-opt knows in words, and the
// code that the compiler made of a kernel.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_AGENTS_ASSISTANTTOOLS_H
#define KBOPT_LIB_AGENTS_ASSISTANTTOOLS_H

#include "kb-opt/Agents/Assistant.h"

namespace kbopt {

/// Descriptions and prompts of \p passes, and the hints of the catalogue.
DocumentIndex documentsOf(const PassRegistry &passes);

/// `search {query}` and `generated_code {}`. All arguments outlive the tools.
std::vector<ModelTool> assistantTools(const DocumentIndex &documents, ShownPrograms &programs,
                                      const NodeId &node, std::string kernel);

} // namespace kbopt

#endif // KBOPT_LIB_AGENTS_ASSISTANTTOOLS_H
