//===- RequestText.h - A request that people can read -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the text form of a request that commands read and mailboxes hold. Parts
// begin with a line that names the digest of the request, which no text within the
// request can foretell: quoted program text cannot pose as a part.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_LLM_REQUESTTEXT_H
#define KBOPT_LIB_LLM_REQUESTTEXT_H

#include "kb-opt/LLM/Model.h"

namespace kbopt {

/// \p answering says where the reply goes.
std::string requestText(const ModelRequest &request, llvm::StringRef answering);

} // namespace kbopt

#endif // KBOPT_LIB_LLM_REQUESTTEXT_H
