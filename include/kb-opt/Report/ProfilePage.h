//===- ProfilePage.h - A profile as people and scripts read it --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the page that --profile prints, in the words of Nsight Compute, and its
// JSON form. Plain records: where figures come from is the caller's business.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REPORT_PROFILEPAGE_H
#define KBOPT_REPORT_PROFILEPAGE_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <string>
#include <vector>

namespace kbopt {

/// A source line that matters. Shares are of the kernel, 0 to 1.
struct HotLine {
  std::string file;
  unsigned line = 0;
  std::string text; ///< of the line, without indentation
  double share = 0; ///< of what `measure` names; lines are sorted by it
  std::string note; ///< "8.5 sectors per request, 4 suffice"; may be empty
  /// Places around the line where a pass applies, innermost first, as a pipeline names
  /// them: "unroll-loop{kernel=rowSum site=2}".
  std::vector<std::string> sites;
};

/// A pass that could help.
struct PassAdvice {
  std::string pass;
  bool applies = false;
  std::string reason; ///< why not, where it does not apply
  double speedup = 1; ///< predicted, of the kernel
  std::string why;    ///< what the prediction rests on
};

struct KernelPage {
  std::string kernel; ///< as the source calls it
  std::string launch; ///< "grid (8, 8, 1), block (16, 16, 1)"; of the longest launch
  unsigned launches = 0;
  double us = 0;       ///< all launches
  double share = 0;    ///< of the program's kernel time, 0 to 1
  double floorUs = 0;  ///< what the roofline allows, all launches; 0: unknown
  std::string limiter; ///< "dram", "latency", …; empty: unknown
  std::string state;   ///< "uncoalesced_access, then …"
  std::string why;
  /// By CUPTI name and kbopt__ name (docs/CostModel.md), per launch.
  std::map<std::string, double> metrics;
  std::string measure; ///< what `HotLine::share` is a share of: "stalls", "issued instructions"
  std::vector<HotLine> lines;
  std::vector<PassAdvice> advice;
};

struct ProfilePage {
  std::string program, chip;
  std::string source;              ///< where times come from: "modelled", "measured"
  std::string device;              ///< that measured: "NVIDIA H200"; empty: none
  std::vector<std::string> limits; ///< what the profile lacks, one sentence each
  double us = 0;
  std::vector<KernelPage> kernels; ///< longest first
};

/// A page of at most 100 columns. Metrics that are missing are left out.
void writeProfile(llvm::raw_ostream &os, const ProfilePage &page);
/// The same facts; docs/Profile.md describes the keys.
llvm::json::Value toJSON(const ProfilePage &page);

} // namespace kbopt

#endif // KBOPT_REPORT_PROFILEPAGE_H
