//===- ContractionWgmma.cpp - Half products by wgmma -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the kernel that multiplies half or bf16 operands by wgmma.mma_async into float sums, for
// programs that are compiled for sm_90a. Tiles arrive by cp.async, in the layout of 128-byte rows
// whose chunks of 16 bytes change places that the PTX ISA calls the 128B swizzle ("Asynchronous
// warpgroup-level matrix shared memory layout"). Four warps multiply 64 rows and all columns of a
// tile straight from there. Code for other architectures computes each output as the given kernel
// does.
//
//===----------------------------------------------------------------------===//

#include "ContractionWgmma.h"

using namespace kbopt;
using namespace mlir;

WgmmaPrinter::WgmmaPrinter(const Contraction &contraction, const ContractionShape &shape,
                           StringRef name)
    : ContractionPrinter(contraction, shape, name), helper(name) {
  load = fresh("load"), stages = fresh("STAGES"), ahead = fresh("AHEAD"), next = fresh("next"),
  whole = fresh("isWhole"), part = fresh("q");
  for (const NamedTile &tile : tiles)
    places[tile.from] = fresh(StringRef(tile.from).drop_back(4).str() + "Place");
}

std::string WgmmaPrinter::whyNot() const {
  for (const NamedTile &tile : tiles) {
    std::string array = tile.tile->operand.getBase().getName().str();
    if (tile.width != elementsOfChunk)
      return array + " cannot be read 16 bytes at a time";
    if (!tile.walks)
      return array + " is not read at constant distances";
  }
  return "";
}

llvm::Expected<GeneratedKernel> WgmmaPrinter::print(int64_t blocks) {
  if (std::string reason = whyNot(); !reason.empty())
    return llvm::createStringError(reason);
  printPosition();
  directive("#ifdef __CUDA_ARCH_FEAT_SM90_ALL");
  printTiles();
  printThread();
  printLoad();
  printInitialValues();
  printLoop();
  printExchange();
  printAfter();
  directive("#else");
  printPoints();
  directive("#endif");
  kernel.definition = "#include <cuda_pipeline_primitives.h>\n\n" + helpers();
  kernel.reassociates = true;
  return finish("// A block computes " + std::to_string(shape.bm) + " x " +
                    std::to_string(shape.bn) +
                    " outputs, and four of its warps 64 rows by wgmma, which reads the tiles where "
                    "they\n// lie. Tiles are copied " +
                    std::to_string(tilesAhead) +
                    " ahead; chunks of 8 elements change places within a row of 64, so that the "
                    "rows of a\n// matrix lie in different banks. Code for other chips computes "
                    "each output as given.\n",
                blocks);
}

std::string WgmmaPrinter::constants() const {
  auto is = [](StringRef name, int64_t value) {
    return name.str() + " = " + std::to_string(value) + ", ";
  };
  return is(bm, shape.bm) + is(bn, shape.bn) + is(bk, shape.bk) + is(stages, shape.stages) +
         is(ahead, tilesAhead) + threads + " = " + bm + " / 64 * 128";
}

std::string WgmmaPrinter::columnAt(StringRef j) const {
  if (isExchanged)
    return column0 + " + " + lane + " % 4 * 8 + " + j.str() + " / 8 * 32 + " + j.str() + " % 8";
  return column0 + " + " + lane + " % 4 * 2 + " + j.str() + " / 2 * 8 + " + j.str() + " % 2";
}

std::string WgmmaPrinter::sumAt(StringRef array, StringRef i, StringRef j) const {
  std::string column = j.contains(' ') ? "(" + j.str() + ")" : j.str();
  return (array + "[" + column + " / 2][" + i + " * 2 + " + column + " % 2]").str();
}

int64_t WgmmaPrinter::neighbours() const {
  auto store =
      contraction.after.empty() ? kb::StoreOp() : dyn_cast<kb::StoreOp>(contraction.after.back());
  int64_t bytes = store ? std::max<int64_t>(store.getTarget().getBytes(), 2) : 8;
  return std::clamp<int64_t>(16 / bytes, 2, 8);
}

/// `text0, text1, …` in lines of \p each.
static std::string listOf(int64_t count, int64_t each, StringRef breaks,
                          llvm::function_ref<std::string(int64_t)> text) {
  std::string list;
  for (int64_t i = 0; i < count; ++i)
    list += (i == 0 ? "" : i % each ? ", " : ("," + breaks).str()) + text(i);
  return list;
}

std::string WgmmaPrinter::helpers() const {
  const std::string in = shape.core == "half" ? "f16" : "bf16", name = std::to_string(shape.bn);
  const int64_t sums = shape.bn / 2;
  auto flag = [](const NamedTile &tile) { return tile.tile->alongSide ? ", 1" : ", 0"; };
  std::string numbers =
      listOf(sums, 16, "\"\n               \" ", [](int64_t i) { return "%" + std::to_string(i); });
  std::string registers = listOf(sums, 4, "\n                 ", [](int64_t i) {
    return "\"+f\"(sum[" + std::to_string(i / 4) + "][" + std::to_string(i % 4) + "])";
  });
  auto number = [](int64_t value) { return "%" + std::to_string(value); };
  return "#ifdef __CUDA_ARCH_FEAT_SM90_ALL\n"
         "// A matrix in shared memory: its address, the distance of its parts of 64 rows or "
         "columns, 1024 bytes\n// between groups of 8 rows of 128 bytes, whose chunks change "
         "places.\nstatic __device__ __forceinline__ unsigned long long " +
         helper + "Matrix(const void *first, unsigned apart) {\n" +
         "  return (__cvta_generic_to_shared(first) & 0x3ffff) / 16 | (unsigned long long)(apart "
         "/ 16) << 16 | 1024ull / 16 << 32 | 1ull << 62;\n}\n\n"
         "static __device__ __forceinline__ void " +
         helper + "Multiply(float (&sum)[" + std::to_string(shape.bn / 8) +
         "][4], unsigned long long a, unsigned long long b) {\n" +
         "  asm volatile(\"wgmma.mma_async.sync.aligned.m64n" + name + "k16.f32." + in + "." + in +
         " \"\n               \"{" + numbers + "}, \"\n               \"" + number(sums) + ", " +
         number(sums + 1) + ", 1, 1, 1" + flag(tileOf(true)) + flag(tileOf(false)) +
         ";\"\n               : " + registers +
         "\n               : \"l\"(a), \"l\"(b));\n}\n\n"
         "// Among four lanes, the n-th of each goes to lane n.\n"
         "static __device__ __forceinline__ void " +
         helper + "Exchange(float &a, float &b, float &c, float &d) {\n" +
         "  const bool isOdd = threadIdx.x % 2, isHigh = threadIdx.x % 4 / 2;\n"
         "  const float x = __shfl_xor_sync(~0u, isOdd ? a : b, 1), y = __shfl_xor_sync(~0u, "
         "isOdd ? c : d, 1);\n"
         "  if (isOdd)\n    a = x, c = y;\n  else\n    b = x, d = y;\n"
         "  const float z = __shfl_xor_sync(~0u, isHigh ? a : c, 2), w = __shfl_xor_sync(~0u, "
         "isHigh ? b : d, 2);\n"
         "  if (isHigh)\n    a = z, b = w;\n  else\n    c = z, d = w;\n}\n#endif\n\n";
}

std::string WgmmaPrinter::extentsOf(const NamedTile &tile) const {
  std::string side = sideSize(*tile.tile);
  return tile.tile->alongSide ? "[" + side + " / 64][" + bk + "][64]" : "[" + side + "][64]";
}

void WgmmaPrinter::printTiles() {
  std::string before;
  memory = fresh(kernel.name + "Memory");
  code.line("extern __shared__ __align__(1024) char " + memory + "[];");
  kernel.dynamicSharedBytes = std::to_string(shape.sharedBytes(contraction));
  for (const NamedTile &tile : tiles) {
    code.line("auto &" + tile.shared + " = *reinterpret_cast<" + tile.tile->operand.getType() +
              " (*)[" + stages + "]" + extentsOf(tile) + ">(" + memory + before + ");");
    before += " + sizeof(" + tile.shared + ")";
  }
}

void WgmmaPrinter::printThread() {
  code.line("const int " + lane + " = threadIdx.x % 32, " + warp + " = threadIdx.x / 32;");
  code.line("const int " + rowOfThread + " = " + warp + " * 16 + " + lane + " / 4;");
}

/// Copies the next tile; terms beyond the end are zero, and nothing is read there.
void WgmmaPrinter::printLoad() {
  printWalks();
  std::string declared;
  for (const NamedTile &tile : tiles)
    declared += (declared.empty() ? "const int " : ", ") + places[tile.from] + " = (" +
                (tile.tile->alongSide ? tile.side + " % 64 / 8 ^ " + tile.term
                                      : tile.term + " / 8 ^ " + tile.side) +
                " % 8) * 8";
  code.line(declared + "; // chunks of 8 change places");
  code.line("auto " + load + " = [&](int " + stage + ", int " + left + ") {").indent();
  code.line("const bool " + whole + " = " + left + " >= " + bk + ";");
  for (const NamedTile &tile : tiles) {
    auto [side, inner] = placeOf(tile);
    bool alongSide = tile.tile->alongSide;
    openTileLoop(tile);
    code.line("__pipeline_memcpy_async(&" + tile.shared + "[" + stage + "]" +
              (alongSide ? "[" + tile.side + " / 64][" + inner + "]" : "[" + side + "]") + "[" +
              places[tile.from] + "], " + walkedAddress(tile) + ", 16, " + whole + " || " + inner +
              " < " + left + " ? 0 : 16);");
    if (!alongSide)
      code.line(tile.from + "[" + chunk + "] += " + times(bk, tile) + ";");
    code.close();
    if (alongSide)
      code.line(tile.from + " += " + times(bk, tile) + ";");
  }
  code.outdent().line("};");
}

/// The matrix of \p tile that step `step` multiplies.
std::string WgmmaPrinter::matrixAt(const NamedTile &tile) const {
  std::string at = "&" + tile.shared + "[" + stage + "]",
              own = tile.tile->isRow ? warp + " / 4" : "0";
  if (tile.tile->alongSide)
    at += "[" + own + "][" + step + " * 16][0], sizeof(" + tile.shared + "[0][0])";
  else
    at += "[" + own + (tile.tile->isRow ? " * 64" : "") + "][" + step + " * 16], 0";
  return helper + "Matrix(" + at + ")";
}

void WgmmaPrinter::printWait(StringRef groups) {
  code.line("asm volatile(\"wgmma.wait_group.sync.aligned " + groups + ";\" ::: \"memory\");");
}

void WgmmaPrinter::printMultiply() {
  code.line("asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");");
  code.unroll()
      .line("for (int " + step + " = 0; " + step + " < " + bk + " / 16; ++" + step + ")")
      .indent();
  code.line(helper + "Multiply(" + sum() + ", " + matrixAt(tileOf(true)) + ", " +
            matrixAt(tileOf(false)) + ");")
      .outdent();
  code.line("asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");");
}

void WgmmaPrinter::printLoop() {
  code.unroll().open("for (int " + stage + " = 0; " + stage + " < " + ahead + "; ++" + stage + ")");
  code.open("if (" + limit + " > " + stage + " * " + bk + ")");
  code.line(load + "(" + stage + ", " + limit + " - " + stage + " * " + bk + ");").close();
  code.line("__pipeline_commit();").close();
  code.line("int " + stage + " = 0, " + next + " = " + ahead +
            "; // the stage of this tile, and the one that is filled");
  code.unroll(1).open("for (int " + depth0 + " = 0; " + depth0 + " < " + limit + "; " + depth0 +
                      " += " + bk + ")");
  code.line("__pipeline_wait_prior(" + ahead + " - 1);");
  code.line("asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\"); // wgmma sees what "
            "was copied");
  if (!overlaps())
    printWait("0");
  code.line("__syncthreads();");
  printMultiply();
  std::string rest = limit + " - " + depth0 + (" - " + ahead) + " * " + bk;
  code.open("if (" + limit + " - " + depth0 + " > " + ahead + " * " + bk + ")");
  code.line(load + "(" + next + ", " + rest + ");").close();
  code.line("__pipeline_commit();");
  if (overlaps())
    printWait("1");
  for (const std::string &each : {stage, next})
    code.line(each + " = " + each + " + 1 < " + stages + " ? " + each + " + 1 : 0;");
  code.close();
  printWait("0");
}

void WgmmaPrinter::loopOverSums(int64_t apart, llvm::function_ref<void()> body) {
  code.unroll().open("for (int " + j + " = 0; " + j + " < " + bn + " / 8; " +
                     (apart == 1 ? "++" + j : j + " += " + std::to_string(apart)) + ")");
  code.unroll().open("for (int " + part + " = 0; " + part + " < 4; ++" + part + ")");
  body();
  code.close().close();
}

void WgmmaPrinter::printExchange() {
  loopOverSums(1, [&] {
    code.line("asm volatile(\"\" : \"+f\"(" + sum() + "[" + j + "][" + part +
              "])); // not read before the wait");
  });
  // Each of four lanes has two columns of every eight; afterwards it has all of every fourth eight.
  loopOverSums(4, [&] {
    std::string at = sum() + "[" + j, in = "][" + part + "]";
    code.line(helper + "Exchange(" + at + in + ", " + at + " + 1" + in + ", " + at + " + 2" + in +
              ", " + at + " + 3" + in + "); // neighbours");
  });
  isExchanged = true;
}

void WgmmaPrinter::printPoints() {
  code.open("for (int " + at + " = threadIdx.x; " + at + " < " + bm + " * " + bn + "; " + at +
            " += " + threads + ")");
  declareSide(true, row0 + " + " + at + " / " + bn);
  declareSide(false, column0 + " + " + at + " % " + bn);
  code.open("if (" + contraction.row.name + " >= " + rows + " || " + contraction.column.name +
            " >= " + columns + ")")
      .line("continue;")
      .close();
  StatementPrinter{text, code}.print(*contraction.point);
  code.close();
}

llvm::Expected<GeneratedKernel> kbopt::printWgmmaContraction(const Contraction &contraction,
                                                             const ContractionShape &shape,
                                                             StringRef name, const ChipInfo &chip) {
  return WgmmaPrinter(contraction, shape, name).print(shape.residentBlocks(contraction, chip));
}
