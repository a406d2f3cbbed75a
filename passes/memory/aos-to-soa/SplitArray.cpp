//===- SplitArray.cpp - Which arrays a structure becomes -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SplitArray.h"
#include "clang/AST/RecordLayout.h"

using namespace kbopt;
using namespace kbopt::split;
using namespace clang;

static PrintingPolicy policyOf(const ASTContext &context) {
  PrintingPolicy policy = context.getPrintingPolicy();
  policy.SuppressTagKeyword = true;
  return policy;
}

/// More arrays than this are no gain.
static constexpr int64_t mostParts = 32;

Layout::Layout(const ASTContext &context, QualType type)
    : context(&context), structure(context.getCanonicalType(type).getUnqualifiedType()) {
  const auto *record = dyn_cast_or_null<CXXRecordDecl>(structure->getAsRecordDecl());
  record = record ? record->getDefinition() : nullptr;
  typeName = structure.getAsString(policyOf(context));
  const std::string quoted = "'" + typeName + "'";
  if (!record)
    why = quoted + " is not defined";
  else if (record->isUnion() || record->isLambda() || record->getNumBases() ||
           !record->isTriviallyCopyable())
    why = quoted + " is no plain structure";
  else if (isa<ClassTemplateSpecializationDecl>(record) ||
           !record->getDeclContext()->isFileContext() || typeName.find('(') != std::string::npos)
    why = quoted + " is a template's instance, or a member, or has no name";
  if (!why.empty())
    return;
  int64_t used = 0;
  for (const FieldDecl *field : record->fields()) {
    const std::string member = "'" + field->getNameAsString() + "' of " + quoted;
    QualType each = context.getCanonicalType(field->getType());
    if (field->isBitField() || field->isAnonymousStructOrUnion() || !field->getIdentifier()) {
      why = (field->isBitField() ? member : "a field of " + quoted) +
            (field->isBitField() ? " is a bit-field" : " has no name");
      return;
    }
    used += context.getTypeSizeInChars(each).getQuantity();
    const ConstantArrayType *array = context.getAsConstantArrayType(each);
    const int64_t count = array ? array->getSize().getSExtValue() : 1;
    QualType scalar = array ? array->getElementType() : each;
    if (each.isConstQualified() || each.isVolatileQualified() || each->isReferenceType() ||
        scalar->isArrayType() || scalar->isFunctionPointerType() || scalar->isMemberPointerType() ||
        field->isMutable() ||
        scalar.getAsString(policyOf(context)).find('(') != std::string::npos) {
      why = member + " has a type that makes no array";
      return;
    }
    for (int64_t i = 0; i < count && int64_t(all.size()) <= mostParts; ++i) {
      const std::string number = std::to_string(i);
      all.push_back({field, array ? i : -1, scalar.getUnqualifiedType(),
                     field->getNameAsString() + (array ? number : ""),
                     "." + field->getNameAsString() + (array ? "[" + number + "]" : "")});
    }
  }
  padded = used != context.getTypeSizeInChars(structure).getQuantity();
  if (all.empty() || int64_t(all.size()) > mostParts)
    why = quoted + " has no fields, or more than " + std::to_string(mostParts);
}

std::vector<unsigned> Layout::partsOf(const FieldDecl *field) const {
  std::vector<unsigned> parts;
  for (unsigned i = 0; i < all.size(); ++i)
    if (all[i].field->getCanonicalDecl() == field->getCanonicalDecl())
      parts.push_back(i);
  return parts;
}

bool Layout::isAggregate() const { return structure->getAsCXXRecordDecl()->isAggregate(); }

std::string Layout::construct(const std::map<unsigned, std::string> &texts) const {
  std::vector<std::string> fields;
  for (unsigned i = 0; i < all.size();) {
    std::string text;
    bool isRead = false;
    const FieldDecl *field = all[i].field;
    for (; i < all.size() && all[i].field == field; ++i) {
      auto found = texts.find(i);
      isRead |= found != texts.end();
      text += (text.empty() ? "" : ", ") + (found == texts.end() ? "{}" : found->second);
    }
    const bool isArray = all[i - 1].element >= 0;
    fields.push_back(!isRead ? "{}" : isArray ? "{" + text + "}" : text);
  }
  while (!fields.empty() && fields.back() == "{}")
    fields.pop_back();
  return typeName + "{" + llvm::join(fields, ", ") + "}";
}

std::string Layout::pointer(unsigned index, const std::string &name, bool isConst,
                            bool isRestrict) const {
  QualType type = all[index].type;
  if (isConst)
    type.addConst();
  std::string text = context->getPointerType(type).getAsString(policyOf(*context));
  return text + (isRestrict ? "__restrict__ " : "") + name;
}

const std::string &Pointer::nameOf(const PassContext &context, unsigned index) {
  std::string &name = names[index];
  if (name.empty()) {
    const std::string base = variable->getNameAsString() + "_" + layout->parts()[index].name;
    name = context.unusedName(base);
    if (!taken->insert(name).second)
      name = context.freshName(base);
  }
  return name;
}

Parents::Parents(const FunctionDecl *function) {
  ast::walk(function->getBody(), [&](const Stmt *each) {
    const Stmt *from = each;
    if (const auto *list = dyn_cast<InitListExpr>(each);
        list && list->isSemanticForm() && list->getSyntacticForm())
      from = list->getSyntacticForm();
    for (const Stmt *child : from->children())
      if (child)
        up[child] = each;
    if (const auto *lambda = dyn_cast<LambdaExpr>(each))
      up[lambda->getBody()] = each;
    if (const auto *pseudo = dyn_cast<PseudoObjectExpr>(each))
      up[pseudo->getSyntacticForm()] = each;
    if (const auto *opaque = dyn_cast<OpaqueValueExpr>(each); opaque && opaque->getSourceExpr())
      up[opaque->getSourceExpr()] = each;
    return true;
  });
}
