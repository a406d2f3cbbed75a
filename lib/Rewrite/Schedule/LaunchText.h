//===- LaunchText.h - One launch as a schedule sees it ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what stands at a launch for the names of its kernel: text to write there, and
// values that are known when the program is compiled.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHTEXT_H
#define KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHTEXT_H

#include "kb-opt/Rewrite/AstTools.h"
#include "llvm/ADT/StringMap.h"

namespace kbopt {

/// The program's text of \p range as it is written, also where it is the use of a macro; of a part
/// of what a macro stands for, as it reads there (MacroCall.h). Empty if it lies elsewhere.
llvm::StringRef writtenText(const PassContext &context, clang::SourceRange range);

/// Whether evaluating \p expr once more changes nothing: no side effects, and calls only of
/// functions that visibly have none.
bool isRepeatable(const clang::Expr *expr);

/// What the parameters of \p instance's template stand for, by name, where that can be written:
/// types and integers. Empty for a function that is no instance.
llvm::StringMap<std::string> templateArguments(const clang::FunctionDecl *instance,
                                               const clang::ASTContext &ast);

/// A launch by <<<>>> that is a statement of its own, maybe in a macro.
class LaunchText {
public:
  /// What a parameter's name, "gridDim.x" or "blockDim.x" stands for.
  struct Meaning {
    std::string text;
    std::optional<int64_t> value;
    const clang::Expr *expr = nullptr; ///< null: a value that is not written
    bool repeatable = true;
    bool isOperand = false; ///< needs no parentheses
    bool narrows = false;   ///< the parameter has fewer bits than the argument
  };

  /// An error is the reason, in the user's words. \p instance is the kernel that runs.
  static llvm::Expected<LaunchText> create(const PassContext &context, const LaunchFact &fact,
                                           const clang::FunctionDecl *instance);

  const LaunchFact &fact() const { return *launch; }
  /// What an edit replaces by `inPlace`: the statement, or the use of the macro that has it.
  const Anchor &anchor() const { return statement; }
  /// The statement as it reads.
  llvm::StringRef original() const { return originalText; }
  /// \p text in the place of the statement, with what the macro has around it.
  std::string inPlace(llvm::StringRef text) const { return before + text.str() + after; }
  /// Null if there is no such name.
  const Meaning *meaning(llvm::StringRef name) const;
  std::optional<int64_t> value(llvm::StringRef name) const;
  /// \p text over the kernel's names, as it reads at the launch. An error: an argument in it
  /// cannot be repeated, or a name of a template's parameter is not known.
  llvm::Expected<std::string> translate(llvm::StringRef text) const;
  /// `ns::name`, as the launch has to spell it; with the launch's template arguments if
  /// \p withTemplateArguments.
  std::string spelled(llvm::StringRef name, bool withTemplateArguments) const;
  /// The arguments, joined by commas.
  std::string arguments() const;
  /// The stream as it is written; empty: the default one.
  llvm::StringRef stream() const { return streamText; }
  /// Puts the launch on the default stream.
  void dropStream() { streamText.clear(); }
  /// Casts the arguments for parameters whose types differ between instances of the template to
  /// those of \p instance, for a launch of several instances: the text has to compile in all of
  /// them. False if a type cannot be cast to.
  bool castTo(const clang::FunctionDecl *instance, const clang::ASTContext &ast);
  /// The same place with other names.
  LaunchText withMeanings(llvm::StringMap<Meaning> meanings) const;
  /// Whether it stands in braces, so that two statements may take its place.
  bool isInList() const { return inList; }

private:
  llvm::Error findStatement(const PassContext &context);
  const LaunchFact *launch = nullptr;
  Anchor statement;
  llvm::StringMap<Meaning> names;
  std::vector<std::string> argumentTexts;
  std::string originalText, before, after;
  std::string qualifier, templateArguments, streamText, place;
  bool inList = false;
};

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHTEXT_H
