//===- HostTensorMaps.cpp - Tensor maps that a launch encodes ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the functions of TensorMapText.h give: the driver's function that they call cannot be
// followed. They are known by their text.
//
//===----------------------------------------------------------------------===//
#include "HostEvaluator.h"
#include "kb-opt/Schedule/TensorMapText.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "kbrt/TensorMap.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using namespace kbopt::hostmap;
using namespace clang;
using llvm::StringRef;

/// \p text without its spaces and line breaks.
static std::string squeezed(StringRef text) {
  std::string result;
  for (char c : text)
    if (!llvm::isSpace(c))
      result += c;
  return result;
}

/// Whether the function called \p name at file scope is defined as \p functions has it.
static bool isDefinedAs(const ParsedProgram &program, StringRef name, StringRef functions) {
  const ASTContext &ast = program.context();
  for (const NamedDecl *each : ast.getTranslationUnitDecl()->lookup(&ast.Idents.get(name))) {
    const auto *function = dyn_cast<FunctionDecl>(each);
    const FunctionDecl *definition = nullptr;
    if (!function || !function->hasBody(definition))
      continue;
    StringRef text =
        Lexer::getSourceText(CharSourceRange::getTokenRange(definition->getSourceRange()),
                             program.sources(), program.language());
    return !text.empty() && StringRef(functions).contains(squeezed(text));
  }
  return false;
}

bool HostEvaluator::isTensorMapFunction(StringRef name) const {
  StringRef base = name;
  if (!base.consume_back(hasTensorMapSuffix) && !base.consume_back(tensorMapSuffix))
    return false;
  const std::string functions = squeezed(tensorMapFunctions(base));
  return isDefinedAs(program, name.str(), functions) &&
         isDefinedAs(program, (base + tensorMapSuffix).str(), functions);
}

HostEvaluator::Result HostEvaluator::tensorMap(const CallExpr *expr, StringRef name) {
  kbrt::TensorMap map;
  map.rank = 3, map.swizzle = 3, map.promotion = 3;
  const std::optional<uint64_t> first = address(expr->getArg(0));
  if (!first)
    return std::nullopt;
  std::vector<uint64_t> numbers;
  for (const Expr *each : llvm::drop_begin(expr->arguments())) {
    const std::optional<uint64_t> number = natural(each);
    if (!number)
      return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.size() != 7)
    return refuse(expr, "the tensor map is not known");
  map.address = *first;
  map.type = static_cast<uint32_t>(numbers[0]);
  map.extents[0] = numbers[1], map.extents[1] = numbers[2], map.extents[2] = numbers[4];
  map.strides[0] = numbers[3], map.strides[1] = numbers[5];
  map.box[0] = 64, map.box[1] = static_cast<uint32_t>(numbers[6]);
  const bool isValid = map.isValid();
  if (name.ends_with(hasTensorMapSuffix))
    return integerOf(isValid && map.address, expr->getType(), ast);
  uint64_t words[kbrt::tensorMapWords] = {};
  if (isValid)
    kbrt::encodeTensorMap(map, words);
  const auto *bytes = reinterpret_cast<const uint8_t *>(words);
  return Bytes{{bytes, bytes + sizeof words}};
}
