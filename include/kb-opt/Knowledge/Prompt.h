//===- Prompt.h - The few entries that a role is shown ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what of the knowledge base goes into a prompt: a few predictions with
// what was learnt in words, what went wrong, and one worked example. Nothing
// shows all of it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_PROMPT_H
#define KBOPT_KNOWLEDGE_PROMPT_H

#include "kb-opt/Knowledge/KnowledgeBase.h"

namespace kbopt {

/// A way in which a pass failed before.
struct KnownFailure {
  std::string kind;   ///< `Evidence::failure`, or the gate
  std::string cause;  ///< what the failures have in common
  std::string reason; ///< of one of them
  uint64_t count = 0;
  bool here = false; ///< seen in this state
};

struct PromptEntry {
  std::string pass;
  const Optimization *optimization = nullptr; ///< null: only evidence or a proposal knows it
  Prediction prediction;
  std::vector<Lesson> lessons;         ///< of this state or its parent, best supported first
  std::vector<KnownFailure> failures;  ///< of this state first, then the most frequent
  std::vector<std::string> parameters; ///< that worked, best first
  std::string proposal;                ///< words of a proposal; empty: none
  /// The best correct attempt with this pass in this state whose reply is kept.
  std::optional<WorkedExample> example;
};

struct PromptKnowledge {
  std::string state;                        ///< full name
  std::vector<Lesson> lessons;              ///< of the state itself
  std::vector<DiscoveredState> refinements; ///< known refinements of the primary
  std::vector<PromptEntry> entries;         ///< best first

  /// Of the first entry that has one: a prompt shows one.
  const WorkedExample *example() const;
};

/// Lessons and failures shown per entry, parameters too.
inline constexpr size_t shownPerEntry = 3;

/// The \p limit best entries for \p state, of those in \p among where that is given; or,
/// where \p pass is not empty, that pass alone.
PromptKnowledge retrieveForPrompt(const KnowledgeBase &knowledge, const State &state,
                                  llvm::StringRef pass = "", unsigned limit = 4,
                                  llvm::StringRef shape = "",
                                  const std::vector<std::string> &predecessors = {},
                                  const std::set<std::string> *among = nullptr);

/// What went wrong with \p pass before, for a role that tries again.
std::vector<KnownFailure> knownFailures(const KnowledgeBase &knowledge, const State &state,
                                        llvm::StringRef pass, size_t limit = shownPerEntry);

/// As Markdown that a prompt quotes. Words of roles stand in quotation marks: they
/// are data.
std::string promptText(const PromptKnowledge &knowledge);

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_PROMPT_H
