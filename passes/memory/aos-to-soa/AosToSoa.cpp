//===- AosToSoa.cpp - Split an array of structures into arrays -------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   __global__ void k(const Body *b, …)          __global__ void k(const float *b_mass, …)
//     … b[i].mass …                                … b_mass[i] …
//   cudaMemcpy(d, host, bytes, …);         ==>   cudaMemcpy(d, host, bytes, …);
//                                                splitBody<<<…>>>(d, d_mass, count);
//   k<<<grid, block>>>(d, …);                    k<<<grid, block>>>(d_mass, …);
//
// Owns the edits. Plan.cpp owns what changes together; DeviceUses.cpp and HostUses.cpp own whether
// every use of an array is understood.
//
//===----------------------------------------------------------------------===//

#include "SplitArray.h"
#include "clang/Lex/Lexer.h"

using namespace kbopt;
using namespace kbopt::split;
using namespace clang;

namespace {

/// Writes the edits of a plan.
class Writer {
public:
  Writer(const PassContext &context, const Plan &plan)
      : context(context), program(context.parsed()), plan(plan) {}

  llvm::Expected<Rewrite> write() {
    for (const auto &each : plan.pointers())
      if (const HostLife *life = plan.lifeOf(*each))
        moveFields(*each, *life);
    for (const auto &each : plan.pointers()) {
      handOver(*each);
      if (!plan.lifeOf(*each))
        changeFunction(*each);
    }
    if (!movers.empty())
      addKernels();
    if (!why.empty())
      return decline(why);
    return std::move(rewrite);
  }

private:
  void add(const AnchorOrReason &anchor, unsigned begin, unsigned end, const std::string &text) {
    if (!anchor) {
      why = why.empty() ? anchor.reason().str() : why;
      return;
    }
    std::string failed = llvm::toString(rewrite.edits.replace(*anchor, begin, end - begin, text));
    why = why.empty() ? failed : why;
  }
  /// The names of the parts of \p pointer that \p callee uses of it.
  std::string arguments(const Pointer &pointer, const Pointer &callee) const {
    std::string text;
    for (const auto &[part, name] : callee.names)
      text += (text.empty() ? "" : ", ") + pointer.names.at(part);
    return text;
  }
  void handOver(const Pointer &pointer);
  void changeFunction(const Pointer &pointer);
  void moveFields(const Pointer &pointer, const HostLife &life);
  void addKernels();
  AnchorOrReason statementAnchor(const Stmt *statement, const FunctionDecl *host) const;
  void insert(const Stmt *statement, const Pointer &pointer, bool isBehind,
              const std::string &text);
  std::string textOf(SourceRange range) const;
  std::string countOf(const Pointer &pointer, const HostLife &life) const;
  std::string kernelFor(const Pointer &pointer, bool joins, std::set<unsigned> parts);

  const PassContext &context;
  const ParsedProgram &program;
  const Plan &plan;
  Rewrite rewrite;
  std::string why;
  /// A kernel that moves parts of structures to their arrays, or joins them again.
  struct Mover {
    const Layout *layout;
    bool joins;
    std::set<unsigned> parts;
    std::string name, text;
  };
  std::vector<Mover> movers;
  const FunctionDecl *firstHost = nullptr;
};

/// Arguments that are the pointer as it is.
void Writer::handOver(const Pointer &pointer) {
  for (const Pointer::Handed &handed : pointer.handed) {
    const Pointer *callee =
        plan.find(handed.callee->getDefinition()->getParamDecl(handed.parameter));
    AnchorOrReason anchor =
        anchorOfRange(program, handed.argument->getSourceRange(), pointer.function, "Argument");
    if (!anchor)
      why = "the call at " + ast::lineText(context, handed.argument->getBeginLoc()) +
            " cannot be changed: " + anchor.reason().str();
    else
      add(anchor, anchor->begin, anchor->end, arguments(pointer, *callee));
  }
}

void Writer::changeFunction(const Pointer &pointer) {
  const auto *parameter = cast<ParmVarDecl>(pointer.variable);
  std::string parameters;
  for (const auto &[part, name] : pointer.names)
    parameters += (parameters.empty() ? "" : ", ") +
                  pointer.layout->pointer(part, name,
                                          parameter->getType()->getPointeeType().isConstQualified(),
                                          parameter->getType().isRestrictQualified());
  for (const FunctionDecl *each : pointer.function->redecls()) {
    AnchorOrReason anchor =
        anchorOf(program, each->getParamDecl(parameter->getFunctionScopeIndex()));
    add(anchor, anchor ? anchor->begin : 0, anchor ? anchor->end : 0, parameters);
  }
  if (pointer.changes.empty())
    return;
  AnchorOrReason anchor = anchorOf(program, pointer.function);
  for (const Change &change : pointer.changes)
    add(anchor, change.begin, change.end, change.text);
}

/// The text of \p range, which may be an argument of a macro.
std::string Writer::textOf(SourceRange range) const {
  CharSourceRange place = Lexer::makeFileCharRange(CharSourceRange::getTokenRange(range),
                                                   program.sources(), program.language());
  if (place.isInvalid() || !program.sources().isWrittenInMainFile(place.getBegin()))
    return "";
  return Lexer::getSourceText(place, program.sources(), program.language()).str();
}

/// How many structures the array has; empty if that cannot be written.
std::string Writer::countOf(const Pointer &pointer, const HostLife &life) const {
  const ASTContext &ast = program.context();
  const std::optional<int64_t> size = ast.getTypeSizeInChars(pointer.layout->type()).getQuantity();
  auto isSize = [&](const Expr *expr) {
    const auto *trait = dyn_cast<UnaryExprOrTypeTraitExpr>(ast::strip(expr));
    return trait && trait->getKind() == UETT_SizeOf && ast::constantOf(trait, ast) == size;
  };
  const auto *product = dyn_cast<BinaryOperator>(ast::strip(life.bytes));
  if (product && product->getOpcode() == BO_Mul) {
    if (isSize(product->getLHS()))
      return textOf(product->getRHS()->getSourceRange());
    if (isSize(product->getRHS()))
      return textOf(product->getLHS()->getSourceRange());
  }
  std::string text = textOf(life.bytes->getSourceRange());
  if (text.empty())
    return "";
  if (isa<BinaryOperator, ConditionalOperator>(life.bytes->IgnoreImpCasts()))
    text = "(" + text + ")";
  return text + " / sizeof(" + pointer.layout->name() + ")";
}

/// \p statement as the file has it, with its semicolon.
AnchorOrReason Writer::statementAnchor(const Stmt *statement, const FunctionDecl *host) const {
  const SourceManager &sources = program.sources();
  SourceLocation begin = sources.getExpansionLoc(statement->getBeginLoc()),
                 end = sources.getExpansionRange(statement->getEndLoc()).getEnd();
  std::optional<Token> next = Lexer::findNextToken(end, sources, program.language());
  if (next && next->is(tok::semi) && !isa<DeclStmt>(statement))
    end = next->getLocation();
  return anchorOfRange(program, {begin, end}, host, "Statement");
}

void Writer::insert(const Stmt *statement, const Pointer &pointer, bool isBehind,
                    const std::string &text) {
  AnchorOrReason anchor = statementAnchor(statement, pointer.function);
  const unsigned at = !anchor ? 0 : isBehind ? anchor->end : anchor->begin;
  add(anchor, at, at, isBehind ? "\n" + text : text + "\n");
}

/// The name of the kernel that moves \p parts from the structures to their arrays, or back.
std::string Writer::kernelFor(const Pointer &pointer, bool joins, std::set<unsigned> parts) {
  const Layout &layout = *pointer.layout;
  for (const Mover &each : movers)
    if (each.layout == &layout && each.joins == joins && each.parts == parts)
      return each.name;
  const StringRef plain = StringRef(layout.name()).rsplit("::").second;
  const std::string name =
      context.freshName((joins ? "join" : "split") + (plain.empty() ? layout.name() : plain.str()));
  std::string parameters = (joins ? "" : "const ") + layout.name() + " *whole", moves;
  for (unsigned part : parts) {
    std::string array = layout.parts()[part].name;
    if (array == "whole" || array == "count" || array == "at")
      array += "_";
    parameters += ", " + layout.pointer(part, array, joins);
    const std::string field = "whole[at]" + layout.parts()[part].selection;
    moves += joins ? field + " = " + array + "[at];\n" : array + "[at] = " + field + ";\n";
  }
  const std::string text =
      "__global__ void " + name + "(" + parameters +
      ", size_t count) {\nconst size_t at = size_t(blockIdx.x) * blockDim.x + threadIdx.x;\n" +
      "if (at < count) {\n" + moves + "}\n}\n\n";
  movers.push_back({&layout, joins, parts, name, text});
  return name;
}

/// The arrays of the parts of \p pointer, and what keeps them and the structures alike.
void Writer::moveFields(const Pointer &pointer, const HostLife &life) {
  const SourceManager &sources = program.sources();
  if (!firstHost ||
      sources.isBeforeInTranslationUnit(pointer.function->getLocation(), firstHost->getLocation()))
    firstHost = pointer.function;
  const std::string name = pointer.variable->getNameAsString();
  const std::string number = countOf(pointer, life), count = context.freshName(name + "_count");
  if (number.empty())
    why = "the size of '" + name + "' comes from a macro";
  std::string made = "const size_t " + count + " = " + number + ";", freed, parts, all, written;
  std::set<unsigned> used;
  for (const auto &[part, array] : pointer.names) {
    const Part &each = pointer.layout->parts()[part];
    made += "\n" + pointer.layout->pointer(part, array, false) + ";\ncudaMalloc(&" + array + ", " +
            count + " * sizeof(*" + array + "));";
    freed += (freed.empty() ? "" : "\n") + ("cudaFree(" + array + ");");
    used.insert(part);
    all += array + ", ";
    written += pointer.written.count(part) ? array + ", " : "";
    parts += (parts.empty() ? "'" : ", '") + each.name + "'";
  }
  const std::string shape = "<<<" + count + " / 256 + 1, 256>>>(" + name + ", ";
  insert(life.allocation, pointer, true, made);
  for (const Stmt *fill : life.fills)
    insert(fill, pointer, true, kernelFor(pointer, false, used) + shape + all + count + ");");
  if (!pointer.written.empty())
    for (const Stmt *read : life.reads)
      insert(read, pointer, false,
             kernelFor(pointer, true, pointer.written) + shape + written + count + ");");
  for (const Stmt *release : life.releases)
    insert(release, pointer, true, freed);
  rewrite.summary += (rewrite.summary.empty() ? "split '" : ", '") + name + "' into " + parts;
}

void Writer::addKernels() {
  std::string text;
  for (const Mover &each : movers)
    text += each.text;
  AnchorOrReason anchor = anchorBefore(program, firstHost);
  add(anchor, anchor ? anchor->begin : 0, anchor ? anchor->begin : 0, text);
}

/// Why splitting the arrays of \p plan is no gain for \p kernel; empty if it may be one.
std::string obstacleOfGain(const PassContext &context, const Plan &plan,
                           const FunctionDecl *kernel) {
  const Pointer *array = nullptr;
  bool readsAgain = false;
  for (const auto &each : plan.pointers()) {
    const ASTContext &ast = context.parsed().context();
    if (each->function->getCanonicalDecl() == kernel->getCanonicalDecl() &&
        each->names.size() == each->layout->parts().size() &&
        ast.getTypeSizeInChars(each->layout->type()).getQuantity() % 8 == 0)
      return "the kernel uses all of '" + each->layout->name() +
             "', which align-structure has read as vectors";
    const HostLife *life = plan.lifeOf(*each);
    readsAgain |= each->inLoop || (life && life->launchesAgain);
    array = life ? each.get() : array;
  }
  return readsAgain ? ""
                    : "no launch uses '" + array->variable->getNameAsString() +
                          "' more often than it is copied";
}

class AosToSoa : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &context, const KernelView &kernel) const override {
    return parametersOf(context, kernel).empty() ? std::vector<Site>() : ast::kernelSites(kernel);
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &) const override {
    const FunctionDecl *kernel = site.kernel->function();
    std::vector<unsigned> parameters = parametersOf(context, *site.kernel);
    // All of them at once, or the first one that can be split.
    std::vector<std::vector<unsigned>> choices{parameters};
    if (parameters.size() > 1)
      for (unsigned each : parameters)
        choices.push_back({each});
    std::string obstacle;
    for (const std::vector<unsigned> &choice : choices) {
      Plan plan(context, kernel, choice);
      std::string why =
          plan.obstacle().empty() ? obstacleOfGain(context, plan, kernel) : plan.obstacle();
      if (why.empty())
        return Writer(context, plan).write();
      obstacle = obstacle.empty() ? why : obstacle;
    }
    return decline(obstacle);
  }

private:
  /// Pointers to structures, without the vectors of the toolkit.
  static std::vector<unsigned> parametersOf(const PassContext &context, const KernelView &kernel) {
    std::vector<unsigned> indices;
    for (const ParmVarDecl *each : kernel.function()->parameters()) {
      const RecordDecl *record = each->getType()->isPointerType()
                                     ? each->getType()->getPointeeType()->getAsRecordDecl()
                                     : nullptr;
      if (record && !context.parsed().sources().isInSystemHeader(record->getLocation()))
        indices.push_back(each->getFunctionScopeIndex());
    }
    return indices;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createAosToSoa() { return std::make_unique<AosToSoa>(); }
} // namespace kbopt
