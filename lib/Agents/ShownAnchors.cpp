//===- ShownAnchors.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ShownAnchors.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

bool kbopt::hasOwnAnchors(SiteKind site) {
  return site != SiteKind::Kernel && site != SiteKind::Launch && site != SiteKind::Parameter;
}

static llvm::Expected<GroundedSource> groundFor(const ParsedProgram &program, const PassInfo &info,
                                                llvm::StringRef kernel,
                                                std::vector<LineSpan> lines) {
  GroundingRequest request;
  request.kernel = kernel.str();
  request.lines = std::move(lines);
  request.allow = info.assisted->allow;
  return ground(program, request);
}

/// Each of \p added that \p texts does not have.
static void addNew(std::vector<std::string> &texts, llvm::ArrayRef<std::string> added) {
  for (const std::string &text : added)
    if (!llvm::is_contained(texts, text))
      texts.push_back(text);
}

/// What \p source lets a reply change beside new declarations and includes, which all have.
static std::vector<std::string> changeable(const GroundedSource &source) {
  std::vector<std::string> places;
  for (const GroundedAnchor &anchor : source.anchors)
    if (SlotKind kind = *slotKind(anchor.id); kind != SlotKind::Decls && kind != SlotKind::Includes)
      places.push_back(anchor.what);
  return places;
}

bool kbopt::showAnchors(const ParsedProgram &program, const PassInfo &info, PromptPass &pass,
                        std::vector<std::string> &left) {
  bool isPossible = false;
  auto take = [&](llvm::Expected<GroundedSource> source, bool shows) {
    if (!source) {
      addNew(left, llvm::toString(source.takeError()));
      return false;
    }
    isPossible = true;
    if (shows)
      addNew(pass.anchors, changeable(*source));
    addNew(left, source->left);
    return true;
  };
  const bool hasBody = take(groundFor(program, info, pass.kernel, {}), /*shows=*/true);
  if (hasOwnAnchors(info.site))
    llvm::erase_if(pass.sites, [&](const PromptSite &site) {
      return !take(groundFor(program, info, pass.kernel, {{site.line, site.lastLine}}), !hasBody);
    });
  return isPossible;
}

std::string kbopt::whyNotAnchored(const ParsedProgram &program, const PassInfo &info,
                                  llvm::StringRef kernel, LineSpan lines) {
  auto source = groundFor(program, info, kernel, {lines});
  return source ? "" : llvm::toString(source.takeError());
}
