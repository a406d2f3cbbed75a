//===- ParsedDeviceCode.h - Device code of an AST ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns emitting device code from an AST that is there, in this process. kb-opt
// itself runs clang for that (CodeEmission.h), because a text may crash it; a
// plugin of clang's has parsed the text already.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_PARSEDDEVICECODE_H
#define KBOPT_SOURCE_PARSEDDEVICECODE_H

#include "kb-opt/Source/ParsedProgram.h"

namespace kbopt {

/// What `CodeEmitter::emitDeviceBitcode` makes, without the bodies of libdevice's functions. \p
/// program is without errors and was parsed in device mode. Complaints of the code generator are
/// dropped: the compiler has them, too.
llvm::Expected<std::string> deviceBitcodeOf(const ParsedProgram &program);

} // namespace kbopt

#endif // KBOPT_SOURCE_PARSEDDEVICECODE_H
