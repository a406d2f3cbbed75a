//===- JournaledModel.h - Replies that are paid for once --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the tie between a model and the journal: a run that was killed and is
// started again asks the same questions and is answered from there.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_JOURNALEDMODEL_H
#define KBOPT_LIB_DRIVER_JOURNALEDMODEL_H

#include "kb-opt/LLM/Settings.h"
#include "kb-opt/Store/Journal.h"

namespace kbopt {

/// Thread-safe. Equal questions get one answer; \p settings are part of the question, for
/// another model or temperature answers otherwise. Errors are not kept.
class JournaledModel : public Model {
public:
  /// All outlive the model.
  JournaledModel(Model &inner, Journal &journal, const ModelSettings &settings)
      : inner(inner), journal(journal), settings(settings) {}
  llvm::Expected<ModelReply> complete(const ModelRequest &request) override;

private:
  Digest keyOf(const ModelRequest &request) const;

  Model &inner;
  Journal &journal;
  const ModelSettings &settings;
};

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_JOURNALEDMODEL_H
