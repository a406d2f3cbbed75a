//===- SmallPlan.h - A recording for tests ----------------------*- C++ -*-===//
#ifndef KBOPT_TEST_UNIT_EVAL_SMALLPLAN_H
#define KBOPT_TEST_UNIT_EVAL_SMALLPLAN_H

#include "kb-opt/Support/FileSystem.h"
#include "kbrt/Plan.h"
#include "gtest/gtest.h"

namespace kbopt {

/// Writes a plan of two reads of 4 bytes to \p folder, with data.bin, observables.bin and
/// an image beside it.
inline void writeSmallPlan(const std::string &folder) {
  FileSystem &files = realFileSystem();
  llvm::cantFail(files.createDirectories(folder));
  kbrt::Plan plan;
  plan.buffers.resize(1);
  plan.buffers[0].bytes = 8;
  plan.buffers[0].address = 0x600000000000;
  plan.steps.push_back(kbrt::AllocStep{0});
  for (uint64_t i = 0; i < 2; ++i)
    plan.steps.push_back(kbrt::ReadStep{kbrt::Region::linear({0, 4 * i}, 4), 4 * i, 0, false});
  plan.outcome.ending = kbrt::Ending::Exit;
  std::string error;
  ASSERT_TRUE(kbrt::writePlan(plan, folder, error)) << error;
  llvm::cantFail(files.write(folder + "/data.bin", "input"));
  llvm::cantFail(files.write(folder + "/observables.bin", "expected"));
  llvm::cantFail(files.write(folder + "/image.cubin", "machine code"));
}

} // namespace kbopt

#endif // KBOPT_TEST_UNIT_EVAL_SMALLPLAN_H
