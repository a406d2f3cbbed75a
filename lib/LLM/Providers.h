//===- Providers.h - The providers behind createModel -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_LLM_PROVIDERS_H
#define KBOPT_LIB_LLM_PROVIDERS_H

#include "kb-opt/LLM/CreateModel.h"

namespace kbopt {

/// `command:CMD`. One attempt per call.
std::unique_ptr<Model> makeCommandModel(const ModelSettings &settings, ProcessRunner &processes);

/// `openai` and `anthropic`. One attempt per call; fails where no key is found that is needed.
llvm::Expected<std::unique_ptr<Model>> makeHttpModel(const ModelSettings &settings,
                                                     const ModelWorld &world);

} // namespace kbopt

#endif // KBOPT_LIB_LLM_PROVIDERS_H
