//===- Import.cpp - A program as kb IR -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the import of whole programs: kernels, launches, and the look-ups from
// operations to AST nodes.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Analysis/Import.h"

#include "HostValues.h"
#include "KernelImporter.h"
#include "kb-opt/Analysis/Legality.h"
#include "kb-opt/Support/Interrupt.h"
#include "mlir/IR/Verifier.h"
#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include <chrono>

using namespace mlir;

namespace kbopt {

/// Builds an ImportedProgram.
class Importer {
public:
  Importer(const ParsedProgram &parsed, const analysis::DeviceModule &device, MLIRContext &context)
      : parsed(parsed), device(device), context(context), index(parsed) {}

  llvm::Expected<ImportedProgram> run(StringRef bitcode, llvm::function_ref<bool()> stop) {
    ImportedProgram result;
    result.parsed = &parsed;
    result.bitcode = bitcode.str();
    auto file = StringAttr::get(&context, parsed.shownFile());
    auto start = FileLineColLoc::get(file, 1, 1);
    result.module = ModuleOp::create(start);
    auto builder = OpBuilder::atBlockEnd(result.module->getBody());
    result.program = kb::ProgramOp::create(builder, start, file);
    result.program.getBody().emplaceBlock();
    result.launches = findLaunches(parsed);
    for (const KernelFact &fact : findKernels(parsed))
      for (const KernelFact::Instance &instance : fact.instances) {
        if (stop())
          return interruption();
        importKernel(result, fact, instance);
      }
    importLaunches(result);
    result.statements = std::move(ties.statements);
    result.declarations = std::move(ties.declarations);
    result.functions = std::move(ties.functions);
    tally(result);
    return result;
  }

private:
  Location location(clang::SourceRange range) {
    const clang::SourceManager &sources = parsed.sources();
    clang::PresumedLoc first = sources.getPresumedLoc(sources.getExpansionLoc(range.getBegin()));
    clang::PresumedLoc end = sources.getPresumedLoc(sources.getExpansionLoc(range.getEnd()));
    if (first.isInvalid() || end.isInvalid())
      return UnknownLoc::get(&context);
    bool main = sources.isInMainFile(sources.getExpansionLoc(range.getBegin()));
    auto file =
        StringAttr::get(&context, main ? parsed.shownFile() : StringRef(first.getFilename()));
    return FileLineColRange::get(file, first.getLine(), first.getColumn(), end.getLine(),
                                 end.getColumn() + 1);
  }

  kb::ParamAttr parameter(const clang::ParmVarDecl *declaration) {
    const clang::ASTContext &ast = parsed.context();
    clang::QualType type = declaration->getType();
    int64_t bytes = ast.getTypeSizeInChars(type.getNonReferenceType()).getQuantity(), element = 0;
    bool isConst = false;
    if (type->isPointerType()) {
      clang::QualType pointee = type->getPointeeType();
      isConst = pointee.isConstQualified();
      if (!pointee->isIncompleteType() && !pointee->isFunctionType())
        element = ast.getTypeSizeInChars(pointee).getQuantity();
    }
    return kb::ParamAttr::get(&context, declaration->getName(),
                              type.getAsString(ast.getPrintingPolicy()), bytes,
                              type->isPointerType(), element, isConst, type.isRestrictQualified());
  }

  void importKernel(ImportedProgram &result, const KernelFact &fact,
                    const KernelFact::Instance &instance) {
    auto symbol = StringAttr::get(&context, instance.mangledName);
    if (result.kernelsByName.contains(symbol))
      return;
    const clang::FunctionDecl *declaration = instance.function;
    auto builder = OpBuilder::atBlockEnd(&result.program.getBody().front());
    SmallVector<Attribute> params;
    for (const clang::ParmVarDecl *param : declaration->parameters())
      params.push_back(parameter(param));
    std::string name = fact.name;
    if (const clang::TemplateArgumentList *arguments =
            declaration->getTemplateSpecializationArgs()) {
      llvm::raw_string_ostream os(name);
      clang::printTemplateArgumentList(os, arguments->asArray(),
                                       parsed.context().getPrintingPolicy());
    }
    IntegerAttr maxThreads, minBlocks;
    if (auto *bounds = declaration->getAttr<clang::CUDALaunchBoundsAttr>()) {
      auto fold = [&](const clang::Expr *expr) -> IntegerAttr {
        auto value = expr ? analysis::foldHost(parsed.context(), expr, nullptr) : std::nullopt;
        return value ? builder.getI64IntegerAttr(*value) : IntegerAttr();
      };
      maxThreads = fold(bounds->getMaxThreads());
      minBlocks = fold(bounds->getMinBlocks());
    }
    auto op = kb::KernelOp::create(builder, location(fact.function->getSourceRange()),
                                   instance.mangledName, name, builder.getArrayAttr(params),
                                   builder.getArrayAttr({}), ArrayAttr(), maxThreads, minBlocks);
    op.getBody().emplaceBlock();
    result.kernelsByName[symbol] = op;
    ties.declarations[op] = declaration;
    ties.functions[op] = declaration;
    llvm::Function *function = device.kernel(instance.mangledName);
    auto inside = OpBuilder::atBlockEnd(&op.getBody().front());
    if (!function || function->arg_size() != declaration->getNumParams()) {
      kb::OpaqueOp::create(inside, op.getLoc(),
                           inside.getStringAttr(function ? "its parameters differ in device code"
                                                         : "there is no device code for it"),
                           StringAttr());
      return;
    }
    index.add(declaration);
    analysis::LaunchRanges launches;
    if (!isNamedOutsideLaunches(parsed, declaration))
      launches = analysis::launchRanges(parsed.context(), result.launches, instance.mangledName);
    analysis::KernelImporter(parsed, index, device, *function, declaration, op, launches, ties)
        .run();
  }

  /// As written; printed from the AST where the text is a macro's.
  StringAttr text(const clang::Expr *expr) {
    if (!expr)
      return {};
    StringRef written = sourceText(parsed, expr->getSourceRange());
    if (!written.empty())
      return StringAttr::get(&context, written);
    std::string printed;
    llvm::raw_string_ostream os(printed);
    expr->printPretty(os, nullptr, parsed.context().getPrintingPolicy());
    return StringAttr::get(&context, printed);
  }

  void importLaunches(ImportedProgram &result) {
    auto builder = OpBuilder::atBlockEnd(&result.program.getBody().front());
    for (auto [position, fact] : llvm::enumerate(result.launches)) {
      auto grid = analysis::foldDim3(parsed.context(), fact.grid, fact.host);
      auto block = analysis::foldDim3(parsed.context(), fact.block, fact.host);
      if (fact.instances > 1) // they may differ
        grid = block = {-1, -1, -1};
      SmallVector<Attribute> arguments;
      for (const clang::Expr *argument : fact.arguments)
        arguments.push_back(isa<clang::CXXDefaultArgExpr>(argument) ? builder.getStringAttr("")
                                                                    : text(argument));
      auto orUnknown = [&](StringAttr known) { return known ? known : builder.getStringAttr("?"); };
      for (const std::string &name : fact.mangledNames) {
        auto symbol = StringAttr::get(&context, name);
        if (!result.kernelsByName.contains(symbol))
          continue;
        auto op = kb::LaunchOp::create(
            builder, location(fact.call->getSourceRange()), name, orUnknown(text(fact.grid)),
            orUnknown(text(fact.block)), text(fact.shared), text(fact.stream),
            builder.getArrayAttr(arguments), builder.getDenseI64ArrayAttr(grid),
            builder.getDenseI64ArrayAttr(block));
        result.launchIndex[op] = position;
        result.launchesByKernel[symbol].push_back(op);
      }
    }
  }

  void tally(ImportedProgram &result) {
    result.program.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (const clang::Stmt *statement = result.statements.lookup(op))
        result.opsByPlace[statement->getBeginLoc()].push_back(op);
      if (auto access = dyn_cast<kb::AccessOp>(op)) {
        ++result.stats.accesses;
        result.stats.mapped += bool(access.getAddressAttr());
        result.stats.tied += result.statements.count(op);
      } else if (isa<kb::LoopOp>(op)) {
        ++result.stats.loops;
        result.stats.loopsTied += result.statements.count(op);
      }
    });
  }

  const ParsedProgram &parsed;
  const analysis::DeviceModule &device;
  MLIRContext &context;
  analysis::AstIndex index;
  analysis::Ties ties;
};

llvm::Expected<ImportedProgram> importProgram(const ParsedProgram &parsed, llvm::StringRef bitcode,
                                              MLIRContext &context,
                                              llvm::function_ref<bool()> stop) {
  auto start = std::chrono::steady_clock::now();
  context.loadDialect<kb::KbDialect>();
  auto device = analysis::DeviceModule::create(bitcode);
  if (!device)
    return device.takeError();
  llvm::Expected<ImportedProgram> result = Importer(parsed, **device, context).run(bitcode, stop);
  if (!result)
    return result.takeError();
  assert(succeeded(verify(*result->module)) && "the import made invalid kb IR");
  result->stats.importMs =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

const clang::Expr *ImportedProgram::exprOf(kb::AccessOp access) const {
  return dyn_cast_or_null<clang::Expr>(statements.lookup(access));
}
const clang::Stmt *ImportedProgram::stmtOf(kb::LoopOp loop) const {
  return statements.lookup(loop);
}
const clang::Stmt *ImportedProgram::stmtOf(kb::BranchOp branch) const {
  return statements.lookup(branch);
}
const clang::FunctionDecl *ImportedProgram::declOf(kb::KernelOp kernel) const {
  return cast<clang::FunctionDecl>(declarations.lookup(kernel));
}
const LaunchFact *ImportedProgram::factOf(kb::LaunchOp launch) const {
  return &launches[launchIndex.lookup(launch)];
}
const clang::VarDecl *ImportedProgram::declOf(kb::SharedOp shared) const {
  return cast_or_null<clang::VarDecl>(declarations.lookup(shared));
}
const clang::FunctionDecl *ImportedProgram::functionOf(Operation *op) const {
  return functions.lookup(op);
}

template <typename Op> SmallVector<Op> ImportedProgram::opsOf(const clang::Stmt *wanted) const {
  SmallVector<Op> result;
  auto found = opsByPlace.find(wanted->getBeginLoc());
  if (found == opsByPlace.end())
    return result;
  for (Operation *each : found->second)
    if (auto op = dyn_cast<Op>(each);
        op && statements.lookup(each)->getSourceRange() == wanted->getSourceRange())
      result.push_back(op);
  return result;
}

SmallVector<kb::AccessOp> ImportedProgram::accessesOf(const clang::Expr *expr) const {
  return opsOf<kb::AccessOp>(expr);
}
SmallVector<kb::LoopOp> ImportedProgram::loopsOf(const clang::Stmt *stmt) const {
  return opsOf<kb::LoopOp>(stmt);
}

void ImportedProgram::print(llvm::raw_ostream &os, bool locations) const {
  OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/true);
  const_cast<kb::ProgramOp &>(program)->print(os, flags);
  os << '\n';
}

SmallVector<kb::KernelOp> ImportedProgram::kernels() const {
  auto ops = const_cast<kb::ProgramOp &>(program).getBody().getOps<kb::KernelOp>();
  return SmallVector<kb::KernelOp>(ops.begin(), ops.end());
}

SmallVector<kb::KernelOp> ImportedProgram::kernelsOf(const KernelFact &fact) const {
  SmallVector<kb::KernelOp> result;
  for (const KernelFact::Instance &instance : fact.instances) {
    auto name =
        StringAttr::get(const_cast<kb::ProgramOp &>(program).getContext(), instance.mangledName);
    if (auto found = kernelsByName.find(name); found != kernelsByName.end())
      result.push_back(found->second);
  }
  return result;
}

SmallVector<kb::LaunchOp> ImportedProgram::launchesOf(kb::KernelOp kernel) const {
  auto found = launchesByKernel.find(kernel.getSymNameAttr());
  if (found == launchesByKernel.end())
    return {};
  return SmallVector<kb::LaunchOp>(found->second.begin(), found->second.end());
}

} // namespace kbopt
