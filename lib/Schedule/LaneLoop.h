//===- LaneLoop.h - A dimension shared out among threads --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns printing a loop whose iterations the threads of a team take in turn, one or several
// neighbouring ones at a time, and which of its array elements wait in registers or shared memory.
// Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_LANELOOP_H
#define KBOPT_LIB_SCHEDULE_LANELOOP_H

#include "Statements.h"

namespace kbopt {

/// How the iterations of a dimension are given to threads, with the names of the constants and loop
/// variables.
struct LaneShape {
  std::string lane, lanes; ///< the thread's number in its team, and the number of threads
  std::string width,
      chunks; ///< neighbouring iterations of a thread; unrolled turns, empty for a loop with a step
  std::string first, chunk,
      element;              ///< variables: first iteration of a vector, turn, element of a vector
  int64_t vector = 1;       ///< value of `width`
  int64_t turns = 0;        ///< value of `chunks`
  int64_t inflight = 1;     ///< unrolling of a loop with a step
  bool isSingle = false;    ///< one turn, without a loop; a thread without an iteration returns
  bool addsVectors = false; ///< neighbouring floats are added by one atomic (sm_90)
  std::string counter;      ///< what counts iterations where it is not the dimension itself
  std::function<void(CodeLines &)> declare = {}; ///< prints what a turn derives from `counter`
  bool packs = false; ///< elements that lie side by side in a body are moved at once (vector 1)
  /// Prints a loop of the body, with what stands for elements; false where it is to be printed as
  /// it is.
  std::function<bool(CodeLines &, kb::OverOp, OperandText)> loop = {};
  /// What stands for an element that no stream holds.
  std::function<std::string(kb::OperandAttr)> outside = {};
};

/// An array element that a loop keeps outside memory for a while.
struct Stream {
  enum Place { Local, Registers, Shared };
  std::string key, array; ///< of the element (elementKey); name of the array that holds it
  kb::OperandAttr operand;
  Place place = Local;
  bool loads = false, stores = false; ///< in the loop at hand
  bool adds = false;                  ///< what is stored is added, by one atomic for a vector
  bool writesBack = true;             ///< the store reaches memory
  bool isVector = false;              ///< moved in accesses of up to 16 bytes
  /// The elements of a pack, from `operand` on, which one access moves; empty where it is no pack.
  std::vector<std::string> parts = {};
  /// It is held as it was before the body: stores go to memory, after the last load of its array.
  bool isOld = false;
};

/// What a printed kernel has found out about the launch it needs.
struct Needs {
  std::vector<LaunchCondition> conditions;
  void expression(llvm::StringRef text);
  void aligned(kb::BaseAttr base, unsigned bytes);
  void disjoint(kb::BaseAttr a, kb::BaseAttr b);
};

/// Requires that what the nest stores to overlaps nothing else that it uses. The pointer parameters
/// that are then the only way to what they point to.
llvm::StringSet<> keepApart(CudaText &text, Needs &needs);

/// Whether \p operand of the loop \p body over \p dim can be moved \p vector elements at a time:
/// unit stride, at most 16 bytes an access, rows that begin at multiples. Adds what the launch must
/// satisfy to \p needs.
bool isVector(CudaText &text, kb::OperandAttr operand, mlir::Block &body, llvm::StringRef dim,
              int64_t vector, Needs *needs);

/// The streams of the loop \p body over \p dim: every element with unit stride that it always loads
/// or stores (\p shape says how many at once), and those of \p cached. Elements of several vectors
/// that are both loaded and stored keep their order by conditions in \p needs.
std::vector<Stream> streamsOf(CudaText &text, mlir::Block &body, llvm::StringRef dim,
                              const LaneShape &shape, llvm::ArrayRef<Stream> cached, Needs &needs);

/// Prints the loop \p body over \p dim of \p extent iterations. Arrays of cached streams are
/// declared already.
/// \p partial names the variables into which kb.reduce operations combine, where they are not their
/// own.
void printLaneLoop(CudaText &text, CodeLines &code, mlir::Block &body, llvm::StringRef dim,
                   llvm::StringRef extent, const LaneShape &shape, llvm::ArrayRef<Stream> streams,
                   const std::map<std::string, std::string> &partial = {});

/// One of several loops that go through the same iterations.
struct LaneBody {
  mlir::Block *body;
  std::string dim;
  std::vector<Stream> streams;
};
/// Prints them as one loop, which does turn after turn what each of them does; \p before is asked
/// for what stands before the part of each one.
void printLaneLoops(CudaText &text, CodeLines &code, llvm::ArrayRef<LaneBody> bodies,
                    llvm::StringRef extent, const LaneShape &shape,
                    const std::map<std::string, std::string> &partial,
                    llvm::function_ref<void(size_t)> before);

/// Prints one turn of such a loop, the iterations from \p first on.
void printTurn(CudaText &text, CodeLines &code, mlir::Block &body, llvm::StringRef dim,
               llvm::StringRef first, const LaneShape &shape, llvm::ArrayRef<Stream> streams,
               const std::map<std::string, std::string> &partial = {});

/// Prints the loop that fills the arrays of \p streams from memory.
void printFill(CudaText &text, CodeLines &code, llvm::StringRef dim, llvm::StringRef extent,
               const LaneShape &shape, llvm::ArrayRef<Stream> streams);

/// Prints the loops that add the arrays of \p sums, each over a dimension of its own name, to
/// memory, for a block of \p lanes threads. The bytes of shared memory through which they go, if
/// any.
int64_t printSums(CudaText &text, CodeLines &code, llvm::StringRef extent, const LaneShape &shape,
                  int64_t lanes, llvm::ArrayRef<std::pair<Stream, std::string>> sums);

/// Moves the \p vector elements from \p operand on, which lie at \p memory, between there and \p
/// array.
void printVector(CodeLines &code, kb::OperandAttr operand, int64_t vector, const std::string &array,
                 const std::string &memory, bool isLoad);

/// Whether every access to \p base in \p body stands in \p body itself and is the element \p key,
/// or none stores to it: then an array can stand for the element.
bool isOnlyElement(CudaText &text, mlir::Block &body, llvm::StringRef dim, kb::BaseAttr base,
                   llvm::StringRef key);

/// A name for an array that holds elements like \p operand.
std::string arrayName(CudaText &text, kb::OperandAttr operand);

/// The declaration of \p stream's array of \p extents ("[chunks]") in registers.
std::string declaration(const Stream &stream, const LaneShape &shape);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_LANELOOP_H
