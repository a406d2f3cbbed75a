//===- JsonSchema.h - Checking JSON against a schema ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the subset of JSON Schema that replies are described in: type, enum, const,
// properties, required, additionalProperties, items, minItems, maxItems, minLength,
// maxLength, pattern (POSIX extended), minimum, maximum, anyOf; title, description,
// default and examples are for the reader.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LLM_JSONSCHEMA_H
#define KBOPT_LLM_JSONSCHEMA_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace kbopt {

/// Whether \p schema stays within the subset; a `UsageError` names the keyword.
llvm::Error checkSchema(const llvm::json::Value &schema);

/// What is wrong with \p value, in one line that names the path
/// ("$.edits[1].text: expected a string, got a number"); nothing if it fits.
std::optional<std::string> mismatch(const llvm::json::Value &value,
                                    const llvm::json::Value &schema);

/// \p schema as people write a form, for prompts: {"edits": [{"anchor": string}, …],
/// "promise"?: "bitwise" | "reassociates"}, with the most items and characters that are allowed.
/// Other limits are left to the check.
std::string shapeOf(const llvm::json::Value &schema);

} // namespace kbopt

#endif // KBOPT_LLM_JSONSCHEMA_H
