//===- QuietEnding.h - a program that was ended early -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the word by which a recording says that the program was ended after its
// last read.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_QUIETENDING_H
#define KBRT_QUIETENDING_H

namespace kbrt {

/// The message of such a plan's outcome; it ends as Ending::Exit.
inline constexpr const char *quietEnding = "ended after the last read";

} // namespace kbrt
#endif
