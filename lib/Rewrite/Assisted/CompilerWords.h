//===- CompilerWords.h - Words by which code tells compilers apart -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_REWRITE_ASSISTED_COMPILERWORDS_H
#define KBOPT_LIB_REWRITE_ASSISTED_COMPILERWORDS_H

#include "kb-opt/Source/ParsedProgram.h"
#include <set>

namespace kbopt {

/// Of the text of \p candidate: each word that is not among \p oldWords, the original's, and by
/// which code can recognise its compiler, with the reason in a sentence. Such words are those of
/// FileWords.h; macros with reserved names that the compiler or its headers define, but for those
/// of the language and its limits; and in conditions of the preprocessor whatever the text does not
/// define itself and the compiler or its headers know.
std::vector<std::string> compilerWords(const ParsedProgram &candidate,
                                       const std::set<std::string> &oldWords);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_ASSISTED_COMPILERWORDS_H
