//===- WorkloadSkeleton.cpp - A first workload for a function ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "CxxTypes.h"
#include "kb-opt/Plan/Workload.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;

namespace {

bool isInteger(ElementType type) { return type >= ElementType::I8 && type <= ElementType::U64; }

/// Integer parameters are taken for sizes: they are what shapes are made of.
std::vector<std::string> sizeNames(const Signature &signature) {
  std::vector<std::string> names;
  for (const SignatureParameter &parameter : signature.parameters)
    if (!parameter.name.empty() && isInteger(scalarElement(parameter.type)))
      names.push_back(parameter.name);
  return names;
}

std::string sizeMap(const std::vector<std::string> &names, int64_t value) {
  std::string text = "{";
  for (const std::string &name : names)
    text += (text.size() > 1 ? ", " : "") + name + ": " + std::to_string(value);
  return text + "}";
}

void writeBuffer(llvm::raw_ostream &os, const SignatureParameter &parameter, ElementType element,
                 const std::string &shape) {
  bool isConst = pointsToConst(parameter.type);
  bool known = element != ElementType::Unknown;
  os << "    type: " << (known ? kbrt::elementTypeName(element) : "f32");
  if (!known)
    os << "  # a guess: the elements of '" << parameter.type << "' are not known";
  // Which of several sizes a buffer has is not in its type.
  const bool isGuess = llvm::StringRef(shape).contains(',');
  os << "\n    shape: [" << shape << "]  # " << (isGuess ? "a guess; " : "")
     << "elements: the product of the list\n";
  os << "    role: " << (isConst ? "in" : "inout  # in, out or inout") << "\n";
  if (kbrt::isFloatingPoint(element) || !known)
    os << "    init: normal  # uniform(-1, 1), normal(0, 1), iota, zeros, ones, constant(2)\n";
  else
    os << "    init: range(0, 100)  # low <= value < high; also permutation, iota, zeros\n";
}

} // namespace

std::string kbopt::workloadSkeleton(const Signature &signature) {
  std::string text;
  llvm::raw_string_ostream os(text);
  std::vector<std::string> sizes = sizeNames(signature);
  if (sizes.empty())
    sizes.push_back("n");
  // A product of a few hundred thousand elements runs in a moment on a CPU.
  constexpr int64_t values[] = {65536, 256, 64, 16};
  int64_t benchmark = values[std::min<size_t>(sizes.size(), 4) - 1];
  std::string shape = sizes.front();
  for (const std::string &name : llvm::drop_begin(sizes))
    shape += ", " + name;
  os << "# How kb-opt runs '" << signature.name
     << "'. Expressions may use the sizes with + - * / %,\n"
     << "# min, max and ceildiv.\n"
     << (signature.isKernel ? "kernel: " : "entry: ") << signature.name << "\n"
     << "sizes: " << sizeMap(sizes, benchmark) << "  # the shape to make fast\n"
     << "test-sizes: [" << sizeMap(sizes, 1) << ", " << sizeMap(sizes, 31) << ", "
     << sizeMap(sizes, 33) << "]\n"
     << "unseen-sizes: [" << sizeMap(sizes, 97) << "]\n";
  if (!signature.parameters.empty())
    os << "parameters:\n";
  for (auto [index, parameter] : llvm::enumerate(signature.parameters)) {
    std::string name = parameter.name.empty() ? "argument" + std::to_string(index) : parameter.name;
    os << "  - name: " << name << "\n";
    ElementType scalar = scalarElement(parameter.type);
    if (auto pointee = pointedElement(parameter.type))
      writeBuffer(os, parameter, *pointee, shape);
    else if (isInteger(scalar) && llvm::is_contained(sizes, parameter.name))
      os << "    value: " << parameter.name << "\n";
    else if (scalar != ElementType::Unknown)
      os << "    type: " << kbrt::elementTypeName(scalar) << "\n    value: 1\n";
    else
      os << "    cxx: \"{}\"  # a C++ value of type '" << parameter.type << "'\n";
  }
  if (signature.isKernel)
    os << "grid: [\"ceildiv(" << sizes.front() << ", 256)\"]  # a guess; up to three expressions\n"
       << "block: [256]  # a guess\n"
       << "shared: 0  # bytes of dynamic shared memory\n";
  return text;
}
