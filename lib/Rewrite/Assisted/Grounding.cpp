//===- Grounding.cpp - From a kernel and lines to anchors -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/Assisted/Grounding.h"
#include "Functions.h"
#include "Helpers.h"
#include "Numbers.h"
#include "Tokens.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "kb-opt/Support/Error.h"
#include "clang/AST/StmtCXX.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace kbopt;
using llvm::StringRef;

namespace {

constexpr llvm::StringLiteral markerStart = "<<<KB:";

llvm::Error cannot(const llvm::Twine &message, const llvm::Twine &note = "") {
  return llvm::make_error<UsageError>(message.str(), note.str(), ExitStatus::Diagnostics);
}

/// A run of statements of one list, as it is collected.
struct Run {
  const clang::FunctionDecl *function = nullptr;
  LineSpan lines;
  std::vector<unsigned> spans; ///< of the request
  const clang::Stmt *first = nullptr, *last = nullptr;
  std::optional<Anchor> anchor;
};

class Grounder {
public:
  Grounder(const ParsedProgram &program, const GroundingRequest &request)
      : program(program), request(request) {}

  llvm::Expected<GroundedSource> run();

private:
  LineSpan linesOf(clang::SourceRange range) const;
  llvm::Error findKernel(StringRef name, const KernelFact *&found);
  llvm::Error addBody(const KernelFact &kernel);
  llvm::Error addLines();
  /// The bodies of functions that the kernel alone calls.
  void addHelpers();
  /// Fills \p run from its function and lines.
  llvm::Error settle(Run &run);
  void addLaunches();
  /// Functions that earlier steps added and that nothing uses any more.
  void addUnused();
  void addSlots();
  void add(SlotKind kind, Anchor anchor, std::string what);
  void name();

  const ParsedProgram &program;
  const GroundingRequest &request;
  std::vector<KernelFact> kernels;
  std::vector<const KernelFact *> chosen; ///< the first is the kernel itself
  std::vector<const clang::FunctionDecl *> touched;
  std::vector<SlotKind> kinds; ///< of `source.anchors`
  std::set<size_t> helpers;    ///< among them
  GroundedSource source;
};

LineSpan Grounder::linesOf(clang::SourceRange range) const {
  const clang::SourceManager &sources = program.sources();
  return {sources.getExpansionLineNumber(range.getBegin()),
          sources.getExpansionLineNumber(sources.getExpansionRange(range.getEnd()).getEnd())};
}

llvm::Error Grounder::findKernel(StringRef name, const KernelFact *&found) {
  std::vector<StringRef> names;
  found = nullptr;
  for (const KernelFact &kernel : kernels) {
    if (!kernel.inMainFile)
      continue;
    names.push_back(kernel.name);
    if (kernel.name != name && !StringRef(kernel.name).ends_with(("::" + name).str()))
      continue;
    if (found)
      return cannot("'" + name + "' names several kernels of '" + program.shownFile() + "'",
                    "a reply is for one kernel");
    found = &kernel;
  }
  if (found)
    return llvm::Error::success();
  std::optional<std::string> near = nearestName(name, names);
  return cannot("'" + program.shownFile() + "' has no kernel '" + name + "'",
                near            ? "did you mean '" + *near + "'?"
                : names.empty() ? "it has no kernels at all"
                                : "its kernels are " + llvm::join(names, ", "));
}

void Grounder::add(SlotKind kind, Anchor anchor, std::string what) {
  kinds.push_back(kind);
  source.anchors.push_back({"", std::move(anchor), std::move(what), {}});
}

llvm::Error Grounder::addBody(const KernelFact &kernel) {
  AnchorOrReason body = anchorOfBody(program, kernel.function);
  if (!body)
    return cannot("the body of kernel '" + kernel.name + "' cannot be replaced: " + body.reason(),
                  "name lines of it that can");
  touched.push_back(kernel.function);
  add(SlotKind::Code, *body, "the body of kernel '" + kernel.name + "'");
  return llvm::Error::success();
}

void Grounder::addHelpers() {
  for (const clang::FunctionDecl *helper : helpersOf(program, chosen.front()->function)) {
    const std::string what =
        "the body of '" + helper->getQualifiedNameAsString() + "', which this kernel alone calls";
    AnchorOrReason body = anchorOfBody(program, helper);
    if (!body) {
      source.left.push_back(what + ": " + body.reason().str());
      continue;
    }
    helpers.insert(source.anchors.size());
    add(SlotKind::Code, *body, what);
  }
}

/// The statements of the innermost list that holds all of \p run's lines.
llvm::Error Grounder::settle(Run &run) {
  const auto *list = llvm::dyn_cast<clang::CompoundStmt>(run.function->getBody());
  auto intersects = [&](const clang::Stmt *statement) {
    LineSpan lines = linesOf(statement->getSourceRange());
    return lines.first <= run.lines.last && lines.last >= run.lines.first;
  };
  while (list) {
    run.first = run.last = nullptr;
    for (const clang::Stmt *statement : list->body())
      if (intersects(statement)) {
        run.first = run.first ? run.first : statement;
        run.last = statement;
      }
    if (!run.first || run.first != run.last)
      break;
    // One statement: go into the list in it that holds all the lines.
    const clang::CompoundStmt *inner = nullptr;
    std::vector<const clang::Stmt *> open{run.first};
    while (!open.empty() && !inner) {
      const clang::Stmt *next = open.back();
      open.pop_back();
      if (const auto *compound = llvm::dyn_cast<clang::CompoundStmt>(next)) {
        LineSpan lines = linesOf(compound->getSourceRange());
        if (lines.first < run.lines.first && lines.last > run.lines.last)
          inner = compound;
        continue;
      }
      for (const clang::Stmt *child : next->children())
        if (child && !llvm::isa<clang::Expr>(child))
          open.push_back(child);
    }
    if (!inner)
      break;
    list = inner;
  }
  std::string where =
      "lines " + std::to_string(run.lines.first) + " to " + std::to_string(run.lines.last);
  if (!run.first)
    return cannot("there is no statement at " + where,
                  "name lines that hold statements of a kernel");
  AnchorOrReason anchor = anchorOfStatements(program, run.first, run.last, run.function);
  if (!anchor)
    return cannot(where + " cannot be replaced: " + anchor.reason(), "name other lines");
  run.anchor = *anchor;
  return llvm::Error::success();
}

llvm::Error Grounder::addLines() {
  std::vector<Run> runs;
  std::vector<const clang::FunctionDecl *> functions = functionsOfMainFile(program);
  for (const LineSpan &lines : request.lines) {
    Run run;
    run.lines = lines;
    run.spans = {unsigned(&lines - request.lines.data())};
    for (const clang::FunctionDecl *function : functions) {
      LineSpan body = linesOf(function->getBody()->getSourceRange());
      if (isDeviceFunction(function) && body.first <= lines.first && body.last >= lines.last)
        run.function = function;
    }
    if (!run.function || lines.first > lines.last)
      return cannot("lines " + llvm::Twine(lines.first) + " to " + llvm::Twine(lines.last) +
                        " lie in no kernel and in no device function of '" + program.shownFile() +
                        "'",
                    "launches and new declarations have anchors of their own");
    if (llvm::Error error = settle(run))
      return error;
    runs.push_back(run);
  }
  // Runs that share a byte become one, whose list may be an outer one.
  for (bool merged = true; merged;) {
    merged = false;
    for (size_t i = 0; i < runs.size() && !merged; ++i)
      for (size_t j = i + 1; j < runs.size() && !merged; ++j) {
        Run &a = runs[i], &b = runs[j];
        if (a.anchor->begin >= b.anchor->end || b.anchor->begin >= a.anchor->end)
          continue;
        a.lines = {std::min(a.lines.first, b.lines.first), std::max(a.lines.last, b.lines.last)};
        if (llvm::Error error = settle(a))
          return error;
        a.spans.insert(a.spans.end(), b.spans.begin(), b.spans.end());
        llvm::sort(a.spans);
        runs.erase(runs.begin() + j);
        merged = true;
      }
  }
  for (const Run &run : runs) {
    touched.push_back(run.function);
    LineSpan lines{linesOf(run.first->getSourceRange()).first,
                   linesOf(run.last->getSourceRange()).last};
    std::string where = lines.first == lines.last ? "line " + std::to_string(lines.first)
                                                  : "lines " + std::to_string(lines.first) +
                                                        " to " + std::to_string(lines.last);
    add(SlotKind::Code, *run.anchor,
        where + " of '" + run.function->getQualifiedNameAsString() + "'");
    source.anchors.back().spans = run.spans;
  }
  return llvm::Error::success();
}

void Grounder::addLaunches() {
  std::vector<Anchor> code;
  for (const GroundedAnchor &each : source.anchors)
    code.push_back(each.anchor);
  // What may join or remove launches is shown those beside the kernel's, too.
  bool all = llvm::is_contained(request.allow, "launches");
  bool wholeHosts = llvm::is_contained(request.allow, "host-code");
  std::set<const clang::FunctionDecl *> hosts;
  std::vector<LaunchFact> launches = findLaunches(program);
  auto chosenOf = [&](const LaunchFact &launch) -> const KernelFact * {
    auto found = llvm::find_if(
        chosen, [&](const KernelFact *kernel) { return launch.kernelUsr == kernel->usr; });
    return found == chosen.end() ? nullptr : *found;
  };
  for (const LaunchFact &launch : launches)
    if (chosenOf(launch))
      hosts.insert(launch.host);
  for (const LaunchFact &launch : launches) {
    const KernelFact *kernel = chosenOf(launch);
    if (!kernel && !(all && launch.kernel && hosts.count(launch.host)))
      continue;
    std::string what = "the launch of kernel '" +
                       (kernel ? kernel->name : launch.kernel->getNameAsString()) + "' at line " +
                       std::to_string(lineColumn(program, launch.call->getBeginLoc()).line);
    // The program's own output and checks, which stand in main, must not change.
    const bool whole = wholeHosts && launch.host && !launch.host->isMain();
    if (whole)
      what = "the body of '" + launch.host->getQualifiedNameAsString() + "', which has " + what;
    AnchorOrReason anchor = whole ? anchorOfBody(program, launch.host)
                                  : anchorOfLaunch(program, launch.call, launch.host);
    if (!anchor) {
      source.left.push_back(what + ": " + anchor.reason().str());
      continue;
    }
    // A kernel may launch itself, and one statement may launch twice.
    if (llvm::none_of(code, [&](const Anchor &each) {
          return anchor->begin < each.end && each.begin < anchor->end;
        })) {
      code.push_back(*anchor);
      add(SlotKind::Launch, *anchor, what);
    }
  }
}

void Grounder::addUnused() {
  if (request.original.empty() || !llvm::is_contained(request.allow, "launches"))
    return;
  const std::set<std::string> given = wordsOf(request.original, program.language());
  for (const clang::FunctionDecl *function : unusedFunctions(program)) {
    const std::string name = function->getNameAsString();
    AnchorOrReason whole = anchorOfFunction(program, function);
    if (!given.count(name) && whole && !llvm::is_contained(touched, function))
      add(SlotKind::Unused, *whole,
          "'" + name + "', which nothing uses any more; an empty text removes it");
  }
}

void Grounder::addSlots() {
  AnchorOrReason includes = anchorAfterIncludes(program);
  if (includes)
    add(SlotKind::Includes, *includes, "the place for further #include lines");
  const clang::FunctionDecl *first = touched.front();
  for (const clang::FunctionDecl *function : touched)
    if (mainFileOffset(program, function->getBeginLoc()) <
        mainFileOffset(program, first->getBeginLoc()))
      first = function;
  AnchorOrReason decls = anchorBefore(program, first);
  if (decls)
    add(SlotKind::Decls, *decls,
        "the place for new declarations, before '" + first->getNameAsString() + "'");
  else
    source.left.push_back("new declarations before '" + first->getNameAsString() +
                          "': " + decls.reason().str());
  const KernelFact &kernel = *chosen.front();
  const clang::FunctionDecl *function = kernel.function;
  // What may launch other kernels may give them and this one launch bounds.
  if (llvm::is_contained(request.allow, "register-limits") ||
      llvm::is_contained(request.allow, "launches")) {
    AnchorOrReason name = anchorBeforeName(program, function);
    if (name)
      add(SlotKind::Attributes, *name,
          "the place for __launch_bounds__(…) or __maxnreg__(…) of kernel '" + kernel.name + "'");
    else
      source.left.push_back("attributes of kernel '" + kernel.name + "': " + name.reason().str());
  }
  if (!llvm::is_contained(request.allow, "signatures"))
    return;
  bool alone = function->getFirstDecl() == function->getMostRecentDecl();
  AnchorOrReason parameters =
      alone ? anchorOfRange(program, function->getParametersSourceRange(), function, "Parameters")
            : AnchorOrReason::refuse("the kernel is declared elsewhere, too");
  if (parameters)
    add(SlotKind::Parameters, *parameters, "the parameters of kernel '" + kernel.name + "'");
  else
    source.left.push_back("the parameters of kernel '" + kernel.name +
                          "': " + parameters.reason().str());
}

/// Sorts the anchors and numbers those of one kind.
void Grounder::name() {
  std::vector<size_t> order(source.anchors.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::sort(order, [&](size_t a, size_t b) {
    const Anchor &x = source.anchors[a].anchor, &y = source.anchors[b].anchor;
    return std::tuple(x.begin, x.end, a) < std::tuple(y.begin, y.end, b);
  });
  std::vector<GroundedAnchor> sorted;
  unsigned codes = 0, launches = 0, calledOnes = 0, unused = 0;
  for (size_t i : order) {
    GroundedAnchor anchor = source.anchors[i];
    llvm::StringRef text =
        llvm::StringRef(source.text).slice(anchor.anchor.begin, anchor.anchor.end);
    if (holdsNumber(text, request.openNumbers, program.language()))
      anchor.numberless = digestWithoutNumbers(text, program.language());
    switch (kinds[i]) {
    case SlotKind::Code:
      anchor.id = helpers.count(i) ? "helper" + std::to_string(++calledOnes)
                                   : "a" + std::to_string(++codes);
      break;
    case SlotKind::Launch:
      anchor.id = "launch" + std::to_string(++launches);
      break;
    case SlotKind::Unused:
      anchor.id = "unused" + std::to_string(++unused);
      break;
    case SlotKind::Decls:
      anchor.id = "decls";
      break;
    case SlotKind::Includes:
      anchor.id = "includes";
      break;
    case SlotKind::Parameters:
      anchor.id = "parameters";
      break;
    case SlotKind::Attributes:
      anchor.id = "attributes";
      break;
    }
    sorted.push_back(std::move(anchor));
  }
  source.anchors = std::move(sorted);
}

llvm::Expected<GroundedSource> Grounder::run() {
  size_t marker = program.text().find(markerStart);
  if (marker != StringRef::npos)
    return cannot("line " + llvm::Twine(1 + program.text().take_front(marker).count('\n')) +
                      " of '" + program.shownFile() + "' holds '" + markerStart +
                      "', the marker of anchors",
                  "write it otherwise");
  kernels = findKernels(program);
  const KernelFact *kernel = nullptr;
  if (llvm::Error error = findKernel(request.kernel, kernel))
    return std::move(error);
  chosen.push_back(kernel);
  for (const std::string &other : request.alsoKernels) {
    if (llvm::Error error = findKernel(other, kernel))
      return std::move(error);
    if (!llvm::is_contained(chosen, kernel))
      chosen.push_back(kernel);
  }
  source.kernel = chosen.front()->name;
  source.text = program.text().str();
  if (llvm::Error error = request.lines.empty() ? addBody(*chosen.front()) : addLines())
    return std::move(error);
  for (const KernelFact *other : llvm::drop_begin(chosen))
    if (!llvm::is_contained(touched, other->function))
      if (llvm::Error error = addBody(*other))
        return std::move(error);
  if (request.lines.empty())
    addHelpers();
  addLaunches();
  addUnused();
  addSlots();
  name();
  return std::move(source);
}

/// Keeps the lines of \p text near those that hold a marker.
std::string excerpt(StringRef text) {
  constexpr size_t near = 40;
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n');
  std::vector<bool> keep(lines.size());
  bool inside = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    bool marker = lines[i].contains(markerStart);
    if (marker || inside)
      for (size_t k = i - std::min(i, near); k < std::min(lines.size(), i + near + 1); ++k)
        keep[k] = true;
    if (marker)
      inside = lines[i].rfind("<<<KB:BEGIN") != StringRef::npos &&
               (lines[i].rfind("<<<KB:END") == StringRef::npos ||
                lines[i].rfind("<<<KB:BEGIN") > lines[i].rfind("<<<KB:END"));
  }
  std::string result;
  for (size_t i = 0; i < lines.size();) {
    if (keep[i]) {
      result += (lines[i] + (i + 1 < lines.size() ? "\n" : "")).str();
      ++i;
      continue;
    }
    size_t from = i;
    while (i < lines.size() && !keep[i])
      ++i;
    result += "// [" + std::to_string(i - from) + " lines are not shown]\n";
  }
  return result;
}

} // namespace

llvm::Expected<GroundedSource> kbopt::ground(const ParsedProgram &program,
                                             const GroundingRequest &request) {
  return Grounder(program, request).run();
}

const GroundedAnchor *GroundedSource::anchor(StringRef id) const {
  auto found = llvm::find_if(anchors, [&](const GroundedAnchor &each) { return each.id == id; });
  return found == anchors.end() ? nullptr : &*found;
}

std::string GroundedSource::marked(size_t maxBytes) const {
  std::string result;
  size_t done = 0;
  for (const GroundedAnchor &each : anchors) {
    std::string begin = "/* <<<KB:BEGIN " + each.id + ">>> */",
                end = "/* <<<KB:END " + each.id + ">>> */";
    result += StringRef(text).slice(done, each.anchor.begin);
    result += begin;
    if (each.anchor.begin == each.anchor.end)
      result += " " + end + "\n";
    else
      result += StringRef(text).slice(each.anchor.begin, each.anchor.end).str() + end;
    done = each.anchor.end;
  }
  result += StringRef(text).substr(done);
  return result.size() <= maxBytes ? result : excerpt(result);
}

ReplyOrRefusal kbopt::makeReply(const GroundedSource &source, const PassInfo &pass,
                                CoderReply answer) {
  AssistedReply reply;
  reply.pass = pass.name.str();
  reply.kernel = source.kernel;
  reply.summary = std::move(answer.summary);
  reply.promise = answer.promise.value_or(pass.promise);
  reply.assumes = answer.assumes ? std::move(*answer.assumes) : pass.assumes.vec();
  reply.edits = std::move(answer.edits);
  reply.parameters = std::move(answer.parameters);
  for (const GroundedAnchor &each : source.anchors)
    if (llvm::any_of(reply.edits, [&](const ReplyEdit &edit) { return edit.anchor == each.id; }))
      reply.anchors.push_back({each.id, each.anchor.usr, each.anchor.nodeKind, each.anchor.begin,
                               each.anchor.end, each.anchor.digest, each.numberless});
  std::optional<Refusal> refusal = checkReply(reply, pass);
  return {std::move(reply), std::move(refusal)};
}
