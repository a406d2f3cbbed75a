//===- ModelSession.h - The model of a run ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from the options to a model that can be asked.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_MODELSESSION_H
#define KBOPT_LIB_DRIVER_MODELSESSION_H

#include "Context.h"
#include "JournaledModel.h"
#include "kb-opt/LLM/CreateModel.h"

namespace kbopt {

/// In order of making.
struct ModelSession {
  ModelSettings settings;
  std::unique_ptr<AccountedModel> service; ///< null: no model is asked
  std::string recordFile;                  ///< empty: nothing is recorded
  std::unique_ptr<Model> asked;

  /// What is to be asked: answers of the journal cost nothing, and a transcript needs none.
  /// The record has them all. Null where no model is asked.
  llvm::Expected<Model *> model(Journal &journal, FileSystem &files);
};

/// Settings of the file of --llm-config with the options over them, and the model that they
/// name. Errors are the user's or the environment's: no key, a transcript that cannot be read.
llvm::Expected<ModelSession> openModel(Context &context);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_MODELSESSION_H
