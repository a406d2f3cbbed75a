//===- Mentions.h - Which declarations a declaration uses -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_SOURCE_MENTIONS_H
#define KBOPT_SOURCE_MENTIONS_H

#include "clang/AST/Decl.h"
#include <functional>

namespace kbopt {

/// The declaration of namespace scope that \p declaration is part of, without the namespace around
/// it; of an instantiation the template that the user wrote. Null for null.
const clang::Decl *unitOf(const clang::Decl *declaration);

/// Calls \p found for every declaration that \p declaration, its instantiations and its implicit
/// code mention: functions, variables, members, types, templates.
void forEachMention(const clang::Decl *declaration, std::function<void(const clang::Decl *)> found);

} // namespace kbopt

#endif // KBOPT_SOURCE_MENTIONS_H
