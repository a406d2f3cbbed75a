//===- ContractionTma.cpp - Half products whose tiles tensor maps describe ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the kernel that multiplies by wgmma as ContractionWgmma.cpp does, but whose tiles arrive by
// cp.async.bulk.tensor: one thread beside those that multiply has them copied, as soon as these
// have left a stage, and mbarriers tell both of each other. A block computes one tile of
// outputs after the other, so that the next operands are on their way while results are stored.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "ContractionWgmma.h"
#include "kb-opt/Schedule/TensorMapText.h"

using namespace kbopt;
using namespace mlir;

namespace {

class TmaPrinter : WgmmaPrinter {
public:
  TmaPrinter(const Contraction &contraction, const ContractionShape &shape, StringRef name)
      : WgmmaPrinter(contraction, shape, name) {
    place = fresh("place"), tile = fresh("tile"), count = fresh("tiles"), isFull = fresh("full"),
    isEmpty = fresh("empty"), phase = fresh("phase");
    for (const NamedTile &each : tiles)
      maps[each.from] = fresh(StringRef(each.from).drop_back(4).str() + "Map");
  }

  llvm::Expected<GeneratedKernel> print(int64_t blocks);

private:
  std::string place, tile, count, isFull, isEmpty, phase;
  std::map<std::string, std::string> maps; ///< by a tile's pointer

  std::string constants() const override;
  std::string helpers() const override;
  std::string batchOf(const NamedTile &tile) const;
  std::string addMap(const NamedTile &tile);
  void printPlaces();
  void openTiles();
  void printBarriers();
  void printRegisters(StringRef change);
  void printProducer();
  void printConsumers();
  void printNext();
  void releaseLast();
};

std::string TmaPrinter::constants() const {
  auto is = [](StringRef name, int64_t value) {
    return name.str() + " = " + std::to_string(value) + ", ";
  };
  return is(bm, shape.bm) + is(bn, shape.bn) + is(bk, shape.bk) + is(stages, shape.stages) +
         threads + " = " + bm + " / 64 * 128 + " + std::to_string(shape.producerThreads());
}

std::string TmaPrinter::helpers() const {
  const std::string kind = "static __device__ __forceinline__ void " + helper,
                    address = "(unsigned)__cvta_generic_to_shared";
  return tensorMapFunctions(helper) + WgmmaPrinter::helpers() +
         "#ifdef __CUDA_ARCH_FEAT_SM90_ALL\n"
         "// Waits for the phase of this parity to be complete.\n" +
         kind +
         "Wait(unsigned long long &barrier, unsigned parity) {\n"
         "  unsigned isComplete = 0;\n  while (!isComplete)\n"
         "    asm volatile(\"{\\n.reg .pred p;\\n\"\n"
         "                 \"mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\\n\"\n"
         "                 \"selp.u32 %0, 1, 0, p;\\n}\"\n"
         "                 : \"=r\"(isComplete) : \"r\"(" +
         address + "(&barrier)), \"r\"(parity) : \"memory\");\n}\n\n" + kind +
         "Arrive(unsigned long long &barrier) {\n"
         "  asm volatile(\"mbarrier.arrive.shared::cta.b64 _, [%0];\" : : \"r\"(" +
         address + "(&barrier)) : \"memory\");\n}\n\n" +
         "// Arrives, and has the phase wait for copies of so many bytes.\n" + kind +
         "Expect(unsigned long long &barrier, unsigned bytes) {\n"
         "  asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" : : \"r\"(" +
         address + "(&barrier)), \"r\"(bytes) : \"memory\");\n}\n\n" + kind +
         "Copy(void *to, const CUtensorMap &map, int x, int y, int z, unsigned long long &barrier) "
         "{\n"
         "  asm volatile(\"cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::"
         "bytes \"\n               \"[%0], [%1, {%2, %3, %4}], [%5];\"\n               : : \"r\"(" +
         address + "(to)), \"l\"(&map), \"r\"(x), \"r\"(y), \"r\"(z), \"r\"(" + address +
         "(&barrier)) : \"memory\");\n}\n#endif\n\n";
}

/// The batch of \p tile's operand.
std::string TmaPrinter::batchOf(const NamedTile &tile) const {
  const bool varies = !contraction.batch.empty() &&
                      dependsOn(tile.tile->flat.getOffset(), contraction.batch.front().name);
  return varies ? contraction.batch.front().name : "0";
}

/// Makes the tensor map of \p named a parameter, and its existence a condition. Why there is none,
/// in the user's words; empty if there is.
std::string TmaPrinter::addMap(const NamedTile &named) {
  const ContractionTile &tile = *named.tile;
  const kb::BaseAttr base = tile.operand.getBase();
  const std::string array = base.getName().str();
  if (named.width != elementsOfChunk || !tile.flat)
    return array + " cannot be read 16 bytes at a time";
  if (base.getKind() != kb::BaseKind::Argument || !CudaText::isAtom(array))
    return array + " is no pointer that a launch passes";
  const NestDim &side = tile.isRow ? contraction.row : contraction.column,
                &depth = contraction.depth.back();
  kb::ExprAttr first = tile.flat.getOffset();
  auto bytesOf = [&](kb::ExprAttr elements) -> std::string {
    std::string host = elements ? text.hostExpression(elements, /*wide=*/true) : "";
    if (host.empty())
      return "";
    return (CudaText::isAtom(host) ? host : "(" + host + ")") + " * " +
           std::to_string(tile.operand.getBytes()) + "ull";
  };
  auto extentOf = [&](const NestDim &dim) { return text.hostExpression(dim.extent); };
  TensorMapText map;
  const bool isBatched = batchOf(named) != "0";
  map.outerBytes = bytesOf(gainAlong(first, (tile.alongSide ? depth : side).name));
  map.batchBytes = isBatched ? bytesOf(gainAlong(first, contraction.batch.front().name)) : "0";
  map.batches = isBatched ? extentOf(contraction.batch.front()) : "1";
  map.inner = extentOf(tile.alongSide ? side : depth);
  map.outer = extentOf(tile.alongSide ? depth : side);
  std::vector<StringRef> dims = {contraction.row.name, contraction.column.name, depth.name};
  for (const NestDim &dim : contraction.batch)
    dims.push_back(dim.name);
  for (StringRef dim : dims)
    if (dependsOn(first, dim))
      first = withDim(first, dim, getAffineConstantExpr(0, first.getContext()));
  std::string begin = bytesOf(first);
  for (const std::string *each :
       {&map.outerBytes, &map.batchBytes, &map.batches, &map.inner, &map.outer, &begin})
    if (each->empty())
      return array + " is not read at distances that a launch can tell";
  const bool beginsAtPointer = first.getConstant() == 0 && base.getByteOffset() == 0;
  map.first = beginsAtPointer ? array
                              : "(const char *)" + array + " + " + begin + " + " +
                                    std::to_string(base.getByteOffset());
  map.type =
      shape.core == "half" ? "CU_TENSOR_MAP_DATA_TYPE_FLOAT16" : "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16";
  map.boxOuter = std::to_string(tile.alongSide ? shape.bk : tile.isRow ? shape.bm : shape.bn);
  text.addParameter("const __grid_constant__ CUtensorMap " + maps[named.from],
                    map.call(helper, tensorMapSuffix));
  needs.expression(map.call(helper, hasTensorMapSuffix));
  return "";
}

/// Prints how many tiles of outputs there are, and a function that tells where one of them lies.
void TmaPrinter::printPlaces() {
  code.line("constexpr int " + constants() + ";");
  declareSizes();
  rows = sideCount(true), columns = sideCount(false);
  length = extentOf(contraction.depth.back());
  printLimits();
  const std::string across = fresh("columnTiles"), down = fresh("rowTiles"), group = fresh("GROUP"),
                    firstRow = fresh("firstRow"), inGroup = fresh("inGroup"),
                    many = fresh("groupRows"), batch = fresh("inBatch");
  code.line("const int " + across + " = (" + columns + " + " + bn + " - 1) / " + bn + ", " + down +
            " = (" + rows + " + " + bm + " - 1) / " + bm + ";");
  std::string all = across + " * " + down, at = tile, batches;
  if (!contraction.batch.empty()) {
    batches = extentOf(contraction.batch.front()) + " * ";
    at = batch;
  }
  code.line("const int " + count + " = " + batches + all + ";");
  code.line("constexpr int " + group + " = " + std::to_string(shape.group) +
            "; // rows of tiles that follow each other");
  code.line("auto " + place + " = [&](int " + tile + ", int &" + row0 + ", int &" + column0 +
            (contraction.batch.empty() ? "" : ", int &" + contraction.batch.front().name) + ") {")
      .indent();
  if (!contraction.batch.empty()) {
    code.line(contraction.batch.front().name + " = " + tile + " / (" + all + ");");
    code.line("const int " + batch + " = " + tile + " % (" + all + ");");
  }
  code.line("const int " + firstRow + " = " + at + " / (" + group + " * " + across + ") * " +
            group + ", " + inGroup + " = " + at + " % (" + group + " * " + across + "), " + many +
            " = min(" + down + " - " + firstRow + ", " + group + ");");
  code.line(row0 + " = (" + firstRow + " + " + inGroup + " % " + many + ") * " + bm + ", " +
            column0 + " = " + inGroup + " / " + many + " * " + bn + ";");
  code.outdent().line("};");
}

/// The loop over the tiles of a block.
void TmaPrinter::openTiles() {
  const std::string batch = contraction.batch.empty() ? "" : contraction.batch.front().name;
  code.unroll(1).open("for (int " + tile + " = blockIdx.x; " + tile + " < " + count + "; " + tile +
                      " += gridDim.x)");
  code.line("int " + row0 + ", " + column0 + (batch.empty() ? "" : ", " + batch) + ";");
  code.line(place + "(" + tile + ", " + row0 + ", " + column0 +
            (batch.empty() ? "" : ", " + batch) + ");");
}

void TmaPrinter::printBarriers() {
  std::string before = "sizeof(" + tiles[0].shared + ") + sizeof(" + tiles[1].shared + ")";
  for (const std::string &barriers : {isFull, isEmpty}) {
    code.line("auto &" + barriers + " = *reinterpret_cast<unsigned long long (*)[" + stages +
              "]>(" + memory + " + " + before + ");");
    before += " + sizeof(" + barriers + ")";
  }
  code.open("if (threadIdx.x == 0)");
  code.open("for (int " + stage + " = 0; " + stage + " < " + stages + "; ++" + stage + ")");
  auto initialise = [&](const std::string &barriers, const std::string &arrivals) {
    code.line("asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" : : "
              "\"r\"((unsigned)__cvta_generic_to_shared(&" +
              barriers + "[" + stage + "])), \"r\"(" + arrivals + ") : \"memory\");");
  };
  initialise(isFull, "1");
  initialise(isEmpty, bm + " / 16"); // a lane of each warp that multiplies
  code.close();
  code.line("asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");").close();
  code.line("__syncthreads();");
  code.line("int " + stage + " = 0;");
  code.line("unsigned " + phase + " = 0; // the parity of the phase in which the stage is used");
}

void TmaPrinter::printNext() {
  code.open("if (++" + stage + " == " + stages + ")")
      .line(stage + " = 0, " + phase + " ^= 1;")
      .close();
}

void TmaPrinter::printProducer() {
  const std::string first = threads + " - " + std::to_string(shape.producerThreads());
  code.open("if (threadIdx.x >= " + first + ")");
  printRegisters("dec.sync.aligned.u32 40");
  code.open("if (threadIdx.x == " + first + ")");
  openTiles();
  code.unroll(1).open("for (int " + depth0 + " = 0; " + depth0 + " < " + limit + "; " + depth0 +
                      " += " + bk + ")");
  code.line(helper + "Wait(" + isEmpty + "[" + stage + "], " + phase + " ^ 1);");
  code.line(helper + "Expect(" + isFull + "[" + stage + "], sizeof(" + tiles[0].shared +
            "[0]) + sizeof(" + tiles[1].shared + "[0]));");
  for (const NamedTile &each : tiles) {
    const std::string from = side0(*each.tile), to = each.shared + "[" + stage + "]";
    auto copy = [&](const std::string &to, const std::string &x, const std::string &y) {
      code.line(helper + "Copy(" + to + ", " + maps[each.from] + ", " + x + ", " + y + ", " +
                batchOf(each) + ", " + isFull + "[" + stage + "]);");
    };
    if (!each.tile->alongSide) {
      copy(to, depth0, from);
      continue;
    }
    code.unroll().open("for (int " + part + " = 0; " + part + " < " + sideSize(*each.tile) +
                       " / 64; ++" + part + ")");
    copy(to + "[" + part + "]", from + " + " + part + " * 64", depth0);
    code.close();
  }
  printNext();
  code.close().close().close();
  code.line("return;").close();
}

/// The stage before this one has been read.
void TmaPrinter::releaseLast() {
  code.line(helper + "Arrive(" + isEmpty + "[" + stage + " > 0 ? " + stage + " - 1 : " + stages +
            " - 1]);");
}

/// The registers of a thread from here on: 40 where it copies, which leaves 232 of the 64 Ki of a
/// multiprocessor to each of the 256 that multiply.
void TmaPrinter::printRegisters(StringRef change) {
  if (shape.movesRegisters())
    code.line(("asm volatile(\"setmaxnreg." + change + ";\");").str());
}

void TmaPrinter::printConsumers() {
  printRegisters("inc.sync.aligned.u32 232");
  printThread();
  openTiles();
  StatementPrinter print{text, code};
  for (kb::LetOp let : contraction.shared)
    print.print(let);
  printInitialValues();
  code.unroll(1).open("for (int " + depth0 + " = 0; " + depth0 + " < " + limit + "; " + depth0 +
                      " += " + bk + ")");
  code.line(helper + "Wait(" + isFull + "[" + stage + "], " + phase + ");");
  printMultiply();
  printWait("1");
  code.open("if (" + depth0 + " > 0 && " + lane + " == 0)");
  releaseLast();
  code.close();
  printNext();
  code.close();
  printWait("0");
  code.open("if (" + lane + " == 0)");
  releaseLast();
  code.close();
  printExchange();
  printAfter();
  code.close();
}

llvm::Expected<GeneratedKernel> TmaPrinter::print(int64_t blocks) {
  for (const NamedTile &each : tiles)
    if (std::string reason = addMap(each); !reason.empty())
      return llvm::createStringError(reason);
  printPlaces();
  directive("#ifdef __CUDA_ARCH_FEAT_SM90_ALL");
  printTiles();
  printBarriers();
  printProducer();
  printConsumers();
  directive("#else");
  openTiles();
  StatementPrinter print{text, code};
  for (kb::LetOp let : contraction.shared)
    print.print(let);
  printPoints();
  code.close();
  directive("#endif");
  kernel.definition = "#include <cuda.h>\n\n" + helpers();
  kernel.reassociates = true;
  return finish(
      "// A block computes tiles of " + std::to_string(shape.bm) + " x " +
          std::to_string(shape.bn) +
          " outputs, one after the other. A thread has the tiles of the operands copied "
          "as tensor\n// maps describe them; of the others, four warps multiply 64 rows by wgmma. "
          "They tell each other by barriers in shared memory\n// which stages are full "
          "and which are empty. Code for other chips computes each output as given.\n",
      blocks);
}

} // namespace

llvm::Expected<GeneratedKernel> kbopt::printTmaContraction(const Contraction &contraction,
                                                           const ContractionShape &shape,
                                                           StringRef name, const ChipInfo &chip) {
  return TmaPrinter(contraction, shape, name).print(shape.residentBlocks(contraction, chip));
}
