//===- ThreadProgram.h - What one thread of a kernel does -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the tree between Clang's AST and kb.nest: what ONE thread does, as plain data, with
// every address and condition as an exact integer polynomial over thread, block and loop
// variables and the kernel's integer parameters. Private to the library.
//
// The way of a kernel: readThread (AST -> ThreadProgram), undoCooperation (rewrites team
// loops, shuffles, shared-memory trees and the like in this tree, so that no thread of a block
// waits for another), formPoints (thread and block variables become the points of the nest),
// emitNest (kb.nest). A step that meets something it does not understand sets `reason`.
//
// Early returns and `continue` are already turned into If; pointer locals and integer locals
// that are polynomials are gone (their uses are offsets and Index operands); device functions
// that take pointers or thread indices are already inlined.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_THREADPROGRAM_H
#define KBOPT_LIB_RAISE_THREADPROGRAM_H

#include "kb-opt/Analysis/Poly.h"
#include "kb-opt/IR/Kb.h"
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kbopt::raise {

using analysis::Poly;
using analysis::VarId;

/// The variables of the polynomials of one kernel. The first twelve are those of
/// analysis::FixedVar: tid, bid, bdim, gdim; further ones are added while reading.
class Space {
public:
  enum Kind {
    Fixed,    ///< tid, bid, bdim, gdim
    Loop,     ///< the value (not the iteration number) of a loop's variable, or a point dimension
    Param,    ///< an integer parameter, or field of a struct parameter: `name` is its text
    Varying,  ///< an integer that a Let declares under `name`
    FloorDiv, ///< dividend / divisor, rounded down; the divisor is positive
    Mod       ///< dividend - divisor * floorDiv
  };
  struct Variable {
    Kind kind = Fixed;
    std::string name;
    /// What is known without looking at any condition.
    std::optional<int64_t> low = {}, high = {};
    Poly dividend = {}, divisor = {}; ///< of FloorDiv and Mod
    int argument = -1;                ///< of Param
    int64_t byteOffset = 0;           ///< of Param: the field's
    unsigned bits = 32;               ///< of Param
    bool isSigned = true;             ///< of Param
  };

  Space();
  VarId add(Variable variable) { return all.push_back(std::move(variable)), all.size() - 1; }
  /// Folds constants; the same question gives the same variable. \p divisor must be positive
  /// whenever the value is used: see requirePositive in the reader.
  Poly floorDiv(const Poly &dividend, const Poly &divisor);
  Poly mod(const Poly &dividend, const Poly &divisor);
  /// How many steps of \p step a loop over \p length takes; not above 0 where the length is not,
  /// also if the division rounds towards 0.
  Poly countSteps(const Poly &length, const Poly &step);

  const Variable &operator[](VarId var) const { return all[var]; }
  Variable &operator[](VarId var) { return all[var]; }
  size_t size() const { return all.size(); }

  /// Variables of \p poly, also those inside divisions (and the divisions themselves).
  std::set<VarId> variables(const Poly &poly) const;
  bool dependsOn(const Poly &poly, VarId var) const { return variables(poly).count(var); }
  /// \p poly with \p var replaced, also inside divisions.
  Poly substitute(const Poly &poly, VarId var, const Poly &value);
  /// Only bdim, gdim, parameters, and divisions of such: the same for the whole launch.
  bool isUniform(const Poly &poly) const;
  /// Whether low <= poly <= high by what is known of its variables alone.
  bool isWithin(const Poly &poly, int64_t low, int64_t high) const;
  /// For messages and tests: "i * n + tid.x".
  std::string text(const Poly &poly) const;

private:
  Poly divide(Kind kind, const Poly &dividend, const Poly &divisor);
  std::vector<Variable> all;
};

/// Memory that a kernel addresses.
struct Base {
  kb::BaseKind kind = kb::BaseKind::Unknown; ///< Argument, or Global for a named variable
  std::string name;
  int argument = -1;
  int64_t byteOffset = 0;
  enum Memory { Global, Shared, Local, Constant } memory = Global;
  bool operator==(const Base &) const = default;
};

struct Text;

/// What fills a hole `$0`, `$1`, ... of a text.
struct Operand {
  enum Kind {
    Element, ///< the element of `base` at `offset`
    Index,   ///< the value of `offset`, converted to `type`
    /// A call to something that threads do together, which must be gone before points are
    /// formed: `function` is its name without template arguments ("__shfl_xor_sync",
    /// "__any_sync", "reduce" of cooperative groups), `arguments` its arguments. For a member
    /// function of a group object the object comes first.
    Collective
  } kind = Index;
  Base base;
  std::string type; ///< as the user would write it: "float", "__half", "int"
  unsigned bytes = 0;
  Poly offset; ///< in elements of `type`
  std::string function;
  std::vector<Text> arguments;
};

/// A C++ expression copied from the user's, with holes.
struct Text {
  std::string text;
  std::vector<Operand> operands;
  bool isPlain() const { return operands.empty(); }
};

/// poly >= 0, or poly == 0.
struct Constraint {
  Poly poly;
  bool isEquality = false;
};

struct Statement {
  enum Kind {
    Let,     ///< `type name = value;` names are unique in the kernel; empty value: no initial value
    Assign,  ///< `name = value;`
    Combine, ///< name = combine(name, value), a step of a reduction if it stands in a loop
    Store,   ///< `target = value;`
    Atomic,  ///< `function(&target, value)`, result not used
    For,     ///< see progress
    If,      ///< without an else: that is a second If with the negated condition
    Barrier, ///< of the block, or with `function` "__syncwarp" of the warp
    Opaque   ///< not understood; `reason` says what
  } kind = Opaque;

  std::string name, type; ///< of Let, Assign, Combine
  /// Of Let: the variable that stands for its value in polynomials.
  std::optional<VarId> symbol;
  Text value;
  /// Of Combine and, where it is a reduction, of Atomic, as kb.reduce has them: "add", "%a + %b",
  /// "0.0f".
  std::string reduction, combine, identity;
  /// Of Combine: what is added is relative to the running maximum of this name, by `scale`: a
  /// function and a factor. With isPair it is another lane's sum, relative to that lane's maximum.
  std::string basis, scale;
  bool isPair = false;

  Operand target;       ///< of Store and Atomic
  std::string function; ///< of Atomic and Barrier
  /// Of For. Add: for (var = begin; var < end; var += step). Halve: for (var = begin; var >= end;
  /// var /= 2), end >= 1. Double: for (var = begin; var < end; var *= 2). Down: for (var = begin;
  /// var >= end; var -= step). Until: Add from 0 by 1, but each iteration first asks `value`, a
  /// condition over scalars, and the loop ends where it does not hold. Nothing in the body changes
  /// var.
  enum Progress { Add, Halve, Double, Down, Until } progress = Add;
  VarId variable = 0;
  Poly begin, end, step;
  kb::LoopOrder order = kb::LoopOrder::Ascending; ///< of For, set by checkDependences
  bool team = false;                              ///< its iterations were shared out among threads

  /// Of If: a conjunction. The constraints hold and, if it is not empty, so does `value`.
  std::vector<Constraint> constraints;

  /// Of If: as it was read, it is done exactly where the If before it is not.
  bool isElse = false;

  std::vector<Statement> body; ///< of For and If
  std::string reason;          ///< of Opaque
};

struct SharedArray {
  std::string name, type;
  Poly elements; ///< invalid where the launch decides
};

/// low <= poly <= high must hold wherever the statement is reached, or the polynomials do
/// not say what the machine computes (32-bit wrap-around).
struct Obligation {
  Poly poly;
  int64_t low, high;
  std::string what; ///< "'i * n' fits 32 bits"
};

/// The user's name for a value, for dimensions that stand for it.
struct Hint {
  Poly poly;
  std::string name;
};

struct ThreadProgram {
  Space space;
  std::vector<Statement> body;
  std::vector<SharedArray> shared;
  /// Shared arrays of which no proof shows that all elements which are read were stored before.
  std::set<std::string> assumedFilled;
  /// Hold at every launch for which the tree says what the kernel does: poly >= 0. Over uniform
  /// values only.
  std::vector<Poly> requirements;
  std::vector<Obligation> obligations;
  /// The ranges of loops as they were read, for obligations: first and one past last value.
  std::map<VarId, std::pair<Poly, Poly>> given;
  std::vector<Hint> hints;
  std::set<std::string> names; ///< taken: parameters, lets, loops
  /// \p wish, or a name after it that is not taken; it is from now on.
  std::string uniqueName(llvm::StringRef wish);
  bool isOneBlock = false; ///< one block runs it, however many the launch has
  /// The threads of a block already work as one: thread variables are gone, block sizes are
  /// required.
  bool isBlockUndone = false;
  std::string header; ///< template header, as in kb.nest
  /// Every point is what one thread does, or one block where isPointBlock; not part of it.
  bool isPointWhole = true, isPointBlock = false;
  /// Dimensions along which a thread or block may do several points, in order. Where the poly is
  /// >= 0, it does no more than one.
  std::vector<std::pair<VarId, Poly>> onePoint;
  /// A branch that is not in a loop, has two sides and goes the same way in the whole launch.
  bool hasLaunchChoice = false;
  /// A size is divided by a constant.
  bool dividesSizes = false;
  /// Why the kernel is not raised; empty so far.
  std::string reason;
  /// First reason wins.
  void refuse(const std::string &why) {
    if (reason.empty())
      reason = why;
  }
};

/// Calls \p visit for every statement, outer ones first; not below one for which it returns false.
void walk(std::vector<Statement> &body, llvm::function_ref<bool(Statement &)> visit);
/// Calls \p visit for every operand of \p statement itself (not of its body): value, target.
void forEachOperand(Statement &statement, llvm::function_ref<void(Operand &)> visit);
/// Applies \p change to every polynomial of \p body.
void rewritePolys(std::vector<Statement> &body, llvm::function_ref<Poly(const Poly &)> change);
/// Puts \p value in the place of \p var in all that \p program says: statements, requirements,
/// obligations, hints, ranges.
void substitute(ThreadProgram &program, VarId var, const Poly &value);
/// Lets \p loop, which adds to its variable or subtracts from it, count from 0 by 1.
void countFromZero(ThreadProgram &program, Statement &loop);
/// For tests and debugging.
std::string print(const ThreadProgram &program);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_THREADPROGRAM_H
