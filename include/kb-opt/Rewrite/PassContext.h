//===- PassContext.h - The program as passes see it -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what a pass is given: the parsed program, its kb IR, the chip, and views
// of kernels and launches that tie the two together. All of it is read-only.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_PASSCONTEXT_H
#define KBOPT_REWRITE_PASSCONTEXT_H

#include "kb-opt/Analysis/Import.h"
#include "kb-opt/Analysis/Legality.h"
#include "kb-opt/Core/PassInfo.h"
#include "kb-opt/Rewrite/EntryValues.h"
#include "kb-opt/Rewrite/RecordedLaunch.h"
#include "kb-opt/Schedule/Sketch.h"
#include "kb-opt/Source/ParsedProgram.h"
#include "kb-opt/Source/ProgramFacts.h"
#include <set>

namespace kbopt {

/// One kernel of the main file, or of the user's header that the program launches: its facts, its
/// instances in the IR, and its launches.
struct KernelView {
  KernelFact fact;
  /// One per instantiation; empty where the IR has none.
  std::vector<kb::KernelOp> ops;
  /// Of a kernel in a header those of the main file alone; empty where the header itself launches
  /// it.
  std::vector<LaunchFact> launches;

  /// What the user calls it, for remarks and for `{kernel=name}`.
  llvm::StringRef name() const { return fact.name; }
  const clang::FunctionDecl *function() const { return fact.function; }
  /// Then its text cannot be changed; a schedule puts the new kernel into the main file.
  bool isInHeader() const { return !fact.inMainFile; }
};

/// The raised form of a kernel, or why there is none.
struct RaisedKernel {
  kb::KernelOp instance; ///< that was raised
  kb::NestOp nest;       ///< null: see `reason`
  std::string reason;    ///< in the user's words
  kb::NestOp last = {};  ///< what its last block does afterwards (kb.sequence); null for most
};

/// By USR of the kernel: what steps before have decided about which thread computes what.
using KernelSchedules = std::map<std::string, Schedule>;

/// Valid as long as the programs that it refers to.
class PassContext {
public:
  /// Raised forms are added to \p imported when they are first asked for. \p target outlives the
  /// context.
  PassContext(const ParsedProgram &parsed, ImportedProgram &imported, unsigned chip,
              const ChipInfo &target, RecordedLaunches recorded = {});

  const ParsedProgram &parsed() const { return *program; }
  const ImportedProgram &imported() const { return *ir; }
  /// Compute capability that a rewrite may rely on, 10 * major + minor.
  unsigned chip() const { return computeCapability; }
  /// The chip that schedules are chosen for.
  const ChipInfo &target() const { return *targetChip; }

  /// The form of the instance that is launched. A template's instances must agree if the form has a
  /// template header.
  RaisedKernel raised(const KernelView &kernel) const;
  /// raised() and, where that is of its instance alone, the forms of the other instances that are
  /// launched. Without raised() there is none.
  std::vector<RaisedKernel> raisedInstances(const KernelView &kernel) const;
  /// What steps before have set; null if nothing.
  const Schedule *scheduleOf(const KernelView &kernel) const;
  void setSchedules(KernelSchedules newSchedules) { schedules = std::move(newSchedules); }

  /// What passes offer to a search promises at least this.
  Promise weakestPromise() const { return weakest; }
  void setWeakestPromise(Promise promise) { weakest = promise; }

  /// How the workload launched \p kernel, for estimates; null if that is not known.
  const RecordedLaunch *recordedLaunch(kb::KernelOp kernel) const;
  /// What the workload passes where nothing was recorded.
  const EntryValues &entryValues() const { return entry; }
  void setEntryValues(EntryValues values) { entry = std::move(values); }

  /// In source order.
  llvm::ArrayRef<KernelView> kernels() const { return views; }
  /// The text of \p range as the user wrote it; empty if it comes from a macro
  /// or lies elsewhere.
  llvm::StringRef text(clang::SourceRange range) const { return sourceText(*program, range); }

  /// \p question asked of every instance of \p kernel: proven only if proven
  /// for all of them; otherwise the first answer that is not. A kernel that the
  /// IR does not know is unknown.
  Answer forAllInstances(const KernelView &kernel,
                         llvm::function_ref<Answer(kb::KernelOp)> question) const;

  /// \p base, or \p base with a number: a name that neither the text nor an
  /// earlier call of this question has. Depends on nothing but the text and those.
  std::string freshName(llvm::StringRef base) const;
  /// Starts a question: from here on `freshName` gives no name of \p taken, and all others again.
  void startQuestion(std::set<std::string> taken) const;
  /// What `freshName` gave since the question started.
  const std::set<std::string> &givenNames() const { return given; }
  /// Whether it had to avoid a taken name.
  bool avoidedTaken() const { return avoided; }
  /// The same, but whatever was asked before: one name for one text.
  std::string unusedName(llvm::StringRef base) const;

private:
  bool isUsed(llvm::StringRef name) const;

  const ParsedProgram *program;
  ImportedProgram *ir;
  unsigned computeCapability;
  const ChipInfo *targetChip;
  RecordedLaunches recorded;
  EntryValues entry;
  KernelSchedules schedules;
  Promise weakest = Promise::Reassociates;
  std::vector<KernelView> views;
  mutable std::set<std::string> given, takenBefore;
  mutable bool avoided = false;
};

} // namespace kbopt

#endif // KBOPT_REWRITE_PASSCONTEXT_H
