//===- ImportKernel.cpp - A copy of a header's kernel ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   #include "kernels.h" // with scale     ==>   #include "kernels.h"
//                                                __global__ void scaleHere(…) { … }
//   scale<<<g, b>>>(x, n);                       scaleHere<<<g, b>>>(x, n);
//
// Owns the proof that the text means the same in the file that launches it.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Dispatch.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Lex/Lexer.h"
#include "clang/Lex/Preprocessor.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

namespace {

/// The text of a kernel in a header, or why it cannot be copied.
struct HeaderText {
  std::string obstacle, file;
  StringRef before, name, after; ///< the kernel's name and what stands around it
  SourceLocation end;
  std::string named(StringRef other) const { return (before + other + after).str(); }
};

HeaderText refuse(const llvm::Twine &why) {
  HeaderText text;
  text.obstacle = why.str();
  return text;
}

HeaderText textOf(const ParsedProgram &program, const FunctionDecl *kernel) {
  const SourceManager &sources = program.sources();
  const FunctionTemplateDecl *pattern = kernel->getDescribedFunctionTemplate();
  SourceLocation begin = pattern ? pattern->getBeginLoc() : kernel->getBeginLoc();
  SourceLocation name = kernel->getLocation(), end = kernel->getEndLoc();
  if (begin.isMacroID() &&
      !Lexer::isAtStartOfMacroExpansion(begin, sources, program.language(), &begin))
    return refuse("the kernel comes from a macro");
  if (begin.isMacroID() || name.isMacroID() || end.isMacroID() ||
      sources.getFileID(begin) != sources.getFileID(name) ||
      sources.getFileID(begin) != sources.getFileID(end))
    return refuse("a part of the kernel comes from a macro or from another file");
  bool invalid = false;
  StringRef file = sources.getBufferData(sources.getFileID(begin), &invalid);
  if (invalid)
    return refuse("the text of the kernel cannot be read");
  HeaderText text;
  unsigned from = sources.getFileOffset(begin), at = sources.getFileOffset(name),
           to = sources.getFileOffset(end) + 1;
  text.name = kernel->getName();
  text.before = file.slice(from, at);
  text.after = file.slice(at + text.name.size(), to);
  text.end = end;
  text.file = llvm::sys::path::filename(sources.getFilename(begin)).str();
  return text;
}

/// Why a macro that \p text names may mean something else behind the kernel; empty if none does.
std::string macroObstacle(const ParsedProgram &program, const HeaderText &text) {
  Preprocessor &preprocessor = program.preprocessor();
  std::string whole = text.named(text.name);
  Lexer lexer(SourceLocation(), program.language(), whole.data(), whole.data(),
              whole.data() + whole.size());
  Token token;
  bool ended = false;
  while (!ended) {
    ended = lexer.LexFromRawLexer(token) || token.is(tok::eof);
    if (!token.is(tok::raw_identifier))
      continue;
    IdentifierInfo *identifier = preprocessor.getIdentifierInfo(token.getRawIdentifier());
    for (const MacroDirective *each = preprocessor.getLocalMacroDirectiveHistory(identifier); each;
         each = each->getPrevious()) {
      if (each->getMacroInfo() && each->getMacroInfo()->isBuiltinMacro())
        return "'" + identifier->getName().str() + "' depends on where it stands";
      // What the command line defines stands in front of everything, wherever a preamble puts it.
      bool given = each->getLocation().isValid() &&
                   (program.sources().isWrittenInCommandLineFile(each->getLocation()) ||
                    program.sources().isWrittenInBuiltinFile(each->getLocation()));
      if (each->getLocation().isValid() && !given &&
          program.isBefore(text.end, each->getLocation()))
        return "the macro '" + identifier->getName().str() + "' is defined anew after the kernel";
    }
  }
  return "";
}

/// Why a name in \p kernel may mean something else in the main file; empty if none does.
std::string nameObstacle(const ParsedProgram &program, const FunctionDecl *kernel) {
  std::set<StringRef> own;
  for (const Decl *each : program.declarations())
    if (const auto *named = dyn_cast<NamedDecl>(each);
        named && named->getIdentifier() &&
        program.sources().isInMainFile(program.sources().getExpansionLoc(named->getLocation())))
      own.insert(named->getName());
  std::string found;
  auto look = [&](DeclarationName name) {
    if (found.empty() && name.isIdentifier() && own.count(name.getAsIdentifierInfo()->getName()))
      found = "the file declares '" + name.getAsString() + "' too, which the kernel uses";
  };
  ast::walk(kernel->getBody(), [&](const Stmt *each) {
    if (const auto *reference = dyn_cast<DeclRefExpr>(each);
        reference && reference->getDecl()->getDeclContext()->isFileContext())
      look(reference->getDecl()->getDeclName());
    else if (const auto *overloaded = dyn_cast<OverloadExpr>(each))
      look(overloaded->getName());
    return found.empty();
  });
  return found;
}

/// Why the kernel cannot stand elsewhere; empty if it can.
std::string kernelObstacle(const PassContext &context, const FunctionDecl *kernel) {
  const FunctionTemplateDecl *pattern = kernel->getDescribedFunctionTemplate();
  if (!kernel->getLexicalDeclContext()->isTranslationUnit())
    return "the kernel stands in a namespace or a class";
  if (kernel->isTemplateInstantiation() ||
      kernel->getTemplateSpecializationKind() == TSK_ExplicitSpecialization)
    return "the kernel is a specialisation of a template";
  if (pattern)
    for (const FunctionDecl *each : pattern->specializations())
      if (each->getTemplateSpecializationKind() == TSK_ExplicitSpecialization)
        return "the kernel's template is specialised";
  for (const auto *declaration : ast::findAll<DeclStmt>(kernel->getBody()))
    for (const Decl *each : declaration->decls())
      if (const auto *variable = dyn_cast<VarDecl>(each);
          variable && variable->isStaticLocal() && !variable->hasAttr<CUDASharedAttr>())
        return "'" + variable->getNameAsString() +
               "' lives as long as the program, so that two kernels cannot share it";
  HeaderText text = textOf(context.parsed(), kernel);
  if (!text.obstacle.empty())
    return text.obstacle;
  std::string macro = macroObstacle(context.parsed(), text);
  return macro.empty() ? nameObstacle(context.parsed(), kernel) : macro;
}

/// Why \p launch cannot take the copy; empty if it can.
std::string launchObstacle(const PassContext &context, const KernelView &kernel,
                           const LaunchFact &launch) {
  std::string obstacle = dispatchObstacle(context, kernel, launch);
  if (!obstacle.empty())
    return obstacle;
  std::string where = "the launch at " + ast::lineText(context, launch.call->getBeginLoc());
  if (!launch.host->getLexicalDeclContext()->isTranslationUnit())
    return where + " stands in a namespace or a class";
  AnchorOrReason place = anchorBefore(context.parsed(), launch.host);
  return place ? ""
               : "nothing can be added before '" + launch.host->getNameAsString() +
                     "': " + place.reason().str();
}

class ImportKernel : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    return kernel.isInHeader() && !kernel.launches.empty() ? ast::kernelSites(kernel)
                                                           : std::vector<Site>();
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &) const {
    const KernelView &kernel = *site.kernel;
    if (std::string obstacle = kernelObstacle(context, kernel.function()); !obstacle.empty())
      return Decision::doesNotApply(obstacle);
    std::string first;
    for (const LaunchFact &launch : kernel.launches) {
      std::string obstacle = launchObstacle(context, kernel, launch);
      if (obstacle.empty())
        return Decision::applies();
      first = first.empty() ? obstacle : first;
    }
    return Decision::doesNotApply(first);
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const KernelView &kernel = *site.kernel;
    std::string own = kernel.function()->getNameAsString(),
                name = derivedName(context, own, "here");
    HeaderText text = textOf(context.parsed(), kernel.function());
    Rewrite rewrite;
    rewrite.summary = "copied '" + own + "' from '" + text.file + "' as '" + name + "'";
    const FunctionDecl *firstHost = nullptr;
    for (const LaunchFact &launch : kernel.launches) {
      if (!launchObstacle(context, kernel, launch).empty())
        continue;
      LaunchChoice choice;
      choice.kernel = name;
      if (llvm::Error error = writeDispatch(context, launch, choice, rewrite.edits))
        return std::move(error);
      if (!firstHost || context.parsed().sources().isBeforeInTranslationUnit(
                            launch.host->getLocation(), firstHost->getLocation()))
        firstHost = launch.host;
    }
    AnchorOrReason place = anchorBefore(context.parsed(), firstHost);
    if (!place)
      return decline(place.reason());
    std::string definition =
        "// '" + own + "' of '" + text.file + "'.\n" + text.named(name) + "\n\n";
    if (llvm::Error error = rewrite.edits.insertBefore(*place, definition))
      return std::move(error);
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createImportKernel() { return std::make_unique<ImportKernel>(); }
} // namespace kbopt
