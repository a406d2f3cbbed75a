//===- RowsOnline.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RowsOnline.h"
#include "Contraction.h"
#include "Points.h"
#include "RowsPrinter.h"

using namespace kbopt;
using namespace mlir;

namespace {

/// \p text without parentheses around all of it.
StringRef inner(StringRef text) {
  for (text = text.trim(); text.starts_with("(") && text.ends_with(")");) {
    int depth = 0;
    size_t end = 0;
    while (end < text.size() && ((depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0) > 0))
      ++end;
    if (end + 1 != text.size())
      break;
    text = text.drop_front().drop_back().trim();
  }
  return text;
}

/// The factors of the product \p text; none if it is no product of calls, names, numbers and
/// parentheses.
std::optional<SmallVector<StringRef>> factorsOf(StringRef text) {
  SmallVector<StringRef> factors;
  int depth = 0;
  size_t first = 0;
  text = inner(text);
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (depth > 0 || llvm::isAlnum(c) || StringRef("_.:$)] ").contains(c))
      continue;
    if (c != '*')
      return std::nullopt;
    factors.push_back(text.slice(first, at).trim());
    first = at + 1;
  }
  factors.push_back(text.drop_front(first).trim());
  return factors;
}

/// The function of `function(x - most)`; empty if \p text is none.
StringRef exponentialOf(StringRef text, StringRef most) {
  text = inner(text);
  const size_t open = text.find('(');
  const StringRef name = text.take_front(open);
  if (!llvm::is_contained({"expf", "exp", "__expf", "exp2f", "exp2"}, name) || !text.ends_with(")"))
    return "";
  StringRef argument = inner(text.drop_front(open).trim());
  if (!argument.consume_back(most) || !argument.consume_back("- ") || mentions(argument, most))
    return "";
  // All of the rest is what the maximum is taken from: `a ? b : c - most` is not.
  int depth = 0;
  for (char c : argument) {
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (depth == 0 && StringRef("?:<>=&|,^!").contains(c))
      return "";
  }
  return name;
}

/// Whether every term of \p loop is a product with an exponential relative to \p most, which it
/// uses for nothing else; their \p function.
bool isRelative(kb::OverOp loop, StringRef most, std::string &function) {
  llvm::StringSet<> exponentials; // scalars that are one
  bool isGood = true;
  auto take = [&](StringRef name) {
    isGood &= !name.empty() && (function.empty() || function == name);
    function = name.str();
  };
  loop.getBody().walk([&](Operation *op) {
    if (auto let = dyn_cast<kb::LetOp>(op)) {
      if (!mentions(let.getText(), most))
        return;
      take(let.getReassigns() ? "" : exponentialOf(let.getText(), most));
      exponentials.insert(let.getName());
    } else if (auto reduce = dyn_cast<kb::ReduceOp>(op)) {
      auto factors = factorsOf(reduce.getText());
      unsigned relative = 0;
      for (StringRef factor : factors.value_or(SmallVector<StringRef>())) {
        if (mentions(factor, most))
          take(exponentialOf(factor, most)), ++relative;
        else if (exponentials.contains(factor))
          ++relative;
        else
          for (const auto &each : exponentials)
            isGood &= !mentions(factor, each.first());
      }
      isGood &= relative == 1 && reduce.getReduction() == "add";
    } else {
      isGood &= isa<kb::WhenOp>(op) && !mentions(cast<kb::WhenOp>(op).getText(), most);
    }
  });
  return isGood && !function.empty();
}

bool isFloat(StringRef type) {
  type.consume_front("const ");
  return type == "float" || type == "double";
}

/// Whether \p most forms a maximum and nothing else.
kb::ReduceOp maximumOf(kb::OverOp most) {
  SmallVector<kb::ReduceOp> reduces = reductionsOf(most);
  bool isAlone = reduces.size() == 1 && reduces.front().getReduction() == "max";
  most.getBody().walk([&](Operation *op) {
    isAlone &= isa<kb::LetOp, kb::WhenOp>(op) || (isAlone && op == reduces.front());
  });
  return isAlone ? reduces.front() : kb::ReduceOp();
}

/// The pair that begins with \p most.
std::optional<OnlinePair> pairOf(kb::OverOp most, ArrayRef<kb::OverOp> lanes) {
  kb::ReduceOp maximum = maximumOf(most);
  auto nest = most->getParentOfType<kb::NestOp>();
  if (!maximum || !isFloat(declarationOf(nest, maximum.getName()).getType()))
    return std::nullopt;
  Operation *next = most->getNextNode();
  for (; next && isa<kb::LetOp>(next); next = next->getNextNode())
    if (cast<kb::LetOp>(next).getReassigns() || mentions(next, maximum.getName()))
      return std::nullopt;
  auto sums = dyn_cast_or_null<kb::OverOp>(next);
  CudaText text(nest);
  if (!sums || !llvm::is_contained(lanes, sums) ||
      text.expression(sums.getExtent()) != text.expression(most.getExtent()))
    return std::nullopt;
  for (kb::ReduceOp reduce : reductionsOf(sums))
    if (!isFloat(declarationOf(nest, reduce.getName()).getType()))
      return std::nullopt;
  OnlinePair pair{most, sums, ""};
  return isRelative(sums, maximum.getName(), pair.function) ? std::optional(pair) : std::nullopt;
}

} // namespace

std::vector<OnlinePair> kbopt::onlinePairsOf(ArrayRef<kb::OverOp> lanes) {
  std::vector<OnlinePair> pairs;
  for (kb::OverOp over : lanes)
    if (auto pair = pairOf(over, lanes))
      pairs.push_back(*pair);
  return pairs;
}

void RowsPrinter::onlineLoop(const OnlinePair &pair) {
  kb::OverOp most = pair.most, sums = pair.sums;
  kb::ReduceOp maximum = reductionsOf(most).front();
  touch(accessesOf(most), most);
  touch(accessesOf(sums), sums);
  LaneShape own = shape;
  own.turns = 0;
  own.vector = isVectorLoop(most) && isVectorLoop(sums) ? schedule.integer("vector", 1) : 1;
  if (own.vector > 1) {
    auto conditions = multipleConditions(nest, most.getExtent(), "", own.vector);
    for (const std::string &condition : *conditions)
      needs.expression(condition);
  }
  std::vector<LaneBody> bodies;
  for (kb::OverOp over : {most, sums}) {
    Block &body = over.getBody().front();
    bodies.push_back(
        {&body, over.getName().str(), streamsOf(text, body, over.getName(), own, {}, needs)});
  }
  // What the first one loads is at hand.
  for (Stream &stream : bodies[1].streams)
    for (const Stream &known : bodies[0].streams)
      if (stream.key == known.key)
        stream.place = Stream::Shared, stream.array = known.array;
  std::map<std::string, std::string> partial = deferred;
  SmallVector<kb::ReduceOp> summed = reductionsOf(sums);
  startSums(most, maximum, partial);
  startSums(sums, summed, partial);
  const std::string name = maximum.getName().str(), type = typeOf(nest, maximum).str(),
                    before = text.freshName("before"), base = text.freshName("base"),
                    ofThread = text.freshName("own");
  auto rescale = [&](const std::string &from, const std::string &to) {
    for (kb::ReduceOp reduce : summed)
      code.line(partial.at(reduce.getName().str()) + " *= " + pair.function + "(" + from + " - " +
                to + ");");
  };
  printLaneLoops(text, code, bodies, text.expression(most.getExtent()), own, partial,
                 [&](size_t number) {
                   if (number == 0) {
                     code.line("const " + type + " " + before + " = " + name + ";");
                     return;
                   }
                   // Nothing is relative to -INFINITY.
                   code.line("const " + type + " " + base + " = " + name +
                             " == -INFINITY ? 0 : " + name + ";");
                   rescale(before, base);
                   text.setScalar(name, base);
                 });
  text.setScalar(name, name);
  code.line("const " + type + " " + ofThread + " = " + name + ";");
  endSums(maximum, partial);
  rescale(ofThread, name);
  endSums(summed, partial);
  reassociates = true;
}
