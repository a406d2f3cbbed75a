//===- CreateModel.h - From settings to something to ask --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the assembly: provider, then budget, then recorder.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LLM_CREATEMODEL_H
#define KBOPT_LLM_CREATEMODEL_H

#include "kb-opt/LLM/Budget.h"
#include "kb-opt/LLM/Http.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Process.h"
#include "kb-opt/Support/WaitingClock.h"
#include <functional>

namespace kbopt {

/// What models need of the world. All of it outlives them.
struct ModelWorld {
  FileSystem &files = realFileSystem();
  ProcessRunner &processes = realProcessRunner();
  WaitingClock &clock = realWaitingClock();
  HttpClient &http = curlHttpClient();
  /// Told what a person may want to know while a model is asked: where a mailbox waits, that
  /// a call is tried again. From any thread; one line, no newline.
  std::function<void(llvm::StringRef)> notice = [](llvm::StringRef) {};
};

/// A model with its account.
class AccountedModel : public Model {
public:
  virtual ModelSpend total() const = 0;
  virtual std::map<ModelRole, ModelSpend> perRole() const = 0;
};

/// The model of \p settings with budget and recorder; null if the provider is `Off`. Fails at
/// once, without asking a service, where no call could succeed: no key, no model named, a budget
/// of dollars without prices, a transcript that cannot be read.
llvm::Expected<std::unique_ptr<AccountedModel>> createModel(const ModelSettings &settings,
                                                            ModelWorld world = {});

} // namespace kbopt

#endif // KBOPT_LLM_CREATEMODEL_H
