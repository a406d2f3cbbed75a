//===- ImportTest.cpp - Programs as kb IR, and what may be assumed ----------===//
#include "kb-opt/Analysis/Legality.h"
#include "kb-opt/Analysis/Signature.h"
#include "kb-opt/Source/CodeEmission.h"
#include "kb-opt/Support/FileSystem.h"
#include "mlir/IR/Verifier.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include <gtest/gtest.h>

using namespace kbopt;
using llvm::StringRef;

namespace {

/// One translation unit for all tests: parsing CUDA's headers is what takes time.
constexpr const char *programText = R"(
#include <cuda_runtime.h>
struct Params { float *x; const float *y; int n; float alpha; };
struct Scale { float a; __device__ float operator()(float v) const { return a * v; } };
__device__ float pick(const float *p, int i) { return p[i] + p[i + 1]; }
__constant__ float table[64];

__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void mm(const float *A, const float *B, float *C, int N) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < N && col < N) {
    float s = 0;
    for (int k = 0; k < N; k++) s += A[row * N + k] * B[k * N + col];
    C[row * N + col] = s;
  }
}
template <typename T, typename F, int B> __global__ void apply(T *x, int n, F f) {
  __shared__ T tile[B][B];
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x * blockDim.x) {
    tile[threadIdx.x][threadIdx.y] = x[i];
    __syncthreads();
    x[i] = f(tile[threadIdx.y][threadIdx.x]);
    __syncthreads();
  }
}
__global__ void byval(Params p, int *cnt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n) return;
  p.x[i] = p.alpha * pick(p.y, 2 * i);
  if (p.x[i] > 0) atomicAdd(cnt, 1);
  p.x[i] = __shfl_down_sync(0xffffffffu, p.x[i], 16) + table[i & 63];
}
__global__ void gather(const int *idx, const float *in, float *out, unsigned m) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m) out[i] = in[idx[i]];
  out[i * m] = 0;
}
__global__ void whole(float *x, int n) {
  uint3 t = threadIdx;
  x[t.x * n + t.y] = 0;
}
__global__ void reduce(const float *in, float *out) {
  extern __shared__ float part[];
  part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
__global__ void copy4(const float4 *in, float4 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float4 v = in[i]; v.x *= 2; out[i] = v; }
}
__global__ void invariant(const float *w, const float *in, float *out, int n, float scale) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  for (int j = 0; j < 16; ++j) {
    float t = scale * scale + w[row];
    out[row * 16 + j] = in[row * 16 + j] * t + sqrtf(scale);
  }
}
void launchInvariant(const float *w, const float *in, float *out, int n) {
  invariant<<<(n + 127) / 128, 128>>>(w, in, out, n, 2.0f);
}
int main() {
  float *x, *y, *z; int n = 1 << 20;
  cudaMalloc(&x, n * 4); cudaMalloc(&y, n * 4); cudaMalloc((void **)&z, n * 64);
  saxpy<<<(n + 255) / 256, 256>>>(n, 2.f, x, y);
  apply<float, Scale, 16><<<dim3(4, 4), dim3(16, 16)>>>(x, n, Scale{2.f});
  dim3 block(32, 8);
  mm<<<dim3(32, 32), block>>>(x, y, y, 512);
  launchInvariant(x, y, z, 1024);
  reduce<<<64, 256, 256 * sizeof(float)>>>(x, x + 1024);
}
)";

struct Imported {
  Imported() {
    auto toolkit = findCudaToolkit(ToolkitSearch::fromEnvironment());
    if (!toolkit) {
      llvm::consumeError(toolkit.takeError());
      return;
    }
    folder.emplace(llvm::cantFail(TemporaryDirectory::create("kb-analysis-test")));
    std::string file = folder->file("program.cu");
    llvm::cantFail(realFileSystem().write(file, programText));
    CommandQuery query;
    query.file = file;
    query.flags = std::vector<std::string>{};
    CompileCommand command = llvm::cantFail(findCompileCommand(query, *toolkit));
    command.shownFile = "program.cu";
    parsed = llvm::cantFail(parser.parse(command, programText));
    std::string bitcode =
        llvm::cantFail(CodeEmitter(realProcessRunner()).emitDeviceBitcode(command, programText));
    program.emplace(llvm::cantFail(importProgram(*parsed, bitcode, context)));
  }
  mlir::MLIRContext context;
  ProgramParser parser;
  std::optional<TemporaryDirectory> folder;
  std::unique_ptr<ParsedProgram> parsed;
  std::optional<ImportedProgram> program;
};

struct Import : testing::Test {
  static Imported &imported() {
    static auto *made = new Imported;
    return *made;
  }
  void SetUp() override {
    if (!imported().program)
      GTEST_SKIP() << "needs a CUDA toolkit";
  }
  ImportedProgram &program() { return *imported().program; }

  kb::KernelOp kernel(StringRef name) {
    for (kb::KernelOp op : program().kernels())
      if (op.getName() == name)
        return op;
    ADD_FAILURE() << "no kernel " << name.str();
    return {};
  }
  /// Accesses to \p base of \p kind, in order.
  std::vector<kb::AccessOp> accesses(StringRef name, StringRef base, kb::AccessKind kind) {
    std::vector<kb::AccessOp> result;
    kernel(name).walk([&](kb::AccessOp op) {
      if (op.getBase().getName() == base && op.getKind() == kind)
        result.push_back(op);
    });
    return result;
  }
  std::string address(StringRef name, StringRef base, kb::AccessKind kind = kb::AccessKind::Load,
                      size_t number = 0) {
    auto all = accesses(name, base, kind);
    if (number >= all.size())
      return "no such access";
    return all[number].getAddressAttr() ? all[number].getAddressAttr().str() : "unknown";
  }
  std::string text(const clang::Stmt *node) {
    return node ? sourceText(program().source(), node->getSourceRange()).str() : "";
  }
  template <typename Op> Op only(StringRef name) {
    Op found;
    kernel(name).walk([&](Op op) {
      EXPECT_FALSE(found);
      found = op;
    });
    return found;
  }
};

constexpr auto load = kb::AccessKind::Load, store = kb::AccessKind::Store,
               atomic = kb::AccessKind::Atomic;

TEST_F(Import, IsValidAndReadsBack) {
  EXPECT_TRUE(succeeded(mlir::verify(*program().module)));
  EXPECT_EQ(program().kernels().size(), 9u);
  EXPECT_EQ(program().stats.tied, program().stats.accesses);
  EXPECT_EQ(program().stats.loopsTied, program().stats.loops);
}

TEST_F(Import, MapsGuardedElementwiseAccess) {
  EXPECT_EQ(address("saxpy", "x"), "tid.x * 4 + bid.x * bdim.x * 4");
  EXPECT_EQ(address("saxpy", "y", store), "tid.x * 4 + bid.x * bdim.x * 4");
  kb::AccessOp x = accesses("saxpy", "x", load).at(0);
  EXPECT_EQ(domainText(x), std::vector<std::string>{"n - tid.x - bid.x * bdim.x - 1 >= 0"});
  EXPECT_TRUE(x.getDomainAttr().getExact());
  // The 32-bit product is right for grids of fewer than 2^31 threads: the launch has no more.
  EXPECT_FALSE(x.getAssumes());
  EXPECT_EQ(unprovenAssumption(x), "");
}

TEST_F(Import, TiesAccessesToExactRanges) {
  kb::AccessOp x = accesses("saxpy", "x", load).at(0);
  EXPECT_EQ(text(program().exprOf(x)), "x[i]");
  auto range = kb::sourceRange(x.getLoc());
  ASSERT_TRUE(range);
  EXPECT_EQ(range.getFilename().getValue(), "program.cu");
  EXPECT_EQ(range.getStartLine(), 10u);
  EXPECT_EQ(range.getEndColumn() - range.getStartColumn(), 4u);
  EXPECT_EQ(program().accessesOf(program().exprOf(x)).size(), 1u);
}

TEST_F(Import, MapsTwoDimensionalAccessInALoop) {
  EXPECT_EQ(address("mm", "A"), "tid.x * N * 4 + bid.x * (bdim.x * N) * 4 + k * 4");
  kb::LoopOp loop = only<kb::LoopOp>("mm");
  EXPECT_EQ(loop.getName(), "k");
  EXPECT_EQ(loop.getTripAttr().str(), "N");
  EXPECT_EQ(loop.getUniformity(), kb::Uniformity::Uniform);
  EXPECT_TRUE(text(program().stmtOf(loop)).starts_with("for (int k = 0; k < N; k++)"));
  kb::AccessOp a = accesses("mm", "A", load).at(0), b = accesses("mm", "B", load).at(0);
  EXPECT_EQ(laneStride(a, 0).text, "N * 4");
  EXPECT_EQ(laneStride(a, 1).kind, StrideClass::Uniform);
  EXPECT_EQ(laneStride(b, 0).kind, StrideClass::Uniform);
  EXPECT_EQ(laneStride(b, 1).kind, StrideClass::Unit);
  EXPECT_EQ(loopStride(a, "k").kind, StrideClass::Unit);
  EXPECT_EQ(loopStride(b, "k").text, "N * 4");
}

TEST_F(Import, FollowsTemplatesFunctorsAndGridStride) {
  kb::KernelOp apply = kernel("apply<float, Scale, 16>");
  kb::LoopOp loop = only<kb::LoopOp>("apply<float, Scale, 16>");
  EXPECT_EQ(loop.getName(), "i.iter");
  EXPECT_EQ(loop.getUniformity(), kb::Uniformity::Divergent);
  EXPECT_EQ(loop.getValueAttr().str(), "tid.x + bid.x * bdim.x + i.iter * (bdim.x * gdim.x)");
  EXPECT_EQ(address("apply<float, Scale, 16>", "tile", store), "tid.x * 64 + tid.y * 4");
  kb::SharedOp tile = only<kb::SharedOp>("apply<float, Scale, 16>");
  EXPECT_EQ(tile.getExtents(), (llvm::ArrayRef<int64_t>{16, 16}));
  ASSERT_TRUE(program().declOf(tile));
  EXPECT_EQ(program().declOf(tile)->getName(), "tile");
  // int += unsigned wraps in C++; the launch passes too small an n for that.
  EXPECT_FALSE(apply.getAssumes());
  EXPECT_EQ(unprovenAssumption(loop), "");
}

TEST_F(Import, FollowsStructArgumentsAndInlinedFunctions) {
  auto loads = accesses("byval", "p.y", load);
  ASSERT_EQ(loads.size(), 2u);
  EXPECT_EQ(loads[0].getBase().getArgument(), 0);
  EXPECT_EQ(loads[0].getBase().getByteOffset(), 8);
  EXPECT_EQ(address("byval", "p.y", load, 1), "tid.x * 8 + bid.x * bdim.x * 8 + 4");
  // The location is the callee's line, seen from the call.
  EXPECT_TRUE(mlir::isa<mlir::CallSiteLoc>(loads[0].getLoc()));
  EXPECT_EQ(kb::sourceRange(loads[0].getLoc()).getStartLine(), 5u);
  EXPECT_EQ(text(program().exprOf(loads[1])), "p[i + 1]");
  ASSERT_TRUE(program().functionOf(loads[0]));
  EXPECT_EQ(program().functionOf(loads[0])->getNameAsString(), "pick");
  EXPECT_EQ(domainText(loads[0]),
            std::vector<std::string>{"p.n - tid.x - bid.x * bdim.x - 1 >= 0"});
  auto count = accesses("byval", "cnt", atomic);
  ASSERT_EQ(count.size(), 1u);
  EXPECT_EQ(count[0].getUniformity(), kb::Uniformity::Uniform);
  EXPECT_EQ(text(program().exprOf(count[0])), "atomicAdd(cnt, 1)");
  auto constant = accesses("byval", "table", load);
  ASSERT_EQ(constant.size(), 1u);
  EXPECT_EQ(constant[0].getSpace(), kb::MemorySpace::Constant);
  EXPECT_EQ(constant[0].getAddressAttr().str(), "((tid.x + bid.x * bdim.x) mod 64) * 4");
}

TEST_F(Import, UnknownStaysUnknown) {
  EXPECT_EQ(address("gather", "in"), "unknown");
  EXPECT_EQ(accesses("gather", "in", load).at(0).getUniformity(), kb::Uniformity::Divergent);
  EXPECT_EQ(address("gather", "idx"), "tid.x * 4 + bid.x * bdim.x * 4");
  EXPECT_EQ(address("gather", "out", store, 0), "tid.x * 4 + bid.x * bdim.x * 4");
  // i * m may wrap in 32 unsigned bits: the map rests on that it does not.
  EXPECT_EQ(address("gather", "out", store, 1), "tid.x * m * 4 + bid.x * (bdim.x * m) * 4");
  EXPECT_FALSE(unprovenAssumption(accesses("gather", "out", store).at(1)).empty());
}

TEST_F(Import, UniformValuesBecomeSymbols) {
  kb::LoopOp loop = only<kb::LoopOp>("reduce");
  EXPECT_EQ(loop.getUniformity(), kb::Uniformity::Uniform);
  EXPECT_FALSE(loop.getTripAttr());
  EXPECT_EQ(address("reduce", "part", load, 0), "tid.x * 4 + s * 4");
  bool varying = false;
  for (auto symbol : kernel("reduce").getSymbols().getAsRange<kb::SymbolAttr>())
    varying |= symbol.getName() == "s" && symbol.getOrigin() == kb::SymbolOrigin::Varying;
  EXPECT_TRUE(varying);
  EXPECT_TRUE(only<kb::SharedOp>("reduce").getDynamic());
  unsigned uniform = 0, divergent = 0;
  kernel("reduce").walk([&](kb::BranchOp op) {
    ++(op.getUniformity() == kb::Uniformity::Divergent ? divergent : uniform);
  });
  EXPECT_EQ(divergent, 2u);
  EXPECT_EQ(uniform, 0u);
  kernel("reduce").walk(
      [&](kb::BarrierOp op) { EXPECT_EQ(op.getUniformity(), kb::Uniformity::Uniform); });
}

TEST_F(Import, WideAccessesStayWide) {
  auto in = accesses("copy4", "in", load), out = accesses("copy4", "out", store);
  ASSERT_EQ(in.size(), 1u);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(in[0].getBytes(), 16u);
  EXPECT_EQ(out[0].getBytes(), 16u);
  EXPECT_EQ(laneStride(in[0]).kind, StrideClass::Unit);
}

TEST_F(Import, LaunchesCarryConstants) {
  auto launches = program().launchesOf(kernel("mm"));
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].getBlock(), "block");
  EXPECT_EQ(launches[0].getBlockValues(), (llvm::ArrayRef<int64_t>{32, 8, 1}));
  EXPECT_EQ(launches[0].getGridValues(), (llvm::ArrayRef<int64_t>{32, 32, 1}));
  auto first = program().launchesOf(kernel("saxpy"));
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].getGridValues(), (llvm::ArrayRef<int64_t>{4096, 1, 1}));
  auto wrapped = program().launchesOf(kernel("invariant"));
  ASSERT_EQ(wrapped.size(), 1u);
  EXPECT_EQ(wrapped[0].getGridValues(), (llvm::ArrayRef<int64_t>{-1, 1, 1}));
  EXPECT_EQ(LaunchValues::common(kernel("mm")).block[1], 8);
  auto sectors = requestCost(accesses("mm", "B", load).at(0), LaunchValues::common(kernel("mm")));
  ASSERT_TRUE(sectors);
  EXPECT_EQ(sectors->sectors, 1u);
}

TEST_F(Import, ArgumentsAtLaunches) {
  EXPECT_TRUE(argumentsMayOverlap(program(), kernel("saxpy"), 2, 3).refuted());
  EXPECT_TRUE(argumentsMayOverlap(program(), kernel("mm"), 1, 2).proven());
  EXPECT_TRUE(argumentsMayOverlap(program(), kernel("mm"), 0, 2).refuted());
  // Through a wrapper function.
  EXPECT_TRUE(argumentsMayOverlap(program(), kernel("invariant"), 0, 2).refuted());
  // x and x + 1024.
  EXPECT_TRUE(argumentsMayOverlap(program(), kernel("reduce"), 0, 1).unknown());
  Answer none = argumentsMayOverlap(program(), kernel("gather"), 0, 1);
  EXPECT_TRUE(none.unknown());
  EXPECT_EQ(none.reason, "no launch of 'gather' is in sight");
}

TEST_F(Import, StoresThroughArguments) {
  EXPECT_TRUE(isNeverStoredThrough(program(), kernel("saxpy"), 2).proven());
  EXPECT_TRUE(isNeverStoredThrough(program(), kernel("saxpy"), 3).refuted());
  EXPECT_TRUE(isNeverStoredThrough(program(), kernel("byval"), 1).refuted());
  EXPECT_TRUE(isNeverStoredThrough(program(), kernel("apply<float, Scale, 16>"), 0).refuted());
  EXPECT_TRUE(isOnlyDereferenced(program(), kernel("saxpy"), 2).proven());
}

TEST_F(Import, IndependentThreads) {
  EXPECT_TRUE(hasIndependentThreads(program(), kernel("saxpy")).proven());
  EXPECT_TRUE(hasIndependentThreads(program(), kernel("copy4")).unknown()); // no launch in sight
  EXPECT_TRUE(hasIndependentThreads(program(), kernel("invariant")).proven());
  EXPECT_FALSE(hasIndependentThreads(program(), kernel("mm")).proven()); // B is C
  EXPECT_FALSE(hasIndependentThreads(program(), kernel("reduce")).proven());
}

TEST_F(Import, BlockSizeFreedom) {
  EXPECT_TRUE(isBlockSizeFree(program(), kernel("saxpy")).proven());
  EXPECT_TRUE(isBlockSizeFree(program(), kernel("mm")).proven());
  EXPECT_TRUE(isBlockSizeFree(program(), kernel("apply<float, Scale, 16>")).refuted());
  EXPECT_TRUE(isBlockSizeFree(program(), kernel("reduce")).refuted());
  EXPECT_TRUE(isBlockSizeFree(program(), kernel("byval")).refuted());
}

TEST_F(Import, Guards) {
  auto guards = findGuards(program(), kernel("saxpy"));
  ASSERT_EQ(guards.size(), 1u);
  EXPECT_EQ(text(guards[0].condition), "i < n");
  EXPECT_FALSE(guards[0].isEarlyExit);
  guards = findGuards(program(), kernel("byval"));
  ASSERT_EQ(guards.size(), 1u);
  EXPECT_TRUE(guards[0].isEarlyExit);
  EXPECT_TRUE(findGuards(program(), kernel("reduce")).size() <= 1);
}

TEST_F(Import, GridUses) {
  auto uses = gridUses(program(), kernel("saxpy"));
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(uses[0].builtin, GridBuiltin::BlockIdx);
  EXPECT_EQ(uses[1].builtin, GridBuiltin::BlockDim);
  EXPECT_EQ(uses[2].builtin, GridBuiltin::ThreadIdx);
  EXPECT_EQ(uses[2].dimension, 0u);
  EXPECT_EQ(gridUses(program(), kernel("mm")).size(), 6u);
  // A copy of the whole index uses each component; the conversion has no name.
  uses = gridUses(program(), kernel("whole"));
  ASSERT_EQ(uses.size(), 3u);
  for (unsigned c = 0; c < 3; ++c) {
    EXPECT_EQ(uses[c].builtin, GridBuiltin::ThreadIdx);
    EXPECT_EQ(uses[c].dimension, c);
  }
}

/// The first expression with this text in the loop of a kernel.
struct ExprFinder : clang::DynamicRecursiveASTVisitor {
  bool VisitExpr(clang::Expr *expr) override {
    if (!found && sourceText(*program, expr->getSourceRange()) == wanted)
      found = expr;
    return !found;
  }
  const ParsedProgram *program;
  StringRef wanted;
  const clang::Expr *found = nullptr;
};

TEST_F(Import, LoopInvariance) {
  const clang::Stmt *loop = program().stmtOf(only<kb::LoopOp>("invariant"));
  ASSERT_TRUE(loop);
  auto ask = [&](StringRef wanted) {
    ExprFinder finder;
    finder.program = &program().source();
    finder.wanted = wanted;
    finder.TraverseStmt(const_cast<clang::Stmt *>(loop));
    EXPECT_TRUE(finder.found) << wanted.str();
    return isLoopInvariant(program(), finder.found, loop);
  };
  EXPECT_TRUE(ask("scale * scale").proven());
  EXPECT_TRUE(ask("sqrtf(scale)").proven());
  // out, w and in are three allocations: the store cannot change w.
  EXPECT_TRUE(ask("scale * scale + w[row]").proven());
  EXPECT_TRUE(ask("row * 16").proven());
  Answer no = ask("row * 16 + j");
  EXPECT_TRUE(no.refuted());
  EXPECT_EQ(no.reason, "'j' is declared in the loop");
}

TEST_F(Import, SpeculationStopsAtMemory) {
  const clang::Stmt *loop = program().stmtOf(only<kb::LoopOp>("invariant"));
  auto find = [&](StringRef wanted) {
    ExprFinder finder;
    finder.program = &program().source();
    finder.wanted = wanted;
    finder.TraverseStmt(const_cast<clang::Stmt *>(loop));
    return finder.found;
  };
  EXPECT_TRUE(isSpeculatable(find("scale * scale")));
  EXPECT_TRUE(isSpeculatable(find("sqrtf(scale)")));
  EXPECT_FALSE(isSpeculatable(find("w[row]")));
}

TEST_F(Import, Signature) {
  StaticSignature signature = staticSignature(kernel("mm"));
  EXPECT_EQ(signature.loads, 2u);
  EXPECT_EQ(signature.stores, 1u);
  EXPECT_FALSE(signature.complete); // N is not known
  EXPECT_DOUBLE_EQ(signature.flops, 2);
  EXPECT_DOUBLE_EQ(signature.bytes, 12);
}

TEST(ImportErrors, RefusesWhatIsNoBitcode) {
  Imported *made = &Import::imported();
  if (!made->program)
    GTEST_SKIP() << "needs a CUDA toolkit";
  mlir::MLIRContext context;
  auto result = importProgram(*made->parsed, "not bitcode", context);
  ASSERT_FALSE(result);
  std::string message = llvm::toString(result.takeError());
  EXPECT_NE(message.find("cannot read the device bitcode"), std::string::npos) << message;
}

} // namespace
