//===- HostText.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/HostText.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/Lex/Lexer.h"

using namespace kbopt;

namespace {

/// Collects the byte ranges of device-only bodies in the main file.
class DeviceBodies : public clang::DynamicRecursiveASTVisitor {
public:
  explicit DeviceBodies(const ParsedProgram &program) : program(program) {}

  bool VisitFunctionDecl(clang::FunctionDecl *function) override {
    bool device =
        function->hasAttr<clang::CUDAGlobalAttr>() ||
        (function->hasAttr<clang::CUDADeviceAttr>() && !function->hasAttr<clang::CUDAHostAttr>());
    if (!device || !function->doesThisDeclarationHaveABody() || function->isConstexpr())
      return true;
    const clang::SourceManager &sources = program.sources();
    clang::SourceRange range = function->getBody()->getSourceRange();
    if (range.getBegin().isMacroID() || range.getEnd().isMacroID() ||
        !sources.isInMainFile(range.getBegin()) || !sources.isInMainFile(range.getEnd()))
      return true;
    unsigned begin = sources.getFileOffset(range.getBegin());
    unsigned end = sources.getFileOffset(
        clang::Lexer::getLocForEndOfToken(range.getEnd(), 0, sources, program.language()));
    ranges.emplace(begin, end);
    return true;
  }

  std::set<std::pair<unsigned, unsigned>> ranges;

private:
  const ParsedProgram &program;
};

} // namespace

std::string kbopt::hostText(const ParsedProgram &program) {
  DeviceBodies bodies(program);
  bodies.TraverseAST(program.context());
  std::string text;
  unsigned kept = 0;
  for (auto [begin, end] : bodies.ranges) {
    if (begin < kept)
      continue;
    text += program.text().slice(kept, begin);
    // What a directive inside a body defines holds after it as well.
    llvm::SmallVector<llvm::StringRef> lines;
    program.text().slice(begin, end).split(lines, '\n');
    for (llvm::StringRef line : lines)
      if (llvm::StringRef word = line.ltrim();
          word.consume_front("#") || word.consume_front("%:") || line.ends_with("\\"))
        if (!word.ltrim().starts_with("pragma unroll"))
          text += line.str() + "\n";
    kept = end;
  }
  text += program.text().drop_front(kept);
  return text;
}
