//===- WorkloadTest.cpp - Reading, checking and sketching workloads ---------===//
#include "kb-opt/Plan/Workload.h"
#include "kb-opt/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

constexpr const char softmax[] = R"(# how to run it
entry: softmax_forward
sizes: {n: 64, c: 32}
test-sizes: [{n: 1}, {n: 31, c: 7}]
unseen-sizes: [{c: 1}]
parameters:
  - name: out
    type: f32
    shape: [n, c]
    role: out
  - name: inp
    type: f32
    shape: n*c
    role: in
    init: uniform(-2, 2.5)
  - name: N
    value: n
  - name: scale
    type: f32
    value: 0.5
tolerance: {relative: 1e-5}
oracle: original
)";

Workload parsed(llvm::StringRef text) {
  auto workload = parseWorkload(text, "w.yaml");
  if (!workload) {
    ADD_FAILURE() << llvm::toString(workload.takeError());
    return {};
  }
  return *workload;
}

std::string errorOf(llvm::StringRef text) {
  auto workload = parseWorkload(text, "w.yaml");
  EXPECT_FALSE(static_cast<bool>(workload)) << text.str();
  return workload ? "" : llvm::toString(workload.takeError());
}

Signature softmaxSignature() {
  return {"softmax_forward",
          false,
          "void",
          {{"out", "float *"}, {"inp", "const float *"}, {"N", "int"}, {"scale", "float"}},
          "s.cu:3:6"};
}

std::string contradictionOf(Workload workload, const Signature &signature) {
  return llvm::toString(checkWorkload(workload, signature));
}

TEST(Workload, ReadsAnEntry) {
  Workload workload = parsed(softmax);
  EXPECT_EQ(workload.kind, WorkloadKind::Entry);
  EXPECT_EQ(workload.entry, "softmax_forward");
  EXPECT_EQ(workload.place, "w.yaml:2:8");
  EXPECT_EQ(workload.sizes, (SizeMap{{"n", 64}, {"c", 32}}));
  ASSERT_EQ(workload.testSizes.size(), 2u);
  EXPECT_EQ(workload.testSizes[0], (SizeMap{{"n", 1}, {"c", 32}}));
  EXPECT_EQ(workload.unseenSizes[0], (SizeMap{{"n", 64}, {"c", 1}}));
  ASSERT_EQ(workload.parameters.size(), 4u);
  const WorkloadParameter &out = workload.parameters[0], &inp = workload.parameters[1];
  EXPECT_TRUE(out.isBuffer);
  EXPECT_EQ(out.role, Role::Out);
  EXPECT_EQ(out.shape, (std::vector<std::string>{"n", "c"}));
  EXPECT_EQ(inp.shape, (std::vector<std::string>{"n*c"}));
  EXPECT_EQ(inp.init.low, -2.0);
  EXPECT_EQ(inp.init.high, 2.5);
  EXPECT_FALSE(workload.parameters[2].isCxx);
  EXPECT_TRUE(workload.parameters[3].isCxx);
  EXPECT_EQ(workload.tolerance->relative, 1e-5);
  EXPECT_FALSE(checkWorkload(workload, softmaxSignature()));
}

TEST(Workload, ReadsItsOracle) {
  EXPECT_TRUE(parsed("program: {}\noracle: float64\n").isHeldToFloat64);
  EXPECT_FALSE(parsed("program: {}\noracle: original\n").isHeldToFloat64);
  EXPECT_FALSE(parsed("program: {}\n").isHeldToFloat64);
  std::string message = errorOf("program: {}\noracle: float128\n");
  EXPECT_TRUE(llvm::StringRef(message).contains("expected 'original' or 'float64'")) << message;
  EXPECT_TRUE(llvm::StringRef(message).starts_with("w.yaml:2:9")) << message;
}

TEST(Workload, ReadsAKernelWithCommasInItsGrid) {
  Workload workload = parsed("kernel: k<float, 4>\nsizes: {n: 9}\n"
                             "grid: ceildiv(n, 4), 2\nblock: [\"min(n, 32)\"]\nshared: 4*n\n");
  EXPECT_EQ(workload.kind, WorkloadKind::Kernel);
  EXPECT_EQ(workload.entryName(), "k");
  EXPECT_EQ(workload.grid, (std::vector<std::string>{"ceildiv(n, 4)", "2"}));
  EXPECT_EQ(workload.block, (std::vector<std::string>{"min(n, 32)"}));
  EXPECT_EQ(workload.sharedBytes, "4*n");
}

TEST(Workload, ReadsAProgram) {
  Workload workload = parsed("program:\n  arguments: [3, \"two words\"]\n  stdin: \"hello\\n\"\n"
                             "  environment: {OMP_NUM_THREADS: 1}\n  working-directory: data\n");
  EXPECT_EQ(workload.kind, WorkloadKind::Program);
  EXPECT_EQ(workload.arguments, (std::vector<std::string>{"3", "two words"}));
  EXPECT_EQ(workload.standardInput, "hello\n");
  EXPECT_EQ(workload.environment, std::vector<std::string>{"OMP_NUM_THREADS=1"});
  EXPECT_EQ(workload.workingDirectory, "data");
  EXPECT_EQ(parsed("program: true\n").kind, WorkloadKind::Program);
  workload = parsed("program: {limits: {seconds: 600, gibibytes: 0.5, launches: 7}}\n");
  EXPECT_EQ(workload.limitSeconds, 600);
  EXPECT_EQ(workload.limitGibibytes, 0.5);
  EXPECT_EQ(workload.limitLaunches, 7u);
}

TEST(Workload, ErrorsNameLineAndColumn) {
  EXPECT_EQ(
      errorOf("entry: f\nsizes: {n: 4}\nshapes: 3\n"),
      "w.yaml:3:1: a workload has no field 'shapes' (fields: program, entry, kernel, sizes, "
      "parameters, grid, block, shared, oracle, tolerance, test-sizes, unseen-sizes, uploads, "
      "admissible)");
  EXPECT_EQ(errorOf("entry: f\nsizes: {n: -4}\n"),
            "w.yaml:2:12: size 'n' must be a whole number of at least 0");
  EXPECT_EQ(errorOf("entry: f\nsizes: {n: 4}\nparameters:\n  - name: a\n    type: f32\n"
                    "    role: in\n    shape: [n, m]\n"),
            "w.yaml:7:16: expression 'm', column 1: no size 'm' (sizes: n)");
  EXPECT_EQ(errorOf("entry: f\nparameters:\n  - name: a\n    type: float\n    shape: 4\n"),
            "w.yaml:4:11: 'float' is no element type (bool, i8, u8, i16, u16, i32, u32, i64, u64, "
            "f16, bf16, f32, f64)");
  EXPECT_EQ(errorOf("entry: f\nparameters:\n  - name: a\n    type: f32\n    shape: 4\n"
                    "    role: output\n"),
            "w.yaml:6:11: 'output' is no role (in, out, inout)");
  EXPECT_EQ(errorOf("entry: f\nparameters:\n  - {name: a, type: f32, shape: 4, role: in, "
                    "init: gauss}\n")
                .substr(0, 44),
            "w.yaml:3:52: 'gauss' is no distribution (uni");
  EXPECT_EQ(errorOf("entry: f\nentry: g\n"), "w.yaml:2:1: 'entry' is given twice");
  EXPECT_EQ(errorOf("entry: f\nkernel: g\n"),
            "w.yaml:1:1: expected exactly one of 'program', 'entry' and 'kernel'");
  EXPECT_EQ(errorOf("kernel: g\n"), "w.yaml:1:1: kernel 'g' needs 'grid' and 'block'");
  EXPECT_EQ(errorOf("entry: f\ngrid: 4\n"), "w.yaml:2:7: an entry launches by itself: 'grid', "
                                            "'block' and 'shared' belong to a kernel");
  EXPECT_EQ(errorOf("entry: f\ntest-sizes: [{n: 1}]\n"), "w.yaml:2:15: no size 'n' in 'sizes'");
  EXPECT_EQ(errorOf(""), "w.yaml:1:1: the workload is empty");
  EXPECT_EQ(errorOf("entry: [f\n").substr(0, 9), "w.yaml:1:");
  EXPECT_EQ(errorOf("entry: f\ntolerance: {relative: -1}\n"),
            "w.yaml:2:23: a tolerance is at least 0");
  EXPECT_EQ(errorOf("entry: f\nparameters:\n  - {name: a, type: f32, shape: 4, role: in, "
                    "init: \"range(5, 5)\"}\n"),
            "w.yaml:3:52: the range of 'range(5, 5)' is empty");
}

TEST(Workload, IsFoundInComments) {
  auto lines = workloadInComment("#include <x>\n// kb-workload:\n//   entry: f\n"
                                 "//   sizes: {n: 4}\nvoid f();\n// other\n",
                                 "s.cu");
  ASSERT_TRUE(static_cast<bool>(lines));
  ASSERT_TRUE(lines->has_value());
  EXPECT_EQ((*lines)->entry, "f");
  EXPECT_EQ((*lines)->place, "s.cu:3:13");

  auto block = workloadInComment("/* A kernel.\n *\n * kb-workload:\n *   program:\n"
                                 " *     arguments: [7]\n */\nint main() {}\n",
                                 "s.cu");
  ASSERT_TRUE(static_cast<bool>(block));
  ASSERT_TRUE(block->has_value());
  EXPECT_EQ((*block)->arguments, std::vector<std::string>{"7"});

  auto oneLine = workloadInComment("int x; // see kb-workload: elsewhere\n"
                                   "// kb-workload: {program: {arguments: [1]}}\n",
                                   "s.cu");
  ASSERT_TRUE(static_cast<bool>(oneLine));
  ASSERT_TRUE(oneLine->has_value());
  EXPECT_EQ((*oneLine)->arguments, std::vector<std::string>{"1"});

  auto none = workloadInComment("const char *s = \"kb-workload: entry\";\n", "s.cu");
  ASSERT_TRUE(static_cast<bool>(none));
  EXPECT_FALSE(none->has_value());

  auto wrong = workloadInComment("\n// kb-workload:\n//   entree: f\n", "s.cu");
  EXPECT_EQ(llvm::toString(wrong.takeError()).substr(0, 11), "s.cu:3:6: a");
}

TEST(Workload, FileBesideTheSourceWins) {
  auto folder = TemporaryDirectory::create("workload");
  ASSERT_TRUE(static_cast<bool>(folder));
  std::string source = folder->file("k.cu");
  ASSERT_FALSE(
      realFileSystem().write(source, "// kb-workload: {program: {arguments: [inside]}}\n"));
  auto argument = [&](llvm::StringRef path) {
    auto found = findWorkload(source, path);
    return found && *found ? (*found)->arguments.at(0) : llvm::toString(found.takeError());
  };
  EXPECT_EQ(argument(""), "inside");
  ASSERT_FALSE(
      realFileSystem().write(folder->file("k.workload.yaml"), "program: {arguments: [beside]}\n"));
  EXPECT_EQ(argument(""), "beside");
  ASSERT_FALSE(
      realFileSystem().write(folder->file("other.yaml"), "program: {arguments: [explicit]}\n"));
  EXPECT_EQ(argument(folder->file("other.yaml")), "explicit");
  ASSERT_FALSE(
      realFileSystem().write(folder->file("other.yaml"), "program: {working-directory: data}\n"));
  auto found = findWorkload(source, folder->file("other.yaml"));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->workingDirectory, folder->file("data"));
  EXPECT_EQ(argument("/nonexistent.yaml"),
            "cannot read the workload '/nonexistent.yaml': No such file or directory");
}

TEST(WorkloadComment, CanBeLeftOut) {
  llvm::StringRef source =
      "// A kernel.\n// kb-workload:\n//   entry: f\n//   unseen-sizes: [{n: 7}]\nint f();\n";
  std::string blanked = withoutWorkload(source);
  EXPECT_EQ(blanked, "// A kernel.\n// kb-workload:\n//\n//\nint f();\n");

  std::string block =
      withoutWorkload("/* kb-workload:\n * entry: f\n * unseen-sizes: [{n: 7}] */ int f();\n");
  EXPECT_EQ(block.find("unseen"), std::string::npos) << block;
  EXPECT_TRUE(llvm::StringRef(block).ends_with("*/ int f();\n")) << block;
  EXPECT_EQ(withoutWorkload("int f();\n"), "int f();\n");
}

TEST(WorkloadCheck, ContradictionsNameBothSides) {
  Workload workload = parsed(softmax);
  Signature signature = softmaxSignature();
  signature.parameters[1].type = "const double *";
  EXPECT_EQ(contradictionOf(workload, signature),
            "w.yaml:11:5: the workload gives 'inp' elements of type f32, but its type is "
            "'const double *' (s.cu:3:6)");
  signature = softmaxSignature();
  signature.parameters[2].name = "M";
  EXPECT_EQ(contradictionOf(workload, signature),
            "w.yaml:16:5: the workload names parameter 'N', but the function has 'M' in its place "
            "(s.cu:3:6)");
  signature = softmaxSignature();
  signature.parameters.pop_back();
  EXPECT_EQ(contradictionOf(workload, signature),
            "w.yaml:2:8: the workload gives 4 parameters, but 'softmax_forward' takes 3 (out, inp, "
            "N) (s.cu:3:6)");
  signature = softmaxSignature();
  signature.parameters[0].type = "const float *__restrict__";
  EXPECT_EQ(contradictionOf(workload, signature),
            "w.yaml:7:5: the workload makes 'out' out, but its type is 'const float *__restrict__' "
            "(s.cu:3:6)");
  signature = softmaxSignature();
  signature.parameters[0].type = "int";
  EXPECT_EQ(contradictionOf(workload, signature),
            "w.yaml:7:5: the workload makes 'out' a buffer, but its type is 'int' (s.cu:3:6)");
  signature = softmaxSignature();
  signature.isKernel = true;
  EXPECT_EQ(contradictionOf(workload, signature),
            "w.yaml:2:8: the workload calls 'softmax_forward' an entry, but it is a kernel "
            "(s.cu:3:6)");
}

TEST(WorkloadCheck, AcceptsVectorsTemplatesAndConstPointers) {
  Workload workload = parsed("entry: f<float>\nparameters:\n"
                             "  - {name: a, type: f32, shape: 8, role: inout}\n"
                             "  - {name: b, type: f16, shape: 8, role: in}\n");
  Signature signature{"f", false, "void", {{"a", "float4 *const"}, {"b", "const T *"}}, ""};
  EXPECT_EQ(contradictionOf(workload, signature), "");
}

TEST(CxxTypes, ElementsOfTypes) {
  EXPECT_EQ(pointedElement("const float *__restrict__"), ElementType::F32);
  EXPECT_EQ(pointedElement("unsigned *"), ElementType::U32);
  EXPECT_EQ(pointedElement("long unsigned int const*"), ElementType::U64);
  EXPECT_EQ(pointedElement("std::uint8_t*"), ElementType::U8);
  EXPECT_EQ(pointedElement("double2 *"), ElementType::F64);
  EXPECT_EQ(pointedElement("struct Body *"), ElementType::Unknown);
  EXPECT_EQ(pointedElement("float **"), ElementType::Unknown);
  EXPECT_FALSE(pointedElement("float"));
  EXPECT_EQ(scalarElement("const unsigned long long"), ElementType::U64);
  EXPECT_EQ(scalarElement("Params"), ElementType::Unknown);
}

TEST(WorkloadSkeleton, IsItselfAWorkloadThatFits) {
  Signature signature{"scale",
                      true,
                      "void",
                      {{"x", "const float *"},
                       {"y", "double *"},
                       {"n", "int"},
                       {"a", "float"},
                       {"index", "const unsigned *"},
                       {"body", "Body *"},
                       {"p", "Params"}},
                      "s.cu:1:1"};
  std::string text = workloadSkeleton(signature);
  Workload workload = parsed(text);
  EXPECT_EQ(contradictionOf(workload, signature), "") << text;
  EXPECT_EQ(workload.parameters[0].role, Role::In);
  EXPECT_EQ(workload.parameters[1].role, Role::InOut);
  EXPECT_EQ(workload.parameters[4].element, ElementType::U32);
  EXPECT_NE(text.find("a guess"), std::string::npos);
  signature.isKernel = false;
  EXPECT_EQ(contradictionOf(parsed(workloadSkeleton(signature)), signature), "");
  Signature empty{"f", false, "void", {}, ""};
  EXPECT_EQ(contradictionOf(parsed(workloadSkeleton(empty)), empty), "");
}

TEST(Workload, SaysWhatUploadsKeep) {
  auto workload = parseWorkload("program: true\nuploads:\n"
                                "  - {number: 1, values: [sorted, nonzero]}\n"
                                "  - {number: 0, range: [-1, 2.5]}\n",
                                "w.yaml");
  ASSERT_TRUE(bool(workload)) << llvm::toString(workload.takeError());
  ASSERT_EQ(workload->uploadFacts.size(), 2u);
  EXPECT_EQ(describe(workload->uploadFacts[0]),
            "upload 1 stays sorted and nonzero: the workload says so");
  EXPECT_EQ(workload->uploadFacts[1].range, std::pair(-1.0, 2.5));
  for (const char *wrong : {"[{number: 1, values: [big]}]", "[{number: 1}]", "[{values: [sorted]}]",
                            "[{number: 0, range: [2, 1]}]"}) {
    auto refused = parseWorkload(std::string("program: true\nuploads: ") + wrong + "\n", "w.yaml");
    EXPECT_FALSE(bool(refused)) << wrong;
    llvm::consumeError(refused.takeError());
  }
}

/// A workload of `f` with \p fields beside its sizes, and one parameter.
std::string entryWorkload(const std::string &fields, const std::string &parameter) {
  return "entry: f\nsizes: {n: 64, k: 6}\n" + fields + "parameters:\n  - {name: x, " + parameter +
         "}\n";
}

std::string refusalOf(const std::string &text) {
  auto workload = parseWorkload(text, "w.yaml");
  if (workload)
    return "";
  return llvm::toString(workload.takeError());
}

TEST(Workload, SaysWhichSizesAreAdmissible) {
  Workload workload = parsed(
      entryWorkload("admissible: {n: {multiple: 4, minimum: 16}, k: {maximum: 9}}\n", "value: n"));
  const AdmissibleSize &n = workload.admissible.at("n");
  EXPECT_EQ(n.describe(), "a multiple of 4 and at least 16");
  EXPECT_EQ(n.nearest(47), 44);
  EXPECT_EQ(n.nearest(5), 16);
  EXPECT_EQ(workload.admissible.at("k").nearest(12), 9);
  AdmissibleSize power;
  power.isPowerOfTwo = true;
  power.minimum = 8;
  EXPECT_EQ(power.nearest(47), 32);
  EXPECT_EQ(power.nearest(0), 8);
}

TEST(Workload, RefusesShapesThatCallersDoNotPass) {
  EXPECT_EQ(refusalOf(entryWorkload("admissible: {n: {multiple: 48}}\n", "value: n")),
            "w.yaml:3:18: size 'n' is 64, which is not a multiple of 48");
  EXPECT_EQ(refusalOf(entryWorkload("admissible: {k: {minimum: 4}}\ntest-sizes: [{k: 5}, {k: 3}]\n",
                                    "value: n")),
            "w.yaml:4:23: size 'k' is 3, but callers pass at least 4");
  EXPECT_EQ(refusalOf(entryWorkload("admissible: {m: {minimum: 4}}\n", "value: n")),
            "w.yaml:3:14: no size 'm' in 'sizes'");
  EXPECT_EQ(refusalOf(entryWorkload("admissible: {n: {multiple: 0}}\n", "value: n")),
            "w.yaml:3:28: 'multiple' must be a whole number of at least 1");
}

TEST(Workload, SaysWhatParametersKeep) {
  Workload workload =
      parsed("entry: f\nsizes: {n: 64, k: 6}\nparameters:\n"
             "  - {name: y, type: f32, shape: [n], role: inout, init: zeros, "
             "values: [zero], alignment: 16}\n"
             "  - {name: at, type: i32, shape: [n*k], role: in, "
             "init: 'padded(k, n)', range: [-1, n-1], padding: {row: k, with: -1}}\n"
             "  - {name: eps, value: 1e-5, fixed: true}\n");
  ASSERT_EQ(workload.uploadFacts.size(), 2u);
  EXPECT_EQ(describe(workload.uploadFacts[1]), "'y' stays zero: the workload says so");
  EXPECT_EQ(workload.uploadFacts[1].upload, 1u); // inputs come first
  EXPECT_EQ(describe(workload.uploadFacts[0]),
            "'at' stays between -1 and 63 and rows of 6 that are filled up with -1: the workload "
            "says so");
  EXPECT_EQ(workload.parameters[0].alignment, 16u);
  EXPECT_EQ(workload.parameters[1].init.highText, "n");
  EXPECT_TRUE(workload.parameters[2].isCxx && workload.parameters[2].isFixed);
}

TEST(Workload, RefusesStatementsThatMeanNothing) {
  for (auto [parameter, message] :
       {std::pair("type: f32, shape: [n], role: out, values: [zero]",
                  "'x' is out: it holds no values before the call"),
        {"type: f32, shape: [n], role: in, memory: host, values: [zero]",
         "'x' lies in host memory, and the function copies it by itself"},
        {"type: f32, shape: [n], role: in, values: [zero, nonzero]", "contradict each other"},
        {"type: f32, shape: [n], role: in, values: [round]", "expected 'sorted', 'distinct'"},
        {"type: f32, shape: [n], role: in, alignment: 6", "a power of two in bytes"},
        {"type: f32, shape: [n], role: in, padding: {row: 0, with: 1}",
         "a whole number of elements"},
        {"type: f32, shape: [n], role: in, fixed: true", "'fixed' is for scalars"},
        {"value: n, alignment: 16", "'alignment' has no meaning for the scalar 'x'"},
        {"value: n, fixed: maybe", "expected true or false"}}) {
    const std::string refusal = refusalOf(entryWorkload("", parameter));
    EXPECT_NE(refusal.find(message), std::string::npos) << parameter << ": " << refusal;
    EXPECT_EQ(refusal.rfind("w.yaml:4:", 0), 0u) << refusal;
  }
}

} // namespace
