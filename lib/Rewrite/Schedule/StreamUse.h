//===- StreamUse.h - Which streams launches are on --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the question whether launches on several streams may become one on the default stream. That
// waits for what the others were given before, and what they are given later waits for it (CUDA C++
// Programming Guide, "Default Stream"): the order of the work stays what it was.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_STREAMUSE_H
#define KBOPT_LIB_REWRITE_SCHEDULE_STREAMUSE_H

#include "kb-opt/Rewrite/PassContext.h"

namespace kbopt {

/// Why a launch on \p stream, `streams[i]`, may not be one on the default stream in its place;
/// empty if it may. All streams of the array must be seen to come from cudaStreamCreate.
std::string whyNotDefaultStream(const PassContext &context, const clang::Expr *stream);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_STREAMUSE_H
