//===- ReplyTemplate.h - Numbers that a reply leaves open -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns placeholders, `{{NAME}}`, in the texts of a reply: which there are, and
// putting values in their place. No Clang.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_ASSISTED_REPLYTEMPLATE_H
#define KBOPT_ASSISTED_REPLYTEMPLATE_H

#include "kb-opt/Assisted/AssistedReply.h"
#include <set>

namespace kbopt {

/// Values by parameter.
using TemplateValues = std::map<std::string, std::string>;

/// Whether \p name can be a parameter's: `[A-Z][A-Z0-9_]*`, at most 32 letters. No option of a
/// pass looks like that.
bool isParameterName(llvm::StringRef name);
/// Whether \p value is an identifier or an integer.
bool isParameterValue(llvm::StringRef value);

/// The names of the placeholders in \p text. Braces around anything but a parameter's name
/// are C++ and no placeholder.
std::set<std::string> placeholders(llvm::StringRef text);

/// Rule `template`: names and values are well formed, every declared parameter is used,
/// every used one declared, every default among its values.
std::optional<Refusal> checkTemplate(llvm::ArrayRef<TemplateParameter> parameters,
                                     llvm::ArrayRef<ReplyEdit> edits);

/// The values that a step gives, completed by the defaults. Fails with a `UsageError` for a
/// name that \p reply does not have or a value outside its range.
llvm::Expected<TemplateValues> templateValues(const AssistedReply &reply,
                                              const std::map<std::string, std::string> &given);

/// \p text with \p values in place of its placeholders; others stay.
std::string instantiate(llvm::StringRef text, const TemplateValues &values);

} // namespace kbopt

#endif // KBOPT_ASSISTED_REPLYTEMPLATE_H
