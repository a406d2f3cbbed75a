//===- PlainAccesses.cpp - Loads and stores out of inline PTX -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "DeviceSettling.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace kbopt;
using llvm::StringRef;

namespace {

/// What one PTX instruction says (PTX ISA, "ld" and "st").
struct Access {
  bool isStore = false;
  unsigned lanes = 1;
  char kind = 'b'; ///< s, u, b or f
  unsigned bits = 0;
};

} // namespace

/// Reads `ld.global.cs.v4.f32 {$0,$1,$2,$3}, [$4];` where the operands stand in
/// order and nothing else is said.
static std::optional<Access> readAccess(StringRef text) {
  text = text.trim();
  if (!text.consume_back(";") || text.contains(';'))
    return std::nullopt;
  auto [mnemonic, operands] = text.split(' ');
  Access access;
  llvm::SmallVector<StringRef> words;
  mnemonic.split(words, '.');
  if (words.size() < 4 || (words[0] != "ld" && words[0] != "st") || words[1] != "global")
    return std::nullopt;
  access.isStore = words[0] == "st";
  for (StringRef word : llvm::ArrayRef(words).drop_front(2).drop_back()) {
    static constexpr StringRef hints[] = {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"};
    if (word == "v2")
      access.lanes = 2;
    else if (word == "v4")
      access.lanes = 4;
    // Volatile, acquire and release say more than a hint does.
    else if (!llvm::is_contained(hints, word))
      return std::nullopt;
  }
  StringRef type = words.back();
  access.kind = type.empty() ? '?' : type.front();
  if (!StringRef("subf").contains(access.kind) || type.drop_front().getAsInteger(10, access.bits) ||
      !llvm::is_contained({8u, 16u, 32u, 64u}, access.bits))
    return std::nullopt;

  unsigned first = access.isStore ? 1 : 0;
  std::string data;
  for (unsigned lane = 0; lane < access.lanes; ++lane)
    data += (lane ? ",$" : "$") + llvm::utostr(first + lane);
  if (access.lanes > 1)
    data = "{" + data + "}";
  std::string address = "[$" + llvm::utostr(access.isStore ? 0 : access.lanes) + "]";
  std::string expected = access.isStore ? address + "," + data : data + "," + address;
  std::string written;
  for (char c : operands)
    if (c != ' ')
      written += c;
  if (written != expected)
    return std::nullopt;
  return access;
}

static llvm::Type *elementType(const Access &access, llvm::LLVMContext &context) {
  if (access.kind == 'f' && access.bits == 32)
    return llvm::Type::getFloatTy(context);
  if (access.kind == 'f' && access.bits == 64)
    return llvm::Type::getDoubleTy(context);
  return llvm::Type::getIntNTy(context, access.bits);
}

/// \p value as \p type: registers are wider than bytes and halves.
static llvm::Value *converted(llvm::IRBuilder<> &builder, llvm::Value *value, llvm::Type *type,
                              bool isSigned) {
  if (value->getType() == type)
    return value;
  if (value->getType()->isIntegerTy() && type->isIntegerTy())
    return builder.CreateIntCast(value, type, isSigned);
  if (value->getType()->getPrimitiveSizeInBits() == type->getPrimitiveSizeInBits())
    return builder.CreateBitCast(value, type);
  return nullptr;
}

/// Replaces \p call, or leaves it if its operands are not what the text says.
static void replaceAccess(llvm::CallInst &call, const Access &access) {
  llvm::IRBuilder<> builder(&call);
  llvm::Type *element = elementType(access, call.getContext());
  llvm::Type *type =
      access.lanes == 1 ? element : llvm::FixedVectorType::get(element, access.lanes);
  // PTX wants the address aligned to the whole access.
  llvm::Align alignment(access.lanes * access.bits / 8);
  unsigned expectedArguments = access.isStore ? 1 + access.lanes : 1;
  if (call.arg_size() != expectedArguments || !call.getArgOperand(0)->getType()->isPointerTy())
    return;
  llvm::Value *address = call.getArgOperand(0);
  bool isSigned = access.kind == 's';

  if (access.isStore) {
    llvm::Value *whole = llvm::PoisonValue::get(type);
    for (unsigned lane = 0; lane < access.lanes; ++lane) {
      llvm::Value *value = converted(builder, call.getArgOperand(1 + lane), element, isSigned);
      if (!value)
        return;
      whole = access.lanes == 1 ? value : builder.CreateInsertElement(whole, value, lane);
    }
    builder.CreateAlignedStore(whole, address, alignment);
    call.eraseFromParent();
    return;
  }

  auto *aggregate = llvm::dyn_cast<llvm::StructType>(call.getType());
  if ((access.lanes == 1) == (aggregate != nullptr) ||
      (aggregate && aggregate->getNumElements() != access.lanes))
    return;
  llvm::Value *loaded = builder.CreateAlignedLoad(type, address, alignment);
  llvm::Value *result = llvm::PoisonValue::get(call.getType());
  for (unsigned lane = 0; lane < access.lanes; ++lane) {
    llvm::Type *wanted = aggregate ? aggregate->getElementType(lane) : call.getType();
    llvm::Value *value = access.lanes == 1 ? loaded : builder.CreateExtractElement(loaded, lane);
    value = converted(builder, value, wanted, isSigned);
    if (!value)
      return;
    result = aggregate ? builder.CreateInsertValue(result, value, lane) : value;
  }
  call.replaceAllUsesWith(result);
  call.eraseFromParent();
}

void kbopt::makeAccessesPlain(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      const auto *assembly =
          call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
      if (!assembly)
        continue;
      if (std::optional<Access> access = readAccess(assembly->getAsmString()))
        replaceAccess(*call, *access);
    }
}
