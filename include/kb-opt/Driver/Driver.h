//===- Driver.h - kb-opt as a function --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_DRIVER_DRIVER_H
#define KBOPT_DRIVER_DRIVER_H

namespace kbopt {

/// The tool kb-opt: parses the command line, does what it says, reports errors
/// to stderr, and returns the exit status (Support/Error.h).
int runKbOpt(int argc, char **argv);

} // namespace kbopt

#endif // KBOPT_DRIVER_DRIVER_H
