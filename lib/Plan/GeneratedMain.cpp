//===- GeneratedMain.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/GeneratedMain.h"

#include "CxxTypes.h"
#include "DriverText.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace kbopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {

class Generator {
public:
  Generator(const Workload &workload, const Signature &signature)
      : workload(workload), signature(signature), os(text) {}

  Expected<std::string> run(StringRef sourcePath, llvm::ArrayRef<DriverRun> runs);
  Expected<std::vector<OverlappingPair>> overlaps(const SizeMap &sizes);
  Expected<uint64_t> bytes(const SizeMap &sizes);

private:
  Expected<uint64_t> elements(const WorkloadParameter &parameter);
  Error emitRun(const DriverRun &run);
  Error emitBuffer(const WorkloadParameter &parameter, size_t index);
  /// Declares it for the largest of the run's calls, and fills it before each.
  Error emitReusedBuffer(const WorkloadParameter &parameter, size_t index);
  Error emitFill(const WorkloadParameter &parameter, size_t index);
  Error emitCall();
  void emitReadBack(const WorkloadParameter &parameter, size_t index);
  Expected<std::string> argument(size_t index);
  Expected<std::string> dimensions(const std::vector<std::string> &expressions, StringRef what);
  Expected<std::string> launchConfiguration();
  Expected<std::string> initializer(const WorkloadParameter &parameter, size_t index,
                                    uint64_t count);
  /// Elements between the start of an allocation and the pointer that the call gets.
  uint64_t skipped(const WorkloadParameter &parameter) const;
  std::string withSizes(StringRef cxx) const;
  Expected<int64_t> evaluate(StringRef expression, StringRef place);

  const Workload &workload;
  const Signature &signature;
  DriverCall call;
  DriverRun now;
  std::map<size_t, size_t> inPlaceOf; ///< outputs to inputs
  std::vector<uint64_t> counts;
  std::string text;
  llvm::raw_string_ostream os;
};

/// Elements lie in host memory as these types: no CUDA header is needed.
std::string storageType(ElementType element) {
  if (element == ElementType::F16)
    return "kb_driver::Half";
  if (element == ElementType::BF16)
    return "kb_driver::Bfloat";
  if (element == ElementType::Bool)
    return "unsigned char";
  return cxxElementType(element).str();
}

std::string quoted(StringRef name) {
  std::string text = "\"";
  for (char c : name)
    text += (c == '"' || c == '\\') ? std::string("\\") + c : std::string(1, c);
  return text + "\"";
}

std::string literal(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.17g", value);
  return llvm::StringRef(text).contains_insensitive("n") ? "0.0" : text; // no inf, no nan
}

Expected<int64_t> Generator::evaluate(StringRef expression, StringRef place) {
  auto value = evaluateExpression(expression, call.sizes);
  if (!value)
    return llvm::make_error<UsageError>((place + ": " + llvm::toString(value.takeError())).str(),
                                        "", ExitStatus::Diagnostics);
  return value;
}

Expected<uint64_t> Generator::elements(const WorkloadParameter &parameter) {
  uint64_t product = 1;
  for (const std::string &factor : parameter.shape) {
    auto value = evaluate(factor, parameter.place);
    if (!value)
      return value.takeError();
    uint64_t bytes = 0;
    if (*value < 0 || __builtin_mul_overflow(product, static_cast<uint64_t>(*value), &product) ||
        __builtin_mul_overflow(product, uint64_t{8}, &bytes))
      return llvm::make_error<UsageError>(
          parameter.place + ": buffer '" + parameter.name + "' has " +
              (*value < 0 ? "a negative" : "too large a") + " shape: '" + factor + "' is " +
              std::to_string(*value),
          "", ExitStatus::Diagnostics);
  }
  return product;
}

uint64_t Generator::skipped(const WorkloadParameter &parameter) const {
  if (now.layout != BufferLayout::Misaligned)
    return 0;
  return std::max<uint64_t>(1, parameter.alignment / kbrt::elementBytes(parameter.element));
}

Expected<std::string> Generator::initializer(const WorkloadParameter &parameter, size_t index,
                                             uint64_t count) {
  std::string type = "<" + storageType(parameter.element) + ">(" + std::to_string(count);
  // Each buffer has a stream of its own, whatever the others hold.
  std::string stream =
      ", " + std::to_string(call.seed * 0x9e3779b97f4a7c15u + (index + 1) * 0xd1342543de82ef95u) +
      "u";
  bool isFloat = kbrt::isFloatingPoint(parameter.element);
  Init init = parameter.init;
  for (auto [text, number] : {std::pair(&init.lowText, &init.low), {&init.highText, &init.high}})
    if (!text->empty()) {
      auto value = evaluate(*text, parameter.place);
      if (!value)
        return value.takeError();
      *number = static_cast<double>(*value);
    }
  auto bounds = [&](double low, double high) {
    return ", " + literal(init.low.value_or(low)) + ", " + literal(init.high.value_or(high));
  };
  switch (init.kind) {
  case InitKind::Uniform: {
    double high = parameter.element == ElementType::Bool ? 2 : 100;
    return "uniform" + type + stream + (isFloat ? bounds(-1, 1) : bounds(0, high)) +
           (isFloat ? ", false)" : ", true)");
  }
  case InitKind::Normal:
    return "normal" + type + stream + bounds(0, 1) + ")";
  case InitKind::Iota:
    return "iota" + type + ")";
  case InitKind::Zeros:
    return "constant" + type + ", 0)";
  case InitKind::Ones:
    return "constant" + type + ", 1)";
  case InitKind::Constant:
    return "constant" + type + ", " + literal(init.low.value_or(0)) + ")";
  case InitKind::Permutation:
    return "permutation" + type + stream + ")";
  case InitKind::Offsets:
    return "offsets" + type + stream + ", " + literal(init.low.value_or(0)) + ")";
  case InitKind::Padded:
    return "padded" + type + stream + bounds(1, 1) + ")";
  }
  llvm_unreachable("all kinds are handled");
}

Expected<std::vector<OverlappingPair>> Generator::overlaps(const SizeMap &sizes) {
  call.sizes = sizes;
  std::vector<OverlappingPair> pairs;
  std::set<size_t> taken;
  auto qualifies = [&](size_t index, bool isInput) {
    const WorkloadParameter &parameter = workload.parameters[index];
    return parameter.isBuffer && !parameter.onHost && (parameter.role == Role::In) == isInput &&
           parameter.element != ElementType::Unknown &&
           !StringRef(signature.parameters[index].type).contains("restrict");
  };
  for (size_t output = 0; output < workload.parameters.size(); ++output) {
    if (!qualifies(output, /*isInput=*/false))
      continue;
    auto needed = elements(workload.parameters[output]);
    if (!needed)
      return needed.takeError();
    for (size_t input = 0; input < workload.parameters.size(); ++input) {
      if (!qualifies(input, /*isInput=*/true) || taken.count(input) ||
          workload.parameters[input].element != workload.parameters[output].element)
        continue;
      auto available = elements(workload.parameters[input]);
      if (!available)
        return available.takeError();
      if (*available < *needed)
        continue;
      pairs.push_back({output, input});
      taken.insert(input);
      break;
    }
  }
  return pairs;
}

Expected<uint64_t> Generator::bytes(const SizeMap &sizes) {
  call.sizes = sizes;
  uint64_t sum = 0;
  for (const WorkloadParameter &parameter : workload.parameters) {
    if (!parameter.isBuffer)
      continue;
    auto count = elements(parameter);
    if (!count)
      return count.takeError();
    if (*count > INT32_MAX)
      return llvm::make_error<UsageError>(parameter.place +
                                              ": an int does not count the elements of buffer '" +
                                              parameter.name + "'",
                                          "", ExitStatus::Diagnostics);
    sum += *count * std::max(1u, kbrt::elementBytes(parameter.element));
  }
  return sum;
}

Error Generator::emitBuffer(const WorkloadParameter &parameter, size_t index) {
  auto count = elements(parameter);
  if (!count)
    return count.takeError();
  counts[index] = *count;
  std::string type = storageType(parameter.element), id = std::to_string(index);
  bool filled = parameter.role != Role::Out && !now.isDry;
  if (parameter.onHost && now.isDry) {
    os << "  " << type << " *buffer" << id << " = kb_driver::hostUnset<" << type << ">(" << *count
       << ");\n";
    return Error::success();
  }
  auto values = filled ? initializer(parameter, index, *count) : Expected<std::string>("");
  if (!values)
    return values.takeError();
  if (parameter.onHost) {
    os << "  std::vector<" << type << "> host" << id << " = kb_driver::"
       << (filled ? *values : "constant<" + type + ">(" + std::to_string(*count) + ", 0)")
       << ";\n  " << type << " *buffer" << id << " = host" << id << ".data();\n";
    return Error::success();
  }
  os << "  " << type << " *buffer" << id << " = ";
  if (auto input = inPlaceOf.find(index); input != inPlaceOf.end()) {
    os << "buffer" << input->second << ";\n";
    return Error::success();
  }
  os << "kb_driver::";
  if (filled)
    os << "device(kb_driver::" << *values << ", ";
  else
    os << "deviceUnset<" << type << ">(" << *count << ", ";
  os << quoted(parameter.name) << ", " << skipped(parameter) << ");\n";
  return Error::success();
}

Error Generator::emitReusedBuffer(const WorkloadParameter &parameter, size_t index) {
  uint64_t most = 0;
  for (const DriverCall &each : now.calls) {
    call = each;
    auto count = elements(parameter);
    if (!count)
      return count.takeError();
    most = std::max(most, *count);
  }
  std::string type = storageType(parameter.element), id = std::to_string(index);
  if (parameter.onHost)
    os << "  std::vector<" << type << "> host" << id << "(" << most << ");\n  " << type
       << " *buffer" << id << " = host" << id << ".data();\n";
  else
    os << "  " << type << " *buffer" << id << " = kb_driver::deviceUnset<" << type << ">(" << most
       << ", " << quoted(parameter.name) << ", " << skipped(parameter) << ");\n";
  return Error::success();
}

Error Generator::emitFill(const WorkloadParameter &parameter, size_t index) {
  auto count = elements(parameter);
  if (!count)
    return count.takeError();
  counts[index] = *count;
  if (parameter.role == Role::Out && !parameter.onHost)
    return Error::success();
  std::string type = storageType(parameter.element), id = std::to_string(index);
  auto values = initializer(parameter, index, *count);
  if (!values)
    return values.takeError();
  os << "  kb_driver::" << (parameter.onHost ? "refillHost" : "refill") << "(buffer" << id
     << ", kb_driver::"
     << (parameter.role != Role::Out ? *values
                                     : "constant<" + type + ">(" + std::to_string(*count) + ", 0)")
     << ", " << quoted(parameter.name) << ");\n";
  return Error::success();
}

void Generator::emitReadBack(const WorkloadParameter &parameter, size_t index) {
  if (!parameter.isBuffer || parameter.role == Role::In)
    return;
  if (parameter.onHost)
    os << "  kb_driver::print(buffer" << index << ", " << counts[index] << ", "
       << quoted(parameter.name) << ");\n";
  else
    os << "  kb_driver::readBack(buffer" << index << ", " << counts[index] << ", "
       << quoted(parameter.name) << (now.ownStream ? ", kb_stream);\n" : ");\n");
}

/// \p cxx with other floating-point numbers.
std::string withOtherNumbers(StringRef cxx) {
  std::string result;
  while (!cxx.empty()) {
    StringRef word =
        cxx.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    if (word.empty())
      word = cxx.take_front(1);
    cxx = cxx.drop_front(word.size());
    // The sign of an exponent belongs to it.
    if (llvm::isDigit(word[0]) && (word.ends_with("e") || word.ends_with("E")) &&
        !word.contains("x") && (cxx.starts_with("-") || cxx.starts_with("+"))) {
      size_t length = 1 + cxx.drop_front().take_while(llvm::isAlnum).size();
      word = StringRef(word.data(), word.size() + length);
      cxx = cxx.drop_front(length);
    }
    const bool isFloat = (llvm::isDigit(word[0]) || (word[0] == '.' && word.size() > 1)) &&
                         !word.contains("x") && word.find_first_of(".eE") != StringRef::npos;
    result +=
        isFloat ? "(" + word.str() + (word.ends_with("f") ? " * 0.75f)" : " * 0.75)") : word.str();
  }
  return result;
}

bool isNumber(StringRef text) { return !text.empty() && llvm::all_of(text, llvm::isDigit); }
bool isStream(StringRef type) {
  return type.contains("CUstream_st") || type.contains("cudaStream_t");
}

std::string Generator::withSizes(StringRef cxx) const {
  std::string result;
  while (!cxx.empty()) {
    StringRef word =
        cxx.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    if (word.empty())
      word = cxx.take_front(1);
    auto found = call.sizes.find(word.str());
    result += found == call.sizes.end() ? word.str() : std::to_string(found->second);
    cxx = cxx.drop_front(word.size());
  }
  return result;
}

Expected<std::string> Generator::argument(size_t index) {
  const WorkloadParameter &parameter = workload.parameters[index];
  StringRef type = signature.parameters[index].type;
  if (parameter.isBuffer) {
    std::string pointee = pointeeText(type);
    std::string pointer = "buffer" + std::to_string(index);
    if (pointee == "void")
      return pointer;
    if (kbrt::elementTypeFromCxx(pointee) != ElementType::Unknown)
      return "reinterpret_cast<" + pointee + " *>(" + pointer + ")";
    // A type that is no number: with explicit template arguments any pointer
    // converts; without them the element type must be deducible.
    if (StringRef(workload.entry).contains('<'))
      return "kb_driver::AnyPointer{" + pointer + "}";
    return "reinterpret_cast<" + cxxElementType(parameter.element).str() + " *>(" + pointer + ")";
  }
  if (now.ownStream && isStream(type))
    return std::string("kb_stream");
  if (parameter.isCxx)
    return withSizes(call.otherScalars && !parameter.isFixed ? withOtherNumbers(parameter.value)
                                                             : parameter.value);
  auto value = evaluate(parameter.value, parameter.place);
  if (!value)
    return value.takeError();
  if (call.otherScalars && !parameter.isFixed && isNumber(parameter.value))
    ++*value;
  ElementType element = scalarElement(type);
  if (element == ElementType::Unknown)
    element = parameter.element;
  std::string number =
      *value == INT64_MIN ? "(-9223372036854775807ll - 1)" : std::to_string(*value) + "ll";
  if (element == ElementType::Unknown)
    return number;
  return "static_cast<" + cxxElementType(element).str() + ">(" + number + ")";
}

Expected<std::string> Generator::dimensions(const std::vector<std::string> &expressions,
                                            StringRef what) {
  std::vector<std::string> values;
  for (const std::string &expression : expressions) {
    auto value = evaluate(expression, workload.place);
    if (!value)
      return value.takeError();
    if (*value < 1 || *value > INT32_MAX)
      return llvm::make_error<UsageError>(workload.place + ": the " + what.str() + " of kernel '" +
                                              workload.entry + "' is empty or too large: '" +
                                              expression + "' is " + std::to_string(*value),
                                          "", ExitStatus::Diagnostics);
    values.push_back(std::to_string(*value));
  }
  return "dim3(" + llvm::join(values, ", ") + ")";
}

Expected<std::string> Generator::launchConfiguration() {
  if (workload.kind != WorkloadKind::Kernel)
    return std::string();
  auto grid = dimensions(workload.grid, "grid");
  if (!grid)
    return grid.takeError();
  auto block = dimensions(workload.block, "block");
  if (!block)
    return block.takeError();
  auto shared = evaluate(workload.sharedBytes, workload.place);
  if (!shared)
    return shared.takeError();
  if (*shared < 0)
    return llvm::make_error<UsageError>(workload.place + ": the shared bytes of kernel '" +
                                            workload.entry + "' are " + std::to_string(*shared),
                                        "", ExitStatus::Diagnostics);
  // More than 48 KiB must be asked for.
  if (*shared > (48 << 10))
    os << "  kb_driver::check(cudaFuncSetAttribute(reinterpret_cast<const void *>(&"
       << workload.entry << "), cudaFuncAttributeMaxDynamicSharedMemorySize, " << *shared
       << "), \"shared memory\");\n";
  return "<<<" + *grid + ", " + *block + ", " + std::to_string(*shared) + ">>>";
}

Error Generator::emitCall() {
  auto configuration = launchConfiguration();
  if (!configuration)
    return configuration.takeError();
  std::vector<std::string> arguments;
  for (size_t i = 0; i < workload.parameters.size(); ++i) {
    auto one = argument(i);
    if (!one)
      return one.takeError();
    arguments.push_back(*one);
  }
  const bool returns = workload.kind == WorkloadKind::Entry && signature.returnType != "void" &&
                       signature.returnType != "auto";
  if (now.ownStream)
    os << "  kb_driver::check(cudaDeviceSynchronize(), \"buffers\");\n";
  os << "  " << (returns ? "kb_driver::printReturn(" : "") << workload.entry << *configuration
     << "(" << llvm::join(arguments, ",\n      ") << (returns ? "));\n" : ");\n");
  if (now.isDry)
    return Error::success();
  os << "  kb_driver::check(cudaGetLastError(), " << quoted(workload.entry) << ");\n"
     << "  kb_driver::check("
     << (now.ownStream ? "cudaStreamSynchronize(kb_stream), " : "cudaDeviceSynchronize(), ")
     << quoted(workload.entry) << ");\n";
  for (auto [index, parameter] : llvm::enumerate(workload.parameters))
    emitReadBack(parameter, index);
  return Error::success();
}

Error Generator::emitRun(const DriverRun &run) {
  now = run;
  call = run.calls.front();
  inPlaceOf.clear();
  counts.assign(workload.parameters.size(), 0);
  if (run.layout == BufferLayout::Overlapping) {
    auto pairs = overlaps(call.sizes);
    if (!pairs)
      return pairs.takeError();
    for (const OverlappingPair &pair : *pairs)
      inPlaceOf[pair.output] = pair.input;
  }
  if (run.ownStream)
    os << "  cudaStream_t kb_stream;\n"
       << "  kb_driver::check(cudaStreamCreateWithFlags(&kb_stream, cudaStreamNonBlocking), \"a "
          "stream\");\n";
  const bool reused = run.calls.size() > 1;
  // Inputs first: an output may lie in the place of one that follows it.
  for (bool inputs : {true, false})
    for (auto [index, parameter] : llvm::enumerate(workload.parameters))
      if (parameter.isBuffer && (parameter.role == Role::In) == inputs)
        if (Error error =
                reused ? emitReusedBuffer(parameter, index) : emitBuffer(parameter, index))
          return error;
  for (const DriverCall &each : run.calls) {
    call = each;
    for (auto [index, parameter] : llvm::enumerate(workload.parameters))
      if (reused && parameter.isBuffer)
        if (Error error = emitFill(parameter, index))
          return error;
    if (Error error = emitCall())
      return error;
  }
  for (auto [index, parameter] : llvm::enumerate(workload.parameters))
    if (parameter.isBuffer && !parameter.onHost && !inPlaceOf.count(index))
      os << "  cudaFree(buffer" << index
         << (skipped(parameter) ? " - " + std::to_string(skipped(parameter)) : "") << ");\n";
  return Error::success();
}

Expected<std::string> Generator::run(StringRef sourcePath, llvm::ArrayRef<DriverRun> runs) {
  os << "// The driver that kb-opt made for '" << workload.entry << "'.\n"
     << "#include <algorithm>\n#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n#include "
        "<type_traits>\n#include <vector>\n"
     << "#define main kb_original_main\n#include " << quoted(sourcePath) << "\n#undef main\n"
     << driverHelpers;
  for (auto [number, run] : llvm::enumerate(runs)) {
    os << "\nstatic void kb_run" << number << "() {\n";
    if (Error error = emitRun(run))
      return std::move(error);
    os << "}\n";
  }
  os << "\nint main(int argc, char **argv) {\n  switch (argc > 1 ? std::atoi(argv[1]) : 0) {\n";
  for (size_t number = 0; number < runs.size(); ++number)
    os << "  case " << number << ": kb_run" << number << "(); break;\n";
  os << "  }\n  return 0;\n}\n";
  return text;
}

} // namespace

Expected<uint64_t> kbopt::bufferBytes(const Workload &workload, const Signature &signature,
                                      const SizeMap &sizes) {
  return Generator(workload, signature).bytes(sizes);
}

bool kbopt::hasOtherScalars(const Workload &workload) {
  return llvm::any_of(workload.parameters, [](const WorkloadParameter &parameter) {
    return !parameter.isBuffer && !parameter.isFixed &&
           (parameter.isCxx ? withOtherNumbers(parameter.value) != parameter.value
                            : isNumber(parameter.value));
  });
}

bool kbopt::takesStream(const Workload &workload, const Signature &signature) {
  for (size_t i = 0; i < workload.parameters.size() && i < signature.parameters.size(); ++i)
    if (!workload.parameters[i].isBuffer && isStream(signature.parameters[i].type))
      return true;
  return false;
}

Expected<std::string> kbopt::generateMain(const Workload &workload, const Signature &signature,
                                          StringRef sourcePath, llvm::ArrayRef<DriverRun> runs) {
  if (Error error = checkWorkload(workload, signature))
    return std::move(error);
  if (workload.kind == WorkloadKind::Program)
    return llvm::make_error<UsageError>(workload.place + ": a whole program has its own main", "",
                                        ExitStatus::Diagnostics);
  return Generator(workload, signature).run(sourcePath, runs);
}

Expected<std::string> kbopt::generateMain(const Workload &workload, const Signature &signature,
                                          StringRef sourcePath, const SizeMap &sizes, uint64_t seed,
                                          BufferLayout layout) {
  return generateMain(workload, signature, sourcePath,
                      DriverRun{{DriverCall{sizes, seed}}, layout});
}

Expected<std::vector<OverlappingPair>> kbopt::overlappingBuffers(const Workload &workload,
                                                                 const Signature &signature,
                                                                 const SizeMap &sizes) {
  if (workload.kind == WorkloadKind::Program)
    return std::vector<OverlappingPair>();
  return Generator(workload, signature).overlaps(sizes);
}
