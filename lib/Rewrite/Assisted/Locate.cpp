//===- Locate.cpp - The anchors of a reply in a later program ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns finding a saved anchor again. Steps before the reply's may have come or
// gone since (ablation, crossover): what counts is that the place itself is the same.
//
//===----------------------------------------------------------------------===//

#include "Functions.h"
#include "Numbers.h"
#include "kb-opt/Rewrite/Assisted/Grounding.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/Stmt.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;
using llvm::StringRef;

/// With other numbers a run of statements may be so many bytes longer or shorter.
static constexpr unsigned numberBytes = 64;

/// Every run of statements below \p root that is as long as \p saved.
static void collectRuns(const ParsedProgram &program, const clang::Stmt *root,
                        const clang::FunctionDecl *owner, const SavedAnchor &saved,
                        std::vector<Anchor> &into) {
  if (!root)
    return;
  if (const auto *list = llvm::dyn_cast<clang::CompoundStmt>(root)) {
    const unsigned length = saved.end - saved.begin;
    const unsigned slack = saved.numberless.empty() ? 0 : numberBytes;
    for (const auto *first = list->body_begin(); first != list->body_end(); ++first) {
      std::optional<unsigned> from = mainFileOffset(program, (*first)->getBeginLoc());
      for (const auto *last = first; last != list->body_end(); ++last) {
        // Only a semicolon stands between a statement's own end and its anchor's.
        std::optional<unsigned> to = mainFileOffset(program, (*last)->getBeginLoc());
        if (!from || !to || *to >= *from + length + slack)
          break;
        AnchorOrReason run = anchorOfStatements(program, *first, *last, owner);
        const unsigned found = run ? run->end - run->begin : 0;
        if (run && found + slack >= length && found <= length + slack)
          into.push_back(*run);
      }
    }
  }
  for (const clang::Stmt *child : root->children())
    collectRuns(program, child, owner, saved, into);
}

/// The places of \p saved's kind and declaration, whatever they hold.
static std::vector<Anchor> placesLike(const ParsedProgram &program, const SavedAnchor &saved) {
  std::vector<Anchor> places;
  auto add = [&](const AnchorOrReason &anchor) {
    if (anchor)
      places.push_back(*anchor);
  };
  SlotKind kind = *slotKind(saved.id);
  const bool isBody = saved.nodeKind == "FunctionBody"; // a kernel's, or a function's that launches
  if (kind == SlotKind::Includes) {
    add(anchorAfterIncludes(program));
    return places;
  }
  if (kind == SlotKind::Launch && !isBody) {
    for (const LaunchFact &launch : findLaunches(program))
      add(anchorOfLaunch(program, launch.call, launch.host));
    llvm::erase_if(places, [&](const Anchor &each) { return each.usr != saved.usr; });
    return places;
  }
  for (const clang::FunctionDecl *function : functionsOfMainFile(program)) {
    if (usrOf(function) != saved.usr)
      continue;
    if (kind == SlotKind::Decls)
      add(anchorBefore(program, function));
    else if (kind == SlotKind::Parameters)
      add(anchorOfRange(program, function->getParametersSourceRange(), function, "Parameters"));
    else if (kind == SlotKind::Unused)
      add(anchorOfFunction(program, function));
    else if (kind == SlotKind::Attributes)
      add(anchorBeforeName(program, function));
    else if (isBody)
      add(anchorOfBody(program, function));
    else
      collectRuns(program, function->getBody(), function, saved, places);
  }
  return places;
}

/// Those of \p places with the content of \p saved; where there are none and it may, with other
/// numbers in it.
static std::vector<Anchor> placesThatHold(const ParsedProgram &program, const SavedAnchor &saved,
                                          std::vector<Anchor> places) {
  llvm::erase_if(places, [&](const Anchor &each) { return each.nodeKind != saved.nodeKind; });
  std::vector<Anchor> same;
  llvm::copy_if(places, std::back_inserter(same),
                [&](const Anchor &each) { return each.digest == saved.digest; });
  if (!same.empty() || saved.numberless.empty())
    return same;
  llvm::erase_if(places, [&](const Anchor &each) {
    llvm::StringRef text = program.text().slice(each.begin, each.end);
    return digestWithoutNumbers(text, program.language()) != saved.numberless;
  });
  return places;
}

AnchorOrReason kbopt::locate(const ParsedProgram &program, StringRef kernel,
                             const SavedAnchor &saved) {
  std::string what = "'" + saved.id + "' of the reply for kernel '" + kernel.str() + "'";
  if (!slotKind(saved.id))
    return AnchorOrReason::refuse(what + " is no anchor");
  std::vector<Anchor> places = placesLike(program, saved);
  // Where nothing is replaced, what stands behind the place does not matter.
  SlotKind kind = *slotKind(saved.id);
  if (kind != SlotKind::Includes && kind != SlotKind::Decls)
    places = placesThatHold(program, saved, std::move(places));
  // A place that several statements' lists name is one place.
  auto same = [](const Anchor &a, const Anchor &b) { return a.begin == b.begin && a.end == b.end; };
  places.erase(std::unique(places.begin(), places.end(), same), places.end());
  if (places.size() == 1)
    return places.front();
  for (const Anchor &each : places)
    if (each.begin == saved.begin)
      return each;
  if (places.empty())
    return AnchorOrReason::refuse("the program has changed at " + what);
  return AnchorOrReason::refuse("the program has changed: there are " +
                                std::to_string(places.size()) + " places like " + what);
}
