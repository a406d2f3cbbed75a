//===- CudaText.cpp - Pieces of a raised nest as CUDA text ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "CudaText.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using namespace mlir;

void kbopt::collectIdentifiers(StringRef text, llvm::function_ref<void(StringRef)> found) {
  while (!text.empty()) {
    StringRef word = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!word.empty() && !llvm::isDigit(word.front()))
      found(word);
    text = text.drop_front(std::max<size_t>(word.size(), 1));
  }
}

std::string kbopt::pointeeType(StringRef pointerType) {
  std::string words;
  collectIdentifiers(pointerType.substr(0, pointerType.rfind('*')), [&](StringRef word) {
    if (word != "const" && word != "volatile" && word != "struct")
      words += (words.empty() ? "" : " ") + word.str();
  });
  return words;
}

CodeLines &CodeLines::line(const llvm::Twine &text) {
  std::string one = text.str();
  // A statement of several lines keeps its own indentation, moved to where it stands.
  SmallVector<StringRef> parts;
  StringRef(one).split(parts, '\n', -1, false);
  for (StringRef part : parts)
    code += std::string(2 * depth, ' ') + part.str() + "\n";
  return *this;
}

CodeLines &CodeLines::open(const llvm::Twine &text) {
  line(text.isTriviallyEmpty() ? "{" : text + " {");
  ++depth;
  opened.push_back(code.size());
  return *this;
}

CodeLines &CodeLines::close() {
  --depth;
  size_t start = opened.pop_back_val();
  StringRef body = StringRef(code).substr(start), head = StringRef(code).substr(0, start);
  StringRef statement = body.trim();
  bool isOne = body.count('\n') == 1 && statement.ends_with(";") && head.ends_with(") {\n");
  if (!isOne)
    return line("}");
  code.erase(start - 3, 2);
  return *this;
}

CudaText::CudaText(kb::NestOp nest) : theNest(nest) {
  if (auto program = nest->getParentOfType<kb::ProgramOp>())
    theKernel = program.lookupSymbol<kb::KernelOp>(nest.getKernel());
  reserveNames();
}

void CudaText::reserveNames() {
  for (StringRef word :
       {"int",      "float",   "double",   "if",    "for",      "else",   "while",     "do",
        "return",   "const",   "auto",     "char",  "short",    "long",   "unsigned",  "signed",
        "bool",     "void",    "struct",   "class", "template", "size_t", "threadIdx", "blockIdx",
        "blockDim", "gridDim", "warpSize", "half",  "min",      "max"})
    taken.insert(word);
  auto take = [&](StringRef text) {
    collectIdentifiers(text, [&](StringRef word) { taken.insert(word); });
  };
  // Every text of the nest, whatever it is for: one word too many does no harm.
  theNest->walk([&](Operation *op) {
    AttrTypeWalker walker;
    walker.addWalk([&](StringAttr text) { take(text); });
    walker.addWalk([&](kb::OperandAttr operand) {
      take(operand.getBase().getName());
      take(operand.getType());
    });
    walker.addWalk([&](kb::SymbolAttr symbol) { take(symbol.getName()); });
    for (NamedAttribute each : op->getAttrs())
      if (each.getName() != "schedule" && each.getName() != "kernel")
        walker.walk(each.getValue());
    if (auto text = op->getAttrOfType<StringAttr>("text"))
      collectIdentifiers(text.getValue(), [&](StringRef word) { inTexts.insert(word); });
  });
  if (theKernel)
    for (auto param : theKernel.getParams().getAsRange<kb::ParamAttr>()) {
      take(param.getName());
      take(param.getType());
    }
}

/// Names that kernels often have themselves, and what the schedule's own are called then.
constexpr std::pair<StringRef, StringRef> otherNames[] = {
    {"rows", "rowsPerBlock"}, {"columns", "columnsPerBlock"},
    {"width", "vectorWidth"}, {"first", "firstElement"},
    {"out", "outputs"},       {"count", "perThread"},
    {"k", "chunk"},           {"e", "element"},
};

std::string CudaText::freshName(StringRef wanted) {
  std::string name = wanted.str();
  for (const auto &[often, other] : otherNames)
    if (wanted == often && taken.contains(wanted) && taken.insert(other).second)
      return other.str();
  for (unsigned number = 2; !taken.insert(name).second; ++number)
    name = wanted.str() + std::to_string(number);
  return name;
}

bool CudaText::isAtom(StringRef text) {
  return llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
}

std::string CudaText::launchValue(StringRef symbol) {
  auto [part, axis] = symbol.split('.');
  std::string host = (part == "bdim" ? "blockDim." : "gridDim.") + axis.str();
  for (const auto &[declaration, value] : extra)
    if (value == host)
      return StringRef(declaration).split(' ').second.str();
  std::string name = freshName((part == "bdim" ? "oldBlock" : "oldGrid") + axis.upper());
  extra.emplace_back("int " + name, host);
  return name;
}

namespace {

/// Where a subexpression stands; decides about parentheses.
enum Strength { Sum, Product, Atom };

struct ExpressionWriter {
  llvm::function_ref<std::string(StringRef)> nameOf;
  ArrayRef<StringAttr> loops, symbols;
  StringRef wide; ///< the type in which dimensions are multiplied; empty: their own
  const llvm::StringMap<std::string> *divisions = nullptr; ///< those that have a name

  static std::string parenthesized(std::string text, bool needed) {
    return needed ? "(" + text + ")" : text;
  }

  std::string leaf(StringRef name, Strength context) {
    std::string text = nameOf(name);
    return parenthesized(text, context != Sum && !CudaText::isAtom(text));
  }

  static void addends(AffineExpr expr, SmallVectorImpl<AffineExpr> &to) {
    if (auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
        sum && sum.getKind() == AffineExprKind::Add) {
      addends(sum.getLHS(), to);
      addends(sum.getRHS(), to);
      return;
    }
    to.push_back(expr);
  }

  /// -expr if \p expr is a product with a negative number, or such a number.
  static AffineExpr negated(AffineExpr expr) {
    auto product = dyn_cast<AffineBinaryOpExpr>(expr);
    bool isProduct = product && product.getKind() == AffineExprKind::Mul;
    auto constant = dyn_cast<AffineConstantExpr>(isProduct ? product.getRHS() : expr);
    if (!constant || constant.getValue() >= 0 || constant.getValue() == INT64_MIN)
      return {};
    AffineExpr positive = getAffineConstantExpr(-constant.getValue(), expr.getContext());
    return isProduct ? product.getLHS() * positive : positive;
  }

  std::string sum(AffineExpr expr) {
    SmallVector<AffineExpr> all, ordered;
    addends(expr, all);
    for (bool negative : {false, true})
      llvm::copy_if(all, std::back_inserter(ordered),
                    [&](AffineExpr each) { return bool(negated(each)) == negative; });
    std::string text;
    for (AffineExpr addend : ordered) {
      AffineExpr positive = negated(addend);
      text += text.empty() ? positive ? "-" : "" : positive ? " - " : " + ";
      text += write(positive ? positive : addend, Product);
    }
    return text;
  }

  /// The first factor decides in which type the product is formed.
  std::string product(AffineBinaryOpExpr expr) {
    bool isChain = expr.getLHS().getKind() == AffineExprKind::Mul && !negated(expr.getLHS());
    bool isCast = !wide.empty() && !isChain;
    std::string left = write(expr.getLHS(), isCast ? Atom : Product);
    left = isCast ? "(" + wide.str() + ")" + left : left;
    return left + " * " + write(expr.getRHS(), Atom);
  }

  /// Whether the sum of \p all, of which the values without a minus are not negative, may be. What
  /// \p divisor - 1 - x % divisor adds is not.
  static bool mayBeNegative(SmallVector<AffineExpr> all, AffineExpr divisor) {
    auto *rest = llvm::find_if(all, [&](AffineExpr each) {
      auto mod = dyn_cast_or_null<AffineBinaryOpExpr>(negated(each));
      return mod && mod.getKind() == AffineExprKind::Mod && mod.getRHS() == divisor;
    });
    if (rest != all.end() && llvm::is_contained(all, divisor)) {
      all.erase(rest);
      all.erase(llvm::find(all, divisor));
      auto *one = llvm::find(all, getAffineConstantExpr(-1, divisor.getContext()));
      if (one != all.end())
        all.erase(one);
    }
    return llvm::any_of(all, [](AffineExpr each) { return bool(negated(each)); });
  }

  std::string division(AffineBinaryOpExpr expr) {
    std::string left = write(expr.getLHS(), Product), right = write(expr.getRHS(), Atom);
    if (expr.getKind() == AffineExprKind::CeilDiv)
      return "(" + sum(expr.getLHS()) + " + " + right + " - 1) / " + right;
    SmallVector<AffineExpr> all;
    addends(expr.getLHS(), all);
    if (mayBeNegative(all, expr.getRHS())) {
      // C++ rounds towards zero.
      return expr.getKind() == AffineExprKind::Mod
                 ? "(" + left + " % " + right + " + " + right + ") % " + right
                 : "(" + left + " >= 0 ? " + left + " / " + right + " : -((" + right + " - 1 - " +
                       left + ") / " + right + "))";
    }
    return left + (expr.getKind() == AffineExprKind::Mod ? " % " : " / ") + right;
  }

  std::string write(AffineExpr expr, Strength context) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return leaf(kb::dimName(dim.getPosition(), loops), context);
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      return leaf(kb::symbolName(symbol.getPosition(), symbols), context);
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return parenthesized(std::to_string(constant.getValue()),
                           context != Sum && constant.getValue() < 0);
    auto binary = cast<AffineBinaryOpExpr>(expr);
    if (expr.getKind() == AffineExprKind::Add)
      return parenthesized(sum(expr), context != Sum);
    if (AffineExpr positive = negated(expr); positive)
      return parenthesized("-" + write(positive, Product), context != Sum);
    if (expr.getKind() == AffineExprKind::Mul)
      return parenthesized(product(binary), context == Atom);
    StringRef outer = std::exchange(wide, "");
    std::string text = division(binary);
    wide = outer;
    if (auto named =
            divisions ? divisions->find(text) : llvm::StringMap<std::string>::const_iterator();
        divisions && named != divisions->end())
      return named->second;
    return parenthesized(text, context == Atom);
  }
};

/// The largest value that \p expr has when every dimension runs over a constant extent.
std::optional<int64_t> upperBound(AffineExpr expr,
                                  llvm::function_ref<std::optional<int64_t>(unsigned)> dimBound) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dimBound(dim.getPosition());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto left = upperBound(binary.getLHS(), dimBound), right = upperBound(binary.getRHS(), dimBound);
  if (!left || !right)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return *left + *right;
  case AffineExprKind::Mul:
    return *right < 0 ? 0 : *left * *right;
  case AffineExprKind::Mod:
    return *right;
  default:
    return *left;
  }
}

/// Constant extents of the dimensions around \p op, by name.
std::optional<int64_t> constantExtent(kb::NestOp nest, StringRef name) {
  for (auto [dim, extent] : llvm::zip(nest.getDims().getAsRange<StringAttr>(),
                                      nest.getExtents().getAsRange<kb::ExprAttr>()))
    if (dim.getValue() == name)
      return extent.getConstant();
  std::optional<int64_t> found;
  nest.walk([&](kb::OverOp over) {
    if (over.getName() == name)
      found = over.getExtent().getConstant();
  });
  return found;
}

} // namespace

std::string CudaText::expression(kb::ExprAttr expr) {
  auto nameOf = [&](StringRef name) -> std::string {
    if (auto found = written.find(name); found != written.end())
      return found->second;
    return name.starts_with("bdim.") || name.starts_with("gdim.") ? launchValue(name) : name.str();
  };
  return ExpressionWriter{nameOf, expr.getLoops(), expr.getSymbols(), "", &divisions}.write(
      expr.getExpr(), Sum);
}

std::string CudaText::intExpression(kb::ExprAttr expr) {
  std::string text = expression(expr);
  for (auto symbol : theNest.getSymbols().getAsRange<kb::SymbolAttr>())
    for (auto [index, name] : llvm::enumerate(expr.getSymbols()))
      if (name == symbol.getName() && symbol.getBits() > 32 &&
          expr.getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + index))
        return "(int)" + (isAtom(text) ? text : "(" + text + ")");
  return text;
}

std::string CudaText::offset(kb::ExprAttr expr) { return wideExpression(expr, "size_t"); }

/// The largest value of \p expr where extents are constants.
static std::optional<int64_t> largestValue(kb::NestOp nest, kb::ExprAttr expr) {
  return upperBound(expr.getExpr(), [&](unsigned dim) -> std::optional<int64_t> {
    auto extent = constantExtent(nest, kb::dimName(dim, expr.getLoops()));
    return extent && *extent < (1 << 28) ? extent : std::nullopt;
  });
}

bool CudaText::fitsInt(kb::ExprAttr expr) {
  auto bound = largestValue(theNest, expr);
  return bound && *bound < (1 << 29);
}

std::string CudaText::wideExpression(kb::ExprAttr expr, StringRef type) {
  auto bound = largestValue(theNest, expr);
  if (bound && *bound < INT32_MAX)
    return expression(expr);
  auto nameOf = [&](StringRef name) -> std::string {
    if (auto found = written.find(name); found != written.end())
      return found->second;
    return name.starts_with("bdim.") || name.starts_with("gdim.") ? launchValue(name) : name.str();
  };
  return ExpressionWriter{nameOf, expr.getLoops(), expr.getSymbols(), type, &divisions}.write(
      expr.getExpr(), Sum);
}

std::string CudaText::hostExpression(kb::ExprAttr expr, bool wide) {
  bool known = true;
  auto nameOf = [&](StringRef name) -> std::string {
    auto [part, axis] = name.split('.');
    if (part == "bdim" || part == "gdim")
      return (part == "bdim" ? "blockDim." : "gridDim.") + axis.str();
    auto symbols = theNest.getSymbols().getAsRange<kb::SymbolAttr>();
    auto found =
        llvm::find_if(symbols, [&](kb::SymbolAttr each) { return each.getName() == name; });
    // A parameter's own array is at hand; what it points to is not.
    known &= found != symbols.end() && (*found).getOrigin() != kb::SymbolOrigin::Varying &&
             ((*found).getOrigin() == kb::SymbolOrigin::Param ||
              name.find_first_of("[*") == StringRef::npos);
    return name.str();
  };
  std::string text =
      ExpressionWriter{nameOf, expr.getLoops(), expr.getSymbols(), wide ? "size_t" : ""}.write(
          expr.getExpr(), Sum);
  return known ? text : "";
}

std::string CudaText::elementAt(kb::OperandAttr operand, StringRef at) {
  kb::BaseAttr base = operand.getBase();
  std::string name = base.getName().str();
  kb::ParamAttr param;
  if (theKernel && base.getKind() == kb::BaseKind::Argument && base.getByteOffset() == 0 &&
      base.getArgument() >= 0)
    param = cast<kb::ParamAttr>(theKernel.getParams()[base.getArgument()]);
  bool isOther =
      param && param.getIsPointer() &&
      (param.getElementBytes() != operand.getBytes() || StringRef(param.getType()).contains("(*"));
  if (isOther) {
    bool isStored = isWritten(base);
    name = "reinterpret_cast<" + std::string(isStored ? "" : "const ") + operand.getType().str() +
           " *>(" + name + ")";
  } else if (!isAtom(name) && !StringRef(name).ends_with(")")) {
    name = "(" + name + ")";
  }
  return name + "[" + at.str() + "]";
}

std::string CudaText::operand(kb::OperandAttr operand) {
  if (operand.getKind() == kb::OperandKind::Element)
    return elementAt(operand, offset(operand.getOffset()));
  StringRef type = operand.getType();
  bool isWide = operand.getBytes() > 4;
  std::string text =
      isWide ? wideExpression(operand.getOffset(), "long long") : expression(operand.getOffset());
  if (type.empty() || type == "int")
    return isAtom(text) ? text : "(" + text + ")";
  bool isName = isAtom(type);
  return (isName ? type.str() + "(" : "((" + type.str() + ")(") + text + (isName ? ")" : "))");
}

std::string CudaText::withScalars(StringRef words) {
  std::string result;
  while (!words.empty()) {
    StringRef word = words.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (word.empty())
      word = words.take_front();
    // The name of a member is not a scalar's.
    bool isMember = StringRef(result).ends_with(".") || StringRef(result).ends_with("->");
    auto found = isMember ? scalars.end() : scalars.find(word);
    result += found == scalars.end() ? word.str() : found->second;
    words = words.drop_front(word.size());
  }
  return result;
}

std::string CudaText::fill(StringRef text, ArrayAttr operands, OperandText replaced) {
  std::string result;
  while (!text.empty()) {
    size_t at = text.find('$');
    result += withScalars(text.substr(0, at));
    if (at == StringRef::npos)
      break;
    text = text.substr(at + 1);
    StringRef digits = text.take_while(llvm::isDigit);
    unsigned hole = 0;
    digits.getAsInteger(10, hole);
    text = text.drop_front(digits.size());
    auto operand = cast<kb::OperandAttr>(operands[hole]);
    std::string instead = replaced ? replaced(operand) : "";
    result += instead.empty() ? this->operand(operand) : instead;
  }
  return result;
}

std::string CudaText::combine(StringRef text, StringRef a, StringRef b) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    StringRef rest = text.substr(at);
    if (!rest.starts_with("%a") && !rest.starts_with("%b")) {
      result += rest.front();
      continue;
    }
    StringRef value = rest[1] == 'a' ? a : b, before = text.substr(0, at).rtrim(),
              after = text.substr(at + 2).ltrim();
    bool isArgument = (before.ends_with("(") || before.ends_with(",")) &&
                      (after.starts_with(")") || after.starts_with(","));
    bool isPlain = llvm::all_of(
        value, [](char c) { return llvm::isAlnum(c) || StringRef("_.[]").contains(c); });
    result += isArgument || isPlain ? value.str() : "(" + value.str() + ")";
    ++at;
  }
  return result;
}

bool CudaText::isWritten(kb::BaseAttr base) {
  bool written = false;
  theNest.walk([&](kb::StoreOp store) { written |= store.getTarget().getBase() == base; });
  return written;
}

std::string CudaText::parameters(const llvm::StringSet<> &unaliased) {
  std::string text;
  auto add = [&](const llvm::Twine &one) { text += (text.empty() ? "" : ", ") + one.str(); };
  for (auto [index, attribute] : llvm::enumerate(theKernel.getParams())) {
    auto param = cast<kb::ParamAttr>(attribute);
    std::string type = param.getType().str(), name = param.getName().str();
    if (!param.getIsPointer() || StringRef(type).contains("(*")) {
      size_t star = type.find("(*");
      if (star != std::string::npos)
        type.insert(star + 2, name);
      else
        for (size_t bracket = type.find('['); bracket != std::string::npos;
             bracket = std::string::npos)
          type.insert(bracket, " " + name);
      bool isPlaced = type != param.getType();
      add(isPlaced ? type : type + (type.back() == '&' ? "" : " ") + name);
      continue;
    }
    bool writes =
        isWritten(kb::BaseAttr::get(param.getContext(), kb::BaseKind::Argument, name, index, 0));
    bool isRestrict = param.getIsRestrict() || unaliased.contains(name);
    size_t star = type.rfind('*');
    std::string pointee = StringRef(type).substr(0, star).rtrim().str();
    bool keeps = writes || param.getIsConst() || pointee.find('*') != std::string::npos ||
                 inTexts.contains(name);
    add((keeps ? "" : "const ") + pointee + " *" + (isRestrict ? "__restrict__ " : "") + name);
  }
  for (const std::string &declaration : added)
    add(declaration);
  for (const auto &[declaration, value] : extra)
    add(declaration);
  return text;
}
