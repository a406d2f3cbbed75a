//===- CleanHostLaunches.cpp - Wait and allocate once -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   for (int s = 0; s < steps; ++s) {          float *next = nullptr;
//     float *next;                             for (int s = 0; s < steps; ++s) {
//     cudaMalloc(&next, bytes);                  if (!next)
//     step<<<grid, block>>>(x, next);    ==>       cudaMalloc(&next, bytes);
//     cudaDeviceSynchronize();                   step<<<grid, block>>>(x, next);
//     cudaFree(next);                          }
//   }                                          cudaDeviceSynchronize();
//                                              cudaFree(next);
//
// Owns which waits and allocations go with a launch, and the edits. HostPath.h
// owns what the host may see in the meantime.
//
//===----------------------------------------------------------------------===//

#include "HostPath.h"

using namespace kbopt;
using namespace kbopt::hostpath;
using namespace clang;
using llvm::StringRef;

namespace {

/// A buffer that a loop allocates and frees in every iteration.
struct Buffer {
  const DeclStmt *declaration;
  const VarDecl *variable;
  const Stmt *allocation, *release;
};

struct Plan {
  const Stmt *wait = nullptr;      ///< goes
  const Stmt *waitAfter = nullptr; ///< the loop behind which it stands then; null: nowhere
  const Stmt *loop = nullptr;      ///< of the buffers
  std::vector<Buffer> buffers;
  std::string obstacle;
};

/// Why order on the device is not that of the text; empty if it is.
std::string whyNotInOrder(const PassContext &context) {
  for (const LaunchFact &launch : findLaunches(context.parsed())) {
    if (launch.byApi)
      return "the program also launches by cudaLaunchKernel";
    const Expr *stream = launch.stream ? ast::strip(launch.stream) : nullptr;
    while (const auto *cast = dyn_cast_or_null<CastExpr>(stream))
      stream = ast::strip(cast->getSubExpr());
    std::optional<int64_t> number =
        stream ? ast::constantOf(stream, context.parsed().context()) : std::optional<int64_t>(0);
    if (number != std::optional<int64_t>(0) &&
        !isa_and_nonnull<CXXNullPtrLiteralExpr, CXXDefaultArgExpr>(stream))
      return "the launch at " + ast::lineText(context, launch.call->getBeginLoc()) +
             " has a stream of its own";
  }
  for (StringRef word : {"cudaStreamCreate", "cudaStreamPerThread", "cuStreamCreate"})
    if (context.parsed().text().contains(word))
      return ("the program uses " + word).str();
  for (kb::KernelOp kernel : context.imported().kernels()) {
    bool prints = false;
    kernel->walk([&](kb::CallOp call) { prints |= call.getCallee() == "vprintf"; });
    if (prints)
      return "kernel '" + kernel.getName().str() +
             "' prints, and the host shows that when it waits";
  }
  return "";
}

bool launches(const Stmt *statement) {
  return !ast::findAll<CUDAKernelCallExpr>(statement).empty();
}

/// The wait that follows \p launch before another one does.
const Stmt *waitAfter(const HostFunction &host, const Stmt *launch) {
  const CompoundStmt *block = nullptr;
  for (const Stmt *at = host.inBlock(launch); at; at = host.inBlock(block)) {
    block = cast<CompoundStmt>(host.parentOf(at));
    for (auto next = std::next(llvm::find(block->body(), at)); next != block->body_end(); ++next) {
      if (calledAlone(*next) == "cudaDeviceSynchronize")
        return *next;
      if (launches(*next))
        return nullptr;
    }
  }
  return nullptr;
}

const Stmt *innermostLoop(const HostFunction &host, const Stmt *statement) {
  for (const Stmt *up = host.parentOf(statement); up; up = host.parentOf(up))
    if (isa<ForStmt, WhileStmt, DoStmt>(up))
      return up;
  return nullptr;
}

const Stmt *bodyOf(const Stmt *loop) {
  if (const auto *each = dyn_cast<ForStmt>(loop))
    return each->getBody();
  return isa<WhileStmt>(loop) ? cast<WhileStmt>(loop)->getBody() : cast<DoStmt>(loop)->getBody();
}

/// `cudaMalloc(&variable, size)`: size.
const Expr *sizeOf(const Stmt *statement, const VarDecl *variable) {
  if (calledAlone(statement) != "cudaMalloc")
    return nullptr;
  const auto *call = cast<CallExpr>(ast::strip(cast<Expr>(statement)));
  const Expr *target = call->getNumArgs() == 2 ? ast::strip(call->getArg(0)) : nullptr;
  while (const auto *cast = dyn_cast_or_null<CastExpr>(target))
    target = ast::strip(cast->getSubExpr());
  const auto *address = dyn_cast_or_null<UnaryOperator>(target);
  return address && address->getOpcode() == UO_AddrOf &&
                 ast::variableOf(address->getSubExpr()) == variable
             ? call->getArg(1)
             : nullptr;
}

/// Whether \p size is the same in every iteration of \p loop.
bool isInvariant(const HostFunction &host, const Expr *size, const Stmt *loop) {
  if (!host.readsNoMemory(size))
    return false;
  for (const auto *reference : ast::findAll<DeclRefExpr>(size))
    if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl())) {
      bool isInside = false;
      for (const auto *declaration : ast::findAll<DeclStmt>(loop))
        isInside |= llvm::is_contained(declaration->decls(), variable);
      if (isInside || mayModify(loop, variable))
        return false;
    }
  return true;
}

/// The buffers of \p loop that one allocation can serve; \p why of the last one that cannot be.
std::vector<Buffer> buffersOf(const PassContext &context, const HostFunction &host,
                              const Stmt *loop, std::string &why) {
  std::vector<Buffer> buffers;
  const auto *body = dyn_cast<CompoundStmt>(bodyOf(loop));
  if (!body)
    return buffers;
  bool leaves = !ast::findAll<BreakStmt>(loop).empty() ||
                !ast::findAll<ContinueStmt>(loop).empty() ||
                !ast::findAll<ReturnStmt>(loop).empty() || !ast::findAll<GotoStmt>(loop).empty();
  for (const Stmt *statement : body->body()) {
    const auto *declaration = dyn_cast<DeclStmt>(statement);
    const auto *variable = declaration && declaration->isSingleDecl()
                               ? dyn_cast<VarDecl>(declaration->getSingleDecl())
                               : nullptr;
    if (!variable || !variable->getType()->isPointerType())
      continue;
    Buffer buffer{declaration, variable, nullptr, nullptr};
    const Expr *size = nullptr;
    for (const Stmt *each : body->body()) {
      if (const Expr *written = sizeOf(each, variable)) {
        buffer.allocation = each;
        size = written;
      }
      if (calledAlone(each) == "cudaFree" && ast::mentions(each, variable))
        buffer.release = each;
    }
    if (!buffer.allocation || !buffer.release)
      continue;
    std::string name = "'" + variable->getNameAsString() + "'";
    unsigned same = 0, writes = 0, allocations = 0;
    for (const auto *other : ast::findAll<DeclStmt>(host.function()->getBody()))
      for (const Decl *decl : other->decls())
        same += isa<VarDecl>(decl) && cast<VarDecl>(decl)->getName() == variable->getName();
    for (const ParmVarDecl *parameter : host.function()->parameters())
      same += parameter->getName() == variable->getName();
    for (const auto *call : ast::findAll<CallExpr>(loop))
      allocations += calledAlone(call) == "cudaMalloc" && sizeOf(call, variable);
    for (const auto *binary : ast::findAll<BinaryOperator>(loop))
      writes += binary->isAssignmentOp() && ast::variableOf(binary->getLHS()) == variable;
    for (const auto *unary : ast::findAll<UnaryOperator>(loop))
      writes += (unary->getOpcode() == UO_AddrOf || unary->isIncrementDecrementOp()) &&
                ast::variableOf(unary->getSubExpr()) == variable;
    HostFunction::Answer seen = host.after(buffer.release, loop);
    if (leaves)
      why = "the loop at " + ast::lineText(context, loop->getBeginLoc()) + " is left early";
    else if (!isInvariant(host, size, loop))
      why = "the size of " + name + " may differ between iterations";
    else if (same != 1)
      why = "another variable is called " + name;
    else if (writes != 1 || allocations != 1)
      why = name + " is also set elsewhere in the loop";
    else if (seen.reader)
      why = "the host may read results at " + ast::lineText(context, seen.reader->getBeginLoc()) +
            ", which cudaFree waits for";
    else
      buffers.push_back(buffer);
  }
  return buffers;
}

Plan planFor(const PassContext &context, const LaunchFact &launch) {
  Plan plan;
  plan.obstacle = whyNotInOrder(context);
  if (!plan.obstacle.empty())
    return plan;
  if (!launch.host || !launch.host->getBody()) {
    plan.obstacle = "the launch stands outside of a function";
    return plan;
  }
  HostFunction host(context, launch.host);
  if (!host.inBlock(launch.call)) {
    plan.obstacle = "the launch stands in a template or a lambda";
    return plan;
  }
  plan.obstacle = "no cudaDeviceSynchronize stands alone between this launch and the next one";
  auto isEditable = [&](const Stmt *statement) {
    return bool(byteRange(context.parsed(), statement->getSourceRange(), &plan.obstacle));
  };
  if (const Stmt *wait = waitAfter(host, launch.call); wait && isEditable(wait)) {
    HostFunction::Answer next = host.after(wait);
    const Stmt *loop = innermostLoop(host, wait);
    if (next.isSafe()) {
      plan.wait = wait;
    } else if (loop && host.parentOf(host.parentOf(wait)) == loop &&
               isa_and_nonnull<CompoundStmt>(host.parentOf(loop)) && isEditable(loop) &&
               host.after(wait, loop).isSafe()) {
      plan.wait = wait;
      plan.waitAfter = loop;
    } else {
      plan.obstacle =
          next.reader
              ? "the host may read results at " + ast::lineText(context, next.reader->getBeginLoc())
              : "the function returns after the wait, and its caller may read results";
    }
  }
  // The first launch of a loop answers for its buffers.
  const Stmt *loop = innermostLoop(host, launch.call);
  if (loop && isa_and_nonnull<CompoundStmt>(host.parentOf(loop)) &&
      ast::findAll<CUDAKernelCallExpr>(loop).front() == launch.call && isEditable(loop)) {
    plan.buffers = buffersOf(context, host, loop, plan.obstacle);
    plan.loop = loop;
  }
  return plan;
}

const LaunchFact &launchOf(const Site &site) {
  for (const LaunchFact &launch : site.kernel->launches)
    if (launch.call == site.as<Stmt>())
      return launch;
  llvm_unreachable("a site of this pass is a launch");
}

/// Edits of the body of one function.
class Writer {
public:
  Writer(const PassContext &context, const Anchor &body, Edits &edits)
      : context(context), body(body), edits(edits) {}

  /// Removes \p statement with its semicolon, and its line where it has one to itself.
  llvm::Error remove(const Stmt *statement) {
    StringRef text = context.parsed().text();
    ByteRange range = rangeOf(statement);
    StringRef left = text.take_front(range.begin).rtrim(" \t"),
              right = text.drop_front(range.end).ltrim(" \t");
    if (left.ends_with("\n") && right.starts_with("\n"))
      return edits.replace(body, left.size() - 1, text.size() - right.size() - (left.size() - 1),
                           "");
    return edits.replace(body, range.begin, range.end - range.begin, "");
  }
  llvm::Error before(const Stmt *statement, const std::string &text) {
    return edits.insertAt(body, rangeOf(statement).begin, text);
  }
  llvm::Error after(const Stmt *statement, const std::string &text) {
    return edits.insertAt(body, rangeOf(statement).end, text);
  }

private:
  /// With the semicolon.
  ByteRange rangeOf(const Stmt *statement) const {
    ByteRange range = *byteRange(context.parsed(), statement->getSourceRange());
    StringRef rest = context.parsed().text().drop_front(range.end);
    StringRef trimmed = rest.ltrim(" \t");
    if (trimmed.starts_with(";"))
      range.end += rest.size() - trimmed.size() + 1;
    return range;
  }

  const PassContext &context;
  const Anchor &body;
  Edits &edits;
};

class CleanHostLaunches : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    std::vector<Site> sites;
    for (const LaunchFact &launch : kernel.launches)
      sites.push_back(ast::siteOf(kernel, launch.call));
    return sites;
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &) const {
    Plan plan = planFor(context, launchOf(site));
    if (plan.wait || !plan.buffers.empty())
      return Decision::applies();
    return Decision::doesNotApply(plan.obstacle);
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const LaunchFact &launch = launchOf(site);
    Plan plan = planFor(context, launch);
    AnchorOrReason body = anchorOfBody(context.parsed(), launch.host);
    if (!body)
      return decline(body.reason());
    Rewrite rewrite;
    Writer writer(context, *body, rewrite.edits);
    std::string behind;
    if (plan.wait) {
      rewrite.summary = plan.waitAfter ? "moved cudaDeviceSynchronize behind the loop"
                                       : "removed a cudaDeviceSynchronize";
      if (llvm::Error error = writer.remove(plan.wait))
        return std::move(error);
      if (plan.waitAfter && plan.waitAfter != plan.loop)
        if (llvm::Error error = writer.after(plan.waitAfter, "\ncudaDeviceSynchronize();"))
          return std::move(error);
      if (plan.waitAfter && plan.waitAfter == plan.loop)
        behind += "\ncudaDeviceSynchronize();";
    }
    std::string front;
    for (const Buffer &buffer : plan.buffers) {
      std::string name = buffer.variable->getNameAsString();
      PrintingPolicy policy = context.parsed().context().getPrintingPolicy();
      front += buffer.variable->getType().getUnqualifiedType().getAsString(policy) + name +
               " = nullptr;\n";
      behind += "\ncudaFree(" + name + ");";
      rewrite.summary += (rewrite.summary.empty() ? "" : ", ") +
                         ("allocated '" + name + "' once for all iterations");
      for (const Stmt *gone : {static_cast<const Stmt *>(buffer.declaration), buffer.release})
        if (llvm::Error error = writer.remove(gone))
          return std::move(error);
      if (llvm::Error error = writer.before(buffer.allocation, "if (!" + name + ")\n"))
        return std::move(error);
    }
    if (!front.empty())
      if (llvm::Error error = writer.before(plan.loop, front))
        return std::move(error);
    if (!behind.empty())
      if (llvm::Error error = writer.after(plan.loop, behind))
        return std::move(error);
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createCleanHostLaunches() {
  return std::make_unique<CleanHostLaunches>();
}
} // namespace kbopt
