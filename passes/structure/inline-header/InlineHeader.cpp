//===- InlineHeader.cpp - The text of a header in place of its #include ----===//
// SPDX-License-Identifier: Apache-2.0
//
//   #include "scale.h" // scale, and runScale, which launches it     ==>   __global__ void scale(…)
//   { … }
//                                                                          void runScale(…) {
//                                                                          scale<<<g, b>>>(…); }
//
// Owns finding the directive, and the proof that the text means the same in the file.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/AstTools.h"
#include "clang/Lex/Lexer.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include <set>

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

namespace {

/// A header, and the directive of the main file that includes it.
struct Inclusion {
  std::string obstacle, file;
  StringRef text;
  unsigned line = 0, begin = 0, end = 0; ///< of the directive
};

/// Names by which a text asks where it stands.
constexpr StringRef placeNames[] = {
    "__FILE__",       "__LINE__",       "__COUNTER__", "__INCLUDE_LEVEL__",
    "__BASE_FILE__",  "__FILE_NAME__",  "assert",      "source_location",
    "__builtin_FILE", "__builtin_LINE", "include_next"};

std::string folderOf(StringRef file) {
  llvm::SmallString<256> whole;
  if (llvm::sys::fs::real_path(file, whole))
    return "";
  return llvm::sys::path::parent_path(whole).str();
}

/// The directives in the user's files that include a file called \p name. Those that a guard or
/// `#pragma once` turns into nothing count: they would be something where the first one is gone.
unsigned directivesFor(const ParsedProgram &program, StringRef name) {
  const SourceManager &sources = program.sources();
  std::set<const SrcMgr::ContentCache *> seen;
  unsigned count = 0;
  auto search = [&](StringRef text) {
    for (size_t at = text.find(name); at != StringRef::npos; at = text.find(name, at + 1)) {
      StringRef before = text.take_front(at).rsplit('\n').second;
      if (text.take_front(at).find('\n') == StringRef::npos)
        before = text.take_front(at);
      count += before.ltrim().starts_with("#") && before.contains("include");
    }
  };
  search(program.text());
  StringRef main = sources.getFilename(sources.getLocForStartOfFile(sources.getMainFileID()));
  auto look = [&](const SrcMgr::SLocEntry &entry) {
    if (!entry.isFile() || SrcMgr::isSystem(entry.getFile().getFileCharacteristic()) ||
        !seen.insert(&entry.getFile().getContentCache()).second)
      return;
    OptionalFileEntryRef file = entry.getFile().getContentCache().OrigEntry;
    if (!file || file->getName() == main) // the preamble has the main file, too
      return;
    if (auto buffer = entry.getFile().getContentCache().getBufferOrNone(sources.getDiagnostics(),
                                                                        sources.getFileManager()))
      search(buffer->getBuffer());
  };
  for (unsigned index = 0; index < sources.local_sloc_entry_size(); ++index)
    look(sources.getLocalSLocEntry(index));
  for (unsigned index = 0; index < sources.loaded_sloc_entry_size(); ++index)
    look(sources.getLoadedSLocEntry(index));
  return count;
}

/// The line of the main file at \p directive, also where that was parsed as a part of the preamble;
/// 0 if it stands elsewhere.
unsigned mainLineOf(const ParsedProgram &program, SourceLocation directive) {
  const SourceManager &sources = program.sources();
  if (directive.isInvalid())
    return 0;
  if (unsigned line = lineColumn(program, directive).line)
    return line;
  auto [file, offset] = sources.getDecomposedLoc(directive);
  return file == sources.getPreambleFileID() ? sources.getLineNumber(file, offset) : 0;
}

/// Why the header's text may mean something else in the main file; empty if it does not.
std::string textObstacle(const ParsedProgram &program, const Inclusion &header, StringRef path) {
  bool includesBeside = false;
  std::string found;
  Lexer lexer(SourceLocation(), program.language(), header.text.data(), header.text.data(),
              header.text.data() + header.text.size());
  Token token, before;
  before.startToken();
  for (bool ended = false; !ended && found.empty();) {
    ended = lexer.LexFromRawLexer(token) || token.is(tok::eof);
    if (token.is(tok::raw_identifier) && llvm::is_contained(placeNames, token.getRawIdentifier()))
      found = "'" + token.getRawIdentifier().str() + "' in '" + header.file +
              "' depends on where it stands";
    bool wasInclude = before.is(tok::raw_identifier) && before.getRawIdentifier() == "include";
    includesBeside |= wasInclude && token.is(tok::string_literal);
    before = token;
  }
  const SourceManager &sources = program.sources();
  StringRef main = sources.getFilename(sources.getLocForStartOfFile(sources.getMainFileID()));
  if (found.empty() && includesBeside && folderOf(path) != folderOf(main))
    found = "'" + header.file + "' includes files from its own folder";
  return found;
}

Inclusion inclusionOf(const ParsedProgram &program, const FunctionDecl *kernel) {
  Inclusion result;
  const SourceManager &sources = program.sources();
  FileID header = sources.getFileID(sources.getExpansionLoc(kernel->getLocation()));
  StringRef path = sources.getFilename(sources.getExpansionLoc(kernel->getLocation()));
  result.file = llvm::sys::path::filename(path).str();
  auto refuse = [&](const llvm::Twine &why) {
    result.obstacle = why.str();
    return result;
  };
  result.line = mainLineOf(program, sources.getIncludeLoc(header));
  if (!result.line)
    return refuse("'" + result.file + "' is included by another header");
  StringRef text = program.text();
  for (unsigned line = 1; line < result.line; ++line)
    result.begin = text.find('\n', result.begin) + 1;
  StringRef directive = text.substr(result.begin).take_until([](char c) { return c == '\n'; });
  result.end = result.begin + directive.rtrim().size();
  result.begin += directive.size() - directive.ltrim().size();
  static const llvm::Regex form("^[ \t]*#[ \t]*include[ \t]*\"([^\"]+)\"[ \t\r]*(//[^\\\\]*)?$");
  llvm::SmallVector<StringRef> parts;
  if (!form.match(directive, &parts) || llvm::sys::path::filename(parts[1]) != result.file)
    return refuse("the file does not include '" + result.file + "' in a line of its own");
  bool invalid = false;
  result.text = sources.getBufferData(header, &invalid);
  if (invalid)
    return refuse("the text of '" + result.file + "' cannot be read");
  if (directivesFor(program, result.file) != 1)
    return refuse("'" + result.file + "' is included more than once");
  return refuse(textObstacle(program, result, path));
}

class InlineHeader : public RewritePass {
public:
  /// The first kernel of each header that launches its kernels by itself.
  std::vector<Site> sites(const PassContext &context, const KernelView &kernel) const override {
    const SourceManager &sources = context.parsed().sources();
    auto fileOf = [&](const KernelView &view) {
      return sources.getFileID(sources.getExpansionLoc(view.function()->getLocation()));
    };
    auto isOfHeader = [](const KernelView &view) {
      return view.isInHeader() && view.launches.empty();
    };
    if (!isOfHeader(kernel))
      return {};
    for (const KernelView &each : context.kernels())
      if (isOfHeader(each) && fileOf(each) == fileOf(kernel)) {
        if (&each != &kernel)
          return {};
        break;
      }
    Site site;
    site.kernel = &kernel;
    site.node = DynTypedNode::create(*kernel.function());
    Inclusion header = inclusionOf(context.parsed(), kernel.function());
    if (!header.line)
      return {};
    site.range = placeOf(context.parsed(), header);
    return {site};
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &) const {
    Inclusion header = inclusionOf(context.parsed(), site.kernel->function());
    return header.obstacle.empty() ? Decision::applies() : Decision::doesNotApply(header.obstacle);
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    Inclusion header = inclusionOf(context.parsed(), site.kernel->function());
    AnchorOrReason anchor =
        anchorOfRange(context.parsed(), placeOf(context.parsed(), header),
                      context.parsed().context().getTranslationUnitDecl(), "Include");
    if (!anchor)
      return decline(anchor.reason());
    std::string text;
    llvm::SmallVector<StringRef> lines;
    header.text.rtrim().split(lines, '\n');
    static const llvm::Regex once("^[ \t]*#[ \t]*pragma[ \t]+once[ \t\r]*$");
    for (StringRef line : lines)
      if (!once.match(line)) // of no use where the file includes nothing any more
        text += line.str() + "\n";
    Rewrite rewrite;
    rewrite.summary = "put the text of '" + header.file + "' in place of its #include";
    if (llvm::Error error = rewrite.edits.replaceAll(*anchor, StringRef(text).trim('\n')))
      return std::move(error);
    return rewrite;
  }

private:
  /// From the directive's # to what it includes.
  static SourceRange placeOf(const ParsedProgram &program, const Inclusion &header) {
    const SourceManager &sources = program.sources();
    SourceLocation file = sources.getLocForStartOfFile(sources.getMainFileID());
    unsigned quote = program.text().find('"', header.begin);
    return {file.getLocWithOffset(header.begin), file.getLocWithOffset(quote)};
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createInlineHeader() { return std::make_unique<InlineHeader>(); }
} // namespace kbopt
