//===- ScanPrinter.h - Prefix sums of rows as CUDA text ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the kernels of the sketch `scan`: of teams that take a row each, and of tiles of a long row.
// Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_SCANPRINTER_H
#define KBOPT_LIB_SCHEDULE_SCANPRINTER_H

#include "ScanNest.h"
#include "kb-opt/Schedule/Sketch.h"

namespace kbopt {

class ScanPrinter {
public:
  ScanPrinter(kb::NestOp nest, llvm::StringRef name)
      : nest(nest), scan(nest), schedule(nest.getScheduleAttr()), text(nest), name(name.str()) {}

  llvm::Expected<GeneratedKernel> run();
  /// Why \p scan has no kernel that looks back; empty if it has one.
  static std::string whyNoLookBack(const ScanNest &scan);

private:
  /// Elements that a thread moves at once and holds meanwhile.
  struct HeldElements {
    std::string key, array;
    kb::OperandAttr operand; ///< in the names of the loop that it stands in
    llvm::StringRef dim;     ///< of that loop
    bool loads = false, stores = false;
    bool isMirrored = false; ///< the elements lie in falling order
    bool isOfTerm = false;   ///< a term needs it
  };
  struct Names {
    std::string own, upTo; ///< of the thread's elements; of what is before an element
  };

  kb::NestOp nest;
  ScanNest scan;
  Schedule schedule;
  CudaText text;
  std::string name;
  Needs needs;
  int64_t team = 0, width = 1, rows = 1, launches = 1;
  std::vector<HeldElements> held;
  std::string lanes, widthName, rowsName, row, tile, tiles, first, element, extent, helpers;
  std::map<std::string, std::string> known; ///< helper by team, type and combination
  std::vector<Names> values;                ///< of the carried ones, in their order
  llvm::StringSet<> unaliased;

  bool isWarp() const { return team == 32; }
  /// Whether the last elements of the one row may be fewer than a thread takes.
  bool isPartial() const;
  std::string step() const { return lanes + (width > 1 ? " * " + widthName : ""); }
  static std::string combine(const CarriedValue &value, llvm::StringRef a, llvm::StringRef b) {
    return CudaText::combine(value.combine, a, b);
  }

  // What the schedule asks for.
  std::string chooseShape();
  std::string require();
  bool isFalling(kb::OperandAttr operand, llvm::StringRef dim);
  void hold(mlir::Operation *op, kb::OperandAttr operand, bool isStore, bool isOfTerm);
  std::string findHeld();
  void nameThings();

  // The elements of a thread.
  std::string heldText(kb::OperandAttr operand, llvm::StringRef dim);
  void move(CodeLines &code, const HeldElements &each, bool isLoad);
  void printElements(CodeLines &code, bool areTerms);
  void printElement(CodeLines &code, bool areTerms);
  void printTerms(CodeLines &code, kb::OverOp over, bool areTerms);
  /// Reads the thread's elements and forms what they have together.
  void printOwn(CodeLines &code, bool isAll);
  /// Computes the thread's elements, with what is before the first one.
  void printResults(CodeLines &code);
  /// The same where \p upTo is what is before the first one.
  void printElementsAfter(CodeLines &code, llvm::StringRef upTo);
  void printElementsOnce(CodeLines &code);

  // What is before a thread.
  void printBefore(CodeLines &code);
  std::string helperFor(const CarriedValue &value, int64_t threads);

  // Kernels.
  void printConstants(CodeLines &code, int64_t threads);
  void declareRow(CodeLines &code, llvm::StringRef number, llvm::StringRef body);
  void printStart(CodeLines &code);
  void printTiles(CodeLines &code);
  void printAfter(CodeLines &code);
  std::string printTeams();
  GeneratedKernel finish(const std::string &definition, int64_t threads);
  GeneratedKernel teams();

  // Kernels of tiles.
  std::string slot(llvm::StringRef at);
  void declareTiles(CodeLines &code);
  std::string tileSums();
  std::string tileOffsets();
  std::string tileResults();
  std::string define(llvm::StringRef kernel, llvm::StringRef comment, int64_t threads,
                     llvm::StringRef body);
  /// Gives \p kernel a block for each tile, where that is better than a block for each row.
  void spreadTiles(GeneratedKernel &kernel);
  GeneratedKernel grid();

  // One kernel of tiles.
  std::string lookBackHelper();
  GeneratedKernel lookBack();
};

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_SCANPRINTER_H
