//===- TestFunction.cpp - What a launch tests -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TestFunction.h"
#include "HostText.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

std::string kbopt::asPart(StringRef condition) {
  return condition.contains("||") || condition.contains('?') ? ("(" + condition + ")").str()
                                                             : condition.str();
}

std::string kbopt::joinConditions(llvm::ArrayRef<const HostCondition *> open, StringRef with) {
  std::vector<std::string> parts;
  llvm::MapVector<unsigned, std::vector<std::string>> aligned;
  for (const HostCondition *each : open)
    if (each->bytes)
      aligned[each->bytes].push_back("(size_t)" + asOperand(each->pointer));
    else
      parts.push_back(open.size() > 1 ? asPart(each->text) : each->text);
  for (auto &[bytes, pointers] : aligned) {
    llvm::sort(pointers);
    pointers.erase(llvm::unique(pointers), pointers.end());
    std::string together = llvm::join(pointers, " | ");
    parts.push_back((pointers.size() > 1 ? "(" + together + ")" : together) + " % " +
                    std::to_string(bytes) + " == 0");
  }
  return llvm::join(parts, with);
}

void TestFunction::add(llvm::ArrayRef<const HostCondition *> conditions) {
  for (const HostCondition *each : conditions)
    if (!llvm::is_contained(tested, each))
      tested.push_back(each);
}

bool TestFunction::operator==(const TestFunction &other) const {
  return joinConditions(tested) == joinConditions(other.tested);
}

std::string TestFunction::nameFor(StringRef name) const {
  return context.unusedName(("can_use_" + name).str());
}

/// Parameters first, then gridDim and blockDim; template arguments are no parameters.
llvm::SmallVector<StringRef> TestFunction::parameters(const LaunchText &launch) const {
  llvm::SmallVector<StringRef> all, names;
  for (const HostCondition *each : tested)
    for (StringRef name : namesIn(each->text))
      if (launch.meaning(name) && !llvm::is_contained(all, name))
        all.push_back(name);
  for (const ParmVarDecl *parameter : function->parameters())
    if (llvm::is_contained(all, parameter->getName()))
      names.push_back(parameter->getName());
  for (StringRef name : all)
    if (name.contains('.'))
      names.push_back(name);
  return names;
}

/// \p text of the kernel with the template arguments of the instance.
std::string TestFunction::withArguments(StringRef text) const {
  llvm::StringMap<std::string> arguments = templateArguments(function, context.parsed().context());
  return replaceNames(text, [&](StringRef name) -> std::optional<std::string> {
    auto found = arguments.find(name);
    return found == arguments.end() ? std::nullopt : std::optional<std::string>(found->second);
  });
}

/// The declaration of \p parameter as it is written, or as it would be if it stands in a header.
std::string TestFunction::parameterText(const ParmVarDecl *parameter) const {
  StringRef written = writtenText(context, parameter->getSourceRange());
  if (!written.empty())
    return written.str();
  std::string text;
  llvm::raw_string_ostream out(text);
  parameter->getType().print(out, context.parsed().context().getPrintingPolicy(),
                             parameter->getName());
  return text;
}

/// What `gridDim.x` and its relatives are called in the function.
std::string TestFunction::localName(StringRef name) {
  return (name.starts_with("grid") ? "grid_" : "block_") + name.take_back().str();
}

std::string TestFunction::declaration(StringRef name, const LaunchText &launch) const {
  std::vector<std::string> declared;
  for (StringRef each : parameters(launch))
    if (each.contains('.'))
      declared.push_back("unsigned " + localName(each));
    else
      for (const ParmVarDecl *parameter : kernel.function()->parameters())
        if (parameter->getName() == each)
          declared.push_back(withArguments(parameterText(parameter)));
  return "static inline bool " + nameFor(name) + "(" + llvm::join(declared, ", ") + ")";
}

std::string TestFunction::definition(llvm::ArrayRef<std::string> names,
                                     const LaunchText &launch) const {
  std::string body = replaceNames(withArguments(joinConditions(tested, " &&\n         ")),
                                  [&](StringRef name) -> std::optional<std::string> {
                                    return name.contains('.')
                                               ? std::optional<std::string>(localName(name))
                                               : std::nullopt;
                                  });
  return "// Whether " + llvm::join(names, " and ") +
         (names.size() > 1 ? " compute what " : " computes what ") +
         kernel.function()->getNameAsString() + " does.\n" + declaration(names.front(), launch) +
         " {\n  return " + body + ";\n}";
}

llvm::Expected<std::string> TestFunction::call(StringRef name, const LaunchText &launch) const {
  std::string text = nameFor(name) + "(";
  bool isFirst = true;
  for (StringRef parameter : parameters(launch)) {
    llvm::Expected<std::string> argument = launch.translate(parameter);
    if (!argument)
      return argument.takeError();
    text += (isFirst ? "" : ", ") + *argument;
    isFirst = false;
  }
  return launch.spelled(text + ")", false);
}
