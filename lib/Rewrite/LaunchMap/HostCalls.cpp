//===- HostCalls.cpp - Launches and other calls of the host ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HostEvaluator.h"
#include "kb-opt/Rewrite/AllocationTest.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/LaunchMemory.h"
#include "llvm/ADT/StringSwitch.h"

using namespace kbopt;
using namespace kbopt::hostmap;
using namespace clang;
using llvm::APSInt;
using llvm::StringRef;

void HostEvaluator::add(kbrt::Step step) {
  state.memory.perform(step);
  changesState |= !std::holds_alternative<kbrt::LaunchStep>(step);
  steps.push_back(std::move(step));
}

HostEvaluator::Result HostEvaluator::success(const CallExpr *expr) {
  return integerOf(0, expr->getType(), ast);
}

HostEvaluator::Result HostEvaluator::call(const CallExpr *expr) {
  const FunctionDecl *callee = expr->getDirectCallee();
  if (!callee || !callee->getIdentifier())
    return refuse(expr, "a call through a pointer is not followed");
  const StringRef name = callee->getName();
  bool isKnown = false;
  if (added.launchMemory && name.starts_with(launchMemoryFunction) && expr->getNumArgs() == 2)
    return memoryForLaunch(expr);
  if (added.allocationTest && name.starts_with(allocationTest) && expr->getNumArgs() == 2) {
    const std::optional<uint64_t> a = address(expr->getArg(0)),
                                  b = a ? address(expr->getArg(1)) : std::nullopt;
    return b ? Result(integerOf(state.memory.areApart(*a, *b), expr->getType(), ast))
             : std::nullopt;
  }
  if (isTensorMapFunction(name))
    return tensorMap(expr, name);
  Result result = callApi(expr, name, isKnown);
  if (isKnown)
    return result;
  const FunctionDecl *definition = nullptr;
  if (callee->hasBody(definition) && !program.sources().isInSystemHeader(definition->getLocation()))
    return callFunction(expr, definition);
  return refuse(expr, "what '" + name + "' returns is not known");
}

HostEvaluator::Result HostEvaluator::callApi(const CallExpr *expr, StringRef name, bool &isKnown) {
  const unsigned count = expr->getNumArgs();
  isKnown = true;
  if (!program.sources().isInSystemHeader(expr->getDirectCallee()->getLocation())) {
    isKnown = false;
    return std::nullopt;
  }
  if ((name == "cudaMalloc" && count == 2) || (name == "cudaMallocAsync" && count == 3))
    return allocate(expr);
  if ((name == "cudaFree" && count == 1) || (name == "cudaFreeAsync" && count == 2))
    return release(expr);
  if ((name == "cudaMemset" && count == 3) || (name == "cudaMemsetAsync" && count == 4))
    return fill(expr, count == 4 ? expr->getArg(3) : nullptr);
  if ((name == "cudaMemcpy" && count == 4) || (name == "cudaMemcpyAsync" && count == 5))
    return copy(expr, count == 5 ? expr->getArg(4) : nullptr);
  if (name == "cudaFuncSetAttribute" && count == 3)
    return setAttribute(expr);
  if ((name == "min" || name == "max") && count == 2)
    return extremum(expr, name == "max");
  isKnown = false;
  return std::nullopt;
}

HostEvaluator::Result HostEvaluator::extremum(const CallExpr *expr, bool isMax) {
  Result left = evaluate(expr->getArg(0)), right = left ? evaluate(expr->getArg(1)) : std::nullopt;
  if (!right)
    return std::nullopt;
  const auto *a = std::get_if<APSInt>(&*left), *b = std::get_if<APSInt>(&*right);
  // CUDA's take arguments of different types as well.
  if (!a || !b || a->getBitWidth() != b->getBitWidth() || a->isSigned() != b->isSigned())
    return refuse(expr, "the larger or smaller of two values of different types is not followed");
  return HostValue(
      asInteger((*a < *b) == isMax ? *b : *a, expr->getType().getNonReferenceType(), ast));
}

std::optional<HostEvaluator::Frame> HostEvaluator::frameOf(const Expr *expr,
                                                           const FunctionDecl *function,
                                                           llvm::ArrayRef<const Expr *> arguments) {
  constexpr size_t deepest = 16;
  if (frames.size() > deepest || function->isVariadic() ||
      arguments.size() != function->getNumParams())
    return refuse(expr, "the call of '" + function->getNameAsString() + "' is not followed");
  Frame frame;
  for (auto [parameter, argument] : llvm::zip_equal(function->parameters(), arguments)) {
    QualType type = parameter->getType();
    if (type->isReferenceType() && !type.getNonReferenceType().isConstQualified())
      return refuse(expr, "'" + function->getNameAsString() + "' may change its argument");
    Result value = evaluate(argument);
    if (!value)
      return std::nullopt;
    frame.variables[parameter] = std::move(*value);
  }
  return frame;
}

HostEvaluator::Result HostEvaluator::callFunction(const CallExpr *expr,
                                                  const FunctionDecl *function) {
  std::optional<Frame> frame = frameOf(expr, function, {expr->getArgs(), expr->getNumArgs()});
  if (!frame)
    return std::nullopt;
  frames.push_back(std::move(*frame));
  const Flow flow = execute(function->getBody());
  frames.pop_back();
  if (flow == Flow::Stop)
    return std::nullopt;
  if (function->getReturnType()->isVoidType())
    return HostValue();
  if (flow != Flow::Return || !returned.index())
    return refuse(expr, "'" + function->getNameAsString() + "' returns nothing");
  return returned;
}

//===-- Memory -------------------------------------------------------------===//

HostEvaluator::Result HostEvaluator::allocate(const CallExpr *expr) {
  Result target = evaluate(expr->getArg(0));
  const auto *variable = target ? std::get_if<const VarDecl *>(&*target) : nullptr;
  HostValue *pointer = variable ? place(*variable) : nullptr;
  if (!pointer)
    return refuse(expr, "memory is allocated for a variable that is not known");
  const std::optional<uint64_t> bytes = natural(expr->getArg(1));
  const bool isOnStream = expr->getNumArgs() == 3;
  const std::optional<uint32_t> id = bytes && isOnStream ? stream(expr->getArg(2)) : std::nullopt;
  if (!bytes || (isOnStream && !id))
    return std::nullopt;
  changesState = true;
  if (!*bytes) {
    *pointer = Address{};
    return success(expr);
  }
  const std::optional<uint32_t> buffer = state.memory.allocate(*bytes);
  if (!buffer)
    return refuse(expr, "there is no room for " + llvm::Twine(*bytes) + " bytes");
  *pointer = Address{state.memory.buffers[*buffer].address};
  add(kbrt::AllocStep{*buffer, id});
  return success(expr);
}

HostEvaluator::Result HostEvaluator::memoryForLaunch(const CallExpr *expr) {
  const std::optional<uint64_t> bytes = natural(expr->getArg(0));
  const std::optional<uint32_t> id = bytes ? stream(expr->getArg(1)) : std::nullopt,
                                buffer =
                                    id && *bytes ? state.memory.allocate(*bytes) : std::nullopt;
  if (!id)
    return std::nullopt;
  if (!buffer)
    return refuse(expr, "there is no room for " + llvm::Twine(*bytes) + " bytes");
  changesState = true;
  add(kbrt::AllocStep{*buffer, id});
  return HostValue(Address{state.memory.buffers[*buffer].address});
}

HostEvaluator::Result HostEvaluator::release(const CallExpr *expr) {
  const std::optional<uint64_t> pointer = address(expr->getArg(0));
  const bool isOnStream = expr->getNumArgs() == 2;
  const std::optional<uint32_t> id = pointer && isOnStream ? stream(expr->getArg(1)) : std::nullopt;
  if (!pointer || (isOnStream && !id))
    return std::nullopt;
  if (!*pointer)
    return success(expr);
  const std::optional<uint32_t> buffer = state.memory.startingAt(*pointer);
  if (!buffer)
    return refuse(expr, "what is freed is no allocation");
  // The host then sees what kernels have written to memory that it shares.
  if (!isOnStream && llvm::any_of(state.memory.buffers, [](const kbrt::Buffer &each) {
        return each.kind == kbrt::BufferKind::Managed || each.kind == kbrt::BufferKind::Pinned;
      }))
    return refuse(expr, "freeing waits for kernels that share memory with the host");
  add(kbrt::FreeStep{*buffer, id});
  return success(expr);
}

std::optional<kbrt::Location> HostEvaluator::wholeRegion(const Expr *expr, uint64_t address,
                                                         uint64_t bytes) {
  const std::optional<kbrt::Location> at = state.memory.find(address);
  if (!at || bytes > state.memory.buffers[at->buffer].bytes - at->offset)
    return refuse(expr, "the bytes are not those of one allocation");
  return at;
}

HostEvaluator::Result HostEvaluator::fill(const CallExpr *expr, const Expr *onStream) {
  const std::optional<uint64_t> to = address(expr->getArg(0)),
                                bytes = to ? natural(expr->getArg(2)) : std::nullopt;
  Result value = bytes ? evaluate(expr->getArg(1)) : std::nullopt;
  const std::optional<uint32_t> id = value ? stream(onStream) : std::nullopt;
  const auto *byte = id ? std::get_if<APSInt>(&*value) : nullptr;
  if (!byte)
    return std::nullopt;
  if (!*bytes)
    return refuse(expr, "no bytes are set");
  const std::optional<kbrt::Location> at = wholeRegion(expr, *to, *bytes);
  if (!at)
    return std::nullopt;
  add(kbrt::FillStep{kbrt::Region::linear(*at, *bytes),
                     static_cast<uint8_t>(byte->extOrTrunc(64).getZExtValue()), *id});
  return success(expr);
}

HostEvaluator::Result HostEvaluator::copy(const CallExpr *expr, const Expr *onStream) {
  const std::optional<uint64_t> to = address(expr->getArg(0)),
                                from = to ? address(expr->getArg(1)) : std::nullopt,
                                bytes = from ? natural(expr->getArg(2)) : std::nullopt,
                                kind = bytes ? natural(expr->getArg(3)) : std::nullopt;
  const std::optional<uint32_t> id = kind ? stream(onStream) : std::nullopt;
  if (!id)
    return std::nullopt;
  constexpr uint64_t deviceToDevice = 3;
  if (*kind != deviceToDevice || !*bytes)
    return refuse(expr, "only copies from device memory to device memory are followed");
  const std::optional<kbrt::Location> target = wholeRegion(expr, *to, *bytes),
                                      source =
                                          target ? wholeRegion(expr, *from, *bytes) : std::nullopt;
  if (!source)
    return std::nullopt;
  add(kbrt::CopyStep{kbrt::Region::linear(*target, *bytes), kbrt::Region::linear(*source, *bytes),
                     *id});
  return success(expr);
}

//===-- Launches -----------------------------------------------------------===//

/// What a block may have of dynamic shared memory without asking, and at most on any chip.
constexpr uint64_t sharedWithoutAsking = 48 * 1024, mostShared = 227 * 1024;

HostEvaluator::Result HostEvaluator::setAttribute(const CallExpr *expr) {
  Result function = evaluate(expr->getArg(0));
  const auto *kernel = function ? std::get_if<const FunctionDecl *>(&*function) : nullptr;
  const std::optional<uint64_t> attribute = kernel ? natural(expr->getArg(1)) : std::nullopt;
  const std::optional<uint64_t> value = attribute ? natural(expr->getArg(2)) : std::nullopt;
  if (!value)
    return refuse(expr, "the attribute of a kernel is not known");
  constexpr uint64_t maxDynamicShared = 8;
  if (*attribute == maxDynamicShared) {
    if (*value > mostShared)
      return refuse(expr, "no block has so much shared memory");
    state.sharedLimits[facts.mangledName(*kernel).str()] = *value;
  }
  return success(expr);
}

bool HostEvaluator::checkShape(const Expr *expr, const FunctionDecl *kernel,
                               const kbrt::LaunchStep &step) {
  constexpr uint64_t mostGridX = 0x7fffffff, mostGridYZ = 65535, mostThreads = 1024,
                     mostBlockZ = 64;
  const auto &[gx, gy, gz] = step.grid;
  const uint64_t threads = step.block.count();
  uint64_t most = mostThreads;
  if (const auto *bounds = kernel->getAttr<CUDALaunchBoundsAttr>())
    if (const auto *limit = std::get_if<APSInt>(&facts.constant(bounds->getMaxThreads(), ast)))
      most = std::min(most, limit->getZExtValue());
  if (!gx || !gy || !gz || gx > mostGridX || gy > mostGridYZ || gz > mostGridYZ || !threads ||
      threads > most || step.block.z > mostBlockZ) {
    refuse(expr, "the launch has a shape that fails");
    return false;
  }
  auto asked = state.sharedLimits.find(step.kernel);
  const uint64_t allowed = std::max(
      sharedWithoutAsking, asked == state.sharedLimits.end() ? uint64_t(0) : asked->second);
  if (step.sharedBytes > allowed) {
    refuse(expr, "it is not known whether the kernel may have so much shared memory");
    return false;
  }
  return true;
}

HostEvaluator::Result HostEvaluator::launch(const CUDAKernelCallExpr *expr) {
  const FunctionDecl *kernel = expr->getDirectCallee();
  const CallExpr *shape = expr->getConfig();
  if (!kernel || !kernel->hasAttr<CUDAGlobalAttr>() || !shape || shape->getNumArgs() < 4 ||
      expr->getNumArgs() != kernel->getNumParams())
    return refuse(expr, "the kernel of a launch is not known");
  kbrt::LaunchStep step;
  step.kernel = facts.mangledName(kernel).str();
  const std::optional<kbrt::Dim3> grid = extents(shape->getArg(0)),
                                  block = grid ? extents(shape->getArg(1)) : std::nullopt;
  const std::optional<uint64_t> shared = block ? natural(shape->getArg(2)) : std::nullopt;
  const std::optional<uint32_t> onStream = shared ? stream(shape->getArg(3)) : std::nullopt;
  if (!onStream)
    return std::nullopt;
  step.grid = *grid;
  step.block = *block;
  step.sharedBytes = *shared;
  step.stream = *onStream;
  for (unsigned i = 0; i < expr->getNumArgs(); ++i) {
    QualType type = kernel->getParamDecl(i)->getType();
    Result value = evaluate(expr->getArg(i));
    if (!value)
      return std::nullopt;
    auto bytes = bytesOf(*value, type, ast);
    if (!bytes)
      return refuse(expr->getArg(i), "the argument has another type than the kernel's parameter");
    if (const auto *pointer = std::get_if<Address>(&*value); pointer && type->isPointerType())
      state.memory.noteElement(
          pointer->value,
          kbrt::elementTypeFromCxx(
              type->getPointeeType().getCanonicalType().getUnqualifiedType().getAsString(
                  ast.getPrintingPolicy())));
    std::vector<kbrt::PointerWord> pointers = state.memory.pointersIn(*bytes);
    step.arguments.push_back({std::move(*bytes), std::move(pointers)});
  }
  if (!checkShape(expr, kernel, step))
    return std::nullopt;
  add(std::move(step));
  return HostValue();
}
