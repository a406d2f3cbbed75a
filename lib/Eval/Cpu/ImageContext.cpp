//===- ImageContext.cpp - What the steps of an image build share ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "ImageContext.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace kbopt::cpu {

/// \p file as a whole: front ends name it from the folder that they ran in, or not.
static std::string pathOf(const DIFile *file) {
  if (!file)
    return "";
  SmallString<128> path(file->getFilename());
  sys::path::make_absolute(file->getDirectory(), path);
  return path.str().str();
}

ImageContext::ImageContext(Module &module, kbrt::ImageMode mode) : module(module), mode(mode) {
  for (const DICompileUnit *unit : module.debug_compile_units()) {
    mainFile = unit->getFilename().str();
    mainPath = pathOf(unit->getFile());
    break;
  }
}

bool ImageContext::isMainFile(const DIFile *file) const {
  auto [known, isNew] = mainFiles.try_emplace(file, false);
  if (isNew)
    known->second = pathOf(file) == mainPath;
  return known->second;
}

static bool isSystemHeader(StringRef file) {
  return file.contains("/include/__clang") || file.contains("/lib/clang/") ||
         file.contains("/cccl/") || file.starts_with("/usr/include") ||
         file.contains("cuda_fp16") || file.contains("cuda_bf16") ||
         file.contains("cuda_runtime") || file.contains("/include/crt/") ||
         file.contains("cooperative_groups");
}

SourcePlace ImageContext::placeOf(const DebugLoc &location) const {
  if (!location)
    return {};
  const DILocation *innermost = nullptr, *user = nullptr;
  for (const DILocation *at = location.get(); at; at = at->getInlinedAt()) {
    if (at->getLine() == 0)
      continue;
    if (isMainFile(at->getFile()))
      return {mainFile, at->getLine(), at->getColumn()};
    if (!innermost)
      innermost = at;
    if (!user && !isSystemHeader(at->getFilename()))
      user = at;
  }
  if (const DILocation *best = user ? user : innermost)
    return {best->getFilename().str(), best->getLine(), best->getColumn()};
  return {};
}

unsigned ImageContext::addSite(const Instruction &at, kbrt::AccessKind kind, StringRef detail,
                               kbrt::MemorySpace space, unsigned bytes) {
  Site site;
  site.kind = kind;
  site.space = space;
  site.bytes = bytes;
  site.place = placeOf(at.getDebugLoc());
  // LLVM takes the place from what it moves out of a loop: then the function
  // that it is in says more than nothing.
  if (const DISubprogram *function = at.getFunction()->getSubprogram();
      function && !site.place.line)
    site.place = {function->getFilename().str(), function->getLine(), 0};
  site.detail = detail.str();
  sites.push_back(std::move(site));
  return sites.size() - 1;
}

namespace {
/// Signature letters: v void, i i32, l i64, p pointer; first the result.
/// Flags: c convergent, n does not return.
struct RuntimeFunction {
  const char *name, *signature, *flags;
};
} // namespace

static const RuntimeFunction runtimeFunctions[] = {
    {"kbrt_barrier", "viii", "c"},
    {"kbrt_barrier_arrive", "viii", "c"},
    {"kbrt_barrier_red", "iiiiii", "c"},
    {"kbrt_barrier_skipped", "vi", "c"},
    {"kbrt_warp_sync", "vii", "c"},
    {"kbrt_shuffle", "iiiiiiip", "c"},
    {"kbrt_vote", "iiiii", "c"},
    {"kbrt_match_any", "iiil", "c"},
    {"kbrt_match_all", "iiilp", "c"},
    {"kbrt_redux", "iiiii", "c"},
    {"kbrt_activemask", "ii", "c"},
    {"kbrt_took_way", "vi", ""},
    {"kbrt_mma", "vippppp", "c"},
    {"kbrt_wgmma", "vipllipp", "c"},
    {"kbrt_wgmma_fence", "vi", ""},
    {"kbrt_wgmma_commit", "vi", ""},
    {"kbrt_wgmma_wait", "vii", ""},
    {"kbrt_proxy_fence", "vi", ""},
    {"kbrt_mbarrier_init", "vipi", ""},
    {"kbrt_mbarrier_inval", "vip", ""},
    {"kbrt_mbarrier_arrive", "lipii", ""},
    {"kbrt_mbarrier_wait", "iiplii", "c"},
    {"kbrt_tensor_copy", "vipppip", ""},
    {"kbrt_tensor_read", "vipip", ""},
    {"kbrt_yield", "vi", "c"},
    {"kbrt_exit", "v", "n"},
    {"kbrt_trap", "vi", "n"},
    {"kbrt_assertfail", "vippip", "n"},
    {"kbrt_unsupported", "vi", ""},
    {"kbrt_vprintf", "ipp", ""},
    {"kbrt_malloc", "pl", ""},
    {"kbrt_free", "vp", ""},
    {"kbrt_clock", "l", ""},
    {"kbrt_globaltimer", "l", ""},
    {"kbrt_check_load", "vipl", ""},
    {"kbrt_check_move", "vipl", ""},
    {"kbrt_check_store", "vipl", ""},
    {"kbrt_check_atomic", "vipl", ""},
    {"kbrt_check_copy", "vippl", ""},
    {"kbrt_fence", "vi", ""},
    {"kbrt_async_copy", "vipl", ""},
    {"kbrt_async_commit", "v", ""},
    {"kbrt_async_wait", "vi", ""},
    {"kbrt_local_begin", "vipl", ""},
    {"kbrt_local_end", "vp", ""},
    {"kbrt_count_atomic", "vp", ""},
    {"kbrt_count_access", "vipl", ""},
    {"kbrt_count_branch", "viil", ""},
    {"kbrt_oracle_exact", "vp", ""},
    {"kbrt_oracle_load", "vipp", ""},
    {"kbrt_oracle_store", "vipp", ""},
    {"kbrt_oracle_copy", "vppl", ""},
    {"kbrt_oracle_compute", "viiippp", ""},
};

FunctionCallee ImageContext::runtime(StringRef name) {
  LLVMContext &c = module.getContext();
  for (const RuntimeFunction &entry : runtimeFunctions) {
    if (name != entry.name)
      continue;
    auto typeOf = [&](char letter) -> Type * {
      switch (letter) {
      case 'i':
        return Type::getInt32Ty(c);
      case 'l':
        return Type::getInt64Ty(c);
      case 'p':
        return PointerType::get(c, 0);
      default:
        return Type::getVoidTy(c);
      }
    };
    SmallVector<Type *> parameters;
    for (const char *letter = entry.signature + 1; *letter; ++letter)
      parameters.push_back(typeOf(*letter));
    FunctionCallee callee = module.getOrInsertFunction(
        name, FunctionType::get(typeOf(entry.signature[0]), parameters, false));
    auto *function = cast<Function>(callee.getCallee());
    function->addFnAttr(Attribute::NoUnwind);
    if (StringRef(entry.flags).contains('c'))
      function->addFnAttr(Attribute::Convergent);
    if (StringRef(entry.flags).contains('n'))
      function->addFnAttr(Attribute::NoReturn);
    return callee;
  }
  llvm_unreachable("a function that DeviceAbi.h does not declare");
}

CallInst *ImageContext::callAtSite(IRBuilderBase &builder, StringRef name, unsigned site,
                                   ArrayRef<Value *> arguments) {
  SmallVector<Value *> all{builder.getInt32(site)};
  all.append(arguments.begin(), arguments.end());
  return builder.CreateCall(runtime(name), all);
}

Value *ImageContext::emitUnsupported(IRBuilderBase &builder, const Instruction &at,
                                     StringRef construct, Type *type) {
  SourcePlace place = placeOf(at.getDebugLoc());
  unsigned index = unsupported.size();
  for (unsigned i = 0; i < unsupported.size(); ++i)
    if (unsupported[i].construct == construct && unsupported[i].file == place.file &&
        unsupported[i].line == place.line && unsupported[i].column == place.column)
      index = i;
  if (index == unsupported.size())
    unsupported.push_back({construct.str(), place.file, place.line, place.column, {}});
  builder.CreateCall(runtime("kbrt_unsupported"), {builder.getInt32(index)});
  return type->isVoidTy() ? nullptr : Constant::getNullValue(type);
}

AllocaInst *ImageContext::entryAlloca(IRBuilderBase &builder, Type *type, const Twine &name) {
  BasicBlock &entry = builder.GetInsertBlock()->getParent()->getEntryBlock();
  IRBuilder<> atEntry(&entry, entry.begin());
  return atEntry.CreateAlloca(type, nullptr, name);
}

std::vector<Function *> ImageContext::reachableFrom(Function &root, bool *indirect) const {
  SetVector<Function *> reached;
  reached.insert(&root);
  bool callsIndirectly = false;
  for (size_t i = 0; i < reached.size(); ++i) {
    for (Instruction &instruction : instructions(*reached[i])) {
      auto *call = dyn_cast<CallBase>(&instruction);
      if (!call)
        continue;
      if (Function *callee = call->getCalledFunction()) {
        if (!callee->isDeclaration())
          reached.insert(callee);
        continue;
      }
      if (call->isInlineAsm() || callsIndirectly)
        continue;
      callsIndirectly = true;
      for (Function &function : module)
        if (!function.isDeclaration() && function.hasAddressTaken())
          reached.insert(&function);
    }
  }
  if (indirect)
    *indirect = callsIndirectly;
  return {reached.begin(), reached.end()};
}

LoadInst *loadField(IRBuilderBase &builder, Type *type, Value *base, size_t offset,
                    const Twine &name) {
  Value *address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset);
  LoadInst *load = builder.CreateLoad(type, address, name);
  load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(builder.getContext(), {}));
  return load;
}

} // namespace kbopt::cpu
