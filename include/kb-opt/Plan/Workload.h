//===- Workload.h - How to exercise a program -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns workloads: what to run, with which arguments and shapes, and what counts
// as its result. It does not run anything (Recorder.h) and knows of functions
// only what a plain `Signature` says. The YAML is described in
// docs/Workloads.md.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PLAN_WORKLOAD_H
#define KBOPT_PLAN_WORKLOAD_H

#include "kb-opt/Plan/Expression.h"
#include "kb-opt/Plan/InputFacts.h"
#include "kbrt/Plan.h"
#include <optional>

namespace kbopt {

using kbrt::ElementType;

/// A function as the workload library sees it; made from an AST by code that has
/// one.
struct SignatureParameter {
  std::string name; ///< may be empty
  std::string type; ///< C++ type, canonical unless dependent: "const float *"
};
struct Signature {
  std::string name; ///< without template arguments
  bool isKernel = false;
  std::string returnType = "void";
  std::vector<SignatureParameter> parameters;
  std::string place; ///< "file:line:column" of the declaration, for messages
};

enum class WorkloadKind : uint8_t { Program, Entry, Kernel };
enum class Role : uint8_t { In, Out, InOut };
enum class InitKind : uint8_t {
  Uniform, ///< in [low, high), by default [-1, 1) for floats and [0, 100) for integers
  Normal,  ///< mean low (0), deviation high (1)
  Iota,    ///< 0, 1, 2, …
  Zeros,
  Ones,
  Constant,    ///< low everywhere
  Permutation, ///< of 0 … n-1
  Offsets,     ///< of rows: from 0 to low, none below the one before
  Padded       ///< rows of low indices below high, filled up with -1
};

struct Init {
  InitKind kind = InitKind::Uniform;
  std::optional<double> low, high; ///< at the benchmark shape
  /// The expressions in the size names that these are; empty: numbers.
  std::string lowText = {}, highText = {};
};

/// The values of one size that callers pass.
struct AdmissibleSize {
  int64_t multiple = 1; ///< of this
  int64_t minimum = 0;
  std::optional<int64_t> maximum;
  bool isPowerOfTwo = false;

  bool admits(int64_t size) const;
  /// The largest that is no more than \p size, or else the smallest.
  int64_t nearest(int64_t size) const;
  /// As "a multiple of 4 and at least 16".
  std::string describe() const;
};

/// One parameter of an entry or kernel.
struct WorkloadParameter {
  std::string name;
  bool isBuffer = false;
  ElementType element = ElementType::Unknown;
  // Buffers.
  std::vector<std::string> shape; ///< expressions; their product is the number of elements
  Init init;
  Role role = Role::In;
  bool onHost = false;    ///< the entry takes a host pointer and copies by itself
  uint64_t alignment = 0; ///< bytes that callers align the pointer to; 0: those of an element
  // Scalars: an expression in the size names, or C++ text (structs, functors,
  // floating-point values).
  std::string value;
  bool isCxx = false;
  std::optional<InputFacts> facts; ///< what its elements keep
  bool isFixed = false;            ///< callers pass no other value
  std::string place;               ///< "file:line:column" in the workload
};

/// Accepted differences, for programs that state their own.
struct DeclaredTolerance {
  double relative = 0, absolute = 0;
};

/// A number that a program takes where it is not given the argument, and whether more than 32 bits
/// of it are read.
struct DefaultArgument {
  std::string text;
  bool isWide = false;
};

/// A run of a program that the build has for its tests.
struct ProgramRun {
  std::string name;    ///< for messages: "test heat-small"
  std::string program; ///< absolute; empty: the workload's own
  std::vector<std::string> arguments;
  std::vector<std::string> environment; ///< NAME=value
  std::string workingDirectory;         ///< absolute
};

struct Workload {
  WorkloadKind kind = WorkloadKind::Program;
  std::string file;  ///< where it was written
  std::string place; ///< "file:line:column" of its entry

  // Program.
  std::vector<std::string> arguments;
  /// Where there are none: those with which the program does the same, as its source says.
  std::vector<DefaultArgument> defaultArguments;
  std::string standardInput;
  std::vector<std::string> environment; ///< NAME=value
  std::string workingDirectory;         ///< empty: the source's folder
  /// How long the recorded run may take, and how much memory of the host, of
  /// the device and of the recording's files it may fill; 0: the recorder's limits.
  double limitSeconds = 0, limitGibibytes = 0;
  uint64_t limitLaunches = 0; ///< the run ends after that many; 0: when it ends by itself
  /// Further runs of this program and of others that the same file goes into.
  std::vector<ProgramRun> tests;

  // Entry and kernel.
  std::string entry; ///< as called in C++: "f" or "k<float, 4>"
  std::vector<WorkloadParameter> parameters;
  SizeMap sizes;                                    ///< the benchmark shape
  std::map<std::string, AdmissibleSize> admissible; ///< by size; others may be anything
  std::vector<SizeMap> testSizes;                   ///< further shapes for gate G7, complete
  std::vector<SizeMap> unseenSizes;     ///< shapes the search never sees (G15), complete
  std::vector<std::string> grid, block; ///< kernel: 1 to 3 expressions each
  std::string sharedBytes = "0";        ///< kernel: an expression
  std::optional<DeclaredTolerance> tolerance;
  /// `oracle: float64`: results are held to the original executed in float64, not to its own.
  bool isHeldToFloat64 = false;
  std::vector<InputFacts> uploadFacts; ///< what varied inputs keep

  /// `entry` without its template arguments.
  llvm::StringRef entryName() const;
};

/// Parses the YAML \p text; \p file names it in messages. Every failure is a
/// `UsageError` (exit status 1) that starts with file:line:column.
/// \p firstLine is added to line numbers (a comment inside a source).
llvm::Expected<Workload> parseWorkload(llvm::StringRef text, llvm::StringRef file,
                                       unsigned firstLine = 1);

/// The workload written into \p source as a comment that starts with
/// `kb-workload:` (a block comment, or a run of `//` lines), if there is one.
/// \p file names the source in messages.
llvm::Expected<std::optional<Workload>> workloadInComment(llvm::StringRef source,
                                                          llvm::StringRef file);

/// \p source without the words of the workload in its comment; the numbers of lines stay. For
/// readers who must not know which sizes the last gate keeps to itself.
std::string withoutWorkload(llvm::StringRef source);

/// Finds the workload for \p sourcePath: \p explicitPath if not empty, else
/// `<source>.workload.yaml` beside it (k.cu.workload.yaml or k.workload.yaml for
/// k.cu), else the comment inside; nothing if there is none of them. A relative
/// working directory is made absolute from the folder of the workload's file.
llvm::Expected<std::optional<Workload>> findWorkload(llvm::StringRef sourcePath,
                                                     llvm::StringRef explicitPath);

/// Checks that \p workload fits \p signature: the same parameters (by name
/// where the signature has names, else by number), buffers for pointers, equal
/// element types. A contradiction is a `UsageError` (exit status 1) that names
/// both places.
llvm::Error checkWorkload(const Workload &workload, const Signature &signature);

/// What the type \p cxxType points to: nothing if it is no pointer or
/// reference; Unknown if the pointee is no number.
std::optional<ElementType> pointedElement(llvm::StringRef cxxType);
/// The type of a scalar as written; Unknown if it is no number.
ElementType scalarElement(llvm::StringRef cxxType);

/// A workload YAML for \p signature with every field that must be decided by
/// the user filled with a guess and explained by a comment. Const pointers are
/// `in`, others `inout`; integer parameters become sizes.
std::string workloadSkeleton(const Signature &signature);

} // namespace kbopt

#endif // KBOPT_PLAN_WORKLOAD_H
