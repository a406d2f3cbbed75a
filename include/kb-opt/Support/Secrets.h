//===- Secrets.h - What children must not see -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns where keys of services lie, so that the walls around children can keep
// them out. Reading a key is lib/LLM's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_SECRETS_H
#define KBOPT_SUPPORT_SECRETS_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace kbopt {

/// `$XDG_CONFIG_HOME/kb-opt/keys` or `~/.config/kb-opt/keys`. No sandboxed child can read it.
std::string defaultKeyFile();

/// Whether an environment variable of this name holds a key by custom
/// (`…_API_KEY`, `KBOPT_LLM_KEY`). No sandboxed child gets one.
bool isSecretVariable(llvm::StringRef name);

} // namespace kbopt

#endif // KBOPT_SUPPORT_SECRETS_H
