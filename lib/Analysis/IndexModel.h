//===- IndexModel.h - IR values as expressions of the index space -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns turning LLVM values of one kernel into polynomials over thread, block and
// loop indices and symbols. Machine arithmetic is followed exactly: a widened
// 32-bit value is only used where nsw/nuw, scalar evolution or ranges show that
// it did not wrap. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_ANALYSIS_INDEXMODEL_H
#define KBOPT_LIB_ANALYSIS_INDEXMODEL_H

#include "ThreadDependence.h"
#include "kb-opt/Analysis/Poly.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include <functional>

namespace kbopt::analysis {

/// Positions in IndexModel::assumptions.
using AssumptionSet = std::set<int64_t>;

/// A value as a polynomial. Modulo 2^width it always equals the value;
/// `asSigned` and `asUnsigned` say which reading of the bits equals it exactly.
struct IndexValue {
  Poly poly;
  bool asSigned = false, asUnsigned = false;
  AssumptionSet assumes = {}; ///< what it rests on
};

/// A symbol of the kernel that is not a block or grid dimension.
struct SymbolFact {
  VarId var;
  std::string name;
  Level level = Level::Launch;
  int64_t argument = -1, byteOffset = 0; ///< for a scalar parameter
  unsigned bits = 32;
  bool isSigned = true;
};

struct LoopFact {
  VarId var;
  const llvm::Loop *loop;
  /// Iterations of the body; below 0 stands for 0.
  std::optional<Poly> trip;
  std::optional<int64_t> constantTrip;
  /// The induction variable's value at iteration `var`, if there is one.
  std::optional<Poly> value;
  const llvm::PHINode *variable = nullptr;
  AssumptionSet assumes; ///< what trip and value rest on
};

/// What an address is relative to.
struct Address {
  enum Kind { Argument, Field, Global, Local, Loaded, Unknown } kind = Unknown;
  const llvm::Value *base = nullptr; ///< the pointer before the offset is added
  unsigned argument = 0;
  int64_t byteOffset = 0;     ///< of the field in its struct parameter
  std::optional<Poly> offset; ///< bytes; nothing if not polynomial
  bool isUniform = false;     ///< all threads of the block use one address
  AssumptionSet assumes;      ///< what `offset` rests on
};

/// `poly >= 0` or `poly == 0`.
struct Condition {
  Poly poly;
  bool isEquality = false;
  AssumptionSet assumes = {};
};

/// How the source names and reads a scalar parameter or field of one.
struct ParameterName {
  std::string name;
  bool isUnsigned = false;
  std::optional<Interval> range = {}; ///< what the launches pass
};

class IndexModel {
public:
  /// \p nameParameter is asked with the argument and a byte offset in it.
  IndexModel(llvm::Function &kernel, llvm::ScalarEvolution &evolution, llvm::LoopInfo &loops,
             llvm::DominatorTree &dominators, const ThreadDependence &threads,
             const LaunchRanges &launches,
             std::function<ParameterName(unsigned, int64_t)> nameParameter);

  VarTable vars;
  std::vector<SymbolFact> symbols;
  /// What is taken for granted: `nowrap(i)`, `positive(n)`. Each once.
  std::vector<std::string> assumptions;

  std::optional<IndexValue> get(llvm::Value *value);
  Address address(llvm::Value *pointer);
  const LoopFact &loop(const llvm::Loop *loop) const { return loopFacts.at(loop); }
  const SymbolFact *symbol(VarId var) const;

  /// The conditions under which \p block runs. \p exact is cleared if there are
  /// others that are not affine.
  std::vector<Condition> conditions(const llvm::BasicBlock *block, bool &exact);

private:
  std::optional<IndexValue> compute(llvm::Value *value);
  std::optional<IndexValue> computeBinary(llvm::BinaryOperator *inst);
  std::optional<IndexValue> computeDivision(llvm::BinaryOperator *inst);
  std::optional<IndexValue> computeCast(llvm::CastInst *inst);
  std::optional<IndexValue> computePhi(llvm::PHINode *phi);
  std::optional<IndexValue> symbolFor(llvm::Value *value);
  std::optional<IndexValue> parameter(unsigned argument, int64_t offset, llvm::Value *value);
  std::optional<IndexValue> finish(llvm::Value *value, Poly poly, bool asSigned, bool asUnsigned,
                                   AssumptionSet assumes);
  /// Adds the assumption \p text to \p set.
  void assume(AssumptionSet &set, const std::string &text);
  /// Runs \p question about ranges; what its answer rests on is added to \p set.
  void noting(AssumptionSet &set, llvm::function_ref<void()> question);
  /// Whether \p divisor is at least 1, by range or (noted) by assumption.
  bool isPositive(llvm::Value *value, const Poly &divisor, AssumptionSet &set);
  /// What the loop of \p phi compares it with, if it goes on only while phi <
  /// bound (or <=), so that phi can wrap only in the very last step.
  llvm::Value *boundOf(llvm::PHINode *phi, bool isSigned) const;
  std::string uniqueName(llvm::StringRef wanted);
  /// Takes \p value for its signed reading where only its size could speak
  /// against it (`int i = blockIdx.x * n` is unsigned arithmetic in C++), and
  /// notes that. The same for the unsigned reading (`x[threadIdx.x * n]`).
  bool assumeSigned(IndexValue &value);
  bool assumeUnsigned(IndexValue &value);
  std::string text(const Poly &poly) const;
  bool addCondition(llvm::Value *condition, bool holds, std::vector<Condition> &result);
  void analyzeLoop(llvm::Loop *loop);
  void analyzeTrip(llvm::Loop *loop, LoopFact &fact);

  llvm::Function &kernel;
  llvm::ScalarEvolution &evolution;
  llvm::LoopInfo &loops;
  llvm::DominatorTree &dominators;
  const ThreadDependence &threads;
  std::function<ParameterName(unsigned, int64_t)> nameParameter;
  llvm::DenseMap<llvm::Value *, std::optional<IndexValue>> known;
  llvm::DenseMap<const llvm::Loop *, LoopFact> loopFacts;
  std::map<std::pair<unsigned, int64_t>, VarId> parameters;
  std::map<std::string, unsigned> namesUsed;
};

} // namespace kbopt::analysis

#endif // KBOPT_LIB_ANALYSIS_INDEXMODEL_H
