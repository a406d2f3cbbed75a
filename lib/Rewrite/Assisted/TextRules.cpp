//===- TextRules.cpp - The rules on a reply's texts -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the checks for which the text alone is exact: it is lexed as clang lexes
// it, and nothing in it can be a macro's doing but what the program had before.
//
//===----------------------------------------------------------------------===//

#include "CallTables.h"
#include "Tokens.h"
#include "kb-opt/Rewrite/Assisted/EditRules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using llvm::StringRef;
namespace tok = clang::tok;

namespace {

using Finding = std::optional<Refusal>;

/// Whether a single statement stands at the end of \p before, so that it may not become several.
bool expectsOneStatement(StringRef before, const clang::LangOptions &language) {
  const RawToken *last = nullptr;
  std::vector<RawToken> tokens = tokensOf(before, language);
  for (const RawToken &token : tokens)
    if (token.kind != tok::comment)
      last = &token;
  return last && (last->kind == tok::r_paren || last->spelling == "else" || last->spelling == "do");
}

class TextChecker {
public:
  TextChecker(const PlacedEdit &edit, llvm::ArrayRef<StringRef> allow,
              const clang::LangOptions &language)
      : edit(edit), allow(allow), tokens(tokensOf(edit.text, language)) {}

  Finding check() {
    if (Finding finding = checkMarks())
      return finding;
    if (Finding finding = checkBalance())
      return finding;
    if (*slotKind(edit.id) == SlotKind::Includes)
      return checkIncludes();
    if (*slotKind(edit.id) == SlotKind::Unused && !StringRef(edit.text).trim().empty())
      return Refusal{EditRule::OutsideAnchor, "what nothing uses can only be removed", edit.id};
    if (*slotKind(edit.id) == SlotKind::Attributes)
      if (Finding finding = checkAttributes())
        return finding;
    if (Finding finding = checkDirectives())
      return finding;
    return checkWords();
  }

private:
  Finding refuse(EditRule rule, const llvm::Twine &sentence) const {
    return Refusal{rule, sentence.str(), edit.id};
  }
  std::string lineOf(const RawToken &token) const {
    return "line " + std::to_string(1 + StringRef(edit.text).take_front(token.offset).count('\n')) +
           " of the text";
  }

  Finding checkMarks() {
    if (StringRef(edit.text).contains("<<<KB:"))
      return refuse(EditRule::Marker, "a marker '<<<KB:' stands in the text");
    if (StringRef(edit.text).contains("NOKBOPT"))
      return refuse(EditRule::Suppression, "a NOKBOPT comment stands in the text");
    return std::nullopt;
  }

  Finding checkBalance();
  Finding checkIncludes();
  Finding checkAttributes();
  Finding checkDirectives();
  Finding checkWords();

  const PlacedEdit &edit;
  llvm::ArrayRef<StringRef> allow;
  std::vector<RawToken> tokens;
};

Finding TextChecker::checkBalance() {
  std::vector<const RawToken *> open;
  auto closes = [](tok::TokenKind opened, tok::TokenKind closed) {
    return (opened == tok::l_paren && closed == tok::r_paren) ||
           (opened == tok::l_square && closed == tok::r_square) ||
           (opened == tok::l_brace && closed == tok::r_brace);
  };
  for (const RawToken &token : tokens) {
    StringRef spelling = token.spelling;
    if (token.kind == tok::unknown)
      return refuse(EditRule::Unbalanced,
                    lineOf(token) +
                        " begins a string or a comment that does not end, or is no C++");
    if (llvm::is_contained({tok::l_paren, tok::l_square, tok::l_brace}, token.kind)) {
      open.push_back(&token);
      if (open.size() > ReplyLimits::nesting)
        return refuse(EditRule::Size, lineOf(token) + " opens more than " +
                                          llvm::Twine(ReplyLimits::nesting) +
                                          " brackets in one another");
    }
    if (llvm::is_contained({tok::r_paren, tok::r_square, tok::r_brace}, token.kind)) {
      if (open.empty() || !closes(open.back()->kind, token.kind))
        return refuse(EditRule::Unbalanced,
                      lineOf(token) + " closes a '" + spelling + "' that the text does not open");
      open.pop_back();
    }
  }
  if (!open.empty())
    return refuse(EditRule::Unbalanced, lineOf(*open.back()) + " opens a '" +
                                            open.back()->spelling + "' that it does not close");
  if (StringRef(edit.text).rtrim().ends_with("\\"))
    return refuse(EditRule::Unbalanced, "the text ends with a backslash");
  return std::nullopt;
}

Finding TextChecker::checkIncludes() {
  llvm::SmallVector<StringRef> lines;
  StringRef(edit.text).split(lines, '\n');
  for (StringRef line : lines) {
    StringRef rest = line.trim();
    if (rest.empty())
      continue;
    if (!rest.consume_front("#") || !(rest = rest.ltrim()).consume_front("include") ||
        !(rest = rest.ltrim()).consume_front("<") || !rest.consume_back(">"))
      return refuse(EditRule::Include,
                    "'" + line.trim() + "' is no line of the form #include <header>");
    if (!llvm::is_contained(allowedIncludes(), rest))
      return refuse(EditRule::Include, "'" + rest +
                                           "' is not among the headers that may be included: " +
                                           llvm::join(allowedIncludes(), ", "));
  }
  return std::nullopt;
}

/// One of two words and its brackets, nothing else.
Finding TextChecker::checkAttributes() {
  unsigned depth = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    bool fits =
        i == 0   ? tokens[i].spelling == "__launch_bounds__" || tokens[i].spelling == "__maxnreg__"
        : i == 1 ? tokens[i].kind == tok::l_paren
                 : depth > 0;
    if (!fits)
      return refuse(EditRule::Attribute,
                    lineOf(tokens[i]) + " holds '" + tokens[i].spelling +
                        "', which is no part of one __launch_bounds__(…) or __maxnreg__(…)");
    depth += tokens[i].kind == tok::l_paren;
    depth -= tokens[i].kind == tok::r_paren;
  }
  return std::nullopt;
}

Finding TextChecker::checkDirectives() {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind != tok::hash || !tokens[i].startsLine)
      continue;
    auto wordAt = [&](size_t at) -> StringRef {
      return at < tokens.size() && tokens[at].isWord() ? StringRef(tokens[at].spelling) : "";
    };
    StringRef directive = wordAt(i + 1);
    if (directive == "include")
      return refuse(EditRule::Include,
                    lineOf(tokens[i]) + " is an #include; the anchor 'includes' is for those");
    if (directive == "pragma" && (wordAt(i + 2) == "unroll" || wordAt(i + 2) == "nounroll"))
      continue;
    return refuse(EditRule::Directive,
                  lineOf(tokens[i]) + " is a preprocessor line, '#" + directive +
                      (directive == "pragma" ? " " + wordAt(i + 2).str() : "") + "'");
  }
  return std::nullopt;
}

Finding TextChecker::checkWords() {
  static constexpr StringRef compilerWords[] = {
      "__DATE__",          "__TIME__",      "__TIMESTAMP__", "__FILE__",
      "__LINE__",          "__COUNTER__",   "__BASE_FILE__", "__FILE_NAME__",
      "__INCLUDE_LEVEL__", "_Pragma",       "__pragma",      "__has_include",
      "__has_embed",       "__has_feature", "__clang__",     "__NVCC__"};
  static constexpr StringRef asmWords[] = {"asm", "__asm", "__asm__", "asm_volatile"};
  for (const RawToken &token : tokens) {
    if (!token.isWord())
      continue;
    StringRef word = token.spelling;
    if (llvm::is_contained(compilerWords, word))
      return refuse(EditRule::CompilerWord, lineOf(token) + " holds '" + word +
                                                "', which depends on compiler, time or place");
    if (llvm::is_contained(asmWords, word) && !llvm::is_contained(allow, "asm"))
      return refuse(EditRule::InlineAsm,
                    lineOf(token) + " holds inline assembly, which the pass does not allow");
    if (StringRef library = libraryOf(word); !library.empty())
      return refuse(EditRule::Library, lineOf(token) + " holds '" + word + "' of " + library +
                                           "; the kernel is to be written, not called");
  }
  return std::nullopt;
}

} // namespace

PlacedEdit kbopt::place(std::string id, Anchor anchor, std::string text, StringRef program,
                        const clang::LangOptions &language) {
  PlacedEdit edit{std::move(id), std::move(anchor), std::move(text), ""};
  StringRef body = StringRef(edit.text).trim();
  // A directive needs a line of its own, and a comment must not swallow what follows.
  auto onLines = [&] {
    StringRef last = body.substr(body.rfind('\n') + 1).ltrim();
    return (body.starts_with("#") ? "\n" : "") + body.str() +
           (last.contains("//") || last.starts_with("#") ? "\n" : "");
  };
  switch (*slotKind(edit.id)) {
  case SlotKind::Code:
    if (edit.anchor.nodeKind == "FunctionBody") {
      edit.inserted = "\n" + StringRef(edit.text).ltrim("\n").rtrim().str() + "\n";
      break;
    }
    [[fallthrough]];
  case SlotKind::Launch:
    edit.inserted = expectsOneStatement(program.take_front(edit.anchor.begin), language)
                        ? "{\n" + body.str() + "\n}"
                        : onLines();
    break;
  case SlotKind::Parameters:
    edit.inserted = onLines();
    break;
  case SlotKind::Attributes:
    edit.inserted = body.empty() ? "" : body.str() + " ";
    break;
  case SlotKind::Unused:
    edit.inserted = body.str();
    break;
  case SlotKind::Decls:
    edit.inserted = body.empty() ? "" : body.str() + "\n\n";
    break;
  case SlotKind::Includes:
    edit.inserted = body.empty() ? "" : body.str() + "\n";
    break;
  }
  return edit;
}

Finding kbopt::checkTexts(llvm::ArrayRef<PlacedEdit> edits, llvm::ArrayRef<StringRef> allow,
                          StringRef program, const clang::LangOptions &language) {
  bool changes = llvm::any_of(edits, [&](const PlacedEdit &edit) {
    return program.slice(edit.anchor.begin, edit.anchor.end).trim() != StringRef(edit.text).trim();
  });
  if (!changes)
    return Refusal{EditRule::NothingChanged, "every text is what stands there already", ""};
  for (const PlacedEdit &edit : edits)
    if (Finding finding = TextChecker(edit, allow, language).check())
      return finding;
  return std::nullopt;
}
