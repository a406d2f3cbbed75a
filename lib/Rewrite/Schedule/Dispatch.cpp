//===- Dispatch.cpp - Scheduled kernels beside the original ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Dispatcher.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

/// What takes the place of the launch statement \p original: the first of \p branches whose
/// condition holds.
static std::string choiceText(llvm::ArrayRef<Dispatcher::Branch> branches, StringRef original,
                              bool isInList) {
  bool hasPair =
      llvm::any_of(branches, [](const auto &each) { return StringRef(each.fast).contains('\n'); });
  if (branches.front().condition.empty())
    return hasPair && !isInList ? "{\n" + branches.front().fast + "\n}" : branches.front().fast;
  std::string text;
  auto add = [&](const std::string &head, const std::string &body) {
    text += text.empty() ? "" : hasPair ? " " : "\n";
    text += hasPair ? head + " {\n" + body + "\n}" : head + "\n  " + body;
  };
  for (const Dispatcher::Branch &branch : branches) {
    std::string start = text.empty() ? "" : "else ";
    if (branch.condition.empty()) {
      add("else", branch.fast);
      return text;
    }
    add(start + "if (" + branch.condition + ")", branch.fast);
  }
  add("else", original.str());
  return text;
}

using Dispatchers = llvm::ArrayRef<std::unique_ptr<Dispatcher>>;

/// Declares the kernels before the first of \p launches that stands before them.
static llvm::Error addDeclarations(const PassContext &context, Dispatchers dispatchers,
                                   Edits &edits) {
  const LaunchFact *early = nullptr;
  std::string declarations;
  for (auto &dispatcher : dispatchers) {
    for (const LaunchFact *fact : dispatcher->launches())
      if (dispatcher->standsBefore(*fact) && (!early || fact < early))
        early = fact;
    declarations += dispatcher->declarations();
  }
  if (!early)
    return llvm::Error::success();
  AnchorOrReason before = anchorBefore(context.parsed(), early->host);
  if (!before)
    return llvm::createStringError("no declaration can be added before '" +
                                   early->host->getNameAsString() + "': " + before.reason());
  return edits.insertBefore(*before, declarations + "\n");
}

/// Adds the kernels and their tests after \p kernel.
static llvm::Error addDefinitions(const KernelView &kernel, Dispatchers dispatchers, Edits &edits) {
  std::string text;
  std::set<std::string> known;
  SharedHelpers helpers;
  for (auto &dispatcher : dispatchers) {
    llvm::Expected<std::string> each = dispatcher->definitions(edits, known, helpers);
    if (!each)
      return each.takeError();
    text += *each;
  }
  AnchorOrReason place = dispatchers.front()->place();
  if (!place)
    return llvm::createStringError("no kernel can be added after '" + kernel.name().str() +
                                   "': " + place.reason());
  return kernel.isInHeader() ? edits.insertBefore(*place, StringRef(text).ltrim().str() + "\n\n")
                             : edits.insertAfter(*place, text);
}

/// Puts the choice at \p fact in the place of the launch.
static llvm::Error addChoice(const PassContext &context, Dispatchers dispatchers,
                             const LaunchFact &fact, Dispatch &result) {
  std::vector<Dispatcher::Branch> branches;
  const LaunchText *launch = nullptr;
  for (auto &dispatcher : dispatchers) {
    auto branch = dispatcher->branchAt(fact);
    if (!branch)
      return branch.takeError();
    if (!*branch)
      continue;
    branches.push_back(std::move(**branch));
    launch = launch ? launch : &dispatcher->launchOf(fact);
  }
  ++result.launches;
  result.conditional +=
      llvm::none_of(branches, [](const auto &each) { return each.condition.empty(); });
  return result.edits.replaceAll(
      launch->anchor(),
      launch->inPlace(choiceText(branches, launch->original(), launch->isInList())));
}

llvm::Expected<Dispatch> kbopt::dispatchEdits(const PassContext &context, const KernelView &kernel,
                                              llvm::ArrayRef<ScheduledKernel> scheduled) {
  std::vector<std::unique_ptr<Dispatcher>> dispatchers;
  std::string reason;
  for (auto [number, each] : llvm::enumerate(scheduled)) {
    auto dispatcher = std::make_unique<Dispatcher>(context, kernel, each);
    const bool isLast =
        number + 1 == scheduled.size() || scheduled[number + 1].instance != each.instance;
    if (llvm::Error error = dispatcher->prepare(isLast)) {
      std::string why = llvm::toString(std::move(error));
      if (reason.empty())
        reason = std::move(why);
      continue;
    }
    dispatcher->leaveTo(dispatchers);
    if (!dispatcher->launchesAny())
      continue;
    for (auto &earlier : dispatchers)
      dispatcher->shareTest(*earlier);
    dispatchers.push_back(std::move(dispatcher));
  }
  if (dispatchers.empty())
    return llvm::createStringError(reason);
  Dispatch result;
  std::vector<const LaunchFact *> launches;
  for (auto &dispatcher : dispatchers) {
    result.kernels.push_back(dispatcher->name());
    for (const LaunchFact *fact : dispatcher->launches())
      if (!llvm::is_contained(launches, fact))
        launches.push_back(fact);
  }
  if (llvm::Error error = addDeclarations(context, dispatchers, result.edits))
    return std::move(error);
  if (llvm::Error error = addDefinitions(kernel, dispatchers, result.edits))
    return std::move(error);
  for (const LaunchFact *fact : launches)
    if (llvm::Error error = addChoice(context, dispatchers, *fact, result))
      return std::move(error);
  return result;
}
