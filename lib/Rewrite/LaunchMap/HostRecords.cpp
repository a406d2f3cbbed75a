//===- HostRecords.cpp - Records of the host ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns dim3 and other records: how they are made, and what their members are.
//
//===----------------------------------------------------------------------===//
#include "HostEvaluator.h"
#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;
using namespace kbopt::hostmap;
using namespace clang;
using llvm::APSInt;

HostEvaluator::Result HostEvaluator::construct(const CXXConstructExpr *expr) {
  if (!isDim3(expr->getType()))
    return constructRecord(expr);
  kbrt::Dim3 value;
  uint32_t *components[] = {&value.x, &value.y, &value.z};
  for (unsigned i = 0; i < expr->getNumArgs(); ++i) {
    Result each = i < 3 ? evaluate(expr->getArg(i)) : std::nullopt;
    const auto *component = each ? std::get_if<APSInt>(&*each) : nullptr;
    if (!component)
      return refuse(expr, "'" + textOf(expr) + "' is not followed");
    *components[i] = static_cast<uint32_t>(component->extOrTrunc(64).getZExtValue());
  }
  return value;
}

/// A record of numbers without gaps, whose constructor the program defines: a divisor that the host
/// prepares.
HostEvaluator::Result HostEvaluator::constructRecord(const CXXConstructExpr *expr) {
  const FunctionDecl *definition = nullptr;
  const CXXRecordDecl *record = expr->getConstructor()->getParent();
  const std::string name = record->getNameAsString();
  if (!expr->getConstructor()->hasBody(definition) || record->getNumBases() || record->isUnion() ||
      record->isDynamicClass() || program.sources().isInSystemHeader(definition->getLocation()))
    return refuse(expr, "the launch does not tell what '" + name + "' is");
  const auto *constructor = cast<CXXConstructorDecl>(definition);
  std::optional<Frame> frame = frameOf(expr, constructor, {expr->getArgs(), expr->getNumArgs()});
  if (!frame)
    return std::nullopt;
  frames.push_back(std::move(*frame));
  bool isComplete = true;
  for (const CXXCtorInitializer *each : constructor->inits()) {
    Result value = each->isMemberInitializer() ? evaluate(each->getInit()) : std::nullopt;
    isComplete &= value.has_value();
    if (value)
      frames.back().object[each->getMember()] = std::move(*value);
  }
  const Flow flow = isComplete ? execute(constructor->getBody()) : Flow::Stop;
  const std::map<const FieldDecl *, HostValue> object = std::move(frames.back().object);
  frames.pop_back();
  if (flow != Flow::Next && flow != Flow::Return)
    return refuse(expr, "how '" + name + "' is made is not followed");
  Bytes result;
  for (const FieldDecl *field : record->fields()) {
    auto value = object.find(field);
    auto bytes = value == object.end() || field->isBitField()
                     ? std::nullopt
                     : bytesOf(value->second, field->getType(), ast);
    if (!bytes || ast.getFieldOffset(field) != 8 * result.bytes.size())
      return refuse(expr, "a '" + name + "' has members or gaps whose bytes are not known");
    llvm::append_range(result.bytes, *bytes);
  }
  if (result.bytes.size() != size_t(ast.getTypeSizeInChars(expr->getType()).getQuantity()))
    return refuse(expr, "a '" + name + "' has gaps whose bytes are not known");
  return result;
}

HostEvaluator::Result HostEvaluator::member(const MemberExpr *expr) {
  const auto *field = dyn_cast<FieldDecl>(expr->getMemberDecl());
  if (field && isa<CXXThisExpr>(ast::strip(expr->getBase())))
    if (const HostValue &known = frames.back().object[field]; known.index())
      return known;
  if (!field || expr->isArrow() || field->isBitField())
    return refuse(expr, "the launch does not tell what '" + textOf(expr) + "' is");
  Result base = evaluate(expr->getBase());
  if (!base)
    return std::nullopt;
  if (const auto *extents = std::get_if<kbrt::Dim3>(&*base); extents && field->getIdentifier()) {
    const llvm::StringRef name = field->getName();
    return integerOf(name == "x"   ? extents->x
                     : name == "y" ? extents->y
                                   : extents->z,
                     expr->getType(), ast);
  }
  const auto *record = std::get_if<Bytes>(&*base);
  const uint64_t offset = ast.getFieldOffset(field) / 8,
                 size = ast.getTypeSizeInChars(field->getType()).getQuantity();
  if (!record || offset + size > record->bytes.size())
    return refuse(expr, "the launch does not tell what '" + textOf(expr) + "' is");
  return valueOf(llvm::ArrayRef(record->bytes).slice(offset, size), field->getType(), ast);
}
