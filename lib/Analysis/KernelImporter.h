//===- KernelImporter.h - One kernel as kb IR -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns building the operations of one kernel from its IR, and tying them to the
// AST. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_ANALYSIS_KERNELIMPORTER_H
#define KBOPT_LIB_ANALYSIS_KERNELIMPORTER_H

#include "AstIndex.h"
#include "DeviceModule.h"
#include "IndexModel.h"
#include "kb-opt/IR/Kb.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/TargetLibraryInfo.h"

namespace kbopt::analysis {

/// Where the operations' AST nodes are noted.
struct Ties {
  llvm::DenseMap<mlir::Operation *, const clang::Stmt *> statements;
  llvm::DenseMap<mlir::Operation *, const clang::Decl *> declarations;
  llvm::DenseMap<mlir::Operation *, const clang::FunctionDecl *> functions;
};

class KernelImporter {
public:
  KernelImporter(const ParsedProgram &program, const AstIndex &index, const DeviceModule &device,
                 llvm::Function &function, const clang::FunctionDecl *declaration,
                 kb::KernelOp kernel, const LaunchRanges &launches, Ties &ties);
  void run();

private:
  /// The innermost user code that an instruction stands for.
  struct Origin {
    mlir::Location location;
    const BodyIndex *body = nullptr; ///< null if it is not in user code
    BodyIndex::Place place;
  };
  Origin originOf(const llvm::DILocation *location);
  mlir::Location locationOf(const Origin &origin, clang::SourceRange range);
  mlir::Location rangeLocation(clang::SourceRange range);

  kb::LoopOp loopFor(const llvm::Loop *loop);
  mlir::Block &regionOf(const llvm::BasicBlock *block);
  void importShared();
  void importBlock(llvm::BasicBlock *block);
  void importInstruction(llvm::Instruction &inst);
  void importCall(llvm::CallBase &call);
  void importIntrinsic(llvm::CallBase &call, llvm::StringRef name);
  void importAssembly(llvm::CallBase &call, llvm::StringRef text);
  void importBranch(llvm::BranchInst &branch);
  void importAccess(llvm::Instruction &inst, kb::AccessKind kind, llvm::Value *pointer,
                    int64_t bytes, unsigned alignment, bool isVolatile, llvm::StringRef type,
                    bool knownAddress = true);
  bool mergeIntoLast(const llvm::Instruction &inst, kb::AccessKind kind, const Address &address,
                     int64_t bytes, unsigned alignment);
  void count(const llvm::Instruction &inst);
  void emitCounts();
  void finishKernel();

  kb::BaseAttr baseOf(const Address &address);
  std::string spaceName(const llvm::GlobalVariable &variable);
  kb::MemorySpace spaceOf(const Address &address, llvm::Value *pointer);
  /// Null if \p poly cannot be said in terms of \p around.
  kb::ExprAttr expression(const std::optional<Poly> &poly,
                          llvm::ArrayRef<const llvm::Loop *> around);
  /// What it rests on is added to \p assumes.
  kb::DomainAttr domain(const llvm::BasicBlock *block, AssumptionSet &assumes);
  mlir::DenseI64ArrayAttr positions(const AssumptionSet &assumes) const;
  mlir::AffineExpr affine(const Poly &poly, llvm::ArrayRef<const llvm::Loop *> around,
                          llvm::SmallVectorImpl<VarId> &symbols);
  llvm::SmallVector<mlir::StringAttr> names(llvm::ArrayRef<VarId> symbols);
  llvm::SmallVector<mlir::StringAttr> names(llvm::ArrayRef<const llvm::Loop *> loops);
  llvm::SmallVector<const llvm::Loop *> loopsAround(const llvm::BasicBlock *block) const;
  ParameterName nameParameter(unsigned argument, int64_t offset) const;
  kb::Uniformity uniformity(Level level) const;
  mlir::OpBuilder builderAt(const llvm::BasicBlock *block);
  void tie(mlir::Operation *op, const Origin &origin, const clang::Stmt *statement);

  const ParsedProgram &program;
  const AstIndex &index;
  const DeviceModule &device;
  llvm::Function &function;
  const clang::FunctionDecl *declaration;
  kb::KernelOp kernel;
  const LaunchRanges &launches;
  Ties &ties;
  mlir::MLIRContext *context;

  llvm::DominatorTree dominators;
  llvm::PostDominatorTree postDominators;
  llvm::LoopInfo loops;
  llvm::AssumptionCache assumptions;
  llvm::TargetLibraryInfoImpl libraryImpl;
  llvm::TargetLibraryInfo library;
  llvm::ScalarEvolution evolution;
  ThreadDependence threads;
  IndexModel model;

  llvm::DenseMap<const llvm::Loop *, kb::LoopOp> loopOps;
  llvm::DenseMap<const llvm::GlobalVariable *, std::string> globalNames;
  std::set<VarId> usedSymbols;
  std::map<mlir::Block *, std::map<std::string, int64_t>> counts;
  std::vector<mlir::Block *> countOrder;
  /// The last load and the last store of the block, for putting the parts of
  /// one wide access together.
  struct Last {
    const llvm::Instruction *inst = nullptr;
    kb::AccessOp op;
    Address address;
    Poly next; ///< offset after it
    int64_t bytes = 0;
    unsigned alignment = 1;
  };
  std::map<kb::AccessKind, Last> last;
};

} // namespace kbopt::analysis

#endif // KBOPT_LIB_ANALYSIS_KERNELIMPORTER_H
