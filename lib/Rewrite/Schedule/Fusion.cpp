//===- Fusion.cpp - Launches that become one --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/Schedule/Fusion.h"
#include "FuseNests.h"
#include "HostText.h"
#include "LaunchOrder.h"
#include "kb-opt/Schedule/PlainKernel.h"
#include "clang/AST/DeclTemplate.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

namespace {

/// A name of more characters than this leaves out the kernels in the middle.
constexpr size_t longestName = 48;

/// A kernel and one of its launches.
using Member = FollowingLaunch;

class Fusion {
public:
  explicit Fusion(const PassContext &context) : context(context) {}

  llvm::Expected<Rewrite> run(const KernelView &kernel, const LaunchFact &fact) {
    if (isFallbackLaunch(context, fact.call))
      return llvm::createStringError("the launch only runs where a faster kernel cannot");
    llvm::Expected<LaunchedNest> begin = LaunchedNest::create(context, kernel, fact);
    if (!begin)
      return begin.takeError();
    joined = std::move(*begin);
    members.push_back({&kernel, &fact});
    std::string reason;
    while (reason.empty())
      reason = addNext();
    if (members.size() == 1)
      return llvm::createStringError(reason);
    return write();
  }

private:
  /// Joins the next launch; the reason if it cannot be joined.
  std::string addNext() {
    llvm::Expected<FollowingLaunch> next = launchAfter(context, *members.back().fact);
    if (!next)
      return llvm::toString(next.takeError());
    llvm::Expected<LaunchedNest> other = LaunchedNest::create(context, *next->kernel, *next->fact);
    if (!other)
      return llvm::toString(other.takeError());
    LaunchedNest before = joined.clone();
    std::vector<std::pair<const VarDecl *, std::string>> saves;
    for (const VarDecl *variable : next->assigned) {
      if (llvm::any_of(saves, [&](const auto &each) { return each.first == variable; }))
        continue;
      if (variable->getType()->isPointerType()) {
        // The launches before are moved past this.
        for (const LaunchText &each : before.launches)
          if (llvm::any_of(each.fact().arguments,
                           [&](const Expr *argument) { return restsOn(argument, {variable}); }))
            return "'" + variable->getName().str() + "' is allocated anew after the launch uses it";
        continue;
      }
      for (const LaunchText &each : before.launches)
        if (looksThroughPointers(each.fact().call))
          return "'" + variable->getName().str() +
                 "' changes after the launch, which may use it through a reference";
      saves.emplace_back(
          variable, context.unusedName(("first_" + variable->getName()).str() +
                                       (members.size() > 1 ? std::to_string(members.size()) : "")));
      before.renameVariable(variable, saves.back().second);
    }
    llvm::Expected<LaunchedNest> both = fuse(context, before, *other);
    if (!both)
      return llvm::toString(both.takeError());
    std::vector<std::string> unused = dropDeadStores(context, *both);
    // What cannot be printed or launched is not joined.
    llvm::Expected<GeneratedKernel> printed = print(*both, "kernel");
    if (!printed)
      return llvm::toString(printed.takeError());
    std::vector<std::string> open;
    if (llvm::Error error = addConditions(*both, *printed, open))
      return llvm::toString(std::move(error));
    joined = std::move(*both);
    members.push_back(*next);
    dropped.insert(dropped.end(), unused.begin(), unused.end());
    savedBefore.push_back(std::move(saves));
    return "";
  }

  /// Whether \p launch uses values of the host by other names than those of their variables.
  static bool looksThroughPointers(const CallExpr *launch) {
    bool looks = false;
    ast::walk(launch, [&](const Stmt *each) {
      const auto *ref = dyn_cast<DeclRefExpr>(each);
      const auto *unary = dyn_cast<UnaryOperator>(each);
      const auto *variable = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
      looks |= (variable && variable->getType()->isReferenceType()) ||
               (unary && unary->getOpcode() == UO_Deref) || isa<ArraySubscriptExpr>(each);
      return true;
    });
    return looks;
  }

  std::string comment() const {
    std::vector<std::string> names;
    for (const Member &each : members)
      names.push_back("'" + each.kernel->name().str() + "'");
    std::string text = "// What " + llvm::join(llvm::ArrayRef(names).drop_back(), ", ") + " and " +
                       names.back() +
                       " compute one after the other: what is stored for a\n// point is still at "
                       "hand where it is needed.";
    return text;
  }

  llvm::Expected<GeneratedKernel> print(const LaunchedNest &nest, StringRef name) {
    return printPlain(nest.nest, name, members.size() > 1 ? comment() : "");
  }

  /// Adds what \p nest as \p generated needs of the launch to \p open.
  llvm::Error addConditions(const LaunchedNest &nest, const GeneratedKernel &generated,
                            std::vector<std::string> &open) {
    open = nest.open;
    llvm::Expected<std::vector<HostCondition>> conditions =
        conditionsOf(nest.kernel(), nest.nest, generated);
    if (!conditions)
      return conditions.takeError();
    return addOpenConditions(context, nest.launchText(), nest.parameters, *conditions, open);
  }

  /// "conv_relu_kernel" for conv_kernel and relu_kernel.
  std::string freshName() const {
    std::vector<std::string> parts;
    std::string ending;
    bool isCamel = true;
    for (const Member &each : members) {
      std::string name = each.kernel->function()->getNameAsString();
      isCamel &= name.find('_') == std::string::npos;
      for (StringRef word : {"_kernel", "Kernel"})
        if (StringRef(name).ends_with(word) && name.size() > word.size()) {
          name.resize(name.size() - word.size());
          ending = word.str();
        }
      parts.push_back(std::move(name));
    }
    if (llvm::join(parts, "_").size() > longestName)
      parts = {parts.front(), "to", parts.back()};
    std::string name = parts.front();
    for (StringRef part : llvm::drop_begin(parts))
      name += isCamel ? part.take_front().upper() + part.drop_front().str() : "_" + part.str();
    // One name for each launch that others of the same kernels follow, whatever becomes of the
    // others.
    const Member &first = members.front();
    size_t number = 1;
    for (const LaunchFact &earlier : llvm::ArrayRef(first.kernel->launches)
                                         .take_front(first.fact - first.kernel->launches.data()))
      number += beginsAlike(earlier);
    return context.unusedName(name + ending + (number > 1 ? std::to_string(number) : ""));
  }

  /// Whether launches of the members' kernels follow \p launch.
  bool beginsAlike(const LaunchFact &launch) const {
    const LaunchFact *at = &launch;
    for (const Member &each : llvm::drop_begin(members)) {
      llvm::Expected<FollowingLaunch> next = launchAfter(context, *at);
      if (!next) {
        llvm::consumeError(next.takeError());
        return false;
      }
      if (next->kernel != each.kernel)
        return false;
      at = next->fact;
    }
    return true;
  }

  llvm::Expected<Rewrite> write() {
    llvm::Expected<GeneratedKernel> generated = print(joined, freshName());
    if (!generated)
      return generated.takeError();
    std::vector<std::string> open;
    if (llvm::Error error = addConditions(joined, *generated, open))
      return std::move(error);
    Rewrite rewrite;
    if (llvm::Error error = addDefinition(rewrite.edits, *generated))
      return std::move(error);
    llvm::Expected<std::string> text = launchText(*generated, open);
    if (!text)
      return text.takeError();
    for (size_t i = 0; i + 1 < joined.launches.size(); ++i)
      if (hasDirective(context.parsed().text().slice(joined.launches[i].anchor().end,
                                                     joined.launches[i + 1].anchor().begin),
                       {}))
        return llvm::createStringError("the preprocessor may leave out some of the launches");
    AnchorOrReason anchor =
        anchorOfStatements(context.parsed(), statementOf(*members.front().fact),
                           statementOf(*members.back().fact), members.front().fact->host);
    if (!anchor)
      return llvm::createStringError("the launches cannot be changed: " + anchor.reason());
    if (llvm::Error error = rewrite.edits.replaceAll(*anchor, between(*text) + *text))
      return std::move(error);
    rewrite.promise = Promise::Reassociates;
    rewrite.summary =
        "joined " + std::to_string(members.size()) + " launches in '" + generated->name + "'";
    if (!dropped.empty())
      rewrite.summary += ", without storing '" + llvm::join(dropped, "' and '") + "'";
    if (!open.empty())
      rewrite.summary += ", where its conditions hold";
    return rewrite;
  }

  /// The kernel after the last definition of those that are joined.
  llvm::Error addDefinition(Edits &edits, const GeneratedKernel &generated) {
    const SourceManager &sources = context.parsed().sources();
    const KernelView *last = members.front().kernel;
    for (const Member &each : members) {
      if (each.kernel->function()->getDeclContext()->getEnclosingNamespaceContext() !=
          last->function()->getDeclContext()->getEnclosingNamespaceContext())
        return llvm::createStringError("the kernels are in different namespaces");
      if (sources.isBeforeInTranslationUnit(last->function()->getEndLoc(),
                                            each.kernel->function()->getEndLoc()))
        last = each.kernel;
    }
    if (!sources.isBeforeInTranslationUnit(last->function()->getEndLoc(),
                                           members.front().fact->call->getBeginLoc()))
      return llvm::createStringError("'" + last->name().str() + "' is defined after the launches");
    // The statements of all kernels must mean the same where the new one stands.
    std::set<std::string> words;
    for (StringRef word : namesIn(generated.definition))
      words.insert(word.str());
    for (const Member &each : members) {
      unsigned begin = sources.getFileOffset(each.kernel->function()->getEndLoc()),
               end = sources.getFileOffset(last->function()->getEndLoc());
      if (begin < end && hasDirective(context.parsed().text().slice(begin, end), words))
        return llvm::createStringError("a macro changes between the definitions of the kernels");
    }
    const Decl *definition = last->function();
    if (const FunctionTemplateDecl *pattern = last->function()->getDescribedFunctionTemplate())
      definition = pattern;
    AnchorOrReason anchor = anchorOf(context.parsed(), definition);
    if (!anchor)
      return llvm::createStringError("no kernel can be added after '" + last->name().str() +
                                     "': " + anchor.reason());
    return edits.insertAfter(*anchor, "\n\n" + StringRef(generated.definition).trim().str());
  }

  /// Whether \p text has a line of the preprocessor that is about one of \p names; any line if
  /// there are none.
  static bool hasDirective(StringRef text, const std::set<std::string> &names) {
    llvm::SmallVector<StringRef> lines;
    text.split(lines, '\n');
    return llvm::any_of(lines, [&](StringRef line) {
      if (!line.ltrim().consume_front("#"))
        return false;
      std::vector<StringRef> words = namesIn(line);
      return names.empty() ||
             llvm::any_of(words, [&](StringRef word) { return names.count(word.str()); });
    });
  }

  /// What stands between the launches, and before it the values that \p joinedText needs of
  /// variables which change there.
  std::string between(StringRef joinedText) const {
    std::string text;
    StringRef last;
    std::vector<StringRef> used = namesIn(joinedText);
    for (size_t i = 0; i + 1 < joined.launches.size(); ++i) {
      for (const auto &[variable, saved] : savedBefore[i])
        if (llvm::is_contained(used, saved))
          text += "const auto " + saved + " = " + variable->getName().str() + ";\n";
      StringRef part =
          context.parsed()
              .text()
              .slice(joined.launches[i].anchor().end, joined.launches[i + 1].anchor().begin)
              .trim();
      // Of two waits one after the other one is enough.
      if (part == last && part.ends_with("Synchronize();") && !part.contains('\n'))
        continue;
      text += part.empty() ? "" : part.str() + "\n";
      last = part;
    }
    return text;
  }

  /// What takes the place of the last launch.
  llvm::Expected<std::string> launchText(const GeneratedKernel &generated,
                                         llvm::ArrayRef<std::string> open) {
    llvm::Expected<std::string> fast = joined.launchOf(generated, /*hasFallback=*/!open.empty());
    if (!fast || open.empty())
      return fast;
    std::string original;
    for (const std::string &each : joined.statements)
      original += each + "\n";
    return whereAllHold(open, *fast, original);
  }

  const PassContext &context;
  LaunchedNest joined;
  std::vector<Member> members;
  /// Between each launch and the next one: variables, and what their values before are called.
  std::vector<std::vector<std::pair<const VarDecl *, std::string>>> savedBefore;
  std::vector<std::string> dropped;
};

} // namespace

llvm::Expected<Rewrite> kbopt::fuseLaunches(const PassContext &context, const KernelView &kernel,
                                            const LaunchFact &fact) {
  return Fusion(context).run(kernel, fact);
}
