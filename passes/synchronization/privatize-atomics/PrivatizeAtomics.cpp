//===- PrivatizeAtomics.cpp - A copy of the counters per block -------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   if (i < n)                                __shared__ unsigned own[64]; … = 0
//     atomicAdd(&bins[x[i] % 64], 1u);  ==>   if (i < n)
//                                               atomicAdd(&own[x[i] % 64], 1u);
//                                             __syncthreads();
//                                             … atomicAdd(&bins[bin], own[bin]);
//
// Where another pointer of the kernel may point at the counters this is a second kernel, and
// launches choose.
//
// Owns the text that is written. Counters.h owns which arrays can have a copy.
//
//===----------------------------------------------------------------------===//

#include "Counters.h"
#include "kb-opt/Rewrite/AllocationTest.h"
#include "kb-opt/Rewrite/Dispatch.h"

using namespace kbopt;
using namespace kbopt::privatize;
using namespace clang;

namespace {

/// Writes the copy, its updates and its end.
class Writer {
public:
  Writer(const PassContext &context, const KernelView &kernel, const Counters &counters)
      : context(context), kernel(kernel), counters(counters),
        size(context.freshName("privateBins")), own(context.freshName("own")),
        bin(context.freshName("bin")) {}

  /// In the kernel itself.
  llvm::Error write(Edits &edits) const {
    AnchorOrReason body = anchorOfBody(context.parsed(), kernel.function());
    if (!body)
      return decline(body.reason());
    std::vector<Piece> pieces = changes(*body);
    if (counters.exits.empty()) {
      for (const Piece &piece : pieces)
        if (llvm::Error error = write(piece, *body, edits))
          return error;
      return llvm::Error::success();
    }
    // What follows an exit is indented anew, so that it is one edit.
    llvm::StringRef program = context.parsed().text();
    unsigned start = byteRange(context.parsed(), counters.exits.front()->getSourceRange())->begin,
             at = start;
    std::string text;
    for (const Piece &piece : pieces) {
      if (piece.begin < start) {
        if (llvm::Error error = write(piece, *body, edits))
          return error;
        continue;
      }
      text += program.slice(at, piece.begin).str() + piece.text;
      at = piece.end;
    }
    return edits.replace(*body, start, at - start, text);
  }

  /// In a second kernel, which launches take where the counters lie apart from what else the kernel
  /// touches.
  llvm::Error writeBeside(Edits &edits) const {
    AnchorOrReason body = anchorOfBody(context.parsed(), kernel.function());
    if (!body)
      return decline(body.reason());
    KernelText copy(context, kernel);
    for (const Piece &piece : changes(*body))
      copy.replace(ByteRange{piece.begin, piece.end}, piece.text);
    if (!copy.obstacle().empty())
      return decline(copy.obstacle());
    AllocationTest test(context, kernel.function());
    std::string helper = llvm::StringRef(test.missingDefinition()).trim().str(), why;
    std::string original = kernel.function()->getNameAsString(),
                name = derivedName(context, original, "private");
    std::string comment = "'" + original + "' where '" + counters.array->getNameAsString() +
                          "' overlaps nothing else: a block counts by itself.";
    if (llvm::Error error = writeKernel(context, kernel, copy, name, comment, edits,
                                        helper.empty() ? "" : helper + "\n\n"))
      return error;
    for (const LaunchFact *launch : choosingLaunches(context, kernel, counters, why)) {
      auto argument = [&](const ParmVarDecl *pointer) {
        return text(launch->arguments[pointer->getFunctionScopeIndex()]);
      };
      LaunchChoice choice;
      choice.kernel = name;
      for (const ParmVarDecl *other : counters.apart)
        choice.condition += (choice.condition.empty() ? "" : " && ") + test.name() + "(" +
                            argument(counters.array) + ", " + argument(other) + ")";
      if (llvm::Error error = writeDispatch(context, *launch, choice, edits))
        return error;
    }
    return llvm::Error::success();
  }

private:
  std::string text(const Expr *expr) const { return context.text(expr->getSourceRange()).str(); }

  struct Piece {
    unsigned begin, end;
    std::string text;
  };
  /// What changes in the kernel's text, in its order.
  std::vector<Piece> changes(const Anchor &body) const {
    std::vector<Piece> pieces;
    for (const IfStmt *exit : counters.exits)
      pieces.push_back(
          pieceFor(exit->getSourceRange(), "if (" + negated(exit->getCond()) + ") {", true));
    for (const Update &update : counters.updates)
      pieces.push_back(pieceFor(rangeOf(update), updateText(update), !counters.isProven));
    llvm::sort(pieces, [](const Piece &x, const Piece &y) { return x.begin < y.begin; });
    unsigned last = context.parsed().text().take_front(body.end).rtrim().size();
    pieces.insert(pieces.begin(), Piece{body.begin, body.begin, begin()});
    pieces.push_back(Piece{last, last, std::string(counters.exits.size(), '}') + "\n" + end()});
    return pieces;
  }
  static llvm::Error write(const Piece &piece, const Anchor &body, Edits &edits) {
    if (piece.begin == piece.end)
      return edits.insertAt(body, piece.begin, piece.text);
    return edits.replace(body, piece.begin, piece.end - piece.begin, piece.text);
  }

  /// \p text in place of \p range; \p isStatement: with its semicolon, and on the line that it
  /// belongs to.
  Piece pieceFor(SourceRange range, const std::string &text, bool isStatement) const {
    std::optional<ByteRange> bytes = byteRange(context.parsed(), range);
    assert(bytes && "the analysis asked for it");
    llvm::StringRef program = context.parsed().text();
    Piece piece{bytes->begin, bytes->end, text};
    if (!isStatement)
      return piece;
    piece.end += program.substr(piece.end).starts_with(";");
    llvm::StringRef left = program.take_front(piece.begin).rtrim();
    // What stands on the line of a comment would be part of it.
    const bool isAfterComment = left.rsplit('\n').second.contains("//");
    if (!left.ends_with("{") && !left.ends_with("}") && !left.ends_with(";") &&
        !left.ends_with("/") && !isAfterComment) {
      piece.begin = left.size();
      piece.text = " " + text;
    }
    return piece;
  }

  /// \p condition turned around.
  std::string negated(const Expr *condition) const {
    const auto *binary = dyn_cast<BinaryOperator>(ast::strip(condition));
    if (binary && binary->isRelationalOp() && binary->getLHS()->getType()->isIntegerType() &&
        binary->getRHS()->getType()->isIntegerType())
      return text(binary->getLHS()) + " " +
             BinaryOperator::getOpcodeStr(BinaryOperator::negateComparisonOp(binary->getOpcode()))
                 .str() +
             " " + text(binary->getRHS());
    return "!(" + text(condition) + ")";
  }

  /// `for (int bin = …)` over the copy, by all threads of the block.
  std::string overBins() const {
    bool flat = !isNamedOutsideLaunches(context.parsed(), kernel.function());
    for (kb::KernelOp op : kernel.ops) {
      LaunchValues values = LaunchValues::common(op);
      flat &= values.block[1] == std::optional<int64_t>(1) &&
              values.block[2] == std::optional<int64_t>(1);
    }
    std::string first = flat
                            ? "threadIdx.x"
                            : "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)";
    std::string step = flat ? "blockDim.x" : "blockDim.x * blockDim.y * blockDim.z";
    return "for (int " + bin + " = " + first + "; " + bin + " < " + size + "; " + bin +
           " += " + step + ")\n";
  }

  std::string begin() const {
    return "\n// A block counts in shared memory, and adds its counts to the others' "
           "once.\nconstexpr int " +
           size + " = " + std::to_string(counters.bins) + ";\n__shared__ " + counters.type + " " +
           own + "[" + size + "];\n" + overBins() + own + "[" + bin + "] = 0;\n__syncthreads();";
  }
  std::string end() const {
    return "__syncthreads();\n" + overBins() + "if (" + own + "[" + bin + "] != 0)\natomicAdd(&" +
           counters.array->getNameAsString() + "[" + bin + "], " + own + "[" + bin + "]);";
  }

  SourceRange rangeOf(const Update &update) const {
    return counters.isProven ? update.call->getArg(0)->getSourceRange()
                             : update.call->getSourceRange();
  }
  std::string updateText(const Update &update) const {
    std::string index = update.index ? text(update.index) : "0";
    if (counters.isProven)
      return "&" + own + "[" + index + "]";
    std::string value = text(update.call->getArg(1)), number = context.freshName("bin");
    // An index that is negative lies outside, too.
    return "{\nconst auto " + number + " = " + index + ";\nif (static_cast<unsigned long long>(" +
           number + ") < " + size + ")\natomicAdd(&" + own + "[" + number + "], " + value +
           ");\nelse\natomicAdd(&" + counters.array->getNameAsString() + "[" + number + "], " +
           value + ");\n}";
  }

  const PassContext &context;
  const KernelView &kernel;
  const Counters &counters;
  std::string size, own, bin;
};

class PrivatizeAtomics : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    // Kernels without atomics are no candidates.
    if (!ast::callsAny(kernel.function()->getBody(),
                       {"atomicAdd", "atomicMax", "atomicMin", "atomicOr", "atomicAnd", "atomicXor",
                        "atomicInc"}))
      return {};
    return ast::kernelSites(kernel);
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &options) const {
    Counters counters = countersOf(context, *site.kernel, options.integer("bins"));
    return counters.obstacle.empty() ? Decision::applies()
                                     : Decision::doesNotApply(counters.obstacle);
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    Counters counters = countersOf(context, *site.kernel, options.integer("bins"));
    Rewrite rewrite;
    rewrite.summary = "gave each block " + std::to_string(counters.bins) +
                      " counters of its own for '" + counters.array->getNameAsString() + "'";
    Writer writer(context, *site.kernel, counters);
    if (llvm::Error error = counters.apart.empty() ? writer.write(rewrite.edits)
                                                   : writer.writeBeside(rewrite.edits))
      return std::move(error);
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createPrivatizeAtomics() {
  return std::make_unique<PrivatizeAtomics>();
}
} // namespace kbopt
