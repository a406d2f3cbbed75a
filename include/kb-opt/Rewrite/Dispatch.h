//===- Dispatch.h - Launches that choose between two kernels -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the text of a second version of a kernel, and of a launch that takes it where a
// condition holds and the original elsewhere. What the second version does
// differently, and why the condition suffices, is the caller's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_DISPATCH_H
#define KBOPT_REWRITE_DISPATCH_H

#include "kb-opt/Rewrite/RewritePass.h"

namespace kbopt {

/// The text of a kernel's definition, with its template header, under another name
/// and with changes inside. The comment in front of it is left out.
class KernelText {
public:
  KernelText(const PassContext &context, const KernelView &kernel);

  /// Why the text cannot be copied (a macro, a variable that lives as long as the program);
  /// empty if it can.
  llvm::StringRef obstacle() const { return why; }
  /// A change of the text of \p range, which lies in the kernel; an obstacle if its text
  /// comes from a macro. Changes may not overlap.
  void replace(clang::SourceRange range, llvm::StringRef text);
  /// The same for bytes of the kernel's text; nothing else is taken along.
  void replace(ByteRange range, llvm::StringRef text) {
    replaceBytes(range.begin, range.end, text);
  }
  /// The same for a statement with its semicolon.
  void replace(const clang::Stmt *statement, llvm::StringRef text);
  /// \p statements in front of the body's first statement.
  void insertAtBody(llvm::StringRef statements);
  /// A closing brace at the end of the body.
  void closeBody();
  /// The parameter list without \p dropped, and with \p added at its end.
  void changeParameters(llvm::ArrayRef<const clang::ParmVarDecl *> dropped,
                        llvm::ArrayRef<std::string> added = {});

  /// The definition of \p name, which may be the kernel's own. Ends without a newline.
  std::string str(llvm::StringRef name) const;

private:
  void replaceBytes(unsigned begin, unsigned end, llvm::StringRef text);

  const PassContext *context;
  const clang::FunctionDecl *function;
  unsigned begin = 0, end = 0;
  std::string why;
  struct Change {
    unsigned begin, end;
    std::string text;
  };
  std::vector<Change> changes;
};

/// How one launch chooses.
struct LaunchChoice {
  /// C++ over what is visible at the launch; empty where the new kernel always serves.
  std::string condition;
  /// The name of the new kernel. Template arguments and qualifiers stay as they are written.
  std::string kernel;
  /// The new launch's grid; empty if it stays.
  std::string grid;
  /// Arguments that are left out, by their number, and those that are added at the end.
  std::vector<unsigned> dropped;
  std::vector<std::string> added;
  /// Statements that compute what the new launch needs.
  std::string before;
};

/// Why \p launch cannot choose between its kernel and one that is defined beside it: it is
/// in a macro or in front of the kernel, is not a statement of its own, is the fallback of such
/// a choice already, …; empty if it can.
std::string dispatchObstacle(const PassContext &context, const KernelView &kernel,
                             const LaunchFact &launch);

/// `if (condition) new<<<…>>>(…); else original<<<…>>>(…);` in place of \p launch, which
/// has no obstacle.
llvm::Error writeDispatch(const PassContext &context, const LaunchFact &launch,
                          const LaunchChoice &choice, Edits &edits);

/// \p base with \p suffix in the style of \p base: `k` and `row_sum` become `kStrided` and
/// `row_sum_strided`. A name that the program does not have.
std::string derivedName(const PassContext &context, llvm::StringRef base, llvm::StringRef suffix);

/// Whether \p name may be a name that a pass made of \p base, rather than a kernel of the user's
/// that is called alike.
bool isDerivedName(llvm::StringRef name, llvm::StringRef base);

/// \p expr as it is written, in parentheses where it is not one word; empty where it is not
/// written, comes from a macro, or must not be evaluated a second time.
std::string operandText(const PassContext &context, const clang::Expr *expr);
/// The same for argument \p index of \p launch.
std::string argumentText(const PassContext &context, const LaunchFact &launch, unsigned index);
/// The same for component \p dimension of its grid or block; "1" where it is not written.
std::string extentText(const PassContext &context, const LaunchFact &launch, bool block,
                       unsigned dimension);

/// The integer \p expr of the kernel's text as the host computes it at \p launch, from its
/// arguments, grid and block; empty where the host cannot.
std::string hostText(const PassContext &context, const KernelView &kernel, const LaunchFact &launch,
                     const clang::Expr *expr);

/// Writes \p text as kernel \p name: in front of the original, under \p comment and after the
/// declarations \p helpers, or in its place where \p name is its own.
llvm::Error writeKernel(const PassContext &context, const KernelView &kernel,
                        const KernelText &text, llvm::StringRef name, llvm::StringRef comment,
                        Edits &edits, llvm::StringRef helpers = "");

} // namespace kbopt

#endif // KBOPT_REWRITE_DISPATCH_H
