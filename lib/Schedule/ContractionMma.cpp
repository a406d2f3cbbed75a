//===- ContractionMma.cpp - A contraction on the matrix units ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the kernel that multiplies half or bf16 operands by mma.sync into float sums: tiles arrive
// by cp.async, chunks of 16 bytes exchanged within a row so that ldmatrix reads without conflicts,
// and fragments are one step ahead. The layout of fragments is that of the PTX ISA, "Matrix
// Fragments for mma.m16n8k16".
//
//===----------------------------------------------------------------------===//

#include "ContractionMma.h"

using namespace kbopt;
using namespace mlir;

namespace {

/// The element that \p text stands for, converted to float or not; null if it is anything else.
kb::OperandAttr elementOf(StringRef text, ArrayAttr operands, const Contraction &contraction) {
  text = text.trim();
  for (bool again = true; again;) {
    again = false;
    for (StringRef word :
         {"__half2float", "__bfloat162float", "(float)", "static_cast<float>", "float", ""})
      if (StringRef inner = text; inner.consume_front(word)) {
        inner = inner.ltrim();
        bool isCall = inner.starts_with("(") && inner.ends_with(")") &&
                      inner.drop_front().find(')') == inner.size() - 2;
        if (!isCall && word != "(float)")
          continue;
        text = isCall ? inner.drop_front().drop_back().trim() : inner;
        again = true;
        break;
      }
  }
  if (text.consume_front("$")) {
    unsigned hole = 0;
    return text.getAsInteger(10, hole) ? kb::OperandAttr() : cast<kb::OperandAttr>(operands[hole]);
  }
  for (Operation *op : llvm::reverse(contraction.term)) // the last one counts
    if (auto let = dyn_cast<kb::LetOp>(op); let && let.getName() == text)
      return elementOf(let.getText(), let.getOperands(), contraction);
  return {};
}

std::string mmaType(StringRef type) {
  if (type == "half" || type == "__half")
    return "f16";
  if (type == "float")
    return "f32";
  return type == "__nv_bfloat16" || type == "nv_bfloat16" ? "bf16" : "";
}

} // namespace

llvm::Expected<GeneratedKernel> MmaPrinter::print(int64_t blocks) {
  for (const NamedTile &tile : tiles)
    if (tile.width != elementsOfAccess() && !tile.isSingle())
      return llvm::createStringError(tile.tile->operand.getBase().getName() +
                                     " cannot be read 16 bytes at a time");
  load = text.freshName("load"), fetch = text.freshName("fetch"),
  multiply = text.freshName("multiply"), stages = text.freshName("STAGES"),
  steps = text.freshName("STEPS"), piece = text.freshName("piece"), used = text.freshName("used"),
  whole = text.freshName("isWhole"), helper = kernel.name;
  for (const NamedTile &tile : tiles) {
    if (!tile.walks && !tile.hasDigits)
      return llvm::createStringError(tile.tile->operand.getBase().getName() +
                                     " is not read at constant distances");
    std::string base = StringRef(tile.from).drop_back(4).str();
    places[tile.from] = text.freshName(base + "Place"),
    firsts[tile.from] = text.freshName(base + "First");
  }
  nameSingles();
  printPosition();
  printTiles();
  printThread();
  printLoad();
  printInitialValues();
  printFetch();
  printMultiply();
  isSplit() ? printSplitLoop() : printLoop();
  if (isSplit())
    printParts();
  printAfter();
  kernel.definition = "#include <cuda_pipeline_primitives.h>\n\n" + helpers();
  addHelpers(helpers());
  kernel.reassociates = true;
  kernel.lowersPrecision = shape.core == "tf32";
  return finish("// A block computes " + std::to_string(shape.bm) + " x " +
                    std::to_string(shape.bn) + " outputs and a warp " + std::to_string(shape.tm) +
                    " x " + std::to_string(shape.tn) + " of them" + comment(),
                blocks);
}

/// Names the functions of \p all, between which empty lines stand.
void MmaPrinter::addHelpers(StringRef all) {
  while (!all.empty()) {
    size_t end = all.find("\n\n");
    StringRef function = all.take_front(end == StringRef::npos ? end : end + 2);
    StringRef name = function.take_until([](char c) { return c == '('; }).rsplit(' ').second;
    kernel.helpers.push_back({name.str(), function.str()});
    all = all.drop_front(function.size());
  }
}

std::string MmaPrinter::constants() const {
  auto is = [](StringRef name, int64_t value) {
    return name.str() + " = " + std::to_string(value) + ", ";
  };
  return is(bm, shape.bm) + is(bn, shape.bn) + is(bk, shape.bk) + is(tm, shape.tm) +
         is(tn, shape.tn) + is(stages, shape.stages) + (isSplit() ? is(split, shape.split) : "") +
         steps + " = " + bk + " / " + std::to_string(termsOfStep()) + ", " + threads + " = " + bm +
         " / " + tm + " * (" + bn + " / " + tn + ") * 32" + (isSplit() ? " * " + split : "");
}

std::string MmaPrinter::sumAt(StringRef array, StringRef i, StringRef j) const {
  std::string column = j.contains(' ') ? "(" + j.str() + ")" : j.str();
  return (array + "[" + i + " / 2][" + column + " / 2][" + i + " % 2 * 2 + " + column + " % 2]")
      .str();
}

std::string MmaPrinter::comment() const {
  std::string singles;
  for (const NamedTile &tile : tiles)
    if (tile.isSingle())
      singles += (singles.empty() ? "" : " and ") + tile.tile->operand.getBase().getName().str();
  return " on the matrix units. Tiles are copied " + std::to_string(shape.stages - 1) +
         " ahead;\n// chunks of 8 elements change places within a row, so that the rows of a "
         "matrix lie in different banks.\n" +
         (singles.empty() ? "" : "// Elements of " + singles + " are loaded one by one.\n");
}

std::string MmaPrinter::helpers() const {
  std::string type = tiles[0].tile->operand.getType().str(), in = mmaType(type);
  auto ldmatrix = [&](StringRef suffix) {
    return "\"ldmatrix.sync.aligned.m8n8.x4" + suffix.str() +
           ".shared.b16 {%0, %1, %2, %3}, [%4];\"";
  };
  auto load = [&](StringRef suffix) {
    return "  asm volatile(" + ldmatrix(suffix) +
           "\n               : \"=r\"(to[0]), \"=r\"(to[1]), \"=r\"(to[2]), \"=r\"(to[3]) : "
           "\"r\"((unsigned)__cvta_generic_to_shared(row)));\n";
  };
  std::string body = load("");
  bool someSide = tiles[0].isTransposed || tiles[1].isTransposed,
       allSide = tiles[0].isTransposed && tiles[1].isTransposed;
  if (allSide)
    body = load(".trans");
  else if (someSide)
    body = "  if (isTransposed)\n  " + load(".trans") + "  else\n  " + load("");
  return "static __device__ __forceinline__ void " + helper + "Load(unsigned (&to)[4], const " +
         type + " *row" + (needsFlag() ? ", bool isTransposed" : "") + ") {\n" + body +
         "}\n\nstatic __device__ __forceinline__ void " + helper +
         "Multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {\n" +
         "  asm(\"mma.sync.aligned.m16n8k16.row.col.f32." + in + "." + in +
         ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n" +
         "      : \"+f\"(sum[0]), \"+f\"(sum[1]), \"+f\"(sum[2]), \"+f\"(sum[3]) : \"r\"(a[0]), "
         "\"r\"(a[1]), "
         "\"r\"(a[2]), \"r\"(a[3]), \"r\"(b0), \"r\"(b1));\n}\n\n";
}

std::string MmaPrinter::extentsOf(const NamedTile &tile) const {
  std::string side = sideSize(*tile.tile);
  return tile.isTransposed ? "[" + bk + "][" + side + "]" : "[" + side + "][" + bk + "]";
}

void MmaPrinter::printTiles() {
  std::string memory = text.freshName(kernel.name + "Memory"), used;
  code.line("extern __shared__ __align__(128) char " + memory + "[];");
  kernel.dynamicSharedBytes = std::to_string(shape.sharedBytes(contraction));
  for (const NamedTile &tile : tiles) {
    code.line("auto &" + tile.shared + " = *reinterpret_cast<" + tile.tile->operand.getType() +
              " (*)[" + stages + "]" + extentsOf(tile) + ">(" + memory + used + ");");
    used += " + sizeof(" + tile.shared + ")";
  }
  dynamicMemory = memory + used;
}

void MmaPrinter::printThread() {
  code.line("const int " + lane + " = threadIdx.x % 32, " + warp + " = threadIdx.x / 32;");
  std::string each = threads + " / " + split; // threads of a part
  if (isSplit())
    code.line("const int " + part + " = threadIdx.x / (" + each + "); // of the terms of a tile");
  code.line("const int " + rowOfWarp() + " = " + warp + " / (" + bn + " / " + tn + ")" +
            (isSplit() ? " % (" + bm + " / " + tm + ")" : "") + " * " + tm + ", " + columnOfWarp() +
            " = " + warp + " % (" + bn + " / " + tn + ") * " + tn + ";");
  code.line("const int " + rowOfThread + " = " + rowOfWarp() + " + " + lane + " / 4, " +
            columnOfThread + " = " + columnOfWarp() + " + " + lane + " % 4 * 2;");
}

void MmaPrinter::printPlaces() {
  std::string declared;
  for (const NamedTile &tile : tiles)
    if (!tile.isSingle() || !tile.tile->alongSide)
      declared += (declared.empty() ? "const int " : ", ") + places[tile.from] + " = (" +
                  (tile.isTransposed ? tile.side + " / 8 ^ " + tile.term
                                     : tile.term + " / 8 ^ " + tile.side) +
                  " % 8) * 8";
  if (!declared.empty())
    code.line(declared + "; // chunks of 8 change places");
}

std::string MmaPrinter::placeOfCopy(const NamedTile &tile) const {
  if (!tile.isSingle() || !tile.tile->alongSide)
    return places.at(tile.from);
  return "((" + placeOf(tile).second + ") / 8 ^ " + tile.side + " % 8) * 8";
}

void MmaPrinter::openPieces(const NamedTile &tile) {
  code.unroll().open("for (int " + chunk + " = " + piece + "; " + chunk + " < " + perThread(tile) +
                     "; " + chunk + " += " + steps + " - 1)");
}

/// A part of a tile; terms beyond the end are zero in both tiles, and nothing is read there.
void MmaPrinter::printLoad() {
  printWalks();
  printPlaces();
  for (const NamedTile &tile : tiles)
    if (tile.isSingle())
      code.line("alignas(16) " + tile.tile->operand.getType() + " " + tile.next + "[" +
                (isSplit()
                     ? perThread(tile)
                     : "(" + perThread(tile) + " + " + steps + " - 2) / (" + steps + " - 1)") +
                "][8];");
  code.line("auto " + load + " = [&](int " + stage + ", int " + piece + ", int " + left +
            (hasTables() ? ", int " + begin : "") + ") {")
      .indent();
  code.line("const bool " + whole + " = " + left + " >= " + bk + ";");
  if (hasTables())
    code.line("const int " + slot + " = " + begin + " / " + bk + " % 2;");
  for (const NamedTile &tile : tiles)
    printLoadOf(tile);
  code.outdent().line("};");
  printKeep();
}

void MmaPrinter::printLoadOf(const NamedTile &tile) {
  auto [side, inner] = placeOf(tile);
  bool alongSide = tile.tile->alongSide;
  openPieces(tile);
  if (tile.isSingle())
    printSingles(tile);
  else
    code.line("__pipeline_memcpy_async(&" + tile.shared + "[" + stage + "][" +
              (alongSide ? inner : side) + "][" + placeOfCopy(tile) + "], " +
              (tile.hasDigits ? tile.from + "[" + chunk + "] + " + placeOfTerm(tile, inner)
                              : walkedAddress(tile)) +
              ", 16, " + (tile.hasDigits ? tile.guard : whole + " || " + inner + " < " + left) +
              " ? 0 : 16);");
  if (tile.walks && !alongSide)
    code.line(tile.from + "[" + chunk + "] += " + times(bk, tile) + ";");
  code.close();
  if (tile.walks && alongSide)
    code.open("if (" + piece + " == " + steps + " - 2)")
        .line(tile.from + " += " + times(bk, tile) + ";")
        .close();
}

/// Which of the four 8 x 8 matrices a lane gives a row of: rows first for the left operand, terms
/// first for the right one.
void MmaPrinter::printFetch() {
  for (const NamedTile &tile : tiles)
    code.line("unsigned " + tile.registers + "[2][" + (tile.tile->isRow ? tm : tn) + " / 16][4];");
  for (const NamedTile &tile : tiles) {
    std::string warpSide = tile.tile->isRow ? rowOfWarp() : columnOfWarp();
    std::string matrix = tile.tile->isRow == tile.isTransposed ? lane + " / 8 % 2" : lane + " / 16";
    code.line("const int " + firsts[tile.from] + " = (" +
              (tile.isTransposed ? "(" + warpSide + " + " + matrix + " * 8) / 8" : matrix) + " ^ " +
              lane + " % 8) * 8;");
  }
  code.line("auto " + fetch + " = [&](int " + slot + ", int " + stage + ", int " + step + ") {")
      .indent();
  for (const NamedTile &tile : tiles) {
    bool isRow = tile.tile->isRow, alongSide = tile.isTransposed;
    const std::string &index = isRow ? i : j;
    std::string rowOfLane =
        isRow == alongSide ? lane + " / 16 * 8 + " + lane + " % 8" : lane + " % 16";
    std::string slow = alongSide ? rowOfLane + " + " + step + " * 16"
                                 : (isRow ? rowOfWarp() : columnOfWarp()) + " + " + rowOfLane +
                                       " + " + index + " * 16";
    code.unroll()
        .line("for (int " + index + " = 0; " + index + " < " + (isRow ? tm : tn) + " / 16; ++" +
              index + ")")
        .indent();
    code.line(helper + "Load(" + tile.registers + "[" + slot + "][" + index + "], &" + tile.shared +
              "[" + stage + "][" + slow + "][" + firsts[tile.from] + " ^ " +
              (alongSide ? index : step) + " * 16]" +
              (needsFlag() ? alongSide ? ", true" : ", false" : "") + ");")
        .outdent();
  }
  code.outdent().line("};");
}

void MmaPrinter::printMultiply() {
  std::string sum = sums.begin()->second, a = rowTile().registers + "[" + slot + "][" + i + "]",
              turned = text.freshName("turned"),
              b = columnTile().registers + "[" + slot + "][" + turned + " / 2]";
  code.line("auto " + multiply + " = [&](int " + slot + ") {").indent();
  code.unroll().open("for (int " + i + " = 0; " + i + " < " + tm + " / 16; ++" + i + ")");
  code.unroll().open("for (int " + j + " = 0; " + j + " < " + tn + " / 8; ++" + j + ")");
  // Every other row runs backwards, so that neighbours share a fragment (1 % faster at 4096).
  code.line("const int " + turned + " = " + i + " % 2 ? " + tn + " / 8 - 1 - " + j + " : " + j +
            ";");
  code.line(helper + "Multiply(" + sum + "[" + i + "][" + turned + "], " + a + ", " + b + "[" +
            turned + " % 2 * 2], " + b + "[" + turned + " % 2 * 2 + 1]);");
  code.close().close().outdent().line("};");
}

void MmaPrinter::callLoad(const llvm::Twine &stage, const llvm::Twine &terms,
                          const llvm::Twine &first) {
  code.line(load + "(" + stage + ", " + piece + ", " + terms +
            (hasTables() ? ", " + first.str() : "") + ");");
}

void MmaPrinter::printLoads(const llvm::Twine &stage, const llvm::Twine &terms,
                            const llvm::Twine &first) {
  code.unroll().open("for (int " + piece + " = 0; " + piece + " < " + steps + " - 1; ++" + piece +
                     ")");
  callLoad(stage, terms, first);
  if (!keep.empty())
    code.line(keep + "(" + stage + ", " + piece + ");");
  code.close();
}

void MmaPrinter::printFirstLoads() {
  code.unroll().open("for (int " + stage + " = 0; " + stage + " < " + stages + " - 1; ++" + stage +
                     ")");
  if (hasTables()) {
    printDescribe(stage + " % 2", stage + " * " + bk);
    code.line("__syncthreads();");
  }
  code.open("if (" + full + " - " + stage + " * " + bk + " >= " + bk + ")");
  printLoads(stage, bk, stage + " * " + bk);
  code.close().line("__pipeline_commit();").close();
  if (hasTables())
    printDescribe("(" + stages + " - 1) % 2", "(" + stages + " - 1) * " + bk);
}

/// The terms of the tile that the next turn of the loop loads.
void MmaPrinter::describeNext() {
  if (!hasTables())
    return;
  std::string ahead = depth0 + " + " + stages + " * " + bk;
  printDescribe("(" + depth0 + " / " + bk + " + " + stages + ") % 2", ahead);
}

void MmaPrinter::declareStages() {
  code.line("int " + depth0 + " = 0, " + stage + " = 0, " + used + " = " + stages +
            " - 1; // the stage of this tile, and one that can be overwritten");
}

void MmaPrinter::moveStage() {
  code.line(used + " = " + stage + ";");
  code.line(stage + " = " + stage + " + 1 < " + stages + " ? " + stage + " + 1 : 0;");
}

void MmaPrinter::printLoop() {
  std::string rest = full + " - " + depth0;
  printFirstLoads();
  code.line("__pipeline_wait_prior(" + stages + " - 2);").line("__syncthreads();");
  code.open("if (" + full + " >= " + bk + ")").line(fetch + "(0, 0, 0);").close();
  declareStages();
  code.open("for (; " + rest + " >= " + bk + "; " + depth0 + " += " + bk + ")");
  describeNext();
  std::string ahead = depth0 + " + (" + stages + " - 1) * " + bk,
              isAhead = "if (" + rest + " >= " + stages + " * " + bk + ")";
  code.unroll().open("for (int " + step + " = 0; " + step + " < " + steps + "; ++" + step + ")");
  code.open("if (" + step + " + 1 < " + steps + ")");
  code.line(fetch + "((" + step + " + 1) % 2, " + stage + ", " + step + " + 1);");
  code.open(isAhead);
  if (!keep.empty())
    code.open("if (" + step + " > 0)").line(keep + "(" + used + ", " + step + " - 1);").close();
  code.line(load + "(" + used + ", " + step + ", " + bk + (hasTables() ? ", " + ahead : "") + ");")
      .close()
      .outdent();
  code.line("} else {").indent();
  if (!keep.empty())
    code.open(isAhead).line(keep + "(" + used + ", " + step + " - 1);").close();
  code.line("__pipeline_commit();")
      .line("__pipeline_wait_prior(" + stages + " - 2);")
      .line("__syncthreads();");
  moveStage();
  code.open("if (" + rest + " >= 2 * " + bk + ")")
      .line(fetch + "(0, " + stage + ", 0);")
      .close()
      .close();
  code.line(multiply + "(" + step + " % 2);").close().close();
  printRest();
}

/// The same where the warps of a block share out the steps of a tile: each has few of them, so that
/// other warps hide what it waits for.
void MmaPrinter::printSplitLoop() {
  std::string rest = full + " - " + depth0;
  printFirstLoads();
  declareStages();
  code.open("for (; " + rest + " >= " + bk + "; " + depth0 + " += " + bk + ")");
  code.line("__pipeline_wait_prior(" + stages + " - 2);").line("__syncthreads();");
  std::string isAhead = "if (" + rest + " >= " + stages + " * " + bk + ")",
              pieces =
                  "for (int " + piece + " = 0; " + piece + " < " + steps + " - 1; ++" + piece + ")";
  code.open(isAhead).unroll().line(pieces).indent();
  callLoad(used, bk, depth0 + " + (" + stages + " - 1) * " + bk);
  code.outdent().close().line("__pipeline_commit();");
  describeNext();
  code.unroll().open("for (int " + step + " = 0; " + step + " < " + steps + " / " + split + "; ++" +
                     step + ")");
  code.line(fetch + "(0, " + stage + ", " + part + " + " + step + " * " + split + ");")
      .line(multiply + "(0);")
      .close();
  if (!keep.empty())
    code.open(isAhead)
        .unroll()
        .line(pieces)
        .indent()
        .line(keep + "(" + used + ", " + piece + ");")
        .outdent()
        .close();
  moveStage();
  code.close();
  code.line("__syncthreads(); // all tiles have been read");
  printRest();
}

void MmaPrinter::printRest() {
  std::string rest = limit + " - " + depth0, first = isSplit() ? part : "0",
              next = isSplit() ? " += " + split : "";
  code.open("if (" + depth0 + " < " + limit + ")");
  if (hasTables()) {
    printDescribe(depth0 + " / " + bk + " % 2", depth0);
    code.line("__syncthreads();");
  }
  printLoads("0", rest, depth0);
  code.line("__pipeline_commit();").line("__pipeline_wait_prior(0);").line("__syncthreads();");
  code.unroll(1).open("for (int " + step + " = " + first + "; " + step + " < " + steps + "; " +
                      (isSplit() ? step + next : "++" + step) + ")");
  code.line(fetch + "(0, 0, " + step + ");").line(multiply + "(0);").close().close();
}

std::string kbopt::whyNoMatrixUnits(const Contraction &contraction, StringRef core) {
  auto reduce =
      contraction.term.empty() ? kb::ReduceOp() : dyn_cast<kb::ReduceOp>(contraction.term.back());
  if (!reduce || contraction.sums.size() != 1 || reduce.getReduction() != "add" ||
      contraction.sums[0].second != "float")
    return "matrix units only add products into float sums";
  auto [left, right] = reduce.getText().split('*');
  auto a = elementOf(left, reduce.getOperands(), contraction),
       b = elementOf(right, reduce.getOperands(), contraction);
  if (!a || !b || a == b || contraction.tiles.size() != 2 || !contraction.tileOf(a) ||
      !contraction.tileOf(b) || contraction.tiles[0].isRow == contraction.tiles[1].isRow)
    return "'" + reduce.getText().str() +
           "' is not a product of two elements, which matrix units need";
  std::string wanted = core == "half"   ? "f16"
                       : core == "bf16" ? "bf16"
                       : core == "tf32" ? "f32"
                                        : "";
  for (const ContractionTile &tile : contraction.tiles) {
    if (wanted.empty() || mmaType(tile.operand.getType()) != wanted)
      return tile.operand.getBase().getName().str() + " is not of a type that " + core.str() +
             " matrix units multiply" + (wanted == "f32" ? "" : " exactly");
    if (!tile.alongSide && !tile.alongDepth)
      return tile.operand.getBase().getName().str() + " cannot be read 16 bytes at a time";
  }
  // Rows of floats may end at different terms: those that not all rows have are multiplied one by
  // one.
  std::optional<int64_t> growth =
      contraction.length ? strideAlong(contraction.length, contraction.row.name) : 0;
  bool isByRow = growth && *growth >= 0 && wanted == "f32" &&
                 !(contraction.length && dependsOn(contraction.length, contraction.column.name));
  return contraction.length && !isByRow ? "the length of its sum differs between outputs" : "";
}

llvm::Expected<GeneratedKernel> kbopt::printMmaContraction(const Contraction &contraction,
                                                           const ContractionShape &shape,
                                                           StringRef name, const ChipInfo &chip) {
  if (shape.core == "tf32")
    return Tf32Printer(contraction, shape, name).print(shape.residentBlocks(contraction, chip));
  return MmaPrinter(contraction, shape, name).print(shape.residentBlocks(contraction, chip));
}
