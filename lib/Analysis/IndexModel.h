//===- IndexModel.h - IR values as expressions of the index space -*- C++ -*-===//
//
// Owns turning LLVM values of one kernel into polynomials over thread, block and
// loop indices and symbols. Machine arithmetic is followed exactly: a widened
// 32-bit value is only used where nsw/nuw, scalar evolution or ranges show that
// it did not wrap. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_ANALYSIS_INDEXMODEL_H
#define KBOPT_LIB_ANALYSIS_INDEXMODEL_H

#include "Poly.h"
#include "ThreadDependence.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include <functional>

namespace kbopt::analysis {

/// A value as a polynomial. Modulo 2^width it always equals the value;
/// `asSigned` and `asUnsigned` say which reading of the bits equals it exactly.
struct IndexValue {
  Poly poly;
  bool asSigned = false, asUnsigned = false;
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
};

/// What an address is relative to.
struct Address {
  enum Kind { Argument, Field, Global, Local, Loaded, Unknown } kind = Unknown;
  const llvm::Value *base = nullptr; ///< the pointer before the offset is added
  unsigned argument = 0;
  int64_t byteOffset = 0;            ///< of the field in its struct parameter
  std::optional<Poly> offset;        ///< bytes; nothing if not polynomial
  bool isUniform = false;            ///< all threads of the block use one address
};

/// `poly >= 0` or `poly == 0`.
struct Condition {
  Poly poly;
  bool isEquality = false;
};

/// How the source names and reads a scalar parameter or field of one.
struct ParameterName {
  std::string name;
  bool isUnsigned = false;
};

class IndexModel {
public:
  /// \p nameParameter is asked with the argument and a byte offset in it.
  IndexModel(llvm::Function &kernel, llvm::ScalarEvolution &evolution, llvm::LoopInfo &loops,
             llvm::DominatorTree &dominators, const ThreadDependence &threads,
             std::function<ParameterName(unsigned, int64_t)> nameParameter);

  VarTable vars;
  std::vector<SymbolFact> symbols;
  /// What the expressions rest on besides VarTable::assumed: `nowrap(i)`,
  /// `positive(n)`. Each once.
  std::set<std::string> assumptions;

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
  std::optional<IndexValue> finish(llvm::Value *value, Poly poly, bool asSigned, bool asUnsigned);
  /// Whether \p divisor is at least 1, by range or (noted) by assumption.
  bool isPositive(llvm::Value *value, const Poly &divisor);
  bool isGuarded(llvm::PHINode *phi, bool isSigned) const;
  std::string uniqueName(llvm::StringRef wanted);
  /// Takes \p value for its signed reading where only its size could speak
  /// against it (`int i = blockIdx.x * n` is unsigned arithmetic in C++), and
  /// notes that.
  bool assumeSigned(IndexValue &value);
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
