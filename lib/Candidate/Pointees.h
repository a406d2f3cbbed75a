//===- Pointees.h - What a kernel's pointers lead to ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the types of the numbers behind pointers, as the source has them. Private to lib/Candidate.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_POINTEES_H
#define KBOPT_LIB_CANDIDATE_POINTEES_H

#include "kb-opt/Plan/RecordFields.h"
#include "kbrt/PointeeTypes.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"

namespace kbopt {

/// What the pointers in \p parameter of \p kernel lead to: arrays, records of numbers of one type,
/// and memory without a type that the kernel casts to pointers of one type are what they consist
/// of. Empty where nothing is known.
kbrt::PointeeTypes pointeesOf(const clang::ParmVarDecl &parameter,
                              const clang::FunctionDecl &kernel, const clang::ASTContext &ast);

/// What an object of \p type itself consists of, at 0; empty where nothing is known.
kbrt::PointeeTypes numbersOf(clang::QualType type, const clang::ASTContext &ast);

/// The bytes of the record \p type and the numbers in it; without the numbers where there are very
/// many, or more than data members.
RecordLayout layoutOf(clang::QualType type, const clang::ASTContext &ast);

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_POINTEES_H
