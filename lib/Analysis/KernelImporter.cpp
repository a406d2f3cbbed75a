//===- KernelImporter.cpp - One kernel as kb IR ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the structure: walking the blocks in the order of the text, loops,
// branches, shared arrays, symbols. InstructionImport.cpp has the instructions,
// ImportTies.cpp locations and names.
//
//===----------------------------------------------------------------------===//
#include "KernelImporter.h"

#include "clang/AST/Attr.h"
#include "clang/AST/Stmt.h"
#include "clang/AST/StmtCXX.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace kbopt::analysis {

KernelImporter::KernelImporter(const ParsedProgram &program, const AstIndex &index,
                               const DeviceModule &device, Function &function,
                               const clang::FunctionDecl *declaration, kb::KernelOp kernel,
                               const LaunchRanges &launches, Ties &ties)
    : program(program), index(index), device(device), function(function), declaration(declaration),
      kernel(kernel), launches(launches), ties(ties), context(kernel.getContext()),
      dominators(function), postDominators(function), loops(dominators), assumptions(function),
      libraryImpl(Triple("nvptx64-nvidia-cuda")), library(libraryImpl, &function),
      evolution(function, library, assumptions, dominators, loops),
      threads(function, loops, postDominators),
      model(function, evolution, loops, dominators, threads, launches,
            [this](unsigned argument, int64_t offset) { return nameParameter(argument, offset); }) {
}

/// Blocks so that those of a loop follow its header and the true side of a
/// branch comes before the false one, as in the text.
static SmallVector<BasicBlock *> textOrder(Function &function) {
  SmallVector<BasicBlock *> postOrder;
  SmallPtrSet<BasicBlock *, 32> seen;
  SmallVector<std::pair<BasicBlock *, unsigned>> stack;
  auto enter = [&](BasicBlock *block) {
    if (seen.insert(block).second)
      stack.emplace_back(block, block->getTerminator()->getNumSuccessors());
  };
  enter(&function.getEntryBlock());
  while (!stack.empty()) {
    auto &[block, left] = stack.back();
    if (left == 0) {
      postOrder.push_back(block);
      stack.pop_back();
    } else {
      enter(block->getTerminator()->getSuccessor(--left));
    }
  }
  std::reverse(postOrder.begin(), postOrder.end());
  return postOrder;
}

void KernelImporter::run() {
  importShared();
  for (BasicBlock *block : textOrder(function))
    importBlock(block);
  emitCounts();
  finishKernel();
}

mlir::Block &KernelImporter::regionOf(const BasicBlock *block) {
  const Loop *loop = loops.getLoopFor(block);
  return loop ? loopFor(loop).getBody().front() : kernel.getBody().front();
}

mlir::OpBuilder KernelImporter::builderAt(const BasicBlock *block) {
  return mlir::OpBuilder::atBlockEnd(&regionOf(block));
}

kb::Uniformity KernelImporter::uniformity(Level level) const {
  return level == Level::Thread ? kb::Uniformity::Divergent : kb::Uniformity::Uniform;
}

SmallVector<const Loop *> KernelImporter::loopsAround(const BasicBlock *block) const {
  SmallVector<const Loop *> around;
  for (const Loop *loop = loops.getLoopFor(block); loop; loop = loop->getParentLoop())
    around.push_back(loop);
  std::reverse(around.begin(), around.end());
  return around;
}

/// The name that the source gives to what \p loop counts.
static std::string loopVariable(const clang::Stmt *statement, const LoopFact &fact) {
  if (auto *loop = dyn_cast_or_null<clang::ForStmt>(statement)) {
    const clang::Stmt *init = loop->getInit();
    if (auto *declaration = dyn_cast_or_null<clang::DeclStmt>(init))
      for (const clang::Decl *decl : declaration->decls())
        if (auto *variable = dyn_cast<clang::VarDecl>(decl))
          return variable->getNameAsString();
    if (auto *assign = dyn_cast_or_null<clang::BinaryOperator>(init))
      if (auto *ref = dyn_cast<clang::DeclRefExpr>(assign->getLHS()->IgnoreParenImpCasts()))
        return ref->getDecl()->getNameAsString();
  }
  if (auto *loop = dyn_cast_or_null<clang::CXXForRangeStmt>(statement))
    return loop->getLoopVariable()->getNameAsString();
  std::string name = fact.variable ? fact.variable->getName().split('.').first.str() : "";
  return name.empty() || !isAlpha(name[0]) ? "loop" : name;
}

static const clang::Expr *loopCondition(const clang::Stmt *statement) {
  if (auto *loop = dyn_cast_or_null<clang::ForStmt>(statement))
    return loop->getCond();
  if (auto *loop = dyn_cast_or_null<clang::WhileStmt>(statement))
    return loop->getCond();
  if (auto *loop = dyn_cast_or_null<clang::DoStmt>(statement))
    return loop->getCond();
  return nullptr;
}

kb::LoopOp KernelImporter::loopFor(const Loop *loop) {
  if (kb::LoopOp op = loopOps.lookup(loop))
    return op;
  const LoopFact &fact = model.loop(loop);
  DebugLoc start = loop->getStartLoc();
  Origin origin = originOf(start.get());
  const clang::Stmt *statement = origin.body ? lookup(origin.body->loops, origin.place) : nullptr;

  const Loop *parent = loop->getParentLoop();
  mlir::Block &outer = parent ? loopFor(parent).getBody().front() : kernel.getBody().front();
  auto builder = mlir::OpBuilder::atBlockEnd(&outer);
  std::string name = loopVariable(statement, fact);
  bool isIteration = fact.value && *fact.value == Poly::variable(fact.var);
  if (!isIteration)
    name += ".iter";
  std::string unique = name;
  for (unsigned suffix = 2;; ++suffix) {
    bool taken = false;
    for (const Loop *up = parent; up; up = up->getParentLoop())
      taken |= loopOps.lookup(up).getName() == unique;
    if (!taken)
      break;
    unique = name + "$" + std::to_string(suffix);
  }

  mlir::Location location =
      statement ? locationOf(origin, statement->getSourceRange()) : origin.location;
  mlir::StringAttr conditionText;
  if (const clang::Expr *condition = loopCondition(statement))
    if (StringRef text = sourceText(program, condition->getSourceRange()); !text.empty())
      conditionText = builder.getStringAttr(text);
  auto op = kb::LoopOp::create(
      builder, location, builder.getStringAttr(unique),
      kb::UniformityAttr::get(context, uniformity(threads.tripLevel(loop))),
      fact.constantTrip ? builder.getI64IntegerAttr(*fact.constantTrip) : mlir::IntegerAttr(),
      kb::ExprAttr(), kb::ExprAttr(), conditionText, positions(fact.assumes));
  op.getBody().emplaceBlock();
  loopOps[loop] = op;
  SmallVector<const Loop *> around = loopsAround(loop->getHeader());
  op.setValueAttr(expression(fact.value, around));
  around.pop_back();
  op.setTripAttr(expression(fact.trip, around));
  tie(op, origin, statement);
  return op;
}

void KernelImporter::importBlock(BasicBlock *block) {
  if (const Loop *loop = loops.getLoopFor(block); loop && loop->getHeader() == block)
    loopFor(loop);
  last.clear();
  for (Instruction &inst : *block)
    importInstruction(inst);
}

/// A block that ends the kernel and does nothing on the way.
static bool leavesKernel(const BasicBlock *block) {
  for (unsigned steps = 0; steps < 4; ++steps) {
    if (llvm::any_of(*block, [](const Instruction &inst) {
          return inst.mayHaveSideEffects() || inst.mayReadFromMemory();
        }))
      return false;
    if (isa<ReturnInst>(block->getTerminator()))
      return true;
    block = block->getSingleSuccessor();
    if (!block)
      return false;
  }
  return false;
}

void KernelImporter::importBranch(BranchInst &branch) {
  BasicBlock *block = branch.getParent();
  for (const Loop *loop = loops.getLoopFor(block); loop; loop = loop->getParentLoop())
    if (loop->isLoopExiting(block) && (block == loop->getHeader() || block == loop->getLoopLatch()))
      return;
  Origin origin = originOf(branch.getDebugLoc().get());
  const clang::Stmt *statement =
      origin.body ? lookup(origin.body->branches, origin.place) : nullptr;
  const clang::Expr *condition = nullptr;
  if (auto *branchIf = dyn_cast_or_null<clang::IfStmt>(statement))
    condition = branchIf->getCond();
  else if (auto *choice = dyn_cast_or_null<clang::ConditionalOperator>(statement))
    condition = choice->getCond();
  mlir::OpBuilder builder = builderAt(block);
  mlir::StringAttr text;
  if (condition)
    if (StringRef written = sourceText(program, condition->getSourceRange()); !written.empty())
      text = builder.getStringAttr(written);
  bool guard = !loops.getLoopFor(block) &&
               (leavesKernel(branch.getSuccessor(0)) || leavesKernel(branch.getSuccessor(1)));
  mlir::Location location =
      condition ? locationOf(origin, condition->getSourceRange()) : origin.location;
  auto op = kb::BranchOp::create(
      builder, location,
      kb::UniformityAttr::get(context, uniformity(threads.level(branch.getCondition()))), text,
      guard ? builder.getUnitAttr() : mlir::UnitAttr());
  tie(op, origin, statement);
}

/// Every shared variable that the kernel's IR mentions.
void KernelImporter::importShared() {
  SmallVector<GlobalVariable *> found;
  SmallPtrSet<const Value *, 16> seen;
  SmallVector<const Value *> work;
  for (Instruction &inst : instructions(function))
    for (Value *operand : inst.operands())
      if (isa<Constant>(operand))
        work.push_back(operand);
  while (!work.empty()) {
    const Value *value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto *variable = dyn_cast<GlobalVariable>(value)) {
      if (variable->getAddressSpace() == 3)
        found.push_back(const_cast<GlobalVariable *>(variable));
    } else if (auto *constant = dyn_cast<ConstantExpr>(value)) {
      work.append(constant->op_begin(), constant->op_end());
    }
  }
  // The module's order is the source's.
  llvm::sort(found,
             [&](GlobalVariable *a, GlobalVariable *b) { return a->getName() < b->getName(); });
  for (GlobalVariable *variable : found) {
    auto builder = mlir::OpBuilder::atBlockEnd(&kernel.getBody().front());
    const clang::VarDecl *source = index.sharedVariable(variable->getName());
    std::string name = spaceName(*variable);
    SmallVector<int64_t> extents;
    Type *type = variable->getValueType();
    bool dynamic = variable->hasExternalLinkage() && variable->isDeclaration();
    std::string typeText;
    int64_t elementBytes = 1;
    if (source) {
      clang::QualType sourceType = source->getType();
      while (auto *array = program.context().getAsArrayType(sourceType)) {
        if (auto *fixed = dyn_cast<clang::ConstantArrayType>(array))
          extents.push_back(fixed->getSize().getSExtValue());
        sourceType = array->getElementType();
      }
      typeText = sourceType.getUnqualifiedType().getAsString(program.context().getPrintingPolicy());
      elementBytes = program.context().getTypeSizeInChars(sourceType).getQuantity();
    } else {
      while (auto *array = dyn_cast<ArrayType>(type)) {
        if (array->getNumElements())
          extents.push_back(array->getNumElements());
        type = array->getElementType();
      }
      elementBytes = std::max<int64_t>(1, function.getDataLayout().getTypeAllocSize(type));
      raw_string_ostream(typeText) << *type;
    }
    auto op = kb::SharedOp::create(
        builder, source ? rangeLocation(source->getSourceRange()) : kernel.getLoc(),
        builder.getStringAttr(name), builder.getStringAttr(typeText),
        builder.getI64IntegerAttr(std::max<int64_t>(1, elementBytes)),
        builder.getDenseI64ArrayAttr(extents), dynamic ? builder.getUnitAttr() : mlir::UnitAttr());
    if (source)
      ties.declarations[op] = source;
  }
}

mlir::DenseI64ArrayAttr KernelImporter::positions(const AssumptionSet &assumes) const {
  if (assumes.empty())
    return {};
  return mlir::DenseI64ArrayAttr::get(context,
                                      SmallVector<int64_t>(assumes.begin(), assumes.end()));
}

void KernelImporter::emitCounts() {
  for (mlir::Block *block : countOrder) {
    auto builder = mlir::OpBuilder::atBlockEnd(block);
    SmallVector<mlir::NamedAttribute> entries;
    for (auto &[name, number] : counts[block])
      entries.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(number)));
    kb::ComputeOp::create(builder, block->getParentOp()->getLoc(),
                          builder.getDictionaryAttr(entries));
  }
}

void KernelImporter::finishKernel() {
  SmallVector<mlir::Attribute> symbols;
  for (const SymbolFact &fact : model.symbols) {
    if (!usedSymbols.count(fact.var))
      continue;
    auto origin = fact.argument >= 0            ? kb::SymbolOrigin::Param
                  : fact.level == Level::Launch ? kb::SymbolOrigin::Invariant
                                                : kb::SymbolOrigin::Varying;
    symbols.push_back(kb::SymbolAttr::get(context, fact.name, origin, fact.argument,
                                          fact.byteOffset, fact.bits, fact.isSigned));
  }
  kernel.setSymbolsAttr(mlir::ArrayAttr::get(context, symbols));
  SmallVector<mlir::Attribute> assumes;
  for (const std::string &text : model.assumptions)
    assumes.push_back(mlir::StringAttr::get(context, text));
  if (!assumes.empty())
    kernel.setAssumesAttr(mlir::ArrayAttr::get(context, assumes));
}

} // namespace kbopt::analysis
