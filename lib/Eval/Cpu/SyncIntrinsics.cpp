//===- SyncIntrinsics.cpp - Special registers, barriers, warp operations --===//
// SPDX-License-Identifier: Apache-2.0
#include "Intrinsics.h"
#include "Steps.h"
#include "llvm/ADT/StringSwitch.h"
#include <cstddef>

using namespace llvm;
using kbrt::AccessKind;

namespace kbopt::cpu {

Lowered emitSpecialRegister(ImageContext &context, ThreadState &state, IRBuilderBase &b,
                            StringRef name) {
  auto [base, axis] = name.split('.');
  int dimension = StringSwitch<int>(axis).Case("x", 0).Case("y", 1).Case("z", 2).Default(-1);
  Type *i32 = b.getInt32Ty();
  if (dimension >= 0) {
    if (base == "tid")
      return state.tid(dimension);
    if (base == "ntid")
      return state.ntid(dimension);
    if (base == "ctaid" || base == "clusterid")
      return state.ctaid(dimension);
    if (base == "nctaid" || base == "nclusterid")
      return state.nctaid(dimension);
    if (base == "cluster_ctaid")
      return b.getInt32(0);
    if (base == "cluster_nctaid")
      return b.getInt32(1);
  }
  if (name == "warpsize" || name == "WARP_SZ")
    return b.getInt32(32);
  if (name == "cluster_ctarank" || name == "is_explicit_cluster")
    return b.getInt32(0);
  if (name == "cluster_nctarank")
    return b.getInt32(1);
  if (name == "smid")
    return state.field(i32, offsetof(kbrt::Block, smid), "kb.smid");
  if (name == "nsmid")
    return b.getInt32(132);
  if (name == "gridid")
    return state.field(i32, offsetof(kbrt::Block, gridId), "kb.gridid");
  if (name == "dynamic_smem_size" || name == "total_smem_size")
    return state.field(i32, offsetof(kbrt::Block, dynamicSharedBytes), "kb.dynamicSharedBytes");
  if (name == "nwarpid") {
    Value *threads = state.field(i32, offsetof(kbrt::Block, threads), "kb.threads");
    return b.CreateLShr(b.CreateAdd(threads, b.getInt32(31)), 5);
  }
  if (name == "warpid")
    return b.CreateLShr(state.linear(), 5);
  if (name == "laneid" || name.starts_with("lanemask_")) {
    Value *lane = b.CreateAnd(state.linear(), 31);
    if (name == "laneid")
      return lane;
    StringRef kind = name.drop_front(strlen("lanemask_"));
    Value *bit = b.CreateShl(b.getInt32(1), lane);
    Value *below = b.CreateSub(bit, b.getInt32(1));
    if (kind == "eq")
      return bit;
    if (kind == "lt")
      return below;
    if (kind == "le")
      return b.CreateOr(bit, below);
    if (kind == "ge")
      return b.CreateNot(below);
    if (kind == "gt")
      return b.CreateNot(b.CreateOr(bit, below));
  }
  if (name == "clock64")
    return b.CreateCall(context.runtime("kbrt_clock"));
  if (name == "clock")
    return b.CreateTrunc(b.CreateCall(context.runtime("kbrt_clock")), i32);
  if (name == "globaltimer")
    return b.CreateCall(context.runtime("kbrt_globaltimer"));
  if (name == "globaltimer.lo" || name == "globaltimer_lo")
    return b.CreateTrunc(b.CreateCall(context.runtime("kbrt_globaltimer")), i32);
  return std::nullopt;
}

static Lowered lowerBarrier(IntrinsicCall &c) {
  IRBuilder<> &b = c.builder;
  unsigned site = c.site(AccessKind::Barrier);
  bool counted = c.has("count");
  Value *id = c.argument(0);
  Value *count = counted ? c.argument(1) : b.getInt32(0);
  if (c.has("arrive"))
    return c.context.callAtSite(b, "kbrt_barrier_arrive", site, {id, count});
  if (!c.has("red"))
    return c.context.callAtSite(b, "kbrt_barrier", site, {id, count});
  unsigned op = c.has("popc") ? 0 : c.has("and") ? 1 : 2;
  Value *predicate = b.CreateZExt(c.argument(counted ? 2 : 1), b.getInt32Ty());
  Value *result =
      c.context.callAtSite(b, "kbrt_barrier_red", site, {id, count, b.getInt32(op), predicate});
  if (c.call.getType()->isIntegerTy(1))
    return b.CreateICmpNE(result, b.getInt32(0));
  return result;
}

static Lowered lowerShuffle(IntrinsicCall &c) {
  IRBuilder<> &b = c.builder;
  bool isSync = c.parts[1] == "sync";
  StringRef modeName = c.parts[isSync ? 2 : 1], type = c.parts.back();
  unsigned mode =
      StringSwitch<unsigned>(modeName).Case("idx", 0).Case("up", 1).Case("down", 2).Default(3);
  unsigned first = isSync ? 1 : 0;
  Value *mask = isSync ? c.argument(0) : (Value *)b.getInt32(~0u);
  Value *value = b.CreateBitCast(c.argument(first), b.getInt32Ty());
  bool wantsPredicate = type.ends_with("p");
  Value *predicate = wantsPredicate ? (Value *)ImageContext::entryAlloca(b, b.getInt32Ty(), "kb.p")
                                    : ConstantPointerNull::get(b.getPtrTy());
  Value *result = c.context.callAtSite(
      b, "kbrt_shuffle", c.site(AccessKind::WarpOp),
      {mask, b.getInt32(mode), value, c.argument(first + 1), c.argument(first + 2), predicate});
  result = b.CreateBitCast(result, c.argument(first)->getType());
  if (!wantsPredicate)
    return result;
  Value *inRange = b.CreateICmpNE(b.CreateLoad(b.getInt32Ty(), predicate), b.getInt32(0));
  Value *pair = b.CreateInsertValue(PoisonValue::get(c.call.getType()), result, 0);
  return b.CreateInsertValue(pair, inRange, 1);
}

static Lowered lowerVote(IntrinsicCall &c) {
  IRBuilder<> &b = c.builder;
  bool isSync = c.has("sync");
  unsigned mode =
      StringSwitch<unsigned>(c.parts[1]).Case("all", 0).Case("any", 1).Case("uni", 2).Default(3);
  Value *mask = isSync ? c.argument(0) : (Value *)b.getInt32(~0u);
  Value *predicate = b.CreateZExt(c.argument(isSync ? 1 : 0), b.getInt32Ty());
  Value *result = c.context.callAtSite(b, "kbrt_vote", c.site(AccessKind::WarpOp),
                                       {mask, b.getInt32(mode), predicate});
  if (c.call.getType()->isIntegerTy(1))
    return b.CreateICmpNE(result, b.getInt32(0));
  return result;
}

static Lowered lowerMatch(IntrinsicCall &c) {
  IRBuilder<> &b = c.builder;
  Value *value = b.CreateZExt(c.argument(1), b.getInt64Ty());
  unsigned site = c.site(AccessKind::WarpOp);
  if (c.parts[1] == "any")
    return c.context.callAtSite(b, "kbrt_match_any", site, {c.argument(0), value});
  Value *all = ImageContext::entryAlloca(b, b.getInt32Ty(), "kb.p");
  Value *mask = c.context.callAtSite(b, "kbrt_match_all", site, {c.argument(0), value, all});
  Value *isAll = b.CreateICmpNE(b.CreateLoad(b.getInt32Ty(), all), b.getInt32(0));
  Value *pair = b.CreateInsertValue(PoisonValue::get(c.call.getType()), mask, 0);
  return b.CreateInsertValue(pair, isAll, 1);
}

static Lowered lowerRedux(IntrinsicCall &c) {
  IRBuilder<> &b = c.builder;
  StringRef op = c.parts[2];
  if (op.starts_with("f") && c.has("NaN"))
    return std::nullopt;
  bool isAbs = c.has("abs");
  using R = kbrt::ReduxOp;
  R code = StringSwitch<R>(op)
               .Case("add", R::Add)
               .Case("min", R::MinSigned)
               .Case("max", R::MaxSigned)
               .Case("umin", R::MinUnsigned)
               .Case("umax", R::MaxUnsigned)
               .Case("and", R::And)
               .Case("or", R::Or)
               .Case("xor", R::Xor)
               .Case("fmin", isAbs ? R::MinAbsFloat : R::MinFloat)
               .Default(isAbs ? R::MaxAbsFloat : R::MaxFloat);
  Value *value = b.CreateBitCast(c.argument(0), b.getInt32Ty());
  Value *result = c.context.callAtSite(b, "kbrt_redux", c.site(AccessKind::WarpOp),
                                       {c.argument(1), b.getInt32(unsigned(code)), value});
  return b.CreateBitCast(result, c.call.getType());
}

/// The n-th set bit of a mask from a base on, as PTX's fns describes it.
static Value *emitFindNthSet(IntrinsicCall &c) {
  Module &module = c.context.module;
  Function *helper = module.getFunction("kb.fns");
  Type *i32 = c.builder.getInt32Ty();
  if (!helper) {
    helper = Function::Create(FunctionType::get(i32, {i32, i32, i32}, false),
                              GlobalValue::InternalLinkage, "kb.fns", module);
    helper->addFnAttr(Attribute::NoUnwind);
    LLVMContext &ctx = module.getContext();
    auto *entry = BasicBlock::Create(ctx, "", helper), *loop = BasicBlock::Create(ctx, "", helper),
         *hit = BasicBlock::Create(ctx, "", helper), *next = BasicBlock::Create(ctx, "", helper),
         *found = BasicBlock::Create(ctx, "", helper), *lost = BasicBlock::Create(ctx, "", helper);
    IRBuilder<> b(entry);
    Value *mask = helper->getArg(0), *base = helper->getArg(1), *offset = helper->getArg(2);
    Value *down = b.CreateICmpSLT(offset, b.getInt32(0));
    Value *step = b.CreateSelect(down, b.getInt32(-1), b.getInt32(1));
    Value *magnitude = b.CreateSelect(down, b.CreateNeg(offset), offset);
    Value *wanted = b.CreateSelect(b.CreateICmpEQ(offset, b.getInt32(0)), b.getInt32(1), magnitude);
    // The least offset has no magnitude; nvcc's function gives 0 for it, as was seen on an H200.
    auto *none = BasicBlock::Create(ctx, "", helper);
    b.CreateCondBr(b.CreateICmpEQ(offset, b.getInt32(1u << 31)), none, loop);
    b.SetInsertPoint(none);
    b.CreateRet(b.getInt32(0));
    b.SetInsertPoint(loop);
    PHINode *position = b.CreatePHI(i32, 2), *left = b.CreatePHI(i32, 2);
    position->addIncoming(base, entry);
    left->addIncoming(wanted, entry);
    b.CreateCondBr(b.CreateICmpULT(position, b.getInt32(32)), hit, lost);
    b.SetInsertPoint(hit);
    Value *isSet = b.CreateAnd(b.CreateLShr(mask, b.CreateAnd(position, 31)), b.getInt32(1));
    Value *rest = b.CreateSub(left, isSet);
    Value *exact = b.CreateICmpEQ(offset, b.getInt32(0));
    b.CreateCondBr(b.CreateICmpEQ(rest, b.getInt32(0)), found, next);
    b.SetInsertPoint(next);
    position->addIncoming(b.CreateAdd(position, step), next);
    left->addIncoming(rest, next);
    b.CreateCondBr(exact, lost, loop);
    b.SetInsertPoint(found);
    b.CreateRet(position);
    b.SetInsertPoint(lost);
    b.CreateRet(b.getInt32(-1));
  }
  return c.builder.CreateCall(helper, {c.argument(0), c.argument(1), c.argument(2)});
}

Lowered lowerSynchronisation(IntrinsicCall &c) {
  IRBuilder<> &b = c.builder;
  StringRef name = c.name;
  if (name.consume_front("read.ptx.sreg.")) {
    std::string spelled = name.str();
    for (const char *prefix : {"lanemask.", "cluster."})
      if (name.starts_with(prefix))
        spelled[strlen(prefix) - 1] = '_';
    return emitSpecialRegister(c.context, c.state, b, spelled);
  }
  if (name.starts_with("barrier.cta."))
    return lowerBarrier(c);
  if (name == "barrier0" || name == "bar.sync" || name == "barrier.n")
    return c.context.callAtSite(b, "kbrt_barrier", c.site(AccessKind::Barrier),
                                {c.call.arg_size() ? c.argument(0) : b.getInt32(0), b.getInt32(0)});
  if (name == "bar.warp.sync")
    return c.context.callAtSite(b, "kbrt_warp_sync", c.site(AccessKind::WarpOp), {c.argument(0)});
  if (name.starts_with("shfl."))
    return lowerShuffle(c);
  if (name.starts_with("vote."))
    return lowerVote(c);
  if (name.starts_with("match."))
    return lowerMatch(c);
  if (name.starts_with("redux.sync."))
    return lowerRedux(c);
  if (name == "activemask")
    return c.context.callAtSite(b, "kbrt_activemask", c.site(AccessKind::WarpOp), {});
  if (name == "is_explicit_cluster")
    return b.getFalse();
  if (name == "fns")
    return emitFindNthSet(c);
  if (name == "nanosleep")
    return c.context.callAtSite(b, "kbrt_yield", c.site(AccessKind::Spin), {});
  if (name.starts_with("membar.") || name.starts_with("fence.")) {
    if (c.context.mode == kbrt::ImageMode::Check)
      c.context.callAtSite(b, "kbrt_fence", c.context.addSite(c.call, AccessKind::Barrier, name),
                           {});
    return nullptr;
  }
  if (name == "cp.async.commit.group" || name == "cp.async.wait.all" ||
      name == "cp.async.wait.group") {
    noteAsyncWait(c.context, b,
                  name.ends_with("commit.group") ? nullptr
                  : name.ends_with("all")        ? (Value *)b.getInt32(~0u)
                                                 : c.argument(0));
    return nullptr;
  }
  // Hints, and waits for what has happened already.
  if (name.starts_with("prefetch") || name.starts_with("cp.async.commit") ||
      name.starts_with("cp.async.wait") || name.starts_with("setmaxnreg") ||
      name.starts_with("applypriority") || name == "griddepcontrol.wait" ||
      name == "griddepcontrol.launch.dependents")
    return nullptr;
  return std::nullopt;
}

} // namespace kbopt::cpu
