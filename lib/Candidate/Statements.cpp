//===- Statements.cpp - What a workload states, and what it could ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sentences about statements of a workload: those that a verdict relied on, and those that
// would leave out a case on which a candidate was refused.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Candidate/CaseRecipes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

std::vector<std::string> CaseRecipes::reliedOn() const {
  std::vector<std::string> all;
  for (const auto &[name, size] : workload.admissible)
    all.push_back("size '" + name + "' is " + size.describe() + ": the workload says so");
  for (const WorkloadParameter &parameter : workload.parameters) {
    if (parameter.alignment)
      all.push_back(llvm::formatv("'{0}' is aligned to {1} bytes: the workload says so",
                                  parameter.name, parameter.alignment));
    if (parameter.isFixed)
      all.push_back(llvm::formatv("'{0}' is always {1}: the workload says so", parameter.name,
                                  parameter.value));
  }
  return all;
}

/// The least power of two from 4 on that divides \p usual and not \p size; 0 if there is none.
static int64_t missedMultiple(int64_t usual, int64_t size) {
  constexpr int64_t least = 4, most = 1024; // vectors and tiles
  for (int64_t step = least; step <= most && usual % step == 0; step *= 2)
    if (size % step != 0)
      return step;
  return 0;
}

std::string CaseRecipes::remedyOfSizes(const SizeMap &sizes) const {
  for (const auto &[name, size] : sizes) {
    const int64_t usual = workload.sizes.at(name);
    if (size == usual)
      continue;
    const std::string opened = llvm::formatv("{{{0}: {{", name);
    const int64_t step = missedMultiple(usual, size);
    // A small size may be refused for being small.
    const bool isSmall = size < usual / 8;
    if (step)
      return llvm::formatv("size '{0}' is {1} there, which is no multiple of {2}; if callers only "
                           "pass multiples of {2}, state 'admissible: {3}multiple: {2}}}' in the "
                           "workload",
                           name, size, step, opened)
                 .str() +
             (isSmall
                  ? llvm::formatv(", or 'minimum: {0}' if they pass none so small", size + 1).str()
                  : "");
    if (size < usual)
      return llvm::formatv("size '{0}' is {1} there; if callers pass none so small, state "
                           "'admissible: {3}minimum: {2}}}' in the workload",
                           name, size, size + 1, opened);
  }
  return "";
}

std::string CaseRecipes::remedyOfValues(const CaseRecipe &recipe) const {
  const bool isProgram = workload.kind == WorkloadKind::Program;
  const std::string where = isProgram ? "of its upload under 'uploads'" : "of its parameter";
  if (recipe.distribution == InputDistribution::NonFinite)
    return "if inputs are always finite, state 'values: [finite]' " + where + " in the workload";
  for (const WorkloadParameter &parameter : workload.parameters)
    if (parameter.isBuffer && parameter.role == Role::InOut && !parameter.facts &&
        (parameter.init.kind == InitKind::Zeros))
      return "if '" + parameter.name +
             "' is always zero before the call, state 'values: [zero]' of its parameter in the "
             "workload";
  if (keepsRecorded(*recipe.distribution))
    return "if inputs keep something there that this case breaks (offsets, an order, a range), "
           "state "
           "'values' or 'range' " +
           where + " in the workload";
  return "";
}

std::string CaseRecipes::remedy(llvm::StringRef name) const {
  const CaseRecipe *recipe = find(name);
  if (!recipe || recipe->test.recorded)
    return "";
  if (recipe->distribution)
    return remedyOfValues(*recipe);
  for (const DriverCall &call : recipe->calls)
    if (call.otherScalars)
      return "if callers pass no other scalars, state 'fixed: true' of their parameters in the "
             "workload";
  std::string sizes = remedyOfSizes(recipe->sizes);
  for (const DriverCall &call : recipe->calls)
    if (sizes.empty())
      sizes = remedyOfSizes(call.sizes);
  if (!sizes.empty())
    return sizes;
  if (recipe->layout == BufferLayout::Misaligned)
    return "if callers only pass pointers that are aligned to 16 bytes, state 'alignment: 16' of "
           "their parameters in the workload";
  return "";
}
