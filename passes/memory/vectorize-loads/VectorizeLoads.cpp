//===- VectorizeLoads.cpp - Several elements per load ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   if (i < n)                          const bool aligned = … % 16 == 0;
//     y[i] = a * x[i];                  const auto vectors = aligned ? n / 4 : 0;
//                                       if (i < vectors) {
//                                ==>      const int first = i * 4;
//                                         alignas(16) float xs[4], ys[4];
//                                         *(float4 *)xs = *(const float4 *)&x[first];
//                                         for (int lane = 0; lane < 4; ++lane)
//                                           ys[lane] = a * xs[lane];
//                                         *(float4 *)&y[first] = *(const float4 *)ys;
//                                       }
//                                       … the original for what is left
//
// Owns the text that is written. ElementBody.h owns what may be written so.
//
//===----------------------------------------------------------------------===//

#include "ElementBody.h"

using namespace kbopt;
using namespace kbopt::vectorize;
using namespace clang;

namespace {

/// Writes the replacement of one element body.
class Writer {
public:
  Writer(const PassContext &context, const ElementBody &element, unsigned lanes)
      : context(context), element(element), lanes(std::to_string(lanes)), laneCount(lanes),
        index(element.index->getNameAsString()), count(text(element.count)),
        aligned(context.freshName("aligned")), vectors(context.freshName("vectors")),
        vector(context.freshName("vector")), first(context.freshName("first")),
        lane(context.freshName("lane")), rest(context.freshName("rest")) {
    if (!llvm::all_of(count, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
      count = "(" + count + ")";
    type = element.index->getType().getUnqualifiedType().getAsString(
        context.parsed().context().getPrintingPolicy());
    for (const VectorArray &array : element.arrays)
      names.push_back(context.freshName(array.base->getNameAsString() + "s"));
  }

  std::string write() {
    std::string out = "{\n" + alignment();
    out += "const auto " + vectors + " = " + aligned + " ? " + count + " / " + lanes + " : 0;\n";
    switch (element.shape) {
    case Shape::Guarded: {
      std::string others;
      for (const Expr *other : element.otherConditions)
        others += " && (" + text(other) + ")";
      out += "if (" + index + " < " + vectors + others + ") {\n" + vectorBody(index) + "}\n";
      if (!others.empty())
        out += "if (" + others.substr(4) + ")\n";
      // Wide, because the last thread's number lies beyond the count.
      out += "for (long long " + rest + " = " + vectors + " * " + lanes + "LL + " + index + "; " +
             rest + " < " + count + "; " + rest + " += gridDim.x * blockDim.x) {\n" + "const " +
             type + " " + index + " = " + rest + ";\n" + body({}) + "}\n";
      break;
    }
    case Shape::GridStride:
      out += "for (" + type + " " + vector + " = " + text(element.begin) + "; " + vector + " < " +
             vectors + "; " + vector + " += " + text(element.step) + ") {\n" + vectorBody(vector) +
             "}\n";
      out += "for (" + type + " " + index + " = " + vectors + " * " + lanes + " + (" +
             text(element.begin) + "); " + index + " < " + count + "; " + index +
             " += " + text(element.step) + ") {\n" + body({}) + "}\n";
      break;
    case Shape::Serial:
      out += "for (" + type + " " + vector + " = 0; " + vector + " < " + vectors + "; ++" + vector +
             ") {\n" + vectorBody(vector) + "}\n";
      out += "for (" + type + " " + index + " = " + vectors + " * " + lanes + "; " + index + " < " +
             count + "; ++" + index + ") {\n" + body({}) + "}\n";
      break;
    }
    return out + "}";
  }

private:
  std::string text(const Expr *expr) const { return context.text(expr->getSourceRange()).str(); }

  /// \p expr with every mention of the index replaced by \p value.
  std::string withIndex(const Expr *expr, llvm::StringRef value) const {
    std::vector<std::pair<SourceRange, std::string>> changes;
    for (const auto *reference : ast::findAll<DeclRefExpr>(expr))
      if (reference->getDecl() == element.index)
        changes.emplace_back(reference->getSourceRange(), value.str());
    return replaced(expr->getSourceRange(), changes);
  }

  /// The text of \p range with \p changes made.
  std::string replaced(SourceRange range,
                       std::vector<std::pair<SourceRange, std::string>> changes) const {
    std::optional<ByteRange> whole = byteRange(context.parsed(), range);
    std::string result = context.parsed().text().slice(whole->begin, whole->end).str();
    std::vector<std::pair<ByteRange, std::string>> places;
    for (auto &[place, value] : changes)
      if (std::optional<ByteRange> bytes = byteRange(context.parsed(), place))
        places.emplace_back(*bytes, value);
    llvm::sort(places, [](const auto &a, const auto &b) { return a.first.begin > b.first.begin; });
    for (const auto &[bytes, value] : places)
      result.replace(bytes.begin - whole->begin, bytes.end - bytes.begin, value);
    return result;
  }

  /// `&x[row * n + first]`, or just `x` for the array's start.
  std::string address(const VectorArray &array, llvm::StringRef value) const {
    const Expr *subscript = array.accesses.front()->getIdx();
    std::string name = array.base->getNameAsString();
    if (value == "0" && ast::variableOf(subscript) == element.index)
      return name;
    return "&" + name + "[" + withIndex(subscript, value) + "]";
  }

  /// Unsigned `off + i` wraps at 2^32: never inside of a vector where the array's
  /// start is aligned, too, so that off is a multiple of its lanes.
  bool mayWrapInside(const VectorArray &array) const {
    const Expr *subscript = ast::strip(array.accesses.front()->getIdx());
    const ASTContext &ast = context.parsed().context();
    return ast::variableOf(subscript) != element.index &&
           subscript->getType()->isUnsignedIntegerType() &&
           ast.getIntWidth(subscript->getType()) < 64;
  }

  std::string alignment() const {
    std::map<unsigned, std::string> byBytes; // bytes of the vector: addresses
    for (const VectorArray &array : element.arrays) {
      std::string &terms = byBytes[array.bytes * laneCount];
      terms +=
          (terms.empty() ? "" : " | ") + ("reinterpret_cast<size_t>(" + address(array, "0") + ")");
      if (mayWrapInside(array))
        terms += " | reinterpret_cast<size_t>(" + array.base->getNameAsString() + ")";
    }
    std::string tests;
    for (const auto &[bytes, terms] : byBytes)
      tests +=
          (tests.empty() ? "" : " && ") + ("(" + terms + ") % " + std::to_string(bytes) + " == 0");
    return "const bool " + aligned + " = " + tests + ";\n";
  }

  /// Loads, the body once per lane, stores; \p number numbers the vector.
  std::string vectorBody(llvm::StringRef number) const {
    std::string out = "const " + type + " " + first + " = " + number.str() + " * " + lanes + ";\n";
    std::vector<std::pair<SourceRange, std::string>> changes;
    std::string stores;
    for (size_t i = 0; i < element.arrays.size(); ++i) {
      const VectorArray &array = element.arrays[i];
      std::string wide = vectorType(array.element, laneCount);
      std::string scalar =
          array.element.getAsString(context.parsed().context().getPrintingPolicy());
      out += "alignas(" + std::to_string(array.bytes * laneCount) + ") " + scalar + " " + names[i] +
             "[" + lanes + "];\n";
      if (array.loaded)
        out += "*reinterpret_cast<" + wide + " *>(" + names[i] + ") = *reinterpret_cast<const " +
               wide + " *>(" + addressOfElement(array, first) + ");\n";
      if (array.stored)
        stores += "*reinterpret_cast<" + wide + " *>(" + addressOfElement(array, first) +
                  ") = *reinterpret_cast<const " + wide + " *>(" + names[i] + ");\n";
      for (const ArraySubscriptExpr *access : array.accesses)
        changes.emplace_back(access->getSourceRange(), names[i] + "[" + lane + "]");
    }
    std::string inner = body(changes);
    out += "#pragma unroll\nfor (int " + lane + " = 0; " + lane + " < " + lanes + "; ++" + lane +
           ") {\n";
    if (mentionsIndexBeside())
      out += "const " + type + " " + index + " = " + first + " + " + lane + ";\n";
    return out + inner + "}\n" + stores;
  }

  std::string addressOfElement(const VectorArray &array, llvm::StringRef value) const {
    return "&" + array.base->getNameAsString() + "[" +
           withIndex(array.accesses.front()->getIdx(), value) + "]";
  }

  /// Whether the body needs the index for more than the replaced accesses.
  bool mentionsIndexBeside() const {
    std::set<const Stmt *> gone;
    for (const VectorArray &array : element.arrays)
      gone.insert(array.accesses.begin(), array.accesses.end());
    bool found = false;
    for (const Stmt *statement : element.body)
      ast::walk(statement, [&](const Stmt *each) {
        if (gone.count(each))
          return false;
        if (const auto *reference = dyn_cast<DeclRefExpr>(each))
          found |= reference->getDecl() == element.index;
        return true;
      });
    return found;
  }

  /// The body's statements, without the braces around them.
  std::string body(const std::vector<std::pair<SourceRange, std::string>> &changes) const {
    const CompoundStmt *block =
        element.body.size() == 1 ? dyn_cast<CompoundStmt>(element.body.front()) : nullptr;
    SourceRange range(element.body.front()->getBeginLoc(), element.body.back()->getEndLoc());
    if (block) {
      std::string inside = replaced(range, changes);
      return llvm::StringRef(inside).drop_front().drop_back().trim().str() + "\n";
    }
    // A statement's range ends before its semicolon.
    std::string inside = replaced(range, changes);
    bool closed = llvm::StringRef(inside).ends_with("}") || llvm::StringRef(inside).ends_with(";");
    return inside + (closed ? "\n" : ";\n");
  }

  const PassContext &context;
  const ElementBody &element;
  std::string lanes;
  unsigned laneCount;
  std::string index, count, aligned, vectors, vector, first, lane, rest, type;
  std::vector<std::string> names; ///< of the local arrays
};

/// \p grid with its first component divided by \p lanes, rounded up.
std::optional<std::string> dividedGrid(const PassContext &context, const LaunchFact &launch,
                                       unsigned lanes) {
  std::string width = std::to_string(lanes), more = " + " + std::to_string(lanes - 1);
  std::string written = context.text(launch.grid->getSourceRange()).str();
  if (written.empty())
    return std::nullopt;
  bool known = false;
  const Expr *x = ast::launchComponent(launch.grid, 0, launch.host, known);
  const Expr *y = ast::launchComponent(launch.grid, 1, launch.host, known);
  const Expr *z = ast::launchComponent(launch.grid, 2, launch.host, known);
  if (!x)
    return std::nullopt;
  if (!y && !z && context.text(x->getSourceRange()) == written) {
    bool plain = llvm::all_of(written, [](char c) { // binds at least as closely as a sum
      return llvm::isAlnum(c) || llvm::StringRef("_.+-*/() ").contains(c);
    });
    return "(" + (plain ? written : "(" + written + ")") + more + ") / " + width;
  }
  if (llvm::all_of(written, [](char c) { return llvm::isAlnum(c) || c == '_'; })) // a dim3
    return "dim3((" + written + ".x" + more + ") / " + width + ", " + written + ".y, " + written +
           ".z)";
  std::string result = "dim3((" + context.text(x->getSourceRange()).str() + more + ") / " + width;
  for (const Expr *other : {y, z})
    if (other)
      result += ", " + context.text(other->getSourceRange()).str();
  return result + ")";
}

class VectorizeLoads : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &context, const KernelView &kernel) const override {
    std::vector<Site> sites;
    if (std::optional<GuardedElements> guarded = guardedElements(kernel))
      sites.push_back(ast::siteOf(kernel, guarded->guard));
    for (Site &site : ast::loopSites(context, kernel))
      if (site.as<ForStmt>())
        sites.push_back(site);
    if (sites.empty())
      for (Site &site : ast::kernelSites(kernel))
        sites.push_back(site);
    return sites;
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &options) const {
    if (!site.as<Stmt>())
      return Decision::doesNotApply("'" + site.kernel->name() +
                                    "' has neither a loop nor a body guarded by 'if (i < n)'");
    unsigned width = options.integer("width");
    if (width == 3)
      return Decision::doesNotApply("width 3 has no aligned vector type; use 2 or 4");
    ElementBody element = analyse(context, site, width);
    if (!element.obstacle.empty())
      return Decision::doesNotApply(element.obstacle);
    unsigned lanes = lanesOf(element, width);
    for (const VectorArray &array : element.arrays)
      if (lanes < 2 || vectorType(array.element, lanes).empty())
        return Decision::doesNotApply("'" + array.base->getName() + "' has no vector type");
    if (element.shape == Shape::Guarded)
      for (const LaunchFact &launch : site.kernel->launches)
        if (!dividedGrid(context, launch, lanes))
          return Decision::doesNotApply("the grid at " +
                                        ast::lineText(context, launch.call->getBeginLoc()) +
                                        " is not written where it can be changed");
    SourceRange whole(element.statement->getBeginLoc(),
                      (element.last ? element.last : element.statement)->getEndLoc());
    std::string reason;
    if (!byteRange(context.parsed(), whole, &reason))
      return Decision::doesNotApply(reason);
    return Decision::applies();
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    ElementBody element = analyse(context, site, options.integer("width"));
    unsigned lanes = lanesOf(element, options.integer("width"));
    const FunctionDecl *function = site.kernel->function();
    Rewrite rewrite;
    std::string text = Writer(context, element, lanes).write();
    AnchorOrReason anchor = anchorOf(context.parsed(), element.statement, function);
    if (element.last) {
      AnchorOrReason end = anchorOf(context.parsed(), element.last, function);
      if (!anchor || !end)
        return decline((anchor ? end : anchor).reason());
      AnchorOrReason block = anchorOf(context.parsed(), function->getBody(), function);
      if (!block)
        return decline(block.reason());
      if (llvm::Error error =
              rewrite.edits.replace(*block, anchor->begin, end->end - anchor->begin, text))
        return std::move(error);
    } else {
      if (!anchor)
        return decline(anchor.reason());
      if (llvm::Error error = rewrite.edits.replaceAll(*anchor, text))
        return std::move(error);
    }
    if (element.shape == Shape::Guarded)
      for (const LaunchFact &launch : site.kernel->launches) {
        AnchorOrReason place = anchorOfLaunch(context.parsed(), launch.call, launch.host);
        if (!place)
          return decline(place.reason());
        if (llvm::Error error =
                rewrite.edits.replace(*place, context.parsed(), launch.grid->getSourceRange(),
                                      *dividedGrid(context, launch, lanes)))
          return std::move(error);
      }
    rewrite.summary = "moved " + std::to_string(lanes) + " elements at a time of";
    for (const VectorArray &array : element.arrays)
      rewrite.summary += " '" + array.base->getNameAsString() + "'";
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createVectorizeLoads() { return std::make_unique<VectorizeLoads>(); }
} // namespace kbopt
