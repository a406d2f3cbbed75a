//===- KnownContents.h - Results that need not come again -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is known of results by their digests (docs/JobFormat.md, `contents`):
// most runs of a judgement give the same bytes, and those stay on the device.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_KNOWNCONTENTS_H
#define KBOPT_EVAL_KNOWNCONTENTS_H

#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/SharedBytes.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <mutex>
#include <vector>

namespace kbopt {

/// Thread-safe. Bytes are kept as long as they are in use.
class KnownContents {
public:
  KnownContents();

  /// Bytes by digest, held so that an answer may count on them.
  using Held = std::map<std::string, SharedBytes>;
  Held hold();
  /// The field `contents` of a job whose sender has \p held.
  llvm::json::Object field(const Held &held) const;
  /// The bytes of each of \p digests, from \p held or \p come, which is remembered. An error names
  /// the first that neither has.
  llvm::Expected<std::vector<SharedBytes>> take(const llvm::json::Array &digests, const Held &held,
                                                const Held &come);

private:
  std::string salt; ///< drawn, so that no candidate can know what its results hash to
  std::mutex mutex; ///< of what follows
  std::map<std::string, SharedBytes::Weak> known;
};

} // namespace kbopt

#endif // KBOPT_EVAL_KNOWNCONTENTS_H
