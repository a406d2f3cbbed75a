//===- NestJoin.h - Which points of two nests belong together ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the names of two nests in one space, and the match of an element that the first nest stores
// with one that the second loads: it says which point of the one needs which point of the other.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_NESTJOIN_H
#define KBOPT_LIB_REWRITE_SCHEDULE_NESTJOIN_H

#include "LaunchedNest.h"
#include "NestCopy.h"

namespace kbopt {

/// An element that the first nest stores, and a load of the same array in the second one.
struct ElementLink {
  kb::StoreOp store;
  kb::OperandAttr load; ///< in the second nest's own names
  mlir::Operation *op;  ///< that loads
};

/// Parameters, symbols and names of two nests together. What both are passed becomes one parameter.
class JoinedNames {
public:
  JoinedNames(const PassContext &context, const LaunchedNest &first, const LaunchedNest &second);

  /// Why the statements of both cannot stand in one kernel; empty if they can.
  std::string whyNot() const;

  std::vector<PassedParameter> parameters;
  std::vector<mlir::StringAttr> symbols;
  llvm::SmallVector<mlir::Attribute> symbolAttributes;

  /// The name in the joined nest of \p name in the second one.
  std::string ofSecond(llvm::StringRef name) const;
  kb::ExprAttr ofSecond(kb::ExprAttr expr) const;
  std::string fresh(llvm::StringRef wanted);
  /// The symbols whose product the parameter \p name, in joined names, always is; empty if that is
  /// not known.
  std::vector<std::string> factorsOf(llvm::StringRef name) const { return factors.lookup(name); }
  NamedPolys polys;

private:
  void addSecond(const LaunchedNest &second);
  void knowProducts(const clang::FunctionDecl *host);
  const PassContext &context;
  llvm::StringSet<> taken;
  llvm::StringMap<std::string> renamed;
  llvm::StringMap<std::vector<std::string>> factors;
  std::string ambiguous; ///< a name that the first nest declares and the second one uses without
                         ///< declaring it
};

/// How the points of two nests are matched.
struct PointMatch {
  enum Form {
    Paired,     ///< each dimension of the first nest is one of the second
    FlatSecond, ///< the second nest numbers the first one's points in one line
    Grouped,    ///< a dimension of the second nest numbers in one line several of the first, and
                ///< together they are all of them
    FlatFirst,  ///< the first nest numbers what the second has in several dimensions
    InLoop, ///< each point of the second nest is one iteration of the first one's loops around the
            ///< store
    FlatInLoop, ///< and the second nest numbers them in one line
  } form = Paired;
  ElementLink link;
  /// Dimensions, or inner dimensions, of the second nest (joined names) by dimension of the first;
  /// `InLoop`: by dimension or inner dimension.
  std::map<std::string, std::string> pairs;
  /// `Grouped`: by dimension of the second nest those of the first, each with the extents whose
  /// product it is multiplied by.
  std::map<std::string, std::vector<std::pair<std::string, std::vector<kb::ExprAttr>>>> groups;
  /// Products of extents that must be equal: of the first nest, and of the second in joined names.
  std::vector<std::pair<std::vector<kb::ExprAttr>, std::vector<kb::ExprAttr>>> equal;
};

/// The match in which every point of the first nest belongs to one point of the second, or (\p
/// inner) to one iteration of a loop around the load. An error is the reason why there is none.
llvm::Expected<PointMatch> matchPoints(JoinedNames &names, const LaunchedNest &first,
                                       const LaunchedNest &second, const ElementLink &link,
                                       bool inner);

/// The match in which every point of the second nest is one iteration of the first one's loops
/// around the store.
llvm::Expected<PointMatch> matchIterations(JoinedNames &names, const LaunchedNest &first,
                                           const LaunchedNest &second, const ElementLink &link);

/// The loops around \p op, outermost first.
llvm::SmallVector<kb::OverOp> oversAround(mlir::Operation *op);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_NESTJOIN_H
