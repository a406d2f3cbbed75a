//===- Sha256.h - names for content ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns SHA-256 (FIPS 180-4), by which inputs are named that travel beside jobs.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_SHA256_H
#define KBRT_SHA256_H

#include <string>
#include <string_view>

namespace kbrt {

/// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

} // namespace kbrt

#endif // KBRT_SHA256_H
