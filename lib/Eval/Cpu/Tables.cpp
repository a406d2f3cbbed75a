//===- Tables.cpp - The tables of kbrt/ImageInfo.h as constants -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "Steps.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include <cstddef>

using namespace llvm;

namespace kbopt::cpu {

namespace {
/// Writes constants field by field; the sizes are checked against the host's
/// structures, whose layout they must have.
class TableWriter {
public:
  explicit TableWriter(ImageContext &context)
      : context(context), module(context.module), c(module.getContext()),
        pointer(PointerType::get(c, 0)) {}
  void write();

private:
  using Fields = SmallVector<Constant *, 24>;
  Constant *text(StringRef value);
  Constant *i8(uint64_t v) { return ConstantInt::get(Type::getInt8Ty(c), v); }
  Constant *i32(uint64_t v) { return ConstantInt::get(Type::getInt32Ty(c), v); }
  Constant *i64(uint64_t v) { return ConstantInt::get(Type::getInt64Ty(c), v); }
  Constant *reference(Constant *value) { return value ? value : ConstantPointerNull::get(pointer); }
  Constant *row(const Fields &fields) { return ConstantStruct::getAnon(fields); }
  Constant *array(StringRef name, ArrayRef<Constant *> rows, size_t rowBytes);
  Constant *numbers(StringRef name, ArrayRef<uint32_t> values);
  Constant *splitTable(const SplitKernel &split);
  Constant *kernelRow(const Kernel &kernel);
  Constant *variableRow(const Variable &variable);
  Constant *parameterTable(const Kernel &kernel);
  Constant *sharedTable(const Kernel &kernel);
  void assignSitesToKernels();

  ImageContext &context;
  Module &module;
  LLVMContext &c;
  PointerType *pointer;
  StringMap<Constant *> texts;
};
} // namespace

Constant *TableWriter::text(StringRef value) {
  Constant *&entry = texts[value];
  if (!entry) {
    Constant *bytes = ConstantDataArray::getString(c, value);
    auto *global = new GlobalVariable(module, bytes->getType(), true, GlobalValue::PrivateLinkage,
                                      bytes, "kb.text");
    global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    entry = global;
  }
  return entry;
}

Constant *TableWriter::array(StringRef name, ArrayRef<Constant *> rows, size_t rowBytes) {
  if (rows.empty())
    return ConstantPointerNull::get(pointer);
  assert(module.getDataLayout().getTypeAllocSize(rows[0]->getType()) == rowBytes &&
         "a table row differs from its structure in ImageInfo.h");
  Constant *data = ConstantArray::get(ArrayType::get(rows[0]->getType(), rows.size()), rows);
  return new GlobalVariable(module, data->getType(), true, GlobalValue::InternalLinkage, data,
                            "kb.table." + name);
}

Constant *TableWriter::numbers(StringRef name, ArrayRef<uint32_t> values) {
  SmallVector<Constant *> rows;
  for (uint32_t value : values)
    rows.push_back(i32(value));
  return array(name, rows, 4);
}

Constant *TableWriter::parameterTable(const Kernel &kernel) {
  SmallVector<Constant *> rows;
  for (const Parameter &p : kernel.parameters)
    rows.push_back(row({text(p.name), text(p.type), text(p.elementType), i32(p.offset),
                        i32(p.bytes), i32(p.align), i32(p.elementBytes), i8(p.isPointer),
                        i8(p.isConst), i8(p.isRestrict), i8(p.isByValue),
                        numbers("pointers", p.pointerOffsets), i32(p.pointerOffsets.size())}));
  return array("parameters", rows, sizeof(kbrt::ParamInfo));
}

Constant *TableWriter::sharedTable(const Kernel &kernel) {
  SmallVector<Constant *> rows;
  for (const SharedArray &s : kernel.shared)
    rows.push_back(row({text(s.name), i32(s.offset), i32(s.bytes), i32(s.align),
                        text(s.elementType), i32(s.line)}));
  return array("shared", rows, sizeof(kbrt::SharedInfo));
}

Constant *TableWriter::splitTable(const SplitKernel &split) {
  SmallVector<Constant *> regions, stops;
  for (Function *region : split.regions)
    regions.push_back(row({region}));
  for (const Stop &stop : split.stops)
    stops.push_back(row({i8(uint64_t(stop.kind)), i32(stop.detail), i32(stop.site)}));
  bool hasWarpStops = any_of(split.stops, [](const Stop &stop) { return stop.isOfWarp(); });
  Constant *info =
      row({array("regions", regions, sizeof(kbrt::RegionFunction)),
           array("stops", stops, sizeof(kbrt::StopInfo)), i32(stops.size()), i32(hasWarpStops),
           i64(split.slotBytes), i64(split.arrayBytes), i64(split.uniformBytes)});
  return array("split", {info}, sizeof(kbrt::SplitInfo));
}

Constant *TableWriter::kernelRow(const Kernel &k) {
  return row({text(k.name),
              text(demangle(k.name)),
              reference(k.body),
              reference(k.loop),
              k.split ? splitTable(*k.split) : reference(nullptr),
              reference(k.countedBody),
              parameterTable(k),
              i32(k.parameters.size()),
              i32(k.parameterBytes),
              sharedTable(k),
              i32(k.shared.size()),
              i32(k.staticSharedBytes),
              i32(k.sharedSpan),
              i8(k.usesBarrier),
              i8(k.usesWarpOps),
              i8(k.needsFibers),
              i8(k.usesDynamicShared),
              i8(k.usesAtomics),
              i8(k.usesIndirectCalls),
              i32(k.maxThreads),
              i32(k.minBlocks),
              numbers("unsupported", k.unsupported),
              i32(k.unsupported.size()),
              text(k.place.file),
              i32(k.place.line)});
}

Constant *TableWriter::variableRow(const Variable &v) {
  SmallVector<Constant *> relocations;
  for (const Relocation &r : v.relocations)
    relocations.push_back(row({i32(r.offset), i32(r.variable), i64(r.addend)}));
  bool isZero = !v.initial || v.initial->getInitializer()->isNullValue();
  bool keeps = v.kind == kbrt::VariableKind::Image || !isZero;
  return row({text(v.name), i8(uint64_t(v.kind)), i8(v.isConst),
              i32(v.initial ? v.initial->getAlign().value_or(Align(16)).value() : 16), i64(v.bytes),
              keeps ? (Constant *)v.initial : ConstantPointerNull::get(pointer), reference(v.slot),
              array("relocations", relocations, sizeof(kbrt::VariableRelocation)),
              i32(v.relocations.size()), text(v.elementType), i32(v.line)});
}

/// Whether the first argument of the runtime's function \p name is the number of a site.
static bool takesSite(StringRef name) {
  return name.consume_front("kbrt_") &&
         (name.starts_with("barrier") || name.starts_with("check_") || name.starts_with("match_") ||
          name.starts_with("wgmma") || name == "proxy_fence" || name.starts_with("mbarrier_") ||
          name.starts_with("tensor_") ||
          StringSwitch<bool>(name)
              .Cases({"warp_sync", "shuffle", "vote", "redux", "activemask", "mma", "yield"}, true)
              .Cases({"trap", "assertfail", "fence", "async_copy", "local_begin"}, true)
              .Case("count_access", true)
              .Default(false));
}

/// A site belongs to the one kernel whose code names it.
void TableWriter::assignSitesToKernels() {
  constexpr unsigned unseen = ~0u - 1;
  for (Site &site : context.sites)
    site.function = unseen;
  for (unsigned k = 0; k < context.kernels.size(); ++k) {
    std::vector<Function *> roots{context.kernels[k].function};
    if (context.kernels[k].counted)
      roots.push_back(context.kernels[k].counted);
    for (Function *root : roots)
      for (Function *function : context.reachableFrom(*root))
        for (Instruction &instruction : instructions(*function)) {
          auto *call = dyn_cast<CallInst>(&instruction);
          Function *callee = call ? call->getCalledFunction() : nullptr;
          if (!callee || !takesSite(callee->getName()))
            continue;
          auto *site = dyn_cast<ConstantInt>(call->getArgOperand(0));
          if (!site)
            continue;
          assert(site->getZExtValue() < context.sites.size() && "a call names no site");
          unsigned &owner = context.sites[site->getZExtValue()].function;
          owner = owner == unseen || owner == k ? k : ~0u;
        }
  }
  for (Site &site : context.sites)
    if (site.function == unseen)
      site.function = ~0u;
}

void TableWriter::write() {
  assignSitesToKernels();
  SmallVector<Constant *> kernels, variables, sites, blocks, mixes, branches, unsupported, places,
      edges;
  for (const Kernel &kernel : context.kernels)
    kernels.push_back(kernelRow(kernel));
  for (const Variable &variable : context.variables)
    variables.push_back(variableRow(variable));
  for (const Site &s : context.sites)
    sites.push_back(
        row({i8(uint64_t(s.kind)), i8(uint64_t(s.space)), i8(s.isVolatile), i8(s.isReadOnly),
             i32(s.bytes), i32(s.function), i32(s.place.line), i32(s.place.column),
             text(s.place.file), text(s.array), text(s.detail), i32(s.loadGroup), i32(s.isAlone)}));
  for (const CountedBlock &b : context.blocks)
    blocks.push_back(row({i32(b.function), i32(b.firstMix), i32(b.mixCount), i32(b.instructions),
                          i32(b.place.line), text(b.place.file), i32(b.loopDepth)}));
  for (const Mix &m : context.mixes)
    mixes.push_back(row({text(m.place.file), i32(m.place.line),
                         ConstantDataArray::get(c, ArrayRef<uint16_t>(m.ops))}));
  for (const Branch &b : context.branches)
    branches.push_back(row({i32(b.function), i32(b.place.line), i32(b.place.column),
                            text(b.place.file), i8(b.isLoopExit), i32(b.block)}));
  for (const UnsupportedConstruct &u : context.unsupported)
    unsupported.push_back(row({text(u.construct), text(u.file), i32(u.line), i32(u.column)}));

  for (const ReachedPlace &p : context.reached)
    places.push_back(
        row({ConstantExpr::getInBoundsGetElementPtr(Type::getInt8Ty(c), p.flags, i64(p.index)),
             i32(p.function), i32(p.line), i32(p.column)}));

  for (const TakenEdge &e : context.edges) {
    auto flag = [&](unsigned index) {
      return ConstantExpr::getInBoundsGetElementPtr(Type::getInt8Ty(c), e.flags, i64(index));
    };
    Constant *nearest = ConstantPointerNull::get(PointerType::getUnqual(c));
    if (e.misses)
      nearest = ConstantExpr::getInBoundsGetElementPtr(
          Type::getInt8Ty(c), e.misses, i64(uint64_t(e.way) * sizeof(kbrt::NearestMiss)));
    edges.push_back(row({flag(e.from), flag(e.to), nearest}));
  }

  Constant *info = row({i32(kbrt::imageAbiVersion),
                        i32(uint64_t(context.mode)),
                        array("kernels", kernels, sizeof(kbrt::KernelInfo)),
                        array("variables", variables, sizeof(kbrt::VariableInfo)),
                        array("sites", sites, sizeof(kbrt::SiteInfo)),
                        array("blocks", blocks, sizeof(kbrt::BlockInfo)),
                        array("mixes", mixes, sizeof(kbrt::MixInfo)),
                        array("branches", branches, sizeof(kbrt::BranchInfo)),
                        array("unsupported", unsupported, sizeof(kbrt::UnsupportedInfo)),
                        array("places", places, sizeof(kbrt::PlaceInfo)),
                        array("edges", edges, sizeof(kbrt::EdgeInfo)),
                        i32(kernels.size()),
                        i32(variables.size()),
                        i32(sites.size()),
                        i32(blocks.size()),
                        i32(mixes.size()),
                        i32(branches.size()),
                        i32(unsupported.size()),
                        i32(places.size()),
                        i32(edges.size()),
                        text(context.mainFile)});
  assert(module.getDataLayout().getTypeAllocSize(info->getType()) == sizeof(kbrt::ImageInfo));
  new GlobalVariable(module, info->getType(), true, GlobalValue::ExternalLinkage, info,
                     kbrt::imageSymbol);
}

void emitTables(ImageContext &context) { TableWriter(context).write(); }

} // namespace kbopt::cpu
