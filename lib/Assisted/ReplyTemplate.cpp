//===- ReplyTemplate.cpp - Numbers that a reply leaves open ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Assisted/ReplyTemplate.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using llvm::StringRef;

static bool isWordLetter(char c) { return llvm::isAlnum(c) || c == '_'; }

bool kbopt::isParameterName(StringRef name) {
  return !name.empty() && name.size() <= 32 && llvm::isUpper(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isUpper(c) || llvm::isDigit(c) || c == '_'; });
}

bool kbopt::isParameterValue(StringRef value) {
  if (value.empty() || value.size() > 32)
    return false;
  StringRef digits = value;
  digits.consume_front("-");
  if (!digits.empty() && llvm::all_of(digits, llvm::isDigit))
    return true;
  return !llvm::isDigit(value.front()) && llvm::all_of(value, isWordLetter);
}

/// Calls \p visit with the place of each placeholder, `{{` to `}}`, and its name.
static void
eachPlaceholder(StringRef text,
                llvm::function_ref<void(size_t at, size_t length, StringRef name)> visit) {
  for (size_t at = text.find("{{"); at != StringRef::npos; at = text.find("{{", at + 1)) {
    StringRef name = text.substr(at + 2).take_while(isWordLetter);
    if (!isParameterName(name) || !text.substr(at + 2 + name.size()).starts_with("}}"))
      continue;
    visit(at, name.size() + 4, name);
    at += name.size() + 3;
  }
}

std::set<std::string> kbopt::placeholders(StringRef text) {
  std::set<std::string> names;
  eachPlaceholder(text, [&](size_t, size_t, StringRef name) { names.insert(name.str()); });
  return names;
}

/// What is wrong with one parameter's declaration.
static std::optional<std::string> declarationFault(const TemplateParameter &parameter) {
  std::string named = "the parameter '" + parameter.name + "'";
  if (!isParameterName(parameter.name))
    return named + " has no name of upper-case letters, digits and underscores";
  if (parameter.values.empty() || parameter.values.size() > ReplyLimits::values)
    return named + " needs 1 to " + std::to_string(ReplyLimits::values) + " values";
  for (const std::string &value : parameter.values) {
    if (!isParameterValue(value))
      return named + " has the value '" + value +
             "', which is neither an integer nor an identifier";
    if (llvm::count(parameter.values, value) > 1)
      return named + " has the value '" + value + "' twice";
  }
  if (!llvm::is_contained(parameter.values, parameter.defaultValue))
    return named + " has the default '" + parameter.defaultValue + "', which is none of its values";
  return std::nullopt;
}

std::optional<Refusal> kbopt::checkTemplate(llvm::ArrayRef<TemplateParameter> parameters,
                                            llvm::ArrayRef<ReplyEdit> edits) {
  auto refuse = [](const std::string &sentence, StringRef anchor = "") {
    return Refusal{EditRule::Template, sentence, anchor.str()};
  };
  std::set<std::string> declared;
  for (const TemplateParameter &parameter : parameters) {
    if (std::optional<std::string> fault = declarationFault(parameter))
      return refuse(*fault);
    if (!declared.insert(parameter.name).second)
      return refuse("the parameter '" + parameter.name + "' is declared twice");
  }
  std::set<std::string> used;
  for (const ReplyEdit &edit : edits)
    for (const std::string &name : placeholders(edit.text)) {
      if (!declared.count(name))
        return refuse("the placeholder '{{" + name + "}}' is not among the parameters",
                      edit.anchor);
      used.insert(name);
    }
  for (const std::string &name : declared)
    if (!used.count(name))
      return refuse("the parameter '" + name + "' is declared but no text has '{{" + name + "}}'");
  return std::nullopt;
}

llvm::Expected<TemplateValues>
kbopt::templateValues(const AssistedReply &reply, const std::map<std::string, std::string> &given) {
  TemplateValues values;
  for (const TemplateParameter &parameter : reply.parameters)
    values[parameter.name] = parameter.defaultValue;
  for (const auto &[name, value] : given) {
    const TemplateParameter *parameter = reply.parameter(name);
    if (!parameter) {
      llvm::SmallVector<StringRef> known;
      for (const TemplateParameter &each : reply.parameters)
        known.push_back(each.name);
      return llvm::make_error<UsageError>(
          "the reply for pass '" + reply.pass + "' has no parameter '" + name + "'",
          known.empty() ? "it has no parameters at all"
                        : "its parameters are " + llvm::join(known, ", "));
    }
    if (!llvm::is_contained(parameter->values, value))
      return llvm::make_error<UsageError>("'" + value + "' is no value for parameter '" + name +
                                              "' of the reply for pass '" + reply.pass + "'",
                                          "it is one of " + llvm::join(parameter->values, ", "));
    values[name] = value;
  }
  return values;
}

std::string kbopt::instantiate(StringRef text, const TemplateValues &values) {
  std::string result;
  size_t done = 0;
  eachPlaceholder(text, [&](size_t at, size_t length, StringRef name) {
    auto value = values.find(name.str());
    if (value == values.end())
      return;
    result += text.slice(done, at);
    result += value->second;
    done = at + length;
  });
  return result + text.substr(done).str();
}
