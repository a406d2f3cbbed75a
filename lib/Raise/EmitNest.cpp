//===- EmitNest.cpp - The raised form as operations ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the conversion of polynomials to affine expressions and of statements to operations.
//
//===----------------------------------------------------------------------===//
#include "EmitNest.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace kbopt::raise {
namespace {

class NestEmitter {
public:
  NestEmitter(ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions, kb::KernelOp kernel,
              OpBuilder &builder)
      : program(program), space(program.space), builder(builder), context(kernel.getContext()),
        location(kernel.getLoc()), kernel(kernel) {
    for (const Dimension &each : dimensions)
      dims.push_back(each.variable);
    for (const Dimension &each : dimensions)
      extents.push_back(each.extent);
    for (VarId id : dims)
      loops.insert(space[id].name);
  }

  kb::NestOp emit() {
    llvm::SmallVector<Attribute> names, ends, requirements;
    for (auto [id, extent] : llvm::zip_equal(dims, extents)) {
      names.push_back(builder.getStringAttr(space[id].name));
      ends.push_back(expression(extent));
    }
    for (const Poly &each : program.requirements)
      requirements.push_back(expression(each));
    if (!program.reason.empty())
      return {};
    auto nest = kb::NestOp::create(
        builder, location, kernel.getSymName(), builder.getArrayAttr(names),
        builder.getArrayAttr(ends), builder.getArrayAttr({}),
        requirements.empty() ? ArrayAttr() : builder.getArrayAttr(requirements), kb::DomainAttr(),
        program.header.empty() ? StringAttr() : builder.getStringAttr(program.header),
        DictionaryAttr(), ArrayAttr(), ArrayAttr());
    if (!program.assumedFilled.empty()) {
      llvm::SmallVector<StringRef> filled(program.assumedFilled.begin(),
                                          program.assumedFilled.end());
      nest.setFilledAttr(builder.getStrArrayAttr(filled));
    }
    nest.getBody().emplaceBlock();
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(&nest.getBody().front());
      emitBody(program.body);
    }
    llvm::SmallVector<Attribute> symbols;
    for (VarId id : used)
      symbols.push_back(symbol(id));
    nest.setSymbolsAttr(builder.getArrayAttr(symbols));
    if (!program.reason.empty() || !verifies(nest)) {
      nest.erase();
      return {};
    }
    return nest;
  }

private:
  bool verifies(kb::NestOp nest) {
    std::string message;
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (message.empty())
        message = diagnostic.str();
      return success();
    });
    if (succeeded(verify(nest)))
      return true;
    program.refuse("its raised form does not verify: " + message + " (a bug of kb-opt)");
    return false;
  }

  kb::SymbolAttr symbol(VarId id) {
    const Space::Variable &variable = space[id];
    bool isParam = variable.kind == Space::Param;
    return kb::SymbolAttr::get(
        context, variable.name, isParam ? kb::SymbolOrigin::Param : kb::SymbolOrigin::Varying,
        isParam ? variable.argument : -1, variable.byteOffset, variable.bits, variable.isSigned);
  }

  //===-- Polynomials -----------------------------------------------------===//

  bool isSymbolic(VarId id) const {
    return !llvm::is_contained(dims, id) &&
           llvm::none_of(dims, [&](VarId dim) { return space.dependsOn(Poly::variable(id), dim); });
  }

  AffineExpr leaf(VarId id, llvm::SmallVectorImpl<StringAttr> &symbols) {
    if (auto *at = llvm::find(dims, id); at != dims.end())
      return getAffineDimExpr(kb::firstLoopDim + (at - dims.begin()), context);
    if (id >= analysis::BdimVar && id < analysis::FirstOtherVar)
      return getAffineSymbolExpr(id - analysis::BdimVar, context);
    const Space::Variable &variable = space[id];
    if (variable.kind != Space::Param && variable.kind != Space::Varying) {
      program.refuse("'" + variable.name + "' is used outside of its loop");
      return getAffineConstantExpr(0, context);
    }
    if (!llvm::is_contained(used, id))
      used.push_back(id);
    StringAttr name = builder.getStringAttr(variable.name);
    auto *at = llvm::find(symbols, name);
    unsigned position = at - symbols.begin();
    if (at == symbols.end())
      symbols.push_back(name);
    return getAffineSymbolExpr(kb::firstNamedSymbol + position, context);
  }

  AffineExpr affine(const Poly &poly, llvm::SmallVectorImpl<StringAttr> &symbols) {
    AffineExpr zero = getAffineConstantExpr(0, context), sum = zero;
    for (auto &[monomial, coefficient] : llvm::reverse(poly.monomials())) {
      AffineExpr product, dim;
      for (VarId id : monomial) {
        const Space::Variable variable = space[id];
        AffineExpr factor;
        if (variable.kind == Space::FloorDiv || variable.kind == Space::Mod) {
          AffineExpr dividend = affine(variable.dividend, symbols),
                     divisor = affine(variable.divisor, symbols);
          if (!divisor.isSymbolicOrConstant()) {
            program.refuse("an index is divided by what differs between threads");
            return zero;
          }
          factor = variable.kind == Space::Mod ? dividend % divisor : dividend.floorDiv(divisor);
        } else {
          factor = leaf(id, symbols);
        }
        if (isSymbolic(id)) {
          product = product ? product * factor : factor;
        } else if (dim) {
          program.refuse("the index '" + space.text(poly) + "' is not affine");
          return zero;
        } else {
          dim = factor;
        }
      }
      if (dim)
        product = product ? dim * product : dim;
      sum = sum + (product ? product * coefficient : getAffineConstantExpr(coefficient, context));
    }
    return sum;
  }

  kb::ExprAttr expression(const Poly &poly) {
    llvm::SmallVector<StringAttr> symbols;
    AffineExpr expr = affine(poly, symbols);
    auto map =
        AffineMap::get(kb::firstLoopDim + dims.size(), kb::firstNamedSymbol + symbols.size(), expr);
    return kb::ExprAttr::get(context, loopNames(), symbols, map);
  }

  llvm::SmallVector<StringAttr> loopNames() {
    llvm::SmallVector<StringAttr> names;
    for (VarId id : dims)
      names.push_back(builder.getStringAttr(space[id].name));
    return names;
  }

  kb::DomainAttr domain(llvm::ArrayRef<Constraint> constraints) {
    llvm::SmallVector<StringAttr> symbols;
    llvm::SmallVector<AffineExpr> conditions;
    llvm::SmallVector<bool> isEquality;
    for (const Constraint &each : constraints) {
      conditions.push_back(affine(each.poly, symbols));
      isEquality.push_back(each.isEquality);
    }
    auto set = IntegerSet::get(kb::firstLoopDim + dims.size(),
                               kb::firstNamedSymbol + symbols.size(), conditions, isEquality);
    return kb::DomainAttr::get(context, loopNames(), symbols, set, true);
  }

  //===-- Statements ------------------------------------------------------===//

  kb::OperandAttr operand(const Operand &each) {
    bool isElement = each.kind == Operand::Element;
    if (each.kind == Operand::Collective)
      program.refuse("its threads work together by '" + each.function + "'");
    if (isElement && each.base.memory == Base::Shared)
      program.refuse("its threads exchange values through '" + each.base.name + "'");
    auto base = isElement ? kb::BaseAttr::get(context, each.base.kind, each.base.name,
                                              each.base.argument, each.base.byteOffset)
                          : kb::BaseAttr::get(context, kb::BaseKind::Unknown, "", -1, 0);
    return kb::OperandAttr::get(context,
                                isElement ? kb::OperandKind::Element : kb::OperandKind::Index, base,
                                each.type, each.bytes, expression(each.offset), {}, {});
  }

  ArrayAttr operands(const Text &text) {
    llvm::SmallVector<Attribute> all;
    for (const Operand &each : text.operands)
      all.push_back(operand(each));
    return builder.getArrayAttr(all);
  }

  void emitBody(const std::vector<Statement> &body) {
    for (const Statement &each : body)
      if (program.reason.empty())
        emitStatement(each);
  }

  template <class Op> void emitInside(Op op, const std::vector<Statement> &body) {
    op.getBody().emplaceBlock();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&op.getBody().front());
    emitBody(body);
  }

  void emitStatement(const Statement &each) {
    switch (each.kind) {
    case Statement::Let:
      declared.insert(each.name);
      kb::LetOp::create(builder, location, each.name, each.type, each.value.text,
                        operands(each.value), false);
      return;
    case Statement::Assign:
      kb::LetOp::create(builder, location, each.name, each.type, each.value.text,
                        operands(each.value), true);
      return;
    case Statement::Combine:
      return emitCombine(each);
    case Statement::Store:
      kb::StoreOp::create(builder, location, operand(each.target), each.value.text,
                          operands(each.value), StringAttr());
      return;
    case Statement::Atomic:
      kb::StoreOp::create(builder, location, operand(each.target), each.value.text,
                          operands(each.value), builder.getStringAttr(each.function));
      return;
    case Statement::For:
      return emitLoop(each);
    case Statement::If:
      return emitIf(each);
    case Statement::Barrier:
      return program.refuse("its threads wait for each other at a barrier");
    case Statement::Opaque:
      return program.refuse(each.reason);
    }
  }

  /// A kb.reduce in a reduction loop, otherwise a new value.
  void emitCombine(const Statement &each) {
    if (reducing.count(each.name)) {
      kb::ReduceOp::create(builder, location, each.name, each.reduction, each.combine,
                           each.identity, each.value.text, operands(each.value));
      return;
    }
    std::string text;
    llvm::StringRef rest = each.combine;
    while (!rest.empty()) {
      if (rest.consume_front("%a"))
        text += each.name;
      else if (rest.consume_front("%b"))
        text += "(" + each.value.text + ")";
      else
        text += rest.front(), rest = rest.drop_front();
    }
    kb::LetOp::create(builder, location, each.name, each.type, text, operands(each.value), true);
  }

  void emitLoop(const Statement &each) {
    std::string &name = space[each.variable].name;
    for (std::string wish = name; !loops.insert(name).second;) {
      for (unsigned i = 2; !program.names.insert(name = wish + "_" + std::to_string(i)).second;)
        ++i;
    }
    auto over = kb::OverOp::create(
        builder, location, space[each.variable].name, expression(each.end), each.order, each.team,
        each.progress == Statement::Until ? builder.getStringAttr(each.value.text) : StringAttr());
    std::set<std::string> before = reducing;
    if (each.order == kb::LoopOrder::Reduction) {
      std::set<std::string> inside;
      walk(const_cast<std::vector<Statement> &>(each.body), [&](Statement &inner) {
        if (inner.kind == Statement::Let)
          inside.insert(inner.name);
        return true;
      });
      walk(const_cast<std::vector<Statement> &>(each.body), [&](Statement &inner) {
        if (inner.kind == Statement::Combine && !inside.count(inner.name))
          reducing.insert(inner.name);
        return true;
      });
    }
    dims.push_back(each.variable);
    emitInside(over, each.body);
    dims.pop_back();
    reducing = std::move(before);
  }

  void emitIf(const Statement &each) {
    if (each.constraints.empty() || each.value.text.empty()) {
      auto when = kb::WhenOp::create(
          builder, location, each.constraints.empty() ? kb::DomainAttr() : domain(each.constraints),
          each.value.text, operands(each.value));
      return emitInside(when, each.body);
    }
    auto outer = kb::WhenOp::create(builder, location, domain(each.constraints), "",
                                    builder.getArrayAttr({}));
    outer.getBody().emplaceBlock();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&outer.getBody().front());
    Statement inner = each;
    inner.constraints.clear();
    emitIf(inner);
  }

  ThreadProgram &program;
  Space &space;
  OpBuilder &builder;
  MLIRContext *context;
  Location location;
  kb::KernelOp kernel;
  llvm::SmallVector<VarId> dims; ///< of the nest, then of the loops around
  llvm::SmallVector<Poly> extents;
  llvm::SmallVector<VarId> used; ///< symbols
  std::set<std::string> declared, reducing, loops;
};

} // namespace

kb::NestOp emitNest(ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions,
                    kb::KernelOp kernel, OpBuilder &builder) {
  return NestEmitter(program, dimensions, kernel, builder).emit();
}

} // namespace kbopt::raise
