//===- Online.h - Maximum and rescaled sum in one loop, told apart -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from a loop that updates a maximum and sums of exponentials relative to it to one
// loop for the maximum and one for the sums. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_ONLINE_H
#define KBOPT_LIB_RAISE_ONLINE_H

#include "ThreadProgram.h"

namespace kbopt::raise {

/// for (i) { old = m; m = max(m, x[i]); s *= exp(old - m); s += w * exp(x[i] - m); }  becomes
/// for (i) m = max(m, x[i]);  for (i) s += w * exp(x[i] - m);
/// and the exchange of such pairs between lanes becomes two reductions. Leaves alone what it does
/// not understand.
void splitOnlineLoops(ThreadProgram &program);

/// Whether \p text is \p sum times exp(c * (from - to)), which makes a sum that is relative to
/// `from` one that is relative to `to`: their names. \p scale is the function and c, as
/// Statement::scale has them.
std::optional<std::pair<std::string, std::string>>
rescaling(llvm::StringRef text, llvm::StringRef sum, llvm::StringRef scale);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_ONLINE_H
