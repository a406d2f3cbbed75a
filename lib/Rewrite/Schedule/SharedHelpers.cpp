//===- SharedHelpers.cpp - Functions that several kernels call --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SharedHelpers.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using llvm::StringRef;

/// \p text with \p to in place of the word \p from.
static std::string withWord(StringRef text, StringRef from, StringRef to) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  std::string result;
  for (size_t at; (at = text.find(from)) != StringRef::npos;) {
    const size_t end = at + from.size();
    const bool isWhole =
        (at == 0 || !isWord(text[at - 1])) && (end == text.size() || !isWord(text[end]));
    result += text.take_front(at);
    result += isWhole ? to : from;
    text = text.drop_front(end);
  }
  return result + text.str();
}

std::string SharedHelpers::definitionOf(const GeneratedKernel &kernel) {
  std::string definition = kernel.definition;
  for (const GeneratedKernel::Helper &helper : kernel.helpers) {
    const size_t at = definition.find(helper.text);
    if (at == std::string::npos)
      continue; // names in it were changed for this kernel alone
    auto [found, isNew] = known.try_emplace(withWord(helper.text, helper.name, "@"), helper.name);
    if (isNew)
      continue;
    definition.erase(at, helper.text.size());
    definition = withWord(definition, helper.name, found->second);
  }
  return definition;
}
