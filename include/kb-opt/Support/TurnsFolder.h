//===- TurnsFolder.h - Where processes agree on turns -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_SUPPORT_TURNSFOLDER_H
#define KBOPT_SUPPORT_TURNSFOLDER_H

#include <optional>
#include <string>

namespace kbopt {

/// Where the kb-runs and recorded programs of this machine agree on turns (kbrt/Turn.h), inside and
/// outside of sandboxes; it is made where it is missing. Nothing if there can be no such folder.
std::optional<std::string> turnsFolder();

} // namespace kbopt

#endif // KBOPT_SUPPORT_TURNSFOLDER_H
