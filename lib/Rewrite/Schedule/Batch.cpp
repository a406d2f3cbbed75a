//===- Batch.cpp - A loop of launches that becomes one ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/Schedule/Batch.h"
#include "BatchNest.h"
#include "LaunchOrder.h"
#include "StreamUse.h"
#include "kb-opt/Schedule/PlainKernel.h"
#include "clang/AST/DeclTemplate.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

namespace {

class Batch {
public:
  Batch(const PassContext &context, const KernelView &kernel, const LaunchFact &fact)
      : context(context), kernel(kernel), fact(fact) {}

  llvm::Expected<Rewrite> run() {
    if (isFallbackLaunch(context, fact.call))
      return llvm::createStringError("the launch only runs where a faster kernel cannot");
    llvm::Expected<std::vector<LaunchLoop>> loops = launchLoops(context, fact);
    if (!loops)
      return loops.takeError();
    llvm::Expected<LaunchedNest> single =
        LaunchedNest::create(context, kernel, fact, /*mustBeInList=*/false);
    if (!single)
      return single.takeError();
    // The outermost loops may be steps of which each needs the one before.
    std::string reason;
    while (!loops->empty()) {
      std::vector<LaunchLoop> outermostFirst(loops->rbegin(), loops->rend());
      llvm::Expected<Rewrite> rewrite = rewriteLoops(*single, outermostFirst);
      if (rewrite)
        return rewrite;
      reason = llvm::toString(rewrite.takeError());
      loops->pop_back();
    }
    return llvm::createStringError(reason);
  }

private:
  llvm::Expected<Rewrite> rewriteLoops(const LaunchedNest &single,
                                       llvm::ArrayRef<LaunchLoop> loops) {
    llvm::Expected<LaunchedNest> nest = batchNest(context, fact, single, loops);
    if (!nest)
      return nest.takeError();
    llvm::Expected<GeneratedKernel> generated = printPlain(nest->nest, freshName(), comment(loops));
    if (!generated)
      return generated.takeError();
    llvm::Expected<std::vector<HostCondition>> conditions =
        conditionsOf(nest->kernel(), nest->nest, *generated);
    if (!conditions)
      return conditions.takeError();
    if (llvm::Error error = addOpenConditions(context, nest->launchText(), nest->parameters,
                                              *conditions, nest->open))
      return std::move(error);
    Rewrite rewrite;
    if (llvm::Error error = addDefinition(rewrite.edits, *generated))
      return std::move(error);
    llvm::Expected<std::string> fast = launchText(*nest, *generated, loops);
    if (!fast)
      return fast.takeError();
    if (llvm::Error error = addLaunch(rewrite.edits, *nest, loops, *fast))
      return std::move(error);
    rewrite.promise = Promise::Reassociates;
    rewrite.summary =
        "made one launch of the loop over " + namesOf(loops) + " in '" + generated->name + "'";
    if (!nest->open.empty())
      rewrite.summary += ", where its conditions hold";
    return rewrite;
  }

  static std::string namesOf(llvm::ArrayRef<LaunchLoop> loops) {
    std::vector<std::string> names;
    for (const LaunchLoop &each : loops)
      names.push_back("'" + each.name().str() + "'");
    return llvm::join(names, " and ");
  }

  std::string comment(llvm::ArrayRef<LaunchLoop> loops) const {
    return "// All launches of '" + kernel.name().str() + "' in the loop over " + namesOf(loops) +
           " at once: none needs what another\n// one computes.";
  }

  /// "conv_batch_kernel" for conv_kernel.
  std::string freshName() const {
    std::string name = kernel.function()->getNameAsString(), ending;
    bool isCamel = name.find('_') == std::string::npos;
    for (StringRef word : {"_kernel", "Kernel"})
      if (StringRef(name).ends_with(word) && name.size() > word.size()) {
        name.resize(name.size() - word.size());
        ending = word.str();
      }
    // One name for each launch, whatever becomes of the others.
    size_t number = 1 + (&fact - kernel.launches.data());
    return context.unusedName(name + (isCamel ? "Batch" : "_batch") + ending +
                              (number > 1 ? std::to_string(number) : ""));
  }

  llvm::Error addDefinition(Edits &edits, const GeneratedKernel &generated) {
    const SourceManager &sources = context.parsed().sources();
    if (!sources.isBeforeInTranslationUnit(kernel.function()->getEndLoc(),
                                           fact.call->getBeginLoc()))
      return llvm::createStringError("'" + kernel.name().str() + "' is defined after the loop");
    const Decl *definition = kernel.function();
    if (const FunctionTemplateDecl *pattern = kernel.function()->getDescribedFunctionTemplate())
      definition = pattern;
    AnchorOrReason anchor = anchorOf(context.parsed(), definition);
    if (!anchor)
      return llvm::createStringError("no kernel can be added after '" + kernel.name().str() +
                                     "': " + anchor.reason());
    return edits.insertAfter(*anchor, "\n\n" + StringRef(generated.definition).trim().str());
  }

  /// Puts \p fast in the place of the outermost loop, or before it where it may not be run.
  llvm::Error addLaunch(Edits &edits, const LaunchedNest &nest, llvm::ArrayRef<LaunchLoop> loops,
                        const std::string &fast) {
    const ForStmt *loop = loops.front().counted.loop;
    if (!loops.front().guard.empty())
      return addGuarded(edits, nest, loops.front(), fast);
    AnchorOrReason anchor = anchorOf(context.parsed(), loop, fact.host);
    if (!anchor)
      return llvm::createStringError("the loop cannot be changed: " + anchor.reason());
    StringRef text = context.parsed().text().slice(anchor->begin, anchor->end);
    return edits.replaceAll(
        *anchor, nest.open.empty() ? fast : whereAllHold(nest.open, fast, text.str() + "\n"));
  }

  /// The same for a loop with directives, which stays whole for builds with other macros.
  llvm::Error addGuarded(Edits &edits, const LaunchedNest &nest, const LaunchLoop &outermost,
                         const std::string &fast) {
    const ForStmt *loop = outermost.counted.loop;
    auto anchorAt = [&](SourceLocation token) {
      return anchorOfRange(context.parsed(), SourceRange(token), fact.host,
                           loop->getStmtClassName());
    };
    AnchorOrReason begin = anchorAt(loop->getForLoc()), end = anchorAt(loop->getEndLoc());
    if (!begin || !end || !isa<CompoundStmt>(loop->getBody()))
      return llvm::createStringError("the loop contains directives of the preprocessor");
    const StringRef line = context.parsed().text().take_front(begin->begin).rsplit('\n').second;
    const std::string start = (line.trim().empty() ? "" : "\n") + ("#if " + outermost.guard) + "\n";
    if (!nest.open.empty())
      return edits.insertBefore(*begin, start + "if (" + allOf(nest.open) + ") {\n" + fast +
                                            "\n} else\n#endif\n");
    if (llvm::Error error = edits.insertBefore(*begin, start + fast + "\n#else\n"))
      return error;
    return edits.insertAfter(*end, "\n#endif");
  }

  /// The one launch, and what the loops do after theirs.
  llvm::Expected<std::string> launchText(LaunchedNest &nest, const GeneratedKernel &generated,
                                         llvm::ArrayRef<LaunchLoop> loops) {
    std::vector<const VarDecl *> variables;
    for (const LaunchLoop &each : loops)
      variables.push_back(each.counted.variable);
    if (restsOn(fact.stream, variables)) {
      if (std::string why = whyNotDefaultStream(context, fact.stream); !why.empty())
        return llvm::createStringError("the launches are on streams of their own: " + why);
      for (LaunchText &each : nest.launches)
        each.dropStream();
    } else if (fact.stream && !isRepeatable(fact.stream)) {
      return llvm::createStringError("the stream of the launches has side effects");
    }
    llvm::Expected<std::string> fast = nest.launchOf(generated, /*hasFallback=*/true);
    if (!fast)
      return fast.takeError();
    // Innermost first; of two waits one after the other one is enough.
    std::string after, last;
    for (const LaunchLoop &each : llvm::reverse(loops))
      if (!each.after.empty() && each.after != last)
        after += "\n" + (last = each.after);
    return after.empty() || !nest.open.empty() ? *fast + after : "{\n" + *fast + after + "\n}";
  }

  const PassContext &context;
  const KernelView &kernel;
  const LaunchFact &fact;
};

} // namespace

bool kbopt::standsInLoop(const PassContext &context, const LaunchFact &fact) {
  return loopAround(context, fact.call);
}

llvm::Expected<Rewrite> kbopt::batchLaunches(const PassContext &context, const KernelView &kernel,
                                             const LaunchFact &fact) {
  return Batch(context, kernel, fact).run();
}
