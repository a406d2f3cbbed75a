//===- HostValue.h - Values of host expressions -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what an expression of the host can stand for while launches are evaluated, and its form as
// the bytes of a kernel's argument.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_LAUNCHMAP_HOSTVALUE_H
#define KBOPT_LIB_REWRITE_LAUNCHMAP_HOSTVALUE_H

#include "kbrt/Plan.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"
#include <variant>

namespace kbopt::hostmap {

/// A pointer: the address in the arena of the recording.
struct Address {
  uint64_t value = 0;
  bool operator==(const Address &) const = default;
};
/// A stream of the plan.
struct StreamId {
  uint32_t id = 0;
  bool operator==(const StreamId &) const = default;
};
/// A record as it lies in memory.
struct Bytes {
  std::vector<uint8_t> bytes;
  bool operator==(const Bytes &) const = default;
};

/// monostate: a variable without a value. An integer has the width and sign of its type. A kernel
/// or other function stands for its address, a variable for a pointer to it.
using HostValue =
    std::variant<std::monostate, llvm::APSInt, llvm::APFloat, Address, kbrt::Dim3, StreamId, Bytes,
                 const clang::FunctionDecl *, const clang::VarDecl *>;

bool isSame(const HostValue &a, const HostValue &b);

/// What \p bytes are as a \p type; \p bytes has the type's size.
HostValue valueOf(llvm::ArrayRef<uint8_t> bytes, clang::QualType type,
                  const clang::ASTContext &ast);
/// The inverse; nothing if \p value cannot be of that type.
std::optional<std::vector<uint8_t>> bytesOf(const HostValue &value, clang::QualType type,
                                            const clang::ASTContext &ast);

/// \p value as an integer of \p type, which is one.
llvm::APSInt asInteger(const llvm::APSInt &value, clang::QualType type,
                       const clang::ASTContext &ast);
llvm::APSInt integerOf(uint64_t value, clang::QualType type, const clang::ASTContext &ast);

bool isDim3(clang::QualType type);

} // namespace kbopt::hostmap

#endif // KBOPT_LIB_REWRITE_LAUNCHMAP_HOSTVALUE_H
