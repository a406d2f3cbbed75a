//===- AggregateAtomicsInWarp.cpp - One atomic for a warp ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   if (x[i] > 0)                  if (x[i] > 0) {
//     atomicAdd(count, 1u);  ==>     const unsigned active = __activemask();
//                                    if (threadIdx.x % 32 == __ffs(active) - 1)
//                                      atomicAdd(count, 1u * __popc(active));
//                                  }
//
// Owns the text that is written: any grouping of the lanes that are at the atomic
// together is right, since their order is not defined. AtomicCall.h owns which
// atomics may be written so.
//
//===----------------------------------------------------------------------===//

#include "AtomicCall.h"

using namespace kbopt;
using namespace kbopt::aggregate;
using namespace clang;

namespace {

/// The number of the thread's lane, as text.
std::string laneText(const PassContext &context, const KernelView &kernel) {
  bool oneAxis = !isNamedOutsideLaunches(context.parsed(), kernel.function());
  for (kb::KernelOp op : kernel.ops) {
    LaunchValues values = LaunchValues::common(op);
    bool wholeWarps = values.block[0] && *values.block[0] % 32 == 0;
    bool flat = values.block[1] == std::optional<int64_t>(1) &&
                values.block[2] == std::optional<int64_t>(1);
    oneAxis &= wholeWarps || flat;
  }
  return oneAxis ? "threadIdx.x % 32"
                 : "(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32";
}

/// Writes what stands in place of one atomic.
class Writer {
public:
  Writer(const PassContext &context, const KernelView &kernel, const AtomicCall &atomic)
      : context(context), atomic(atomic), lane(laneText(context, kernel)),
        lanes(context.freshName("lanes")) {}

  std::string write() {
    std::string out, address = text(atomic.address());
    std::string together = "__activemask()";
    if (!atomic.hasUniformAddress) {
      std::string target = context.freshName("target");
      out += atomic.type + " *const " + target + " = " + address + ";\n";
      together =
          "__match_any_sync(__activemask(), reinterpret_cast<unsigned long long>(" + target + "))";
      address = target;
    }
    out += "const unsigned " + lanes + " = " + together + ";\n";
    std::string call = "atomic" + atomic.operation.str() + "(" + address + ", ";
    if (!atomic.usesResult) {
      std::string leads = "if (" + lane + " == __ffs(" + lanes + ") - 1)\n";
      if (atomic.hasConstantValue)
        return "{\n" + out + leads + call + times(lanes) + ");\n}";
      std::string total = context.freshName("total");
      out += "const " + atomic.type + " " + total + " = " + reduced() + ";\n";
      return "{\n" + out + leads + call + total + ");\n}";
    }
    std::string leader = context.freshName("leader"), first = context.freshName("first"),
                own = context.freshName("lane");
    out += "const int " + own + " = " + lane + ", " + leader + " = __ffs(" + lanes + ") - 1;\n";
    out += atomic.type + " " + first + " = 0;\n";
    out += "if (" + own + " == " + leader + ")\n" + first + " = " + call + times(lanes) + ");\n";
    std::string sign = atomic.operation == "Sub" ? " - " : " + ";
    std::string result = "__shfl_sync(" + lanes + ", " + first + ", " + leader + ")" + sign +
                         times(lanes + " & ((1u << " + own + ") - 1)");
    return out + around(result);
  }

private:
  std::string text(const Expr *expr) const { return context.text(expr->getSourceRange()).str(); }

  /// What the lanes in \p mask add together, where each adds the constant.
  std::string times(const std::string &mask) const {
    std::string count = "__popc(" + mask + ")", value = text(atomic.value());
    std::optional<int64_t> constant = ast::constantOf(atomic.value(), context.parsed().context());
    if (constant == std::optional<int64_t>(1))
      return atomic.type == "int" ? count : "static_cast<" + atomic.type + ">(" + count + ")";
    bool binds = isa<IntegerLiteral, DeclRefExpr>(ast::strip(atomic.value()));
    return as(atomic.type, !binds && isOf(atomic.type) ? "(" + value + ")" : value) + " * " + count;
  }

  /// The lanes' values as one, by the operation.
  std::string reduced() const {
    llvm::StringRef operation = atomic.operation == "Sub" ? "Add" : atomic.operation;
    bool bits = operation == "And" || operation == "Or" || operation == "Xor";
    std::string cast = bits ? "unsigned" : atomic.type;
    return "__reduce_" + operation.lower() + "_sync(" + lanes + ", " +
           as(cast, text(atomic.value())) + ")";
  }

  /// Whether the value is of \p type as it is written.
  bool isOf(const std::string &type) const {
    std::string own = ast::strip(atomic.value())->getType().getUnqualifiedType().getAsString();
    return own == type || own == type + " int";
  }
  std::string as(const std::string &type, const std::string &value) const {
    return isOf(type) ? value : "static_cast<" + type + ">(" + value + ")";
  }

  /// The statement with \p result in place of the call.
  std::string around(const std::string &result) const {
    std::optional<ByteRange> whole =
        byteRange(context.parsed(), atomic.statement->getSourceRange());
    std::optional<ByteRange> call = byteRange(context.parsed(), atomic.call->getSourceRange());
    llvm::StringRef program = context.parsed().text();
    std::string out =
        (program.slice(whole->begin, call->begin) + result + program.slice(call->end, whole->end))
            .str();
    return llvm::StringRef(out).ends_with(";") ? out : out + ";";
  }

  const PassContext &context;
  const AtomicCall &atomic;
  std::string lane, lanes;
};

class AggregateAtomicsInWarp : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    std::vector<Site> sites;
    for (const CallExpr *call : atomicCallsOf(kernel))
      sites.push_back(ast::siteOf(kernel, call));
    return sites;
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &options) const {
    AtomicCall atomic = atomicAt(context, *site.kernel, site.as<CallExpr>());
    if (!atomic.obstacle.empty())
      return Decision::doesNotApply(atomic.obstacle);
    if (!atomic.hasUniformAddress && !options.boolean("match"))
      return Decision::doesNotApply("lanes may update different addresses, '" +
                                    context.text(atomic.address()->getSourceRange()) + "'");
    return Decision::applies();
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const FunctionDecl *function = site.kernel->function();
    AtomicCall atomic = atomicAt(context, *site.kernel, site.as<CallExpr>());
    AnchorOrReason body = anchorOfBody(context.parsed(), function);
    AnchorOrReason place = anchorOf(context.parsed(), atomic.statement, function);
    if (!body || !place)
      return decline((body ? place : body).reason());
    // A block that an `if` or a loop gets begins on its line.
    llvm::StringRef left = context.parsed().text().take_front(place->begin).rtrim();
    bool isAlone =
        left.ends_with("{") || left.ends_with("}") || left.ends_with(";") || atomic.usesResult;
    unsigned begin = isAlone ? place->begin : left.size();
    Rewrite rewrite;
    rewrite.summary =
        "let one lane do atomic" + atomic.operation.str() + " for the lanes " +
        (atomic.hasUniformAddress ? "of its warp" : "of its warp that share its address");
    std::string text = (isAlone ? "" : " ") + Writer(context, *site.kernel, atomic).write();
    if (llvm::Error error = rewrite.edits.replace(*body, begin, place->end - begin, text))
      return std::move(error);
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createAggregateAtomicsInWarp() {
  return std::make_unique<AggregateAtomicsInWarp>();
}
} // namespace kbopt
