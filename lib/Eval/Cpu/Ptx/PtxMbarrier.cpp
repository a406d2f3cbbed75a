//===- PtxMbarrier.cpp - Barriers in shared memory and bulk copies ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns mbarrier, and cp.async.bulk.tensor from global to shared memory. A cluster has one block
// here, so that an address in shared memory of the cluster is one of the block's.
//
//===----------------------------------------------------------------------===//
#include "PtxTranslator.h"
#include "kbrt/MbarrierAbi.h"

using namespace llvm;

namespace kbopt::cpu {

bool PtxTranslator::translateMbarrier(const Instruction &i) {
  if (i.parts[0] == "fence" && i.has("mbarrier_init")) {
    if (context.mode == kbrt::ImageMode::Check)
      context.callAtSite(b, "kbrt_proxy_fence",
                         context.addSite(call, kbrt::AccessKind::Barrier, "fence.mbarrier_init"),
                         {});
    return true;
  }
  if (i.parts[0] != "mbarrier" || i.parts.size() < 2)
    return false;
  StringRef op = i.parts[1];
  const bool gives = op == "arrive" || op == "try_wait" || op == "test_wait";
  const size_t place = gives ? 1 : 0;
  if (i.operands.size() <= place || i.has("noComplete") || i.has("arrive_drop") ||
      (op == "arrive" && i.has("shared::cluster")))
    return false;
  Value *barrier = readAddress(i.operands[place], Shared);
  if (!barrier)
    return false;
  Type *i32 = b.getInt32Ty();
  auto input = [&](size_t n, Type *type, Value *otherwise) {
    return n < i.operands.size() ? read(i.operands[n], type) : otherwise;
  };
  const unsigned site = context.addSite(call, kbrt::AccessKind::Barrier, ("mbarrier." + op).str());
  if (op == "init") {
    Value *count = input(1, i32, nullptr);
    return count && context.callAtSite(b, "kbrt_mbarrier_init", site, {barrier, count});
  }
  if (op == "inval")
    return context.callAtSite(b, "kbrt_mbarrier_inval", site, {barrier});
  if (op == "expect_tx") {
    Value *bytes = input(1, i32, nullptr);
    return bytes &&
           context.callAtSite(b, "kbrt_mbarrier_arrive", site, {barrier, b.getInt32(0), bytes});
  }
  if (op == "arrive") {
    const bool expects = i.has("expect_tx");
    Value *count = expects ? b.getInt32(1) : input(2, i32, b.getInt32(1)),
          *bytes = expects ? input(2, i32, nullptr) : b.getInt32(0);
    if (!count || !bytes)
      return false;
    write(i.operands[0],
          context.callAtSite(b, "kbrt_mbarrier_arrive", site, {barrier, count, bytes}));
    return true;
  }
  if (op != "try_wait" && op != "test_wait")
    return false;
  const bool isParity = i.has("parity");
  Value *phase = input(2, isParity ? i32 : b.getInt64Ty(), nullptr);
  if (!phase)
    return false;
  Value *isComplete = context.callAtSite(b, "kbrt_mbarrier_wait", site,
                                         {barrier, b.CreateZExt(phase, b.getInt64Ty()),
                                          b.getInt32(isParity), b.getInt32(op == "try_wait")});
  write(i.operands[0], b.CreateICmpNE(isComplete, b.getInt32(0)));
  return true;
}

/// cp.async.bulk.tensor.dim.shared.global.mbarrier::complete_tx::bytes [d], [map, {c, …}],
/// [barrier]
/// {, policy}.
bool PtxTranslator::translateTensorCopy(const Instruction &i) {
  if (i.parts[0] != "cp" || !i.has("bulk") || !i.has("tensor") ||
      !i.has("mbarrier::complete_tx::bytes") || i.has("im2col") || i.has("multicast::cluster") ||
      i.has("tile::gather4") || i.operands.size() < 3)
    return false;
  ArrayRef<Operand> coordinates = i.operands[1].coordinates;
  if (coordinates.empty() || coordinates.size() > 5 ||
      !i.has((Twine(coordinates.size()) + "d").str()))
    return false;
  Value *destination = readAddress(i.operands[0], Shared), *map = readAddress(i.operands[1], Flat),
        *barrier = readAddress(i.operands[2], Shared);
  if (!destination || !map || !barrier)
    return false;
  Type *i32 = b.getInt32Ty();
  AllocaInst *at =
      ImageContext::entryAlloca(b, ArrayType::get(i32, coordinates.size()), "kb.coordinates");
  for (auto &&[n, each] : llvm::enumerate(coordinates)) {
    Value *value = read(each, i32);
    if (!value)
      return false;
    b.CreateAlignedStore(value, b.CreateConstInBoundsGEP1_64(i32, at, n), Align(4));
  }
  Value *rank = b.getInt32(coordinates.size());
  if (context.mode == kbrt::ImageMode::Check || context.mode == kbrt::ImageMode::Count)
    context.callAtSite(b, "kbrt_tensor_read",
                       context.addSite(call, kbrt::AccessKind::Load, "cp.async.bulk.tensor",
                                       kbrt::MemorySpace::Global, 16),
                       {map, rank, at});
  context.callAtSite(b, "kbrt_tensor_copy",
                     context.addSite(call, kbrt::AccessKind::Store, "cp.async.bulk.tensor"),
                     {destination, map, barrier, rank, at});
  return true;
}

} // namespace kbopt::cpu
