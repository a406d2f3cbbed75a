//===- WorkloadReader.cpp - Workload YAML -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/Workload.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/YamlTree.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace kbopt;

llvm::StringRef Workload::entryName() const {
  return llvm::StringRef(entry).split('<').first.rtrim();
}

namespace {

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// Every function fails at the place of the value it looks at.
class Reader {
public:
  explicit Reader(Workload &workload) : workload(workload) {}

  Error read(const YamlValue &root);

private:
  Error readProgram(const YamlValue &value);
  Error readLimits(const YamlValue &value);
  Error readUploads(const YamlValue &value);
  Error readEntry(const YamlValue &root);
  Error readParameter(const YamlValue &value);
  Error readBuffer(const YamlValue &value, WorkloadParameter &parameter);
  Error readStatements(const YamlValue &value, WorkloadParameter &parameter);
  Error readScalar(const YamlValue &value, WorkloadParameter &parameter);
  Error readInit(const YamlValue &value, WorkloadParameter &parameter);
  Error readSizes(const YamlValue &value, SizeMap &sizes);
  Error readSizeList(const YamlValue *value, std::vector<SizeMap> &list);
  Error readTolerance(const YamlValue &value);
  Error readLaunch(const YamlValue &root);
  Expected<std::string> expression(const YamlValue &value);
  /// A sequence, or one scalar split at its outer commas.
  Expected<std::vector<std::string>> expressions(const YamlValue &value, size_t most);

  Error allowOnly(const YamlValue &mapping, llvm::ArrayRef<StringRef> names, StringRef what) {
    if (mapping.kind != YamlValue::Mapping)
      return mapping.error("expected " + what + " as 'name: value' lines");
    for (const auto &[key, value] : mapping.fields)
      if (!llvm::is_contained(names, key.scalar))
        return key.error(what + " has no field '" + key.scalar +
                         "' (fields: " + llvm::join(names, ", ") + ")");
    return Error::success();
  }
  static Expected<std::string> text(const YamlValue &value) {
    if (value.kind != YamlValue::Scalar)
      return value.error("expected a single value");
    return value.scalar;
  }
  static Expected<double> number(const YamlValue &value) {
    double result;
    if (value.kind != YamlValue::Scalar || StringRef(value.scalar).getAsDouble(result))
      return value.error("expected a number");
    return result;
  }
  Error readTexts(const YamlValue *value, std::vector<std::string> &into);
  /// What \p item says of an upload's values in its fields 'values', 'range' and 'padding'.
  Error readFacts(const YamlValue &item, InputFacts &facts);
  Error readAdmissible(const YamlValue &value);
  Error checkAdmissible(const YamlValue &value, const SizeMap &sizes);
  /// A number, or an expression in the size names at the recorded sizes.
  Expected<double> valueOf(const YamlValue &value);
  /// The numbers of the uploads that the parameters with statements become.
  void numberFacts();

  Workload &workload;
};

constexpr StringRef rootFields[] = {
    "program", "entry",  "kernel",    "sizes",      "parameters",   "grid",    "block",
    "shared",  "oracle", "tolerance", "test-sizes", "unseen-sizes", "uploads", "admissible"};

Error Reader::read(const YamlValue &root) {
  if (root.kind == YamlValue::Null)
    return root.error("the workload is empty", "write one with: kb-opt --emit=workload <source>");
  if (Error error = allowOnly(root, rootFields, "a workload"))
    return error;
  const YamlValue *kinds[] = {root.find("program"), root.find("entry"), root.find("kernel")};
  if (llvm::count(kinds, nullptr) != 2)
    return root.error("expected exactly one of 'program', 'entry' and 'kernel'");
  if (kinds[0]) {
    for (const auto &[key, value] : root.fields)
      if (!llvm::is_contained({"program", "tolerance", "oracle", "uploads"}, StringRef(key.scalar)))
        return key.error("'" + key.scalar + "' has no meaning for a whole program");
    if (Error error = readProgram(*kinds[0]))
      return error;
  } else if (Error error = readEntry(root)) {
    return error;
  }
  if (const YamlValue *oracle = root.find("oracle")) {
    workload.isHeldToFloat64 = oracle->scalar == "float64";
    if (!workload.isHeldToFloat64 && oracle->scalar != "original")
      return oracle->error("expected 'original' or 'float64'");
  }
  if (const YamlValue *uploads = root.find("uploads"))
    if (Error error = readUploads(*uploads))
      return error;
  if (const YamlValue *tolerance = root.find("tolerance"))
    return readTolerance(*tolerance);
  return Error::success();
}

Error Reader::readTexts(const YamlValue *value, std::vector<std::string> &into) {
  if (!value)
    return Error::success();
  if (value->kind != YamlValue::Sequence)
    return value->error("expected a list");
  for (const YamlValue &item : value->items) {
    auto one = text(item);
    if (!one)
      return one.takeError();
    into.push_back(*one);
  }
  return Error::success();
}

Error Reader::readProgram(const YamlValue &value) {
  workload.kind = WorkloadKind::Program;
  workload.place = value.place;
  if (value.kind == YamlValue::Null || value.scalar == "true")
    return Error::success();
  if (Error error = allowOnly(
          value, {"arguments", "stdin", "environment", "working-directory", "limits"}, "'program'"))
    return error;
  if (const YamlValue *limits = value.find("limits"))
    if (Error error = readLimits(*limits))
      return error;
  if (Error error = readTexts(value.find("arguments"), workload.arguments))
    return error;
  if (const YamlValue *input = value.find("stdin")) {
    auto bytes = text(*input);
    if (!bytes)
      return bytes.takeError();
    workload.standardInput = *bytes;
  }
  if (const YamlValue *folder = value.find("working-directory")) {
    auto path = text(*folder);
    if (!path)
      return path.takeError();
    workload.workingDirectory = *path;
  }
  const YamlValue *environment = value.find("environment");
  if (!environment)
    return Error::success();
  if (environment->kind != YamlValue::Mapping)
    return environment->error("expected NAME: value lines");
  for (const auto &[name, entry] : environment->fields) {
    auto one = text(entry);
    if (!one)
      return one.takeError();
    workload.environment.push_back(name.scalar + "=" + *one);
  }
  return Error::success();
}

Error Reader::readUploads(const YamlValue &value) {
  if (value.kind != YamlValue::Sequence)
    return value.error("expected a list such as [{number: 0, values: [sorted]}]");
  for (const YamlValue &item : value.items) {
    if (Error error = allowOnly(item, {"number", "values", "range", "padding"}, "an upload"))
      return error;
    InputFacts facts;
    const YamlValue *number = item.find("number"), *values = item.find("values"),
                    *range = item.find("range");
    if (!number || StringRef(number->scalar).getAsInteger(10, facts.upload))
      return item.error("an upload needs its 'number' in the program's order, from 0");
    if (!values && !range && !item.find("padding"))
      return item.error("an upload needs 'values', a 'range' or 'padding'");
    if (Error error = readFacts(item, facts))
      return error;
    workload.uploadFacts.push_back(std::move(facts));
  }
  return Error::success();
}

Error Reader::readFacts(const YamlValue &item, InputFacts &facts) {
  facts.reason = "the workload says so";
  facts.place = item.place;
  const YamlValue *values = item.find("values"), *range = item.find("range"),
                  *padding = item.find("padding");
  std::vector<std::string> words;
  if (Error error = readTexts(values, words))
    return error;
  for (const std::string &word : words) {
    bool *into = llvm::StringSwitch<bool *>(word)
                     .Case("sorted", &facts.isSorted)
                     .Case("distinct", &facts.isDistinct)
                     .Case("nonzero", &facts.isNonzero)
                     .Case("finite", &facts.isFinite)
                     .Case("zero", &facts.isZero)
                     .Case("offsets", &facts.isOffsets)
                     .Default(nullptr);
    if (!into)
      return values->error(
          "expected 'sorted', 'distinct', 'nonzero', 'finite', 'zero' or 'offsets'");
    *into = true;
  }
  if (facts.isZero && facts.isNonzero)
    return values->error("'zero' and 'nonzero' contradict each other");
  if (range) {
    if (range->kind != YamlValue::Sequence || range->items.size() != 2)
      return range->error("expected the two ends, [low, high]");
    auto low = valueOf(range->items[0]);
    if (!low)
      return low.takeError();
    auto high = valueOf(range->items[1]);
    if (!high)
      return high.takeError();
    if (!(*low <= *high))
      return range->error("the first end is above the second");
    facts.range = {*low, *high};
  }
  if (!padding)
    return Error::success();
  if (Error error = allowOnly(*padding, {"row", "with"}, "'padding'"))
    return error;
  const YamlValue *row = padding->find("row"), *with = padding->find("with");
  if (!row || !with)
    return padding->error("expected the elements of a row and what it is filled up with, {row: 8, "
                          "with: -1}");
  auto elements = valueOf(*row);
  if (!elements)
    return elements.takeError();
  auto filler = valueOf(*with);
  if (!filler)
    return filler.takeError();
  if (!(*elements >= 1) || *elements != std::floor(*elements))
    return row->error("a row has a whole number of elements, at least 1");
  facts.padding = {static_cast<uint64_t>(*elements), *filler};
  return Error::success();
}

Expected<double> Reader::valueOf(const YamlValue &value) {
  auto source = text(value);
  if (!source)
    return source.takeError();
  double literal;
  if (!StringRef(*source).getAsDouble(literal))
    return literal;
  auto checked = expression(value);
  if (!checked)
    return checked.takeError();
  auto number = evaluateExpression(*checked, workload.sizes);
  if (!number)
    return value.error(llvm::toString(number.takeError()));
  return static_cast<double>(*number);
}

Error Reader::checkAdmissible(const YamlValue &value, const SizeMap &sizes) {
  for (const auto &[name, size] : sizes)
    if (auto known = workload.admissible.find(name);
        known != workload.admissible.end() && !known->second.admits(size))
      return value.error(
          "size '" + name + "' is " + std::to_string(size) + ", but callers pass " +
              known->second.describe(),
          "'admissible' says so; sizes, test-sizes and unseen-sizes must all fit it");
  return Error::success();
}

Error Reader::readAdmissible(const YamlValue &value) {
  if (value.kind != YamlValue::Mapping)
    return value.error("expected sizes such as {n: {multiple: 4, minimum: 16}}");
  for (const auto &[name, limits] : value.fields) {
    if (!workload.sizes.count(name.scalar))
      return name.error("no size '" + name.scalar + "' in 'sizes'");
    if (Error error = allowOnly(limits, {"multiple", "minimum", "maximum", "power-of-two"},
                                "an admissible size"))
      return error;
    AdmissibleSize &size = workload.admissible[name.scalar];
    int64_t maximum = 0;
    for (auto [field, into, least] : {std::tuple(StringRef("multiple"), &size.multiple, int64_t(1)),
                                      {"minimum", &size.minimum, 0},
                                      {"maximum", &maximum, 1}})
      if (const YamlValue *number = limits.find(field);
          number && (StringRef(number->scalar).getAsInteger(10, *into) || *into < least))
        return number->error("'" + field + "' must be a whole number of at least " +
                             llvm::Twine(least));
    if (maximum)
      size.maximum = maximum;
    if (const YamlValue *power = limits.find("power-of-two")) {
      if (power->scalar != "true" && power->scalar != "false")
        return power->error("expected true or false");
      size.isPowerOfTwo = power->scalar == "true";
    }
    if (!size.admits(workload.sizes.at(name.scalar)))
      return limits.error("size '" + name.scalar + "' is " +
                              std::to_string(workload.sizes.at(name.scalar)) + ", which is not " +
                              size.describe(),
                          "the shape to make fast must be one that callers pass");
  }
  return Error::success();
}

/// A generated program fills its inputs first, and then what is read and written.
void Reader::numberFacts() {
  unsigned number = 0;
  for (bool isInput : {true, false})
    for (WorkloadParameter &parameter : workload.parameters) {
      if (!parameter.isBuffer || parameter.onHost || parameter.role == Role::Out ||
          (parameter.role == Role::In) != isInput)
        continue;
      if (parameter.facts) {
        parameter.facts->upload = number;
        parameter.facts->name = parameter.name;
        workload.uploadFacts.push_back(*parameter.facts);
      }
      ++number;
    }
}

Error Reader::readLimits(const YamlValue &value) {
  if (Error error = allowOnly(value, {"seconds", "gibibytes", "launches"}, "'limits'"))
    return error;
  double launches = 0;
  for (auto [name, into] : {std::pair(StringRef("seconds"), &workload.limitSeconds),
                            std::pair(StringRef("gibibytes"), &workload.limitGibibytes),
                            std::pair(StringRef("launches"), &launches)}) {
    const YamlValue *field = value.find(name);
    if (!field)
      continue;
    auto amount = number(*field);
    if (!amount)
      return amount.takeError();
    if (!(*amount > 0 && *amount <= 1e6))
      return field->error("expected a number above 0, at most 1000000");
    *into = *amount;
  }
  workload.limitLaunches = static_cast<uint64_t>(std::ceil(launches));
  return Error::success();
}

Error Reader::readEntry(const YamlValue &root) {
  const YamlValue *kernel = root.find("kernel");
  const YamlValue &name = kernel ? *kernel : *root.find("entry");
  workload.kind = kernel ? WorkloadKind::Kernel : WorkloadKind::Entry;
  workload.place = name.place;
  auto entry = text(name);
  if (!entry)
    return entry.takeError();
  if (StringRef(*entry).trim().empty())
    return name.error("expected the name of a function");
  workload.entry = StringRef(*entry).trim().str();
  if (const YamlValue *sizes = root.find("sizes"))
    if (Error error = readSizes(*sizes, workload.sizes))
      return error;
  if (const YamlValue *admissible = root.find("admissible"))
    if (Error error = readAdmissible(*admissible))
      return error;
  if (Error error = readSizeList(root.find("test-sizes"), workload.testSizes))
    return error;
  if (Error error = readSizeList(root.find("unseen-sizes"), workload.unseenSizes))
    return error;
  if (const YamlValue *parameters = root.find("parameters")) {
    if (parameters->kind != YamlValue::Sequence)
      return parameters->error("expected a list of parameters");
    for (const YamlValue &parameter : parameters->items)
      if (Error error = readParameter(parameter))
        return error;
    numberFacts();
  }
  return readLaunch(root);
}

Error Reader::readLaunch(const YamlValue &root) {
  const YamlValue *grid = root.find("grid"), *block = root.find("block"),
                  *shared = root.find("shared");
  if (workload.kind == WorkloadKind::Entry) {
    for (const YamlValue *value : {grid, block, shared})
      if (value)
        return value->error("an entry launches by itself: 'grid', 'block' and 'shared' belong to a "
                            "kernel");
    return Error::success();
  }
  if (!grid || !block)
    return root.error("kernel '" + workload.entry + "' needs 'grid' and 'block'");
  auto gridText = expressions(*grid, 3);
  if (!gridText)
    return gridText.takeError();
  auto blockText = expressions(*block, 3);
  if (!blockText)
    return blockText.takeError();
  workload.grid = std::move(*gridText);
  workload.block = std::move(*blockText);
  if (!shared)
    return Error::success();
  auto bytes = expression(*shared);
  if (!bytes)
    return bytes.takeError();
  workload.sharedBytes = *bytes;
  return Error::success();
}

Error Reader::readSizes(const YamlValue &value, SizeMap &sizes) {
  if (value.kind != YamlValue::Mapping)
    return value.error("expected sizes such as {n: 1024, k: 64}");
  for (const auto &[name, number] : value.fields) {
    int64_t size;
    if (!llvm::all_of(name.scalar, [](char c) { return llvm::isAlnum(c) || c == '_'; }) ||
        name.scalar.empty() || llvm::isDigit(name.scalar[0]))
      return name.error("'" + name.scalar + "' is no name for a size");
    if (number.kind != YamlValue::Scalar || StringRef(number.scalar).getAsInteger(10, size) ||
        size < 0)
      return number.error("size '" + name.scalar + "' must be a whole number of at least 0");
    sizes[name.scalar] = size;
  }
  return Error::success();
}

Error Reader::readSizeList(const YamlValue *value, std::vector<SizeMap> &list) {
  if (!value)
    return Error::success();
  if (value->kind != YamlValue::Sequence)
    return value->error("expected a list of sizes, [{n: 1}, {n: 31}]");
  for (const YamlValue &item : value->items) {
    SizeMap sizes;
    if (Error error = readSizes(item, sizes))
      return error;
    for (auto &[name, size] : sizes)
      if (!workload.sizes.count(name))
        return item.error("no size '" + name + "' in 'sizes'");
    sizes.insert(workload.sizes.begin(), workload.sizes.end()); // what is not given stays
    if (Error error = checkAdmissible(item, sizes))
      return error;
    list.push_back(std::move(sizes));
  }
  return Error::success();
}

Expected<std::string> Reader::expression(const YamlValue &value) {
  auto source = text(value);
  if (!source)
    return source.takeError();
  // At the sizes given it must have a value; other sizes are checked when used.
  auto names = namesInExpression(*source);
  if (!names)
    return value.error(llvm::toString(names.takeError()));
  for (const std::string &name : *names)
    if (!workload.sizes.count(name))
      return value.error(llvm::toString(evaluateExpression(*source, workload.sizes).takeError()),
                         "declare it under 'sizes'");
  return *source;
}

Expected<std::vector<std::string>> Reader::expressions(const YamlValue &value, size_t most) {
  std::vector<YamlValue> items;
  if (value.kind == YamlValue::Sequence) {
    items = value.items;
  } else {
    auto source = text(value);
    if (!source)
      return source.takeError();
    int depth = 0;
    std::string one;
    for (char c : *source + ",") {
      depth += (c == '(') - (c == ')');
      if (c != ',' || depth > 0) {
        one += c;
        continue;
      }
      YamlValue item = value;
      item.scalar = StringRef(one).trim().str();
      items.push_back(std::move(item));
      one.clear();
    }
  }
  if (items.empty() || items.size() > most)
    return value.error("expected 1 to " + llvm::Twine(most) + " expressions");
  std::vector<std::string> result;
  for (const YamlValue &item : items) {
    auto one = expression(item);
    if (!one)
      return one.takeError();
    result.push_back(*one);
  }
  return result;
}

Error Reader::readParameter(const YamlValue &value) {
  constexpr StringRef fields[] = {"name",    "type",      "shape", "init",   "role",
                                  "memory",  "value",     "cxx",   "values", "range",
                                  "padding", "alignment", "fixed"};
  if (Error error = allowOnly(value, fields, "a parameter"))
    return error;
  WorkloadParameter parameter;
  parameter.place = value.place;
  const YamlValue *name = value.find("name");
  if (!name || name->kind != YamlValue::Scalar)
    return value.error("the parameter has no 'name'");
  parameter.name = name->scalar;
  for (const WorkloadParameter &other : workload.parameters)
    if (other.name == parameter.name)
      return name->error("parameter '" + parameter.name + "' is given twice");
  if (const YamlValue *type = value.find("type")) {
    auto element = kbrt::elementTypeFromName(type->scalar);
    if (!element || *element == ElementType::Unknown)
      return type->error("'" + type->scalar +
                         "' is no element type (bool, i8, u8, i16, u16, i32, "
                         "u32, i64, u64, f16, bf16, f32, f64)");
    parameter.element = *element;
  }
  parameter.isBuffer = value.find("shape") != nullptr;
  bool isScalar = value.find("value") || value.find("cxx");
  if (parameter.isBuffer == isScalar)
    return value.error("parameter '" + parameter.name +
                       "' needs either 'shape' (a buffer), 'value' or 'cxx' (a scalar)");
  if (Error error =
          parameter.isBuffer ? readBuffer(value, parameter) : readScalar(value, parameter))
    return error;
  workload.parameters.push_back(std::move(parameter));
  return Error::success();
}

Error Reader::readBuffer(const YamlValue &value, WorkloadParameter &parameter) {
  if (parameter.element == ElementType::Unknown)
    return value.error("buffer '" + parameter.name + "' needs a 'type'");
  auto shape = expressions(*value.find("shape"), 8);
  if (!shape)
    return shape.takeError();
  parameter.shape = std::move(*shape);
  const YamlValue *role = value.find("role");
  if (!role)
    return value.error("buffer '" + parameter.name + "' needs a 'role': in, out or inout");
  if (role->scalar == "in")
    parameter.role = Role::In;
  else if (role->scalar == "out")
    parameter.role = Role::Out;
  else if (role->scalar == "inout")
    parameter.role = Role::InOut;
  else
    return role->error("'" + role->scalar + "' is no role (in, out, inout)");
  if (const YamlValue *memory = value.find("memory")) {
    if (memory->scalar != "device" && memory->scalar != "host")
      return memory->error("'" + memory->scalar + "' is no memory (device, host)");
    if (memory->scalar == "host" && workload.kind == WorkloadKind::Kernel)
      return memory->error("a kernel takes device memory");
    parameter.onHost = memory->scalar == "host";
  }
  const YamlValue *init = value.find("init");
  if (init && parameter.role == Role::Out)
    return init->error("'" + parameter.name + "' is out: it holds no values before the call");
  if (init)
    if (Error error = readInit(*init, parameter))
      return error;
  return readStatements(value, parameter);
}

Error Reader::readStatements(const YamlValue &value, WorkloadParameter &parameter) {
  if (const YamlValue *alignment = value.find("alignment")) {
    constexpr uint64_t mostAlignment = 256; // what cudaMalloc gives
    if (StringRef(alignment->scalar).getAsInteger(10, parameter.alignment) ||
        !llvm::isPowerOf2_64(parameter.alignment) || parameter.alignment > mostAlignment ||
        parameter.alignment < kbrt::elementBytes(parameter.element))
      return alignment->error(
          "an alignment is a power of two in bytes, no less than an element and "
          "at most 256");
  }
  if (const YamlValue *fixed = value.find("fixed"))
    return fixed->error("'fixed' is for scalars; say what the elements of '" + parameter.name +
                        "' keep with 'values', 'range' and 'padding'");
  for (StringRef field : {"values", "range", "padding"})
    if (const YamlValue *stated = value.find(field)) {
      if (parameter.role == Role::Out)
        return stated->error("'" + parameter.name + "' is out: it holds no values before the call");
      if (parameter.onHost)
        return stated->error("'" + parameter.name +
                                 "' lies in host memory, and the function copies it by itself",
                             "state it of the upload, under 'uploads'");
      parameter.facts.emplace();
    }
  return parameter.facts ? readFacts(value, *parameter.facts) : Error::success();
}

Error Reader::readInit(const YamlValue &value, WorkloadParameter &parameter) {
  struct Row {
    StringRef name;
    InitKind kind;
    unsigned arguments;
    bool optional; ///< the arguments may be left out, all together
  };
  constexpr Row rows[] = {
      {"uniform", InitKind::Uniform, 2, true},    {"range", InitKind::Uniform, 2, false},
      {"normal", InitKind::Normal, 2, true},      {"iota", InitKind::Iota, 0, false},
      {"zeros", InitKind::Zeros, 0, false},       {"ones", InitKind::Ones, 0, false},
      {"constant", InitKind::Constant, 1, false}, {"permutation", InitKind::Permutation, 0, false},
      {"offsets", InitKind::Offsets, 1, false},   {"padded", InitKind::Padded, 2, false}};
  auto source = text(value);
  if (!source)
    return source.takeError();
  auto [name, rest] = StringRef(*source).split('(');
  llvm::SmallVector<StringRef> arguments;
  if (StringRef(*source).contains('(')) {
    rest = rest.rtrim();
    if (!rest.consume_back(")"))
      return value.error("expected ')' in '" + *source + "'");
    rest.split(arguments, ',');
    if (StringRef(*source).count('(') > 1) // min(a, b) among them
      return value.error("write the ends of '" + *source + "' without calls");
  }
  for (const Row &row : rows) {
    if (row.name != name.trim())
      continue;
    if (arguments.size() != row.arguments && !(row.optional && arguments.empty()))
      break;
    parameter.init.kind = row.kind;
    std::optional<double> *places[] = {&parameter.init.low, &parameter.init.high};
    std::string *texts[] = {&parameter.init.lowText, &parameter.init.highText};
    for (auto [argument, place, expression] : llvm::zip(arguments, places, texts)) {
      YamlValue one = value;
      one.scalar = argument.trim().str();
      auto known = valueOf(one);
      if (!known) {
        llvm::consumeError(known.takeError());
        return value.error("'" + argument.trim() +
                           "' is neither a number nor an expression in the sizes");
      }
      *place = *known;
      if (double literal; argument.trim().getAsDouble(literal))
        *expression = one.scalar;
    }
    if (row.kind == InitKind::Uniform && parameter.init.low &&
        *parameter.init.low >= *parameter.init.high)
      return value.error("the range of '" + *source + "' is empty");
    return Error::success();
  }
  return value.error("'" + *source +
                     "' is no distribution (uniform, uniform(low, high), "
                     "range(low, high), normal, normal(mean, deviation), constant(value), iota, "
                     "zeros, ones, permutation, offsets(total), padded(row, end))");
}

Error Reader::readScalar(const YamlValue &value, WorkloadParameter &parameter) {
  const YamlValue *number = value.find("value"), *cxx = value.find("cxx");
  if (number && cxx)
    return cxx->error("'" + parameter.name + "' has both 'value' and 'cxx'");
  if (const YamlValue *fixed = value.find("fixed")) {
    if (fixed->scalar != "true" && fixed->scalar != "false")
      return fixed->error("expected true or false");
    parameter.isFixed = fixed->scalar == "true";
  }
  for (StringRef field : {"init", "role", "memory", "values", "range", "padding", "alignment"})
    if (const YamlValue *extra = value.find(field))
      return extra->error("'" + field + "' has no meaning for the scalar '" + parameter.name + "'");
  if (cxx) {
    auto source = text(*cxx);
    if (!source)
      return source.takeError();
    parameter.value = *source;
    parameter.isCxx = true;
    return Error::success();
  }
  auto source = text(*number);
  if (!source)
    return source.takeError();
  double literal;
  int64_t whole;
  const bool isLiteral = !StringRef(*source).getAsDouble(literal);
  if (isLiteral &&
      (kbrt::isFloatingPoint(parameter.element) || StringRef(*source).getAsInteger(10, whole))) {
    parameter.value = *source;
    parameter.isCxx = true;
    return Error::success();
  }
  auto checked = expression(*number);
  if (!checked)
    return checked.takeError();
  parameter.value = *checked;
  return Error::success();
}

Error Reader::readTolerance(const YamlValue &value) {
  if (Error error = allowOnly(value, {"relative", "absolute"}, "'tolerance'"))
    return error;
  workload.tolerance.emplace();
  for (auto [name, into] : {std::pair{"relative", &workload.tolerance->relative},
                            std::pair{"absolute", &workload.tolerance->absolute}})
    if (const YamlValue *field = value.find(name)) {
      auto bound = number(*field);
      if (!bound)
        return bound.takeError();
      if (!(*bound >= 0))
        return field->error("a tolerance is at least 0");
      *into = *bound;
    }
  return Error::success();
}

} // namespace

Expected<Workload> kbopt::parseWorkload(StringRef text, StringRef file, unsigned firstLine) {
  auto root = parseYaml(text, file, firstLine);
  if (!root)
    return root.takeError();
  Workload workload;
  workload.file = file.str();
  if (Error error = Reader(workload).read(*root))
    return std::move(error);
  return workload;
}
