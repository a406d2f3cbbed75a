//===- AssistedFixture.h - Replies to small programs -----------*- C++ -*-===//
//
// Owns the way from a program and texts to what the rules say of them.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_ASSISTEDFIXTURE_H
#define KBOPT_TEST_ASSISTEDFIXTURE_H

#include "../Source/SourceTestUtils.h"
#include "kb-opt/Rewrite/Assisted/EditRules.h"
#include "kb-opt/Rewrite/Assisted/Grounding.h"
#include "kb-opt/Source/Edits.h"

namespace kbopt::test {

using Texts = std::vector<std::pair<std::string, std::string>>;
using Names = std::vector<llvm::StringRef>;

/// The edits of \p texts in \p source, in order.
inline std::vector<PlacedEdit> placed(const ParsedProgram &program, const GroundedSource &source,
                                      const Texts &texts) {
  std::vector<PlacedEdit> edits;
  for (const GroundedAnchor &each : source.anchors)
    for (const auto &[id, text] : texts)
      if (id == each.id)
        edits.push_back(place(id, each.anchor, text, program.text(), program.language()));
  EXPECT_EQ(edits.size(), texts.size()) << "an anchor is not there";
  return edits;
}

/// What the rules say of \p texts in place of the anchors of kernel 'k' in \p program, which steps
/// made of \p original, if of anything.
inline std::optional<Refusal> judged(llvm::StringRef text, const Texts &texts,
                                     const Names &allow = {}, llvm::StringRef original = "") {
  auto program = parse(text);
  GroundingRequest request;
  request.kernel = "k";
  request.allow = allow;
  request.original = original.str();
  GroundedSource source = llvm::cantFail(ground(*program, request));
  std::vector<PlacedEdit> edits = placed(*program, source, texts);
  if (auto refusal = checkTexts(edits, allow, program->text(), program->language()))
    return refusal;
  Edits all;
  for (const PlacedEdit &edit : edits)
    llvm::cantFail(all.replaceAll(edit.anchor, edit.inserted));
  std::string changed = llvm::cantFail(applyEdits(text, all, {FormatChoice::None, ""}));
  auto after = sharedParser().parse(sharedCommand(), changed);
  if (!after)
    return Refusal{EditRule::Parse, llvm::toString(after.takeError()), ""};
  return checkProgram(*program, **after, edits, allow);
}

/// The name of the rule; empty if none refuses.
inline std::string rule(llvm::StringRef text, const Texts &texts, const Names &allow = {}) {
  std::optional<Refusal> refusal = judged(text, texts, allow);
  return refusal ? editRuleName(refusal->rule).str() : "";
}

} // namespace kbopt::test

#endif // KBOPT_TEST_ASSISTEDFIXTURE_H
