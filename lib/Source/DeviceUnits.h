//===- DeviceUnits.h - Device code of several files -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns putting the device code of a program's files into one module, each of them as it would be by
// itself: nothing but kernels and the variables that hosts know is seen by the others, unless the
// build links device code.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_DEVICEUNITS_H
#define KBOPT_LIB_SOURCE_DEVICEUNITS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace kbopt {

struct DeviceUnit {
  std::string name; ///< of its file, for messages
  std::string bitcode;
  bool relocatable = false; ///< others may use its functions and variables
};

/// For each of \p units the identifiers of its device functions and variables, kernels apart, that
/// an earlier one has, too, each by itself.
llvm::Expected<std::vector<std::vector<std::string>>> takenNames(llvm::ArrayRef<DeviceUnit> units);

/// The bitcode of the first of \p units with the kernels and variables of the others. Of a kernel
/// that several have from a header it is the first's. Fails with a `UsageError` where two files
/// define a kernel or variable of one name by themselves, or where relocatable ones use a function
/// that none of them defines.
llvm::Expected<std::string> linkDeviceUnits(llvm::ArrayRef<DeviceUnit> units);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_DEVICEUNITS_H
