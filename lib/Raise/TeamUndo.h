//===- TeamUndo.h - One team's cooperation, undone --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is known of scalars and shared arrays while a thread program is rewritten for one
// team. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_TEAMUNDO_H
#define KBOPT_LIB_RAISE_TEAMUNDO_H

#include "TeamText.h"
#include "llvm/ADT/StringSet.h"

namespace kbopt::raise {

/// Threads that work on one point: those that differ in `lane`, 0 <= lane < size.
struct Team {
  VarId lane = analysis::TidVar;
  Poly size;
  bool isBlock = true;
};

/// What the threads of a team hold in a scalar or shared array.
struct TeamValue {
  enum Spread {
    Same,        ///< one value
    PerThread,   ///< partial results, one a thread
    PerWarp,     ///< partial results, one a warp
    PerWarpLane, ///< partial results in the lanes of a warp, the same in each warp that has them
    First,       ///< the first element of an array of partial results
    Shuffled,    ///< `source` of the thread that is `offset` lanes away
    Lost         ///< not known any more
  } spread = Same;
  /// Which threads have it.
  enum Holder { Everyone, WarpLeaders, FirstWarp, Leader } holder = Everyone;
  std::string reduction, combine, identity; ///< of partial results
  /// The scalar of the rewritten program that holds the value, or what the partial results combine
  /// to.
  std::string emitted;
  std::string literal;  ///< what it was set to, where that is a plain text
  unsigned offsets = 0; ///< by which partial results were already exchanged
  std::string source;
  bool isDown = false;
  int64_t width = 32; ///< of the groups of lanes that exchange
  Poly offset;
  /// Of partial maxima and what they combine to: the scalar of the rewritten program that they
  /// stand for.
  std::string origin;
  /// Of partial sums: the origin of the partial maxima that they are relative to, and how.
  std::string basis, scale;
  std::optional<Poly> terms; ///< of such sums: how many terms all threads have
  bool isPartial() const { return spread != Same && spread != Lost; }
};

/// Consecutive elements of a shared array.
struct TeamArray {
  Base base;
  Poly start;
  TeamValue value;
  std::optional<Poly> length; ///< of partial results PerThread that still count
  bool isOne = false;         ///< only the element at `start`
  std::string laneLocal;      ///< the scalar of each thread that it holds
  std::string mirrored;       ///< the scalar that each thread has stored, and not changed since
  /// A copy: element `start + variable` is `copied`, for first <= variable < end.
  std::optional<VarId> variable;
  Poly first, end;
  Text copied;
};

class TeamUndo {
public:
  TeamUndo(ThreadProgram &program, Team team);
  /// Rewrites the program's body, or sets its reason.
  void run();

private:
  using Body = std::vector<Statement>;

  //===-- Statements in the order of the text (TeamUndo.cpp) ---------------===//
  Body rewrite(const Body &body);
  void statement(Statement each, Body &out);
  /// The scalars \p changed are not any more what the first \p statements of the segment, and
  /// shared arrays, were formed from.
  void becomeStale(const llvm::StringSet<> &changed, size_t statements);
  void scalar(Statement each, Body &out);
  void combine(Statement each, Body &out);
  /// \p each sets a scalar to one value for all threads.
  void becomeUniform(Statement &each);
  /// \p each sets what was a scalar of each thread: it declares it, unless that was done before the
  /// threads had values of their own.
  void declareAnew(Statement &each);
  void store(Statement each, Body &out);
  /// A loop or condition that all threads of the team enter together.
  void nested(Statement each, Body &out);
  /// Replaces what \p text reads together by names of the rewritten program, and checks that its
  /// scalars are the same for all threads that are here.
  void resolve(Text &text);
  void declare(const std::string &name, TeamValue value) { values[name] = std::move(value); }
  bool isLaneDependent(const Poly &poly) const { return space.dependsOn(poly, team.lane); }
  bool isLaneDependent(Statement &each, bool withBody = true) const;
  bool cooperates(Body &body) const;
  bool isHeldHere(const TeamValue &value) const;
  std::string uniqueName(llvm::StringRef wish);
  Poly zeroLane(const Poly &poly) { return space.substitute(poly, team.lane, Poly::constant(0)); }
  void refuse(const std::string &why) { program.refuse(why); }
  bool failed() const { return !program.reason.empty(); }

  //===-- Conditions on threads (TeamGuards.cpp) ---------------------------===//
  void condition(Statement each, Body &out);
  /// `if (tid == 0)`, the first lane of each warp, the first warp.
  bool someThreads(Statement &each, Body &out);
  void laneCondition(Statement each, Body &out);
  /// Whether \p body is a loop that the team shares out and that only forms parts of sums.
  bool isSharedSum(Body &body) const;
  bool gatherWhere(Statement &each);
  bool leavesEarly(Statement &each, Body &out);

  //===-- Loops (TeamLoops.cpp) --------------------------------------------===//
  void loop(Statement each, Body &out);
  void teamLoop(Statement each, Body &out);
  bool mergeRounds(Statement &each);
  void splitRounds(Statement &each, const Poly &first);
  bool mergeElements(Statement &each);
  /// Remembers the range of the loop.
  void enterLoop(const Statement &each);
  /// Runs once for each iteration of a team's loop: names and shared elements in \p body become
  /// what stands for them. \p locals are declared inside.
  void iterationBody(Body &body, llvm::StringSet<> &locals, Statement *outer);
  void iterationText(Text &text, const llvm::StringSet<> &locals);
  bool becomePartial(const Statement &combine);
  /// Whether there are sums relative to these partial maxima.
  bool isBasis(const TeamValue &maximum) const;
  /// \p each adds to a sum relative to the threads' own maxima: its text gets the maximum of all.
  bool isRelative(Statement &each, TeamValue &maximum);
  /// `s *= exp(m - max)`, where s is relative to m and max is the maximum of the team: the sum is
  /// relative to that already.
  bool isRescaled(llvm::StringRef text, const std::string &sum);

  //===-- Statements of each thread (TeamLanes.cpp) ------------------------===//
  void addLaneLocal(Statement each);
  /// Whether \p loads may be done again where \p stored is.
  bool mayLoadAgain(Body &loads, Body &stored);
  /// A loop over the team around \p last, with what it needs of `segment`.
  void emitLaneLoop(Statement last, Body &out);
  /// The combination of scalar \p name of each thread, as a new scalar of the rewritten program.
  TeamValue reduceLanes(const std::string &name, const Combination &by, Body &out,
                        llvm::StringRef wish = "");

  //===-- Reductions (TeamReductions.cpp) ----------------------------------===//
  std::optional<TeamValue> collective(Operand &operand);
  /// `s = s + __shfl_xor_sync(…, s, 16)` as a Combine.
  bool isShuffledCombine(Statement &each) const;
  bool applyShuffle(const std::string &name, const TeamValue &shuffled, const Statement &combine);
  void finishShuffles(TeamValue &value);
  /// Whether warps are full; requires it where the launch decides.
  bool hasWholeWarps();
  bool shuffleLoop(Statement &each, Body &out);
  bool serialSum(Statement &each, Body &out);

  //===-- Trees in shared memory (TeamTrees.cpp) ---------------------------===//
  bool tree(Statement &each, Body &out);
  /// `v = v + a[t + h]; a[t] = v;` where a[t] is v: as `a[t] = a[t] + a[t + h];`. The name of v;
  /// empty where \p guarded is something else.
  std::string combineInPlace(Statement &guarded);
  bool unrolledSteps(Statement &each, Body &out);
  /// One step of a tree: elements \p distance apart are combined, by the threads of \p guard.
  bool treeStep(Statement &store, const Poly &distance, Body &out, TeamArray *&array);
  bool isTreeGuard(const Constraint &guard, const Poly &distance, bool doubles);

  //===-- Shared arrays (TeamArrays.cpp) -----------------------------------===//
  void writeShared(Statement &each, Body &out);
  std::optional<TeamValue> readShared(const Operand &element);
  TeamArray *findArray(const Base &base, const Poly &offset, Poly &rest);
  void forget(const Base &base, const Poly &start, const std::optional<Poly> &length);
  std::optional<TeamValue> valueOf(Text &text);
  std::optional<TeamValue> gathered(Text &text);
  std::optional<TeamValue> gather(const Operand &element, const Poly &condition,
                                  llvm::StringRef other);
  /// A team's loop copies into a shared array.
  void writeCopy(Statement &each, Statement &outer, const llvm::StringSet<> &locals);
  bool forwardCopy(Text &text, unsigned hole);

  ThreadProgram &program;
  Space &space;
  Team team;
  Poly warpLane, warpNumber, warps; ///< of block teams
  std::map<std::string, TeamValue> values;
  std::vector<TeamArray> arrays;
  TeamValue::Holder here = TeamValue::Everyone;
  /// Scalars that differ between the threads, and how each thread computes them.
  Body segment;
  std::set<size_t> stale; ///< statements of it that would not compute the same any more
  llvm::StringSet<> laneLocals;
  llvm::StringMap<unsigned> laneDepth; ///< how many loops and conditions were around them
  llvm::StringMap<std::string> types;  ///< of scalars of the given kernel
  llvm::StringSet<> declared;          ///< in the rewritten program
  llvm::StringSet<> inLoops;           ///< of these, those that only loops over the team declare
  unsigned stores = 0, storesAtSegment = 0;
  std::vector<Base> storedBases; ///< anywhere in the kernel
  /// First and end of the loops around what is being read.
  std::map<VarId, std::pair<Poly, Poly>> loopRanges;
  /// The loop over offsets of a shuffle that is being read, and the offsets.
  std::optional<std::pair<VarId, unsigned>> shuffleLoopOffsets;
  unsigned uniformDepth = 0;
  Body *emitted = nullptr; ///< what is being written
  llvm::StringSet<> names;
};

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_TEAMUNDO_H
