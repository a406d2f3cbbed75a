//===- CudaText.h - Pieces of a raised nest as CUDA text --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how names, expressions, array elements, statements with holes, and parameter lists of a
// kb.nest are written in C++. Knows nothing of schedules. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_CUDATEXT_H
#define KBOPT_LIB_SCHEDULE_CUDATEXT_H

#include "kb-opt/IR/Kb.h"
#include "kb-opt/Schedule/GeneratedKernel.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace kbopt {

/// What stands in for an operand in place of its element or value; empty: nothing does.
using OperandText = llvm::function_ref<std::string(kb::OperandAttr)>;

/// Writes the parts of one nest. A dimension stands under its own name, which the printer declares,
/// unless `setName` says otherwise.
class CudaText {
public:
  explicit CudaText(kb::NestOp nest);

  kb::NestOp nest() const { return theNest; }
  /// The raised kernel; null if the program lacks it.
  kb::KernelOp kernel() const { return theKernel; }

  /// \p wanted, or \p wanted with a number if the nest, the kernel or an earlier call uses it.
  std::string freshName(llvm::StringRef wanted);
  /// From now on, dimension or symbol \p name is written as \p text.
  void setName(llvm::StringRef name, llvm::StringRef text) { written[name] = text.str(); }

  /// How dimension or symbol \p name is written.
  std::string nameOf(llvm::StringRef name) const {
    auto found = written.find(name);
    return found == written.end() ? name.str() : found->second;
  }

  /// From now on, scalar \p name of the nest is written as \p text, in expressions and in the
  /// user's words.
  void setScalar(llvm::StringRef name, llvm::StringRef text) {
    scalars[name] = written[name] = text.str();
  }

  /// From now on, a quotient or rest that is printed as \p division is written as \p name.
  void setDivision(llvm::StringRef division, llvm::StringRef name) {
    divisions[division] = name.str();
  }

  /// Statement \p op is printed elsewhere, before the block that it stands in.
  void hoist(mlir::Operation *op) { hoisted.insert(op); }
  bool isHoisted(mlir::Operation *op) const { return hoisted.contains(op); }

  /// In the type of its parts, `int` for dimensions.
  std::string expression(kb::ExprAttr expr);
  /// The same, multiplications of dimensions by sizes in `size_t`: what stands between `[` and `]`.
  std::string offset(kb::ExprAttr expr);
  /// Whether `offset` is below 2^29, so that it fits `int` also some steps past the last element.
  bool fitsInt(kb::ExprAttr expr);
  /// As `expression`, of type `int` where parameters of 64 bits are in it: what stands beside an
  /// `int` in `min`.
  std::string intExpression(kb::ExprAttr expr);
  /// Conditions joined by `&&`; "true" if there are none. `i + 1 < n` for n - i - 2 >= 0.
  std::string condition(kb::DomainAttr domain);
  /// `x[i * n + j]`, or the value of an index operand.
  std::string operand(kb::OperandAttr operand);
  /// `x[at]`, with a cast where the element's type is not the one \p operand's base points to.
  std::string elementAt(kb::OperandAttr operand, llvm::StringRef at);
  /// \p text with its holes filled, by \p replaced first.
  std::string fill(llvm::StringRef text, mlir::ArrayAttr operands, OperandText replaced = {});
  /// The combined value of \p a and \p b.
  static std::string combine(llvm::StringRef text, llvm::StringRef a, llvm::StringRef b);
  /// The condition of \p when, in its own text where it has one.
  std::string condition(kb::WhenOp when, OperandText replaced = {});

  /// A parameter right after those of the raised kernel.
  void addParameter(llvm::StringRef declaration) { added.push_back(declaration.str()); }
  /// The parameters as in the raised kernel, those that were added, then `extraParameters`.
  /// Pointers to what is only read become `const`; those that the kernel declares `__restrict__` or
  /// that are in \p unaliased are
  /// `__restrict__`.
  std::string parameters(const llvm::StringSet<> &unaliased = {});
  /// For `GeneratedKernel`: the values of the raised launch that `expression` used (`bdim.x`), as
  /// parameters.
  const std::vector<std::pair<std::string, std::string>> &extraParameters() const { return extra; }
  /// Adds a parameter and the expression that launches pass for it.
  void addParameter(llvm::StringRef declaration, llvm::StringRef passed) {
    extra.emplace_back(declaration, passed);
  }
  /// \p expr for the host: over kernel parameters and `blockDim.x`. Empty if only the device can
  /// tell.
  std::string hostExpression(kb::ExprAttr expr, bool wide = false);

  /// Whether \p text is a name, number or member, which needs no parentheses.
  static bool isAtom(llvm::StringRef text);

private:
  kb::NestOp theNest;
  kb::KernelOp theKernel;
  llvm::StringSet<> taken;
  llvm::StringSet<> inTexts; ///< words of the user's expressions
  llvm::StringMap<std::string> written, scalars, divisions;
  llvm::SmallPtrSet<mlir::Operation *, 8> hoisted;
  llvm::StringSet<> sizeNames;
  bool knowsSizes = false;
  std::vector<std::string> added;
  std::vector<std::pair<std::string, std::string>> extra;

  std::string withScalars(llvm::StringRef words);
  std::string launchValue(llvm::StringRef symbol);
  std::string wideExpression(kb::ExprAttr expr, llvm::StringRef type);
  bool isWritten(kb::BaseAttr base);
  /// Symbols that count iterations or place elements: what memory has room for bounds them.
  const llvm::StringSet<> &sizes();
  std::string comparison(kb::ExprAttr expr, bool isEquality);
  void reserveNames();
};

/// Every identifier of \p text.
void collectIdentifiers(llvm::StringRef text, llvm::function_ref<void(llvm::StringRef)> found);

/// "float" of "const float *__restrict__".
std::string pointeeType(llvm::StringRef pointerType);

/// Indented lines of code.
class CodeLines {
public:
  explicit CodeLines(unsigned depth = 0) : depth(depth) {}
  CodeLines &line(const llvm::Twine &text);
  /// `text {`, and the lines up to `close` one step deeper. A single statement stands without
  /// braces.
  CodeLines &open(const llvm::Twine &text = "");
  CodeLines &close();
  /// `#pragma unroll` for the next line, as often as \p times says.
  CodeLines &unroll(unsigned times = 0) {
    return code += "#pragma unroll" + (times ? " " + std::to_string(times) : "") + "\n", *this;
  }
  CodeLines &indent() { return ++depth, *this; }
  CodeLines &outdent() { return --depth, *this; }
  std::string take() { return std::move(code); }
  bool empty() const { return code.empty(); }

private:
  unsigned depth;
  std::string code;
  llvm::SmallVector<size_t> opened; ///< where the bodies of open blocks start
};

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_CUDATEXT_H
