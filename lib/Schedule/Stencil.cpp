//===- Stencil.cpp - Neighbouring points that share elements ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sketch `stencil`: a thread computes several neighbouring points along one dimension and
// loads the elements that they have in common once, into registers. Lanes run along another
// dimension.
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "Bounds.h"
#include "Points.h"
#include "Sketches.h"
#include "StencilWindows.h"
#include "WindowNest.h"

using namespace kbopt;
using namespace mlir;

namespace {

/// Loads of one array that lie a whole number of steps of a dimension apart.
struct SharedLoads {
  kb::OperandAttr first; ///< the one that lies lowest
  SmallVector<std::pair<kb::OperandAttr, int64_t>>
      all;          ///< and by how many steps each lies above it
  int64_t span = 0; ///< the greatest of these
};

/// Farther apart than this nothing is worth keeping.
constexpr int64_t mostSteps = 8;

/// An offset as a sum of products of names, so that those with sizes as strides cancel: y * w + x
/// and y * w + w + x.
using Product = std::vector<std::string>; ///< sorted
using Terms = std::map<Product, int64_t>;

void addTo(Terms &sum, const Terms &other, int64_t factor) {
  for (const auto &[product, coefficient] : other)
    if (!(sum[product] += coefficient * factor))
      sum.erase(product);
}

Terms termsOf(AffineExpr expr, kb::ExprAttr whole) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() ? Terms{{{}, constant.getValue()}} : Terms();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return {{{kb::dimName(dim.getPosition(), whole.getLoops()).str()}, 1}};
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return {{{kb::symbolName(symbol.getPosition(), whole.getSymbols()).str()}, 1}};
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Terms left = termsOf(binary.getLHS(), whole), right = termsOf(binary.getRHS(), whole), result;
  if (expr.getKind() == AffineExprKind::Add) {
    addTo(left, right, 1);
    return left;
  }
  for (const auto &[a, x] : left)
    for (const auto &[b, y] : right) {
      Product both = a;
      both.insert(both.end(), b.begin(), b.end());
      llvm::sort(both);
      addTo(result, {{both, x * y}}, 1);
    }
  return result;
}

/// Whether sums and products are all there is in \p expr.
bool isPolynomial(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return true;
  bool isPlain = expr.getKind() == AffineExprKind::Add || expr.getKind() == AffineExprKind::Mul;
  return isPlain && isPolynomial(binary.getLHS()) && isPolynomial(binary.getRHS());
}

/// What \p offset gains along \p dim, over sizes alone; nothing if that depends on the point.
Terms gainOf(kb::ExprAttr offset, StringRef dim) {
  Terms gain;
  if (!isPolynomial(offset.getExpr()))
    return gain;
  for (const auto &[whole, coefficient] : termsOf(offset.getExpr(), offset)) {
    Product product = whole;
    auto at = llvm::find(product, dim);
    if (at == product.end())
      continue;
    product.erase(at);
    for (StringAttr other : offset.getLoops())
      if (llvm::is_contained(product, other.getValue()))
        return {};
    gain[product] = coefficient;
  }
  return gain;
}

/// How many \p gain lie between \p from and \p to; nothing if they are no whole number of steps
/// apart.
std::optional<int64_t> stepsBetween(kb::ExprAttr from, kb::ExprAttr to, const Terms &gain) {
  Terms distance = termsOf(to.getExpr(), to);
  addTo(distance, termsOf(from.getExpr(), from), -1);
  for (int64_t steps = -mostSteps; steps <= mostSteps; ++steps) {
    Terms rest = distance;
    addTo(rest, gain, -steps);
    if (rest.empty())
      return steps;
  }
  return std::nullopt;
}

/// A nest of which neighbouring points share elements.
class StencilNest {
public:
  explicit StencilNest(kb::NestOp nest) : box(nest), nest(nest), inner(&nest.getBody().front()) {
    bool onlyScalars = !inner->empty() && llvm::all_of(llvm::drop_end(*inner), [](Operation &op) {
      return isa<kb::LetOp>(op);
    });
    if (onlyScalars)
      guard = dyn_cast<kb::WhenOp>(inner->back());
    if (guard && guard.getText().empty() && guard.getDomain())
      inner = &guard.getBody().front();
    else
      guard = {};
  }

  Box box;
  kb::NestOp nest;
  kb::WhenOp guard; ///< around everything but scalars; null if there is none
  Block *inner;     ///< what it guards, or all of it

  std::string whyNot() const {
    if (box.size() < 2 || box.size() > 3)
      return "its points do not have two or three dimensions";
    if (kb::NestOp(nest).getDomain())
      return "its points are not a box";
    bool hasLoops = false;
    kb::NestOp(nest).walk([&](kb::OverOp) { hasLoops = true; });
    if (hasLoops)
      return "each point runs a loop";
    if (!guard)
      return "";
    kb::DomainAttr domain = *kb::WhenOp(guard).getDomain();
    for (unsigned i = 0; i < domain.getSet().getNumConstraints(); ++i)
      if (domain.getSet().isEq(i) ||
          llvm::any_of(box.names, [&](StringRef dim) { return !strideAlong(constraint(i), dim); }))
        return "the condition on its points is not a range";
    return "";
  }

  kb::ExprAttr constraint(unsigned number) const {
    kb::DomainAttr domain = *kb::WhenOp(guard).getDomain();
    auto map = AffineMap::get(domain.getSet().getNumDims(), domain.getSet().getNumSymbols(),
                              domain.getSet().getConstraint(number));
    return kb::ExprAttr::get(domain.getContext(), domain.getLoops(), domain.getSymbols(), map);
  }

  /// Loads at every point inside the guard that neighbours along \p dim share.
  std::vector<SharedLoads> sharedAlong(StringRef dim) const {
    std::vector<SharedLoads> groups;
    for (Operation &op : *inner)
      if (!isa<kb::WhenOp>(op))
        for (kb::OperandAttr load : loadsOf(&op))
          add(load, dim, groups);
    llvm::erase_if(groups, [](const SharedLoads &each) { return each.span == 0; });
    return groups;
  }

  /// Whether \p count neighbours along \p dim are enough for one to load what another one does.
  bool sharesWithin(StringRef dim, int64_t count) const {
    return llvm::any_of(sharedAlong(dim),
                        [&](const SharedLoads &each) { return int64_t(each.span) <= count; });
  }

  /// How many loads of a point its neighbours along \p dim have made already.
  size_t saved(StringRef dim) const {
    size_t count = 0;
    for (const SharedLoads &each : sharedAlong(dim))
      count += each.all.size() - 1;
    return count;
  }

  /// The dimension along which most accesses are neighbours.
  StringRef lanes() const {
    auto score = [&](StringRef dim) {
      int64_t sum = 0;
      auto look = [&](kb::OperandAttr operand) {
        auto stride = strideAlong(operand.getOffset(), dim);
        sum += !stride ? -1 : *stride == 1 ? 1 : *stride ? -1 : 0;
      };
      kb::NestOp(nest).walk([&](Operation *op) {
        for (kb::OperandAttr load : loadsOf(op))
          look(load);
        if (auto store = dyn_cast<kb::StoreOp>(op))
          look(store.getTarget());
      });
      return sum;
    };
    StringRef best = box.names.back();
    for (StringRef dim : llvm::reverse(box.names))
      best = score(dim) > score(best) ? dim : best;
    return best;
  }

  /// The other dimensions, those with most to share first.
  SmallVector<StringRef> sharing() const {
    SmallVector<StringRef> dims;
    for (StringRef dim : llvm::reverse(box.names))
      if (dim != lanes() && saved(dim))
        dims.push_back(dim);
    llvm::stable_sort(dims, [&](StringRef a, StringRef b) { return saved(a) > saved(b); });
    return dims;
  }

  kb::ExprAttr extent(StringRef dim) const {
    return box.extents[llvm::find(box.names, dim) - box.names.begin()];
  }

private:
  bool isStored(kb::BaseAttr base) const {
    bool stored = false;
    kb::NestOp(nest).walk(
        [&](kb::StoreOp store) { stored |= store.getTarget().getBase() == base; });
    return stored;
  }

  void add(kb::OperandAttr load, StringRef dim, std::vector<SharedLoads> &groups) const {
    Terms gain = gainOf(load.getOffset(), dim);
    if (gain.empty() || isStored(load.getBase()) ||
        usesNameOf(load.getOffset(), kb::NestOp(nest).getBody().front()))
      return;
    for (SharedLoads &group : groups) {
      if (group.first.getBase() != load.getBase() || group.first.getType() != load.getType())
        continue;
      if (gainOf(group.first.getOffset(), dim) != gain)
        continue;
      std::optional<int64_t> steps = stepsBetween(group.first.getOffset(), load.getOffset(), gain);
      if (!steps)
        continue;
      if (llvm::any_of(group.all, [&](auto &each) { return each.first == load; }))
        return;
      if (*steps < 0) {
        group.first = load;
        for (auto &[operand, above] : group.all)
          above -= *steps;
      }
      group.all.push_back({load, std::max<int64_t>(*steps, 0)});
      for (auto &[operand, above] : group.all)
        group.span = std::max(group.span, above);
      return;
    }
    groups.push_back({load, {{load, 0}}, 0});
  }
};

class StencilPrinter {
public:
  StencilPrinter(kb::NestOp nest, StringRef name)
      : nest(nest), stencil(nest), schedule(nest.getScheduleAttr()), text(nest), name(name.str()) {}

  llvm::Expected<GeneratedKernel> run() {
    for (std::string reason : {whyNoBox(nest), stencil.whyNot()})
      if (!reason.empty())
        return llvm::createStringError(reason);
    for (auto step : {&StencilPrinter::chooseShape, &StencilPrinter::require})
      if (std::string reason = (this->*step)(); !reason.empty())
        return llvm::createStringError(reason);
    nameThings();
    CodeLines code(1);
    printIndices(code);
    printInside(code);
    printEdge(code);
    return finish(code.take());
  }

private:
  kb::NestOp nest;
  StencilNest stencil;
  Schedule schedule;
  CudaText text;
  std::string name;
  Needs needs;
  StringRef lanes, along, second; ///< `second`: the dimension with `rows` threads
  int64_t block = 0, rows = 0, count = 0;
  std::vector<SharedLoads> groups;
  std::vector<std::string> arrays;
  std::string lanesName, rowsName, countName, firstName, turn;
  llvm::StringSet<> unaliased;

  std::string chooseShape() {
    lanes = schedule.string("lanes"), along = schedule.string("along");
    block = schedule.integer("block", 256), rows = schedule.integer("rows", 8),
    count = schedule.integer("inflight", 4);
    if (!llvm::is_contained(stencil.box.names, lanes) ||
        !llvm::is_contained(stencil.box.names, along) || lanes == along)
      return "the keys 'lanes' and 'along' must name two of its dimensions";
    if (!llvm::isPowerOf2_64(block) || block < 32 || block > 1024 || !llvm::isPowerOf2_64(rows) ||
        rows > block / 8)
      return "the key 'rows' must be a power of two that leaves 8 lanes of a block of 32 to 1024 "
             "threads";
    if (!llvm::isPowerOf2_64(count) || count < 2 || count > 8)
      return "the key 'inflight' must be 2, 4 or 8";
    for (StringRef dim : stencil.box.names)
      if (dim != lanes)
        second = dim;
    groups = stencil.sharedAlong(along);
    llvm::erase_if(groups, [&](const SharedLoads &each) { return each.span > count; });
    return groups.empty() ? "neighbours along '" + along.str() + "' load no common element" : "";
  }

  std::string require() {
    if (std::string reason = requireInts(text, needs); !reason.empty())
      return reason;
    stencil.box.requirePoints(text, needs);
    unaliased = keepApart(text, needs);
    return "";
  }

  void nameThings() {
    lanesName = text.freshName("lanes"), rowsName = text.freshName("rows"),
    countName = text.freshName("count");
    firstName = text.freshName(along.str() + "First"), turn = text.freshName("r");
    for (const SharedLoads &group : groups)
      arrays.push_back(arrayName(text, group.first));
  }

  /// The points of a thread along \p dim.
  int64_t each(StringRef dim) const { return dim == along ? count : 1; }

  void printIndices(CodeLines &code) {
    code.line("constexpr int " + lanesName + " = " + std::to_string(block / rows) + ", " +
              rowsName + " = " + std::to_string(rows) + ", " + countName + " = " +
              std::to_string(count) + ";");
    std::string outside = lanes.str() + " >= " + text.expression(stencil.extent(lanes));
    code.line("const int " + lanes + " = blockIdx.x * " + lanesName + " + threadIdx.x;");
    for (StringRef dim : stencil.box.names) {
      if (dim == lanes)
        continue;
      std::string index =
          dim == second ? "blockIdx.y * " + rowsName + " + threadIdx.y" : "blockIdx.z";
      if (dim == along)
        code.line("const int " + firstName + " = " + (dim == second ? "(" + index + ")" : index) +
                  " * " + countName + ";");
      else
        code.line("const int " + dim + " = " + index + ";");
      if (dim == second && dim != along)
        outside += " || " + dim.str() + " >= " + text.expression(stencil.extent(dim));
    }
    code.line("if (" + outside + ")").indent().line("return;").outdent();
  }

  /// Prints \p expr with \p value for the dimension `along`.
  template <class Print> std::string at(StringRef value, Print print) {
    text.setName(along, value);
    auto result = print();
    text.setName(along, along);
    return result;
  }

  /// All points of the thread are there, and inside the guard.
  std::string allInside() {
    std::string all =
        firstName + " + " + countName + " <= " + text.expression(stencil.extent(along));
    if (!stencil.guard)
      return all;
    std::string last = firstName + " + " + countName + " - 1";
    for (unsigned i = 0; i < stencil.guard.getDomain()->getSet().getNumConstraints(); ++i) {
      kb::ExprAttr constraint = stencil.constraint(i);
      bool falls = *strideAlong(constraint, along) < 0;
      all += " && " + at(falls ? StringRef(last) : StringRef(firstName),
                         [&] { return comparison(text, constraint, false); });
    }
    return all;
  }

  void printInside(CodeLines &code) {
    code.open("if (" + allInside() + ")");
    std::string element = text.freshName("u");
    for (auto [group, array] : llvm::zip(groups, arrays)) {
      std::string size = countName + " + " + std::to_string(group.span);
      code.line(group.first.getType().str() + " " + array + "[" + size + "];");
      code.unroll().open("for (int " + element + " = 0; " + element + " < " + size + "; ++" +
                         element + ")");
      code.line(array + "[" + element + "] = " +
                at(firstName + " + " + element, [&] { return text.operand(group.first); }) + ";");
      code.close();
    }
    code.unroll().open("for (int " + turn + " = 0; " + turn + " < " + countName + "; ++" + turn +
                       ")");
    code.line("const int " + along + " = " + firstName + " + " + turn + ";");
    StatementPrinter print{text, code, [&](kb::OperandAttr operand) { return kept(operand); }};
    if (stencil.guard)
      for (Operation &op : llvm::drop_end(nest.getBody().front()))
        print.print(&op);
    print.print(*stencil.inner);
    code.close().line("return;").close();
  }

  /// Where \p operand waits in registers; empty if it does not.
  std::string kept(kb::OperandAttr operand) {
    for (auto [group, array] : llvm::zip(groups, arrays))
      for (auto &[load, above] : group.all)
        if (load == operand)
          return array + "[" + turn + (above ? " + " + std::to_string(above) : "") + "]";
    return "";
  }

  void printEdge(CodeLines &code) {
    std::string end = "min(" + firstName + " + " + countName + ", " +
                      text.intExpression(stencil.extent(along)) + ")";
    code.open("for (int " + along + " = " + firstName + "; " + along + " < " + end + "; ++" +
              along + ")");
    StatementPrinter{text, code}.print(nest.getBody().front());
    code.close();
  }

  GeneratedKernel finish(const std::string &body) {
    GeneratedKernel kernel;
    kernel.name = name;
    auto covers = [&](StringRef dim, int64_t by) {
      std::string size = text.hostExpression(stencil.extent(dim));
      return by == 1 ? size
                     : "((" + size + ") + " + std::to_string(by - 1) + ") / " + std::to_string(by);
    };
    kernel.gridX = covers(lanes, block / rows);
    for (StringRef dim : stencil.box.names)
      if (dim != lanes) {
        std::string &axis = dim == second ? kernel.gridY : kernel.gridZ;
        axis = covers(dim, each(dim) * (dim == second ? rows : 1));
        if (!stencil.extent(dim).getConstant())
          needs.expression(axis + " <= 65535");
      }
    kernel.blockX = std::to_string(block / rows), kernel.blockY = std::to_string(rows);
    std::string header = nest.getHeader() ? nest.getHeader()->str() + "\n" : "";
    kernel.definition = "// A thread computes " + std::to_string(count) +
                        " neighbouring points along '" + along.str() +
                        "' and loads the elements that they share once.\n" + header +
                        "__global__ void __launch_bounds__(" + std::to_string(block) + ") " + name +
                        "(" + text.parameters(unaliased) + ") {\n" + body + "}\n";
    kernel.extraParameters = text.extraParameters();
    kernel.conditions = needs.conditions;
    kernel.estimatedRegisters = 24;
    for (const SharedLoads &group : groups)
      kernel.estimatedRegisters += count + group.span;
    kernel.threads = block;
    return kernel;
  }
};

class StencilSketch : public Sketch {
public:
  StringRef name() const override { return "stencil"; }

  std::string whyNot(kb::NestOp nest) const override {
    if (hasLoops(nest)) {
      std::string reason = whyNoBox(nest);
      return reason.empty() ? whyNoWindow(nest) : reason;
    }
    StencilNest stencil(nest);
    for (std::string reason : {whyNoBox(nest), stencil.whyNot()})
      if (!reason.empty())
        return reason;
    SmallVector<StringRef> dims = stencil.sharing();
    if (dims.empty())
      return "neighbouring points load no common element";
    bool isNear = llvm::any_of(dims, [&](StringRef dim) { return stencil.sharesWithin(dim, 8); });
    return isNear ? "" : "the points that load a common element lie more than 8 apart";
  }

  /// Windows whose sizes are constants are written out.
  bool isSurelyBetter(kb::NestOp nest) const override {
    std::vector<Schedule> known =
        hasLoops(nest) ? windowSchedules(nest, {}) : std::vector<Schedule>();
    return !known.empty() && known.front().string("along") != "none";
  }

  std::vector<Schedule> schedules(kb::NestOp nest, const ChipInfo &, const LaunchSizes &sizes,
                                  const Freedom &) const override {
    if (hasLoops(nest))
      return windowSchedules(nest, sizes);
    std::vector<Schedule> all;
    StencilNest stencil(nest);
    auto add = [&](StringRef along, int64_t count, int64_t block, int64_t rows) {
      if (!stencil.sharesWithin(along, count))
        return;
      Schedule schedule("stencil");
      schedule.set("along", along)
          .set("block", block)
          .set("inflight", count)
          .set("lanes", stencil.lanes())
          .set("rows", rows);
      all.push_back(schedule);
    };
    SmallVector<StringRef> dims = stencil.sharing();
    add(dims.front(), 4, 256, 4);
    add(dims.front(), 8, 256, 4);
    for (StringRef dim : ArrayRef(dims).drop_front())
      add(dim, 4, 256, 4);
    add(dims.front(), 4, 256, 1);
    add(dims.front(), 2, 256, 4);
    add(dims.front(), 8, 128, 1);
    return all;
  }

  llvm::Expected<GeneratedKernel> print(kb::NestOp nest, StringRef name,
                                        const ChipInfo &) const override {
    if (!hasLoops(nest))
      return StencilPrinter(nest, name).run();
    if (std::string reason = whyNot(nest); !reason.empty())
      return llvm::createStringError(reason);
    return printWindows(nest, name);
  }

private:
  static bool hasLoops(kb::NestOp nest) {
    bool found = false;
    nest.walk([&](kb::OverOp) { found = true; });
    return found;
  }
};

} // namespace

const Sketch &kbopt::stencilSketch() {
  static const StencilSketch sketch;
  return sketch;
}
