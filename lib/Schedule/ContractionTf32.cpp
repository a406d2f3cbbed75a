//===- ContractionTf32.cpp - Floats on the matrix units ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the kernel that rounds floats to tf32 and multiplies them by mma.sync into float sums. Rows
// of the tiles are padded so that the lanes of a warp read from different banks. The layout of
// fragments is that of the PTX ISA, "Matrix Fragments for mma.m16n8k8". Where sums end at different
// terms, the terms that only some rows of a fragment have are multiplied as floats, so that nothing
// is read into a sum that has no such term.
//
//===----------------------------------------------------------------------===//

#include "ContractionMma.h"

using namespace kbopt;
using namespace mlir;

std::string Tf32Printer::helpers() const {
  return "static __device__ __forceinline__ unsigned " + helper +
         "Round(float x) {\n  unsigned rounded;\n  asm(\"cvt.rna.tf32.f32 %0, %1;\" : "
         "\"=r\"(rounded) : \"f\"(x));\n"
         "  return rounded;\n}\n\nstatic __device__ __forceinline__ void " +
         helper +
         "Multiply(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {\n"
         "  asm(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, "
         "%6, %7}, {%8, %9}, {%0, "
         "%1, %2, %3};\"\n"
         "      : \"+f\"(sum[0]), \"+f\"(sum[1]), \"+f\"(sum[2]), \"+f\"(sum[3]) : \"r\"(a[0]), "
         "\"r\"(a[1]), "
         "\"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n}\n\n";
}

std::string Tf32Printer::comment() const {
  return ",\n// rounded to tf32, on the matrix units. Tiles are copied " +
         std::to_string(shape.stages - 1) +
         " ahead; rows are padded so that lanes read from\n// different banks.\n";
}

std::string Tf32Printer::extentsOf(const NamedTile &tile) const {
  std::string side = sideSize(*tile.tile);
  return tile.tile->alongSide ? "[" + bk + "][" + side + " + 8]" : "[" + side + "][" + bk + " + 4]";
}

std::string Tf32Printer::elementAt(const NamedTile &tile, const llvm::Twine &side,
                                   const llvm::Twine &term) const {
  return (tile.tile->alongSide ? "[" + term + "][" + side + "]" : "[" + side + "][" + term + "]")
      .str();
}

void Tf32Printer::printFetch() {
  part4 = text.freshName("q");
  const NamedTile &a = rowTile(), &b = columnTile();
  code.line("unsigned " + a.registers + "[2][" + tm + " / 16][4], " + b.registers + "[2][" + tn +
            " / 8][2];");
  code.line("auto " + fetch + " = [&](int " + slot + ", int " + stage + ", int " + step + ") {")
      .indent();
  auto round = [&](const NamedTile &tile, const std::string &index, const std::string &fragments,
                   int parts, const std::string &side, const std::string &term) {
    code.unroll().open("for (int " + index + " = 0; " + index + " < " + fragments + "; ++" + index +
                       ")");
    code.unroll()
        .line("for (int " + part4 + " = 0; " + part4 + " < " + std::to_string(parts) + "; ++" +
              part4 + ")")
        .indent();
    code.line(tile.registers + "[" + slot + "][" + index + "][" + part4 + "] = " + helper +
              "Round(" + tile.shared + "[" + stage + "]" +
              elementAt(tile, side, step + " * 8 + " + lane + " % 4 + " + term) + ");")
        .outdent();
    code.close();
  };
  round(a, i, tm + " / 16", 4, rowOfThread + " + " + i + " * 16 + " + part4 + " % 2 * 8",
        part4 + " / 2 * 4");
  round(b, j, tn + " / 8", 2, columnOfWarp() + " + " + lane + " / 4 + " + j + " * 8",
        part4 + " * 4");
  code.outdent().line("};");
}

/// The products of the fragment of rows \p i.
void Tf32Printer::printProducts(StringRef slot) {
  code.unroll().line("for (int " + j + " = 0; " + j + " < " + tn + " / 8; ++" + j + ")").indent();
  code.line(helper + "Multiply(" + sums.begin()->second + "[" + i + "][" + j + "], " +
            rowTile().registers + "[" + slot.str() + "][" + i + "], " + columnTile().registers +
            "[" + slot.str() + "][" + j + "]);")
      .outdent();
}

void Tf32Printer::printMultiply() {
  code.line("auto " + multiply + " = [&](int " + slot + ") {").indent();
  code.unroll().open("for (int " + i + " = 0; " + i + " < " + tm + " / 16; ++" + i + ")");
  printProducts(slot);
  code.close().outdent().line("};");
}

/// The terms of a step that only some rows of fragment \p i have, of which the first row has \p
/// ends.
void Tf32Printer::printSingleTerms(StringRef ends, int64_t growth) {
  std::string term = text.freshName("term"), half = text.freshName("half"),
              left = text.freshName("factor");
  std::string times = growth == 1 ? "" : " * " + std::to_string(growth),
              at = step + " * 8 + " + term;
  code.unroll(1).open("for (int " + term + " = 0; " + term + " < 8; ++" + term + ")");
  code.unroll().open("for (int " + half + " = 0; " + half + " < 2; ++" + half + ")");
  code.open("if (" + depth0 + " + " + at + " >= " + ends.str() + " + (" + lane + " / 4 + " + half +
            " * 8)" + times + ")")
      .line("continue;")
      .close();
  code.line("const float " + left + " = " + rowTile().shared + "[0]" +
            elementAt(rowTile(), rowOfThread + " + " + i + " * 16 + " + half + " * 8", at) + ";");
  code.unroll().open("for (int " + j + " = 0; " + j + " < " + tn + " / 4; ++" + j + ")");
  code.line(sums.begin()->second + "[" + i + "][" + j + " / 2][" + half + " * 2 + " + j +
            " % 2] += " + left + " * " + columnTile().shared + "[0]" +
            elementAt(columnTile(), columnOfThread + " + " + j + " / 2 * 8 + " + j + " % 2", at) +
            ";");
  code.close().close().close();
}

void Tf32Printer::printRest() {
  if (!contraction.length)
    return MmaPrinter::printRest();
  int64_t growth = *strideAlong(contraction.length, contraction.row.name);
  std::string ends = text.freshName("ends");
  code.open("for (; " + depth0 + " < " + limit + "; " + depth0 + " += " + bk + ")");
  printLoads("0", limit + " - " + depth0, depth0);
  code.line("__pipeline_commit();").line("__pipeline_wait_prior(0);").line("__syncthreads();");
  code.unroll(1).open("for (int " + step + " = 0; " + step + " < " + steps + "; ++" + step + ")");
  code.line(fetch + "(0, 0, " + step + ");");
  code.unroll().open("for (int " + i + " = 0; " + i + " < " + tm + " / 16; ++" + i + ")");
  code.line("const int " + contraction.row.name + " = " + row0 + " + " + rowOfWarp() + " + " + i +
            " * 16;");
  code.line("const int " + ends + " = " + text.expression(contraction.length) +
            "; // of the first of 16 rows");
  code.open("if (" + ends + " >= " + depth0 + " + " + step + " * 8 + 8)");
  printProducts("0");
  code.outdent()
      .line("} else if (" + ends + " + " + std::to_string(15 * growth) + " > " + depth0 + " + " +
            step + " * 8) {")
      .indent();
  printSingleTerms(ends, growth);
  code.close().close().close().line("__syncthreads();").close();
}
