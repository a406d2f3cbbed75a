//===- RewritePass.cpp - One optimization of CUDA source -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/RewritePass.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;

llvm::Error kbopt::declined(llvm::Error error) {
  return llvm::handleErrors(std::move(error), [](const llvm::StringError &reason) {
    return decline(reason.getMessage());
  });
}
using llvm::StringRef;

RewritePass::~RewritePass() = default;

SiteChoices RewritePass::choices(const PassContext &, const Site &) const { return {}; }

static llvm::Error badValue(const PassInfo &pass, const OptionInfo &option, StringRef value,
                            const llvm::Twine &wanted) {
  return llvm::make_error<UsageError>(
      ("'" + value + "' is no value for option '" + option.name + "' of '" + pass.name + "'").str(),
      ("give " + wanted + ", as in " + pass.name + "{" + option.name + "=" + option.defaultValue +
       "}")
          .str());
}

llvm::Error PassOptions::set(StringRef name, StringRef value) {
  const OptionInfo *option = info->option(name);
  if (!option) {
    llvm::SmallVector<StringRef> known{"kernel", "site"};
    for (const OptionInfo &each : info->options)
      known.push_back(each.name);
    std::optional<std::string> near = nearestName(name, known);
    return llvm::make_error<UsageError>(
        ("pass '" + info->name + "' has no option '" + name + "'").str(),
        near ? "did you mean '" + *near + "'?" : "its options are " + llvm::join(known, ", "));
  }
  if (option->type == OptionType::Integer) {
    int64_t number = 0;
    if (value.getAsInteger(10, number) || number < option->minimum || number > option->maximum)
      return badValue(*info, *option, value,
                      "an integer from " + llvm::Twine(option->minimum) + " to " +
                          llvm::Twine(option->maximum));
  }
  if (option->type == OptionType::Boolean && value != "true" && value != "false")
    return badValue(*info, *option, value, "true or false");
  given[name.str()] = value.str();
  return llvm::Error::success();
}

StringRef PassOptions::string(StringRef name) const {
  auto it = given.find(name.str());
  if (it != given.end())
    return it->second;
  const OptionInfo *option = info->option(name);
  assert(option && "a pass asks for an option that its Pass.td does not declare");
  return option->defaultValue;
}

int64_t PassOptions::integer(StringRef name) const {
  int64_t number = 0;
  bool failed = string(name).getAsInteger(10, number);
  assert(!failed && "checked when it was set");
  (void)failed;
  return number;
}

bool PassOptions::boolean(StringRef name) const { return string(name) == "true"; }

std::vector<std::pair<std::string, std::string>> PassOptions::all() const {
  std::vector<std::pair<std::string, std::string>> values;
  for (const OptionInfo &option : info->options)
    values.emplace_back(option.name.str(), string(option.name).str());
  return values;
}
