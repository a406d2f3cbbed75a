//===- LaunchCosts.h - What all models of a launch share --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the constants of modelled launches that are not in knowledge/devices, and how the work of
// several resources and the waiting of warps make one time. Each constant is marked with its
// source; those without a public source are called assumptions here and in docs/CostModel.md.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TARGET_LAUNCHCOSTS_H
#define KBOPT_TARGET_LAUNCHCOSTS_H

#include "llvm/ADT/ArrayRef.h"

namespace kbopt {

/// Share of the data-sheet DRAM bandwidth that a streaming kernel reaches.
/// Measured on an H200: a copy of 1 GiB reaches 4.29 TB/s, reading it 4.39.
inline constexpr double sustainedDram = 0.9;
/// Bytes per clock between L2 and one SM (Jia et al., Dissecting the NVIDIA
/// Volta GPU Architecture via Microbenchmarking, 2018: 64 B).
inline constexpr double l2BytesPerSmClock = 64;
/// A block barrier with all warps present: fixed, and per warp. Measured on an H200: 14.9 cycles
/// with one warp, 28.9 with 8, 77 with 32.
inline constexpr double barrierCycles = 13, barrierWarpCycles = 2;
/// Independent instructions between dependent ones in compiled code. Assumption.
inline constexpr double instructionParallelism = 2;
/// Clocks of the whole chip per block that starts. Measured on an H200: empty kernels of 65536 and
/// 262144 blocks, 0.601 ns a block for any size up to 512 threads. Taken for the other chips too.
inline constexpr double blockStartCycles = 1.19;
/// From the start of a block to that of the next in its place, if it does nothing. Measured on an
/// H200: empty kernels of 262144 blocks of 1024 threads, two on an SM at a time. Taken for any
/// size.
inline constexpr double blockTurnCycles = 357;
/// Cycles that the L1 needs for one line of a store, its wavefront and its way to L2. Measured on
/// an H200: 63.8 cycles a request with 32 lines, 2.1 with one.
inline constexpr double storeLineCycles = 2;
/// nvcc unrolls an inner loop without a pragma by 4, and ptxas such a loop by 4 again.
inline constexpr double defaultUnrolling = 16;
/// Registers that hold loads in flight: about half of the 32 with which all warps of an SM are
/// resident, which ptxas stays within where it can.
inline constexpr double registersInFlight = 16;

/// Cycles of one barrier of a block of \p warps.
inline double barrierOf(double warps) { return barrierCycles + barrierWarpCycles * warps; }

/// Of resources that work side by side: a norm of order 8, of which the longest one dominates, and
/// a second one of the same length adds 9 %.
double joined(llvm::ArrayRef<double> cycles);

/// \p work and \p waiting cycles of \p warps that take turns at a resource. A closed queue whose
/// customers just saturate it loses sqrt(2 / (pi n)) of its rate (machine repair model); a norm of
/// this order does the same, and adds the parts up where there is one warp.
double turnOf(double work, double waiting, double warps);

/// Turns in which so many \p waves of equal blocks run: whole ones, until after many waves they
/// have drifted apart.
double turnsOfWaves(double waves);

} // namespace kbopt

#endif // KBOPT_TARGET_LAUNCHCOSTS_H
