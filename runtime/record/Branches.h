//===- Branches.h - Branches of the host that were taken ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBRT_RECORD_BRANCHES_H
#define KBRT_RECORD_BRANCHES_H

#include <cstdint>
#include <vector>

namespace kbrt {

/// The numbers that the program has noted so far, by `kbrecordTaken` and `kbrecordChose`,
/// ascending.
std::vector<uint32_t> takenBranches();

} // namespace kbrt

#endif // KBRT_RECORD_BRANCHES_H
