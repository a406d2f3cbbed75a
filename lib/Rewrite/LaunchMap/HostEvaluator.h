//===- HostEvaluator.h - What stands in the place of launches ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the execution of the host statements that a candidate has where the original has launches:
// declarations, arithmetic, choices, loops, calls of functions that the program defines,
// allocations and launches. What it computes with comes from recorded launches. It stops with a
// reason where a value is not known or a construct may do something else.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_LAUNCHMAP_HOSTEVALUATOR_H
#define KBOPT_LIB_REWRITE_LAUNCHMAP_HOSTEVALUATOR_H

#include "LaunchSites.h"
#include "MappedMemory.h"
#include "RecordedValues.h"

namespace kbopt::hostmap {

/// What lives on from one launch to the next.
struct HostState {
  MappedMemory memory;
  std::map<const clang::VarDecl *, HostValue> statics;
  /// Bytes of dynamic shared memory that kernels, by mangled name, may use where the program asked
  /// for more than the default.
  std::map<std::string, uint64_t> sharedLimits;
};

class HostEvaluator {
public:
  /// \p added: LaunchSites'.
  HostEvaluator(const ParsedProgram &program, const clang::FunctionDecl *host,
                const std::set<std::string> &changedNames, const RecordedValues &values,
                ExprFacts &facts, HostState &state, const AddedFunctions &added);

  /// Runs \p statements; false with `whyNot` if that is not certain.
  bool run(llvm::ArrayRef<const clang::Stmt *> statements);
  /// Whether no operand of the expressions that \p values has gives one of them another value.
  bool confirmsValues();

  std::vector<kbrt::Step> steps; ///< what they ask of the device
  std::string whyNot;
  /// Whether they did anything that a second run would do differently.
  bool changesState = false;

private:
  struct Frame {
    std::map<const clang::VarDecl *, HostValue> variables;
    std::map<const clang::FieldDecl *, HostValue> object; ///< what `this` points to
  };
  using Result = std::optional<HostValue>;
  enum class Flow { Next, Break, Continue, Return, Stop };

  // Statements.
  Flow execute(const clang::Stmt *statement);
  Flow executeLoop(const clang::Stmt *init, const clang::Expr *condition, const clang::Expr *step,
                   const clang::Stmt *body, bool testsFirst);
  bool declare(const clang::VarDecl *variable);

  // Expressions.
  Result evaluate(const clang::Expr *expr);
  Result evaluateNew(const clang::Expr *expr);
  Result variable(const clang::DeclRefExpr *reference);
  Result cast(const clang::CastExpr *expr);
  Result convert(const HostValue &value, const clang::CastExpr *expr);
  Result unary(const clang::UnaryOperator *expr);
  Result addressOf(const clang::Expr *operand);
  Result binary(const clang::BinaryOperator *expr);
  Result logical(const clang::BinaryOperator *expr);
  Result arithmetic(const clang::Expr *place, clang::BinaryOperatorKind opcode,
                    const HostValue &left, const HostValue &right, clang::QualType pointer,
                    clang::QualType type);
  Result pointerArithmetic(const clang::Expr *place, clang::BinaryOperatorKind opcode,
                           const HostValue &left, const HostValue &right, clang::QualType pointer,
                           clang::QualType type);
  Result assign(const clang::BinaryOperator *expr);
  Result construct(const clang::CXXConstructExpr *expr);
  Result constructRecord(const clang::CXXConstructExpr *expr);
  Result member(const clang::MemberExpr *expr);
  std::optional<bool> truth(const clang::Expr *expr);
  std::optional<uint64_t> natural(const clang::Expr *expr);
  std::optional<uint64_t> address(const clang::Expr *expr);
  std::optional<kbrt::Dim3> extents(const clang::Expr *expr);
  std::optional<uint32_t> stream(const clang::Expr *expr);
  /// The place of a variable that may be written; null if it is none of the statements'.
  HostValue *place(const clang::VarDecl *variable);
  /// The same of a variable or a member of the object that is constructed.
  HostValue *place(const clang::Expr *expr);
  bool namesOwn(const clang::Expr *expr);

  // Calls.
  Result call(const clang::CallExpr *expr);
  Result callApi(const clang::CallExpr *expr, llvm::StringRef name, bool &isKnown);
  Result callFunction(const clang::CallExpr *expr, const clang::FunctionDecl *function);
  /// The frame of a call of \p function with \p arguments.
  std::optional<Frame> frameOf(const clang::Expr *expr, const clang::FunctionDecl *function,
                               llvm::ArrayRef<const clang::Expr *> arguments);
  Result memoryForLaunch(const clang::CallExpr *expr);
  /// Whether the program defines \p name as kb-opt writes it, to encode a tensor map.
  bool isTensorMapFunction(llvm::StringRef name) const;
  Result tensorMap(const clang::CallExpr *expr, llvm::StringRef name);
  Result allocate(const clang::CallExpr *expr);
  Result release(const clang::CallExpr *expr);
  Result fill(const clang::CallExpr *expr, const clang::Expr *onStream);
  Result copy(const clang::CallExpr *expr, const clang::Expr *onStream);
  Result setAttribute(const clang::CallExpr *expr);
  Result extremum(const clang::CallExpr *expr, bool isMax);
  Result success(const clang::CallExpr *expr);
  Result launch(const clang::CUDAKernelCallExpr *expr);
  bool checkShape(const clang::Expr *expr, const clang::FunctionDecl *kernel,
                  const kbrt::LaunchStep &step);
  std::optional<kbrt::Location> wholeRegion(const clang::Expr *expr, uint64_t address,
                                            uint64_t bytes);
  void add(kbrt::Step step);

  /// Nodes that are evaluated at most in the place of one launch.
  static constexpr unsigned mostWork = 200000;

  std::string textOf(const clang::Expr *expr) const;
  std::nullopt_t refuse(const clang::Stmt *statement, const llvm::Twine &why);

  const ParsedProgram &program;
  const clang::ASTContext &ast;
  const clang::FunctionDecl *host;
  const std::set<std::string> &changedNames; ///< LaunchSite's
  const RecordedValues &values;
  ExprFacts &facts;
  HostState &state;
  const AddedFunctions added;
  std::vector<Frame> frames;
  HostValue returned;
  unsigned work = 0; ///< nodes evaluated
};

} // namespace kbopt::hostmap

#endif // KBOPT_LIB_REWRITE_LAUNCHMAP_HOSTEVALUATOR_H
