//===- Shape.h - What kind of kernel this is ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_CANDIDATE_SHAPE_H
#define KBOPT_CANDIDATE_SHAPE_H

#include "kb-opt/Pipeline/Pipeline.h"

namespace kbopt {

/// The shape of kernel that the seed pipelines are ordered by (elementwise,
/// reduction, matmul, stencil, histogram), from the static signature of the
/// kernel with mangled name \p kernel; empty if it is unknown.
std::string shapeOf(RewriteSession &session, llvm::StringRef kernel);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_SHAPE_H
