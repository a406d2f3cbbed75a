//===- KernelTypes.cpp - Parameter types from a mangled kernel name --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of a demangled signature: which parameters are pointers to
// numbers. What it does not recognise is Unknown.
//
//===----------------------------------------------------------------------===//
#include "kbrt/Plan.h"

#include <cstdlib>
#include <cxxabi.h>

using namespace kbrt;

namespace {

struct Name {
  const char *name;
  ElementType type;
};

/// Demangled spellings of the Itanium ABI; vectors of CUDA by their stem.
constexpr Name scalars[] = {
    {"bool", ElementType::Bool},
    {"char", ElementType::I8},
    {"signed char", ElementType::I8},
    {"unsigned char", ElementType::U8},
    {"short", ElementType::I16},
    {"unsigned short", ElementType::U16},
    {"int", ElementType::I32},
    {"unsigned int", ElementType::U32},
    {"long", ElementType::I64},
    {"long long", ElementType::I64},
    {"unsigned long", ElementType::U64},
    {"unsigned long long", ElementType::U64},
    {"int8_t", ElementType::I8},
    {"uint8_t", ElementType::U8},
    {"int16_t", ElementType::I16},
    {"uint16_t", ElementType::U16},
    {"int32_t", ElementType::I32},
    {"uint32_t", ElementType::U32},
    {"int64_t", ElementType::I64},
    {"uint64_t", ElementType::U64},
    {"size_t", ElementType::U64},
    {"half", ElementType::F16},
    {"half2", ElementType::F16},
    {"nv_bfloat16", ElementType::BF16},
    {"nv_bfloat162", ElementType::BF16},
    {"float", ElementType::F32},
    {"double", ElementType::F64},
    {"__half", ElementType::F16},
    {"__half2", ElementType::F16},
    {"__nv_bfloat16", ElementType::BF16},
    {"__nv_bfloat162", ElementType::BF16},
};
constexpr Name vectorStems[] = {
    {"char", ElementType::I8},       {"uchar", ElementType::U8},  {"short", ElementType::I16},
    {"ushort", ElementType::U16},    {"int", ElementType::I32},   {"uint", ElementType::U32},
    {"long", ElementType::I64},      {"ulong", ElementType::U64}, {"longlong", ElementType::I64},
    {"ulonglong", ElementType::U64}, {"float", ElementType::F32}, {"double", ElementType::F64},
};

} // namespace

ElementType kbrt::elementTypeFromCxx(std::string_view name) {
  for (const Name &row : scalars)
    if (name == row.name)
      return row.type;
  // float4, uint2, and CUDA 13's double4_16a.
  for (const Name &row : vectorStems) {
    std::string_view stem = row.name;
    if (name.substr(0, stem.size()) != stem || name.size() == stem.size())
      continue;
    char count = name[stem.size()];
    std::string_view rest = name.substr(stem.size() + 1);
    if (count >= '1' && count <= '4' && (rest.empty() || rest == "_16a" || rest == "_32a"))
      return row.type;
  }
  return ElementType::Unknown;
}

namespace {

void trim(std::string_view &text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
}

bool dropSuffix(std::string_view &text, std::string_view suffix) {
  if (text.size() < suffix.size() || text.substr(text.size() - suffix.size()) != suffix)
    return false;
  text.remove_suffix(suffix.size());
  trim(text);
  return true;
}

/// Leaves "float const" of "float const* __restrict" and of "float const (*) [16][32]", a pointer
/// to arrays; false if \p type is neither.
bool dropPointer(std::string_view &type) {
  trim(type);
  const size_t open = type.find("(*"), close = type.find(')', std::min(open, type.size()));
  const bool pointsToArray = close != std::string_view::npos && type.back() == ']';
  std::string_view pointer = pointsToArray ? type.substr(open + 1, close - open - 1) : type;
  while (dropSuffix(pointer, "const") || dropSuffix(pointer, "__restrict") ||
         dropSuffix(pointer, "restrict"))
    ;
  if (!dropSuffix(pointer, "*") || (pointsToArray && !pointer.empty()))
    return false;
  type = pointsToArray ? type.substr(0, open) : pointer;
  trim(type);
  return true;
}

ElementType pointee(std::string_view type) {
  if (!dropPointer(type))
    return ElementType::Unknown;
  while (dropSuffix(type, "const") || dropSuffix(type, "volatile"))
    ;
  return elementTypeFromCxx(type);
}

/// The parameter list of \p signature without its parentheses: the last pair
/// at nesting depth zero.
std::optional<std::string_view> parameterList(std::string_view signature) {
  size_t close = signature.rfind(')');
  if (close == std::string_view::npos)
    return std::nullopt;
  int depth = 0;
  for (size_t i = close + 1; i-- > 0;) {
    if (signature[i] == ')')
      ++depth;
    if (signature[i] == '(' && --depth == 0)
      return signature.substr(i + 1, close - i - 1);
  }
  return std::nullopt;
}

/// The parameters' types as the demangler spells them.
std::optional<std::vector<std::string>> parameterTypes(const std::string &mangledKernel) {
  int status = 0;
  char *text = abi::__cxa_demangle(mangledKernel.c_str(), nullptr, nullptr, &status);
  if (!text || status != 0 || mangledKernel.rfind("_Z", 0) != 0) {
    std::free(text);
    return std::nullopt;
  }
  std::string signature = text;
  std::free(text);
  auto list = parameterList(signature);
  if (!list)
    return std::nullopt;
  std::vector<std::string> types;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i <= list->size(); ++i) {
    char c = i < list->size() ? (*list)[i] : ',';
    if (c == '(' || c == '<' || c == '[')
      ++depth;
    if (c == ')' || c == '>' || c == ']')
      --depth;
    if (c != ',' || (depth != 0 && i < list->size()))
      continue;
    if (i > start)
      types.emplace_back(list->substr(start, i - start));
    start = i + 1;
  }
  return types;
}

bool isPointerToConst(std::string_view type) {
  return dropPointer(type) && dropSuffix(type, "const");
}

} // namespace

std::optional<std::vector<ElementType>>
kbrt::pointerParameterTypes(const std::string &mangledKernel) {
  auto names = parameterTypes(mangledKernel);
  if (!names)
    return std::nullopt;
  std::vector<ElementType> types;
  for (const std::string &name : *names)
    types.push_back(pointee(name));
  return types;
}

std::optional<std::vector<bool>> kbrt::constPointerParameters(const std::string &mangledKernel) {
  auto names = parameterTypes(mangledKernel);
  if (!names)
    return std::nullopt;
  std::vector<bool> result;
  for (const std::string &name : *names)
    result.push_back(isPointerToConst(name));
  return result;
}
