//===- Cupti.cpp - CUPTI, found at run time -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Cupti.h"
#include "Libraries.h"

#include <dlfcn.h>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

template <typename T> void load(void *library, const char *name, T &member, std::string &missing) {
  member = reinterpret_cast<T>(dlsym(library, name));
  if (!member)
    missing = name;
}

} // namespace

const Cupti *Cupti::get(Feature feature, Problem &problem) {
  static const Cupti *cupti = []() -> const Cupti * {
    void *library = openToolkitLibrary("libcupti");
    if (!library)
      return nullptr;
    auto *table = new Cupti;
    std::string *missing = table->missing;
#define KBRT_LOAD(NAME) load(library, #NAME, table->NAME, missing[Counters]);
    KBRT_CUPTI_COUNTERS(KBRT_LOAD)
#undef KBRT_LOAD
#define KBRT_LOAD(NAME) load(library, #NAME, table->NAME, missing[Activity]);
    KBRT_CUPTI_ACTIVITY(KBRT_LOAD)
#undef KBRT_LOAD
#define KBRT_LOAD(NAME) load(library, #NAME, table->NAME, missing[Sampling]);
    KBRT_CUPTI_SAMPLING(KBRT_LOAD)
#undef KBRT_LOAD
    std::string none;
    load(library, "cuptiGetResultString", table->cuptiGetResultString, none);
    return table;
  }();
  if (cupti && cupti->missing[feature].empty())
    return cupti;
  problem = {LaunchStatus::Environment,
             "no CUPTI: " + (cupti ? "libcupti.so has no " + cupti->missing[feature]
                                   : std::string("libcupti.so is not on this machine")),
             "set CUDA_PATH to a CUDA toolkit of version 12.6 or later"};
  return nullptr;
}

std::string Cupti::describe(CUptiResult code) const {
  const char *text = nullptr;
  if (cuptiGetResultString)
    cuptiGetResultString(code, &text);
  std::string name = text ? text : "CUPTI error " + std::to_string(code);
  if (code == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
    name += ": this user may not read the counters; set NVreg_RestrictProfilingToAdminUsers=0 for "
            "the driver, or run as root";
  return name;
}
