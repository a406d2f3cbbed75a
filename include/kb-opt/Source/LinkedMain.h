//===- LinkedMain.h - Programs whose main is in another file ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_SOURCE_LINKEDMAIN_H
#define KBOPT_SOURCE_LINKEDMAIN_H

#include "kb-opt/Source/CompileCommand.h"

namespace kbopt {

/// Whether an object or archive that \p command links defines `main`: the program's host code is in
/// another file.
bool linksMain(const CompileCommand &command);

} // namespace kbopt

#endif // KBOPT_SOURCE_LINKEDMAIN_H
