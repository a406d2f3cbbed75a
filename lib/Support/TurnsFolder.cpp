//===- TurnsFolder.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/TurnsFolder.h"
#include "llvm/Support/FileSystem.h"
#include <cstdlib>

using namespace llvm;

namespace kbopt {

std::optional<std::string> turnsFolder() {
  const char *runtime = std::getenv("XDG_RUNTIME_DIR");
  std::string folder = (runtime && *runtime ? runtime : "/tmp") + std::string("/kb-run-turns");
  if (!sys::fs::create_directory(folder, /*IgnoreExisting=*/false))
    (void)sys::fs::setPermissions(folder, sys::fs::all_all | sys::fs::sticky_bit);
  sys::fs::file_status status;
  if (sys::fs::status(folder, status, /*follow=*/false) || !sys::fs::is_directory(status))
    return std::nullopt;
  return folder;
}

} // namespace kbopt
