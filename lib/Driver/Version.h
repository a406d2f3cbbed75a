//===- Version.h - Which kb-opt this is --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_DRIVER_VERSION_H
#define KBOPT_LIB_DRIVER_VERSION_H

#include "kb-opt/Support/Digest.h"
#include <vector>

namespace kbopt {

/// "0.1.0".
llvm::StringRef kbOptVersion();

/// What --version prints: also the commit, and the versions of LLVM and of the CUDA toolkit that is
/// found here.
std::string versionText();

/// The files of this build that decide its answers: kb-opt, kb-run and the recording library.
std::vector<std::string> buildFiles();

/// Names this build: the content of `buildFiles()`.
/// Part of every journal request, so that another build answers anew.
Digest buildDigest();

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_VERSION_H
