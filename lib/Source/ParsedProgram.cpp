//===- ParsedProgram.cpp - Parsing with a preamble cache ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/ParsedProgram.h"

#include "CompatHeader.h"
#include "DiagnosticCollector.h"
#include "Invocation.h"
#include "LeadingIncludes.h"
#include "ParserPch.h"
#include "kb-opt/Source/AstPrograms.h"
#include "kb-opt/Support/Error.h"
#include "clang/Basic/TargetInfo.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Frontend/PrecompiledPreamble.h"
#include "clang/Lex/Lexer.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "clang/Serialization/ASTReader.h"
#include "clang/Serialization/ASTWriter.h"
#include "clang/Serialization/PCHContainerOperations.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/VirtualFileSystem.h"
#include <chrono>
#include <list>

using namespace kbopt;
using llvm::StringRef;

static double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

ParsedProgram::~ParsedProgram() {
  if (ast)
    forgetProgram(*ast);
  // Ends the action while the compiler it refers to is alive.
  if (action)
    action->EndSourceFile();
  else if (ast && !compiler)
    ast->setTraversalScope({ast->getTranslationUnitDecl()});
}

clang::ASTContext &ParsedProgram::context() const { return *ast; }
const clang::SourceManager &ParsedProgram::sources() const { return ast->getSourceManager(); }
const clang::LangOptions &ParsedProgram::language() const { return ast->getLangOpts(); }
clang::Preprocessor &ParsedProgram::preprocessor() const { return *lexing; }

bool ParsedProgram::isBefore(clang::SourceLocation a, clang::SourceLocation b) const {
  if (!sources().isLoadedSourceLocation(a) || !sources().isLoadedSourceLocation(b))
    return sources().isBeforeInTranslationUnit(a, b);
  clang::FileID first = sources().getUniqueLoadedASTFileID(a),
                second = sources().getUniqueLoadedASTFileID(b);
  // A file is loaded after the one that it begins from, and loaded ones are numbered downwards.
  return first == second ? sources().isBeforeInTranslationUnit(a, b) : second < first;
}

namespace {

/// A precompiled head, and which of its declarations are the user's.
struct Preamble {
  std::optional<clang::PrecompiledPreamble> precompiled;
  std::vector<clang::LocalDeclID> declarations;
  std::string headers = {}; ///< the file on disk that it begins from (findParserPch); empty: none

  /// Whether it can still be read: another process may have removed what it begins from.
  bool isWhole() const { return headers.empty() || llvm::sys::fs::exists(headers); }
};

/// Whether \p declaration is written in one of the user's files.
bool isUsers(const clang::Decl *declaration, const clang::SourceManager &sources) {
  clang::SourceLocation place = sources.getExpansionLoc(declaration->getLocation());
  return place.isValid() && !sources.isInSystemHeader(place) && !declaration->isImplicit();
}

/// Notes the user's declarations while a preamble is built.
class PreambleNotes : public clang::PreambleCallbacks {
public:
  std::vector<clang::LocalDeclID> ids;
  void BeforeExecute(clang::CompilerInstance &compiler) override {
    sources = &compiler.getSourceManager();
  }
  void HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl *declaration : group)
      if (isUsers(declaration, *sources))
        seen.push_back(declaration);
  }
  void AfterPCHEmitted(clang::ASTWriter &writer) override {
    for (clang::Decl *declaration : seen)
      ids.push_back(writer.getDeclID(declaration));
  }

private:
  const clang::SourceManager *sources = nullptr;
  std::vector<clang::Decl *> seen;
};

/// Parses, and notes the user's declarations.
class ParseAction : public clang::ASTFrontendAction {
public:
  ParseAction(std::vector<const clang::Decl *> &found) : found(found) {}
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &compiler,
                                                        StringRef) override {
    class Notes : public clang::ASTConsumer {
    public:
      Notes(const clang::SourceManager &sources, std::vector<const clang::Decl *> &found)
          : sources(sources), found(found) {}
      bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
        for (clang::Decl *declaration : group)
          if (!declaration->isFromASTFile() && isUsers(declaration, sources))
            found.push_back(declaration);
        return true;
      }

    private:
      const clang::SourceManager &sources;
      std::vector<const clang::Decl *> &found;
    };
    return std::make_unique<Notes>(compiler.getSourceManager(), found);
  }

private:
  std::vector<const clang::Decl *> &found;
};

/// The driver's answer for one command, and the precompiled heads of the texts
/// seen under it.
struct Entry {
  std::string command; ///< digest
  std::shared_ptr<const clang::CompilerInvocation> invocation;
  /// Most recently used first.
  std::list<std::shared_ptr<const Preamble>> preambles;
};

/// Heads kept per command: an edit of the includes and the way back.
constexpr size_t preamblesKept = 4;
/// Commands kept; a preamble of the CUDA headers is about 30 MB.
constexpr size_t commandsKept = 4;

} // namespace

struct ProgramParser::Cache {
  std::mutex mutex;
  std::list<Entry> entries; ///< most recently used first
  Stats stats;
};

ProgramParser::ProgramParser() : cache(std::make_unique<Cache>()) {}
ProgramParser::~ProgramParser() = default;

ProgramParser::Stats ProgramParser::stats() const {
  std::lock_guard<std::mutex> lock(cache->mutex);
  return cache->stats;
}

static llvm::Expected<std::shared_ptr<const clang::CompilerInvocation>>
deviceInvocation(const CompileCommand &command) {
  auto invocation = askDriver(command, command.deviceArguments());
  if (!invocation)
    return invocation.takeError();
  (*invocation)->getPreprocessorOpts().WriteCommentListToPCH = false;
  // Otherwise every parse instantiates again what the headers use.
  (*invocation)->getLangOpts().PCHInstantiateTemplates = true;
  return std::shared_ptr<const clang::CompilerInvocation>(std::move(*invocation));
}

/// Parent maps and matchers see \p declarations alone.
static void limitScope(clang::ASTContext &ast, llvm::ArrayRef<const clang::Decl *> declarations) {
  std::vector<clang::Decl *> scope;
  for (const clang::Decl *declaration : declarations)
    scope.push_back(const_cast<clang::Decl *>(declaration));
  ast.setTraversalScope(scope);
}

std::unique_ptr<ParsedProgram> ParsedProgram::adopt(clang::ASTContext &ast,
                                                    clang::Preprocessor &preprocessor) {
  std::unique_ptr<ParsedProgram> program(new ParsedProgram());
  const clang::SourceManager &sources = ast.getSourceManager();
  CompileCommand &command = program->compileCommand;
  if (auto entry = sources.getFileEntryRefForID(sources.getMainFileID()))
    command.shownFile = entry->getName().str();
  llvm::SmallString<128> name;
  llvm::sys::fs::current_path(name);
  command.directory = name.str().str();
  name = command.shownFile;
  llvm::sys::fs::make_absolute(name);
  llvm::sys::path::remove_dots(name, /*remove_dot_dot=*/true);
  command.file = name.str().str();
  command.arch = ast.getTargetInfo().getTargetOpts().CPU;
  command.archIsDefault = false;
  program->ast = &ast;
  rememberProgram(ast, *program);
  program->lexing = &preprocessor;
  program->sourceText = sources.getBufferData(sources.getMainFileID()).str();
  program->comments = Suppressions::parse(program->sourceText);
  for (const clang::Decl *declaration : ast.getTranslationUnitDecl()->decls())
    if (isUsers(declaration, sources))
      program->topLevel.push_back(declaration);
  limitScope(ast, program->topLevel);
  return program;
}

llvm::Expected<std::unique_ptr<ParsedProgram>> ProgramParser::parse(const CompileCommand &command,
                                                                    StringRef text) {
  auto start = std::chrono::steady_clock::now();
  std::string key = command.digest();
  std::shared_ptr<const clang::CompilerInvocation> base;
  std::vector<std::shared_ptr<const Preamble>> candidates;
  {
    std::lock_guard<std::mutex> lock(cache->mutex);
    ++cache->stats.parses;
    auto entry = llvm::find_if(cache->entries, [&](const Entry &e) { return e.command == key; });
    if (entry != cache->entries.end()) {
      base = entry->invocation;
      candidates.assign(entry->preambles.begin(), entry->preambles.end());
      cache->entries.splice(cache->entries.begin(), cache->entries, entry);
    }
  }
  if (!base) {
    auto asked = deviceInvocation(command);
    if (!asked)
      return asked.takeError();
    base = *asked;
  }

  std::unique_ptr<ParsedProgram> program(new ParsedProgram());
  program->compileCommand = command;
  program->sourceText = text.str();
  program->comments = Suppressions::parse(text);
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(text, command.file);
  auto files = filesWithCompatHeaders(command);
  auto containers = std::make_shared<clang::PCHContainerOperations>();

  // The longest run of directives at the head of the text; it may be empty,
  // and then the preamble holds the CUDA headers alone.
  clang::PreambleBounds bounds =
      clang::ComputePreambleBounds(base->getLangOpts(), buffer->getMemBufferRef(), 0);
  std::shared_ptr<const Preamble> preamble;
  for (auto &candidate : candidates)
    if (candidate->isWhole() &&
        candidate->precompiled->CanReuse(*base, buffer->getMemBufferRef(), bounds, *files)) {
      preamble = candidate;
      break;
    }
  bool reused = preamble != nullptr;
  double preambleMs = 0;
  DiagnosticCollector collector(command.file, command.shownFile);
  if (!preamble) {
    auto preambleStart = std::chrono::steady_clock::now();
    auto build = [&](const std::string &headers) {
      clang::CompilerInvocation invocation(*base);
      invocation.getPreprocessorOpts().ImplicitPCHInclude = headers;
      auto diagnostics = clang::CompilerInstance::createDiagnostics(
          *files, invocation.getDiagnosticOpts(), &collector, /*ShouldOwnClient=*/false);
      PreambleNotes notes;
      auto built = clang::PrecompiledPreamble::Build(invocation, buffer.get(), bounds, diagnostics,
                                                     files, containers, /*StoreInMemory=*/true,
                                                     /*StoragePath=*/"", notes);
      // Without one (a missing header, say) the parse below tells what is wrong.
      if (built && !collector.hasErrors())
        preamble =
            std::make_shared<Preamble>(Preamble{std::move(*built), std::move(notes.ids), headers});
    };
    const std::string headers = findParserPch(command, *base, leadingIncludes(command, text));
    build(headers);
    if (!preamble && !headers.empty()) {
      // Be it the text or a header that changed since: the plain way decides.
      collector.forget();
      build("");
      if (preamble)
        forgetParserPch(headers);
    }
    preambleMs = millisecondsSince(preambleStart);
  }
  collector.forget();

  auto invocation = std::make_shared<clang::CompilerInvocation>(*base);
  // The preamble's file system layer and the compiler want the buffer for as
  // long as the AST lives; the compiler takes it over.
  llvm::MemoryBuffer *main = buffer.release();
  if (preamble) {
    preamble->precompiled->AddImplicitPreamble(*invocation, files, main);
  } else {
    invocation->getPreprocessorOpts().addRemappedFile(command.file, main);
  }
  invocation->getPreprocessorOpts().RetainRemappedFileBuffers = false;

  program->compiler = std::make_unique<clang::CompilerInstance>(invocation, containers);
  clang::CompilerInstance &compiler = *program->compiler;
  compiler.setVirtualFileSystem(files);
  compiler.createDiagnostics(&collector, /*ShouldOwnClient=*/false);
  // The collector lives on this stack; whatever comes later is dropped.
  llvm::scope_exit detach(
      [&] { compiler.getDiagnostics().setClient(new clang::IgnoringDiagConsumer(), true); });
  compiler.createFileManager();
  compiler.createSourceManager();
  if (!compiler.createTarget())
    return compileError(command, collector.diagnostics());
  program->action = std::make_unique<ParseAction>(program->topLevel);
  auto fail = [&]() -> llvm::Expected<std::unique_ptr<ParsedProgram>> {
    if (preamble && !preamble->isWhole())
      return parse(command, text); // with another one
    return compileError(command, collector.diagnostics());
  };
  if (!program->action->BeginSourceFile(compiler, compiler.getFrontendOpts().Inputs.front())) {
    program->action.reset();
    return fail();
  }
  llvm::Error executed = program->action->Execute();
  if (executed)
    return std::move(executed);
  if (collector.hasErrors())
    return fail();
  program->ast = &compiler.getASTContext();
  rememberProgram(*program->ast, *program);
  program->lexing = &compiler.getPreprocessor();
  program->messages = collector.takeDiagnostics();
  if (preamble) {
    std::vector<const clang::Decl *> fromHeaders;
    clang::ASTReader &reader = *compiler.getASTReader();
    for (clang::LocalDeclID id : preamble->declarations)
      if (const clang::Decl *declaration =
              reader.GetLocalDecl(reader.getModuleManager().getPrimaryModule(), id))
        fromHeaders.push_back(declaration);
    program->topLevel.insert(program->topLevel.begin(), fromHeaders.begin(), fromHeaders.end());
  }
  limitScope(compiler.getASTContext(), program->topLevel);
  program->preamble = preamble;
  program->usedPreamble = reused;
  program->parseMs = millisecondsSince(start);

  std::lock_guard<std::mutex> lock(cache->mutex);
  cache->stats.preambleMs += preambleMs;
  if (reused)
    ++cache->stats.preamblesReused;
  else if (preamble)
    ++cache->stats.preamblesBuilt;
  auto entry = llvm::find_if(cache->entries, [&](const Entry &e) { return e.command == key; });
  if (entry == cache->entries.end()) {
    cache->entries.push_front({key, base, {}});
    entry = cache->entries.begin();
    if (cache->entries.size() > commandsKept)
      cache->entries.pop_back();
  }
  if (preamble) {
    entry->preambles.remove(preamble);
    entry->preambles.push_front(preamble);
    if (entry->preambles.size() > preamblesKept)
      entry->preambles.pop_back();
  }
  return program;
}

llvm::Expected<std::string> kbopt::readSource(const CompileCommand &command) {
  auto fail = [&](const llvm::Twine &message) {
    return llvm::make_error<UsageError>(message.str(), "name a CUDA source file",
                                        ExitStatus::Diagnostics);
  };
  auto buffer = llvm::MemoryBuffer::getFile(command.file);
  if (!buffer)
    return fail("cannot read '" + command.shownFile + "': " + buffer.getError().message());
  StringRef text = (*buffer)->getBuffer();
  if (text.contains('\0'))
    return fail("'" + command.shownFile + "' is not text");
  return text.str();
}

llvm::Expected<std::unique_ptr<ParsedProgram>>
ProgramParser::parseFile(const CompileCommand &command) {
  llvm::Expected<std::string> text = readSource(command);
  if (!text)
    return text.takeError();
  return parse(command, *text);
}
