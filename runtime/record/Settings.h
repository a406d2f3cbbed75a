//===- Settings.h - What kb-opt tells the recorder ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the KBRECORD_ variables of the environment. The program that is recorded does not see
// them: a candidate that knows where it runs could behave as it would nowhere else.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_SETTINGS_H
#define KBRT_RECORD_SETTINGS_H

#include <string>

namespace kbrt {

/// The value of KBRECORD_\p name as the process was started with it; empty if it had none. The
/// first call takes all of them, and what else kb-opt adds, out of the environment and of
/// /proc/self/environ.
const std::string &recorderSetting(const std::string &name);

/// Whether the program is to have other random numbers and another time of day than usual.
bool givesOtherNumbers();

} // namespace kbrt

#endif // KBRT_RECORD_SETTINGS_H
