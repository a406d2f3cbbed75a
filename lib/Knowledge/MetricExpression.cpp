//===- MetricExpression.cpp -----------------------------------------------===//
#include "kb-opt/Knowledge/MetricExpression.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace kbopt;

namespace {
enum class Op {
  Number,
  Name,
  Not,
  Negate,
  Add,
  Subtract,
  Multiply,
  Divide,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  And,
  Or,
  Min,
  Max,
  Sum,
  Default,
  Known,
  Invalid
};
} // namespace

struct MetricExpression::Node {
  Op op = Op::Number;
  double number = 0;
  std::string name;
  std::vector<std::shared_ptr<const Node>> operands;
};

using Node = MetricExpression::Node;
using NodePtr = std::shared_ptr<const Node>;

static NodePtr make(Op op, std::vector<NodePtr> operands) {
  auto node = std::make_shared<Node>();
  node->op = op;
  node->operands = std::move(operands);
  return node;
}

namespace {

/// Recursive descent; `failed` keeps the first complaint.
class Parser {
public:
  explicit Parser(llvm::StringRef text) : text(text) {}

  NodePtr parse() {
    NodePtr result = binary(0);
    skipSpace();
    if (at != text.size())
      fail("unexpected '" + text.substr(at, 1) + "'");
    return result;
  }
  std::string complaint;

private:
  struct Operator {
    llvm::StringLiteral spelling;
    Op op;
  };
  /// Left-associative operators by rank, longest spelling first.
  static const std::vector<std::vector<Operator>> &ranks() {
    static const std::vector<std::vector<Operator>> table = {
        {{"||", Op::Or}},
        {{"&&", Op::And}},
        {{"<=", Op::LessEqual},
         {">=", Op::GreaterEqual},
         {"==", Op::Equal},
         {"!=", Op::NotEqual},
         {"<", Op::Less},
         {">", Op::Greater}},
        {{"+", Op::Add}, {"-", Op::Subtract}},
        {{"*", Op::Multiply}, {"/", Op::Divide}}};
    return table;
  }

  void fail(const llvm::Twine &what) {
    if (complaint.empty())
      complaint = (what + " at character " + llvm::Twine(at + 1)).str();
    at = text.size();
  }
  void skipSpace() {
    while (at < text.size() && llvm::isSpace(text[at]))
      ++at;
  }
  bool take(llvm::StringRef token) {
    skipSpace();
    if (!text.substr(at).starts_with(token))
      return false;
    at += token.size();
    return true;
  }

  NodePtr binary(size_t rank) {
    if (rank == ranks().size())
      return unary();
    NodePtr left = binary(rank + 1);
    for (;;) {
      auto found =
          llvm::find_if(ranks()[rank], [&](const Operator &o) { return take(o.spelling); });
      if (found == ranks()[rank].end())
        return left;
      left = make(found->op, {left, binary(rank + 1)});
    }
  }

  NodePtr unary() {
    if (++depth > deepest)
      fail("it is nested too deeply");
    NodePtr result = take("!")   ? make(Op::Not, {unary()})
                     : take("-") ? make(Op::Negate, {unary()})
                                 : primary();
    --depth;
    return result;
  }

  NodePtr primary() {
    if (take("(")) {
      NodePtr inside = binary(0);
      if (!take(")"))
        fail("expected ')'");
      return inside;
    }
    skipSpace();
    size_t start = at;
    while (at < text.size() && (llvm::isAlnum(text[at]) || text[at] == '_' || text[at] == '.'))
      ++at;
    llvm::StringRef word = text.slice(start, at);
    if (word.empty()) {
      fail("expected a number, a metric or '('");
      return make(Op::Number, {});
    }
    auto node = std::make_shared<Node>();
    if (llvm::isDigit(word[0])) {
      if (word.getAsDouble(node->number))
        fail("'" + word + "' is no number");
      return node;
    }
    if (take("("))
      return call(word);
    node->op = Op::Name;
    node->name = word.str();
    return node;
  }

  NodePtr call(llvm::StringRef name) {
    Op op = llvm::StringSwitch<Op>(name)
                .Case("min", Op::Min)
                .Case("max", Op::Max)
                .Case("sum", Op::Sum)
                .Case("default", Op::Default)
                .Case("known", Op::Known)
                .Default(Op::Invalid);
    if (op == Op::Invalid)
      fail("unknown function '" + name + "'");
    std::vector<NodePtr> arguments;
    do
      arguments.push_back(binary(0));
    while (take(","));
    if (!take(")"))
      fail("expected ')'");
    return make(op, std::move(arguments));
  }

  static constexpr unsigned deepest = 100;
  llvm::StringRef text;
  size_t at = 0;
  unsigned depth = 0;
};

using Value = std::optional<double>;

class Evaluator {
public:
  Evaluator(const MetricMap &metrics, std::set<std::string> *missing)
      : metrics(metrics), missing(missing) {}

  Value value(const Node &node) {
    switch (node.op) {
    case Op::Number:
      return node.number;
    case Op::Name:
      return lookup(node.name);
    case Op::Not: {
      Value inner = value(*node.operands[0]);
      return inner ? Value(*inner == 0) : std::nullopt;
    }
    case Op::Negate: {
      Value inner = value(*node.operands[0]);
      return inner ? Value(-*inner) : std::nullopt;
    }
    case Op::And:
    case Op::Or:
      return logical(node);
    case Op::Min:
    case Op::Max:
    case Op::Sum:
    case Op::Default:
    case Op::Known:
      return function(node);
    default:
      return arithmetic(node);
    }
  }

private:
  Value lookup(const std::string &name) {
    auto found = metrics.find(name);
    if (found != metrics.end() && std::isfinite(found->second))
      return found->second;
    if (missing)
      missing->insert(name);
    return std::nullopt;
  }

  Value logical(const Node &node) {
    bool decides = node.op == Op::Or;
    Value left = value(*node.operands[0]);
    if (left && (*left != 0) == decides)
      return decides;
    Value right = value(*node.operands[1]);
    if (right && (*right != 0) == decides)
      return decides;
    if (!left || !right)
      return std::nullopt;
    return !decides;
  }

  Value function(const Node &node) {
    Value result;
    for (const NodePtr &operand : node.operands) {
      // What default() and known() fall back from is not missed.
      bool quiet =
          node.op == Op::Known || (node.op == Op::Default && operand != node.operands.back());
      std::set<std::string> *outer = missing;
      missing = quiet ? nullptr : missing;
      Value next = value(*operand);
      missing = outer;
      if (node.op == Op::Known)
        return next.has_value();
      if (!next)
        continue;
      if (node.op == Op::Default)
        return next;
      result = !result              ? *next
               : node.op == Op::Min ? std::min(*result, *next)
               : node.op == Op::Max ? std::max(*result, *next)
                                    : *result + *next;
    }
    return result;
  }

  Value arithmetic(const Node &node) {
    Value left = value(*node.operands[0]), right = value(*node.operands[1]);
    if (!left || !right)
      return std::nullopt;
    double a = *left, b = *right;
    switch (node.op) {
    case Op::Add:
      return a + b;
    case Op::Subtract:
      return a - b;
    case Op::Multiply:
      return a * b;
    case Op::Divide:
      return b == 0 ? std::nullopt : Value(a / b);
    case Op::Less:
      return a < b;
    case Op::LessEqual:
      return a <= b;
    case Op::Greater:
      return a > b;
    case Op::GreaterEqual:
      return a >= b;
    case Op::Equal:
      return a == b;
    default:
      return a != b;
    }
  }

  const MetricMap &metrics;
  std::set<std::string> *missing;
};

} // namespace

llvm::Expected<MetricExpression> MetricExpression::parse(llvm::StringRef text) {
  Parser parser(text);
  MetricExpression result;
  result.root = parser.parse();
  if (!parser.complaint.empty())
    return llvm::make_error<StoreError>("expression '" + text.str() + "': " + parser.complaint,
                                        "docs/Knowledge.md describes the language");
  return result;
}

std::optional<double> MetricExpression::evaluate(const MetricMap &metrics,
                                                 std::set<std::string> *missing) const {
  if (!root)
    return std::nullopt;
  Value result = Evaluator(metrics, missing).value(*root);
  return result && std::isfinite(*result) ? result : std::nullopt;
}
