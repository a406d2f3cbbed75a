//===- CxxTypes.cpp ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "CxxTypes.h"

#include "kb-opt/Plan/Workload.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using llvm::StringRef;

namespace {

bool isWord(char c) { return llvm::isAlnum(c) || c == '_' || c == ':'; }

/// Words and single signs.
std::vector<std::string> tokens(StringRef type) {
  std::vector<std::string> result;
  while (!(type = type.ltrim()).empty()) {
    StringRef word = type.take_while(isWord);
    if (word.empty())
      word = type.take_front(1);
    result.push_back(word.str());
    type = type.drop_front(word.size());
  }
  return result;
}

bool isQualifier(StringRef word) {
  return llvm::is_contained({"const", "volatile", "restrict", "__restrict", "__restrict__",
                             "struct", "class", "enum", "typename", "register"},
                            word);
}

/// "long unsigned int" and the like in one form.
std::string integerSpelling(llvm::ArrayRef<std::string> words) {
  unsigned longs = 0;
  bool isUnsigned = false, isSigned = false, isShort = false, isChar = false;
  for (StringRef word : words) {
    longs += word == "long";
    isUnsigned |= word == "unsigned";
    isSigned |= word == "signed";
    isShort |= word == "short";
    isChar |= word == "char";
    if (word != "long" && word != "unsigned" && word != "signed" && word != "short" &&
        word != "char" && word != "int")
      return llvm::join(words, " ");
  }
  std::string base = isChar    ? "char"
                     : isShort ? "short"
                     : longs   ? (longs > 1 ? "long long" : "long")
                               : "int";
  return (isUnsigned ? "unsigned " : isSigned && isChar ? "signed " : "") + base;
}

} // namespace

std::string kbopt::normalizedType(StringRef type) {
  std::vector<std::string> words;
  std::string signs;
  for (std::string &word : tokens(type)) {
    if (isQualifier(word))
      continue;
    StringRef name = word;
    name.consume_front("::");
    name.consume_front("std::");
    if (isWord(name[0]) && signs.empty())
      words.push_back(name.str());
    else
      signs += name.str();
  }
  std::string base = words.empty() ? "" : integerSpelling(words);
  return signs.empty() ? base : base + " " + signs;
}

std::string kbopt::pointeeText(StringRef type) {
  std::string text = normalizedType(type);
  StringRef rest = text;
  if (rest.ends_with("[]"))
    rest = rest.drop_back(2);
  else if (rest.ends_with("*") || rest.ends_with("&"))
    rest = rest.drop_back();
  else
    return "";
  return rest.rtrim().str();
}

bool kbopt::pointsToConst(StringRef type) {
  // Left of the last star or bracket; a const to its right makes the pointer const.
  size_t at = type.find_last_of("*&[");
  return at != StringRef::npos && llvm::is_contained(tokens(type.take_front(at)), "const");
}

std::optional<ElementType> kbopt::pointedElement(StringRef cxxType) {
  std::string pointee = pointeeText(cxxType);
  if (pointee.empty())
    return std::nullopt;
  return kbrt::elementTypeFromCxx(pointee);
}

ElementType kbopt::scalarElement(StringRef cxxType) {
  return kbrt::elementTypeFromCxx(normalizedType(cxxType));
}

StringRef kbopt::cxxElementType(ElementType element) {
  switch (element) {
  case ElementType::Bool:
    return "bool";
  case ElementType::I8:
    return "signed char";
  case ElementType::U8:
    return "unsigned char";
  case ElementType::I16:
    return "short";
  case ElementType::U16:
    return "unsigned short";
  case ElementType::I32:
    return "int";
  case ElementType::U32:
    return "unsigned int";
  case ElementType::I64:
    return "long long";
  case ElementType::U64:
    return "unsigned long long";
  case ElementType::F16:
    return "__half";
  case ElementType::BF16:
    return "__nv_bfloat16";
  case ElementType::F32:
    return "float";
  case ElementType::F64:
    return "double";
  case ElementType::Unknown:
    break;
  }
  return "void";
}
