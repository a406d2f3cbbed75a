"""Tries schedule passes on sizes that their tiles do not divide, on 1 and on 0, and judges what they print.

usage: sizes.py FOLDER CLASS

A class is one kernel. Each pass gets a copy of it, and `main` launches every copy with every size. Prints for each pass how many launches
took a new kernel and how many the given one, and what the judge says. Fails where a pass does not apply, where no launch takes its kernel, and where the judge
does not say 'correct'.
"""

import pathlib
import re
import subprocess
import sys

PRODUCT = """__global__ void {name}({T} *y, const {S} *a, const {S} *b, int n, int m, int k) {{
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < n && c < m) {{
    {T} s = 0;
    for (int p = 0; p < k; ++p)
      s += {load};
    y[r * m + c] = s;
  }}
}}
"""
GRID = "dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)"
ROWS = """__global__ void {name}(float *y, const float *a, const float *b, int n, int m, int k) {{
  for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < n; r += gridDim.x * blockDim.x) {{
    float s = 0.0f;
    for (int c = 0; c < m; ++c)
      s += a[r * m + c];
    for (int c = 0; c < m; ++c)
      y[r * m + c] = a[r * m + c] - s;
  }}
}}
"""
SOFTMAX = """__global__ void {name}(float *y, const float *a, const float *b, int n, int m, int k) {{
  for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < n; r += gridDim.x * blockDim.x) {{
    float top = -INFINITY, sum = 0.0f;
    for (int c = 0; c < m; ++c)
      top = fmaxf(top, a[r * m + c]);
    for (int c = 0; c < m; ++c)
      sum += expf(a[r * m + c] - top);
    for (int c = 0; c < m; ++c)
      y[r * m + c] = expf(a[r * m + c] - top) / sum;
  }}
}}
"""
COLUMNS = """__global__ void {name}({T} *y, const {T} *a, const {T} *b, int n, int m, int k) {{
  for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < m; c += gridDim.x * blockDim.x) {{
    {T} s = 0;
    for (int r = 0; r < n; ++r)
      s += a[r * m + c];
    y[c] = s;
  }}
}}
"""
MAP = """__global__ void {name}(float *y, const float *a, const float *b, int n, int m, int k) {{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n * m; i += gridDim.x * blockDim.x)
    y[i] = a[i] * 2.0f + b[i];
}}
"""
GUARDED = """__global__ void {name}(float *y, const float *a, const float *b, int n, int m, int k) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * m)
    y[i] = a[i] * 2.0f + b[i];
}}
"""
STENCIL = """__global__ void {name}(float *y, const float *a, const float *b, int n, int m, int k) {{
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= 1 && r < n - 1 && c >= 1 && c < m - 1)
    y[r * m + c] = a[(r - 1) * m + c] + a[r * m + c - 1] + a[r * m + c] + a[r * m + c + 1] + a[(r + 1) * m + c];
}}
"""
POINTS = """__global__ void {name}(float *y, const float *a, const float *b, int n, int m, int k) {{
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < n && c < m) {{
    const float *x = a + r * m, *g = b + r * m;
    float s = 0.0f;
    for (int p = 0; p < m; ++p)
      s += x[p] * ((p == c ? 1.0f : 0.0f) - x[c]) * g[p];
    y[r * m + c] = s;
  }}
}}
"""
ONE = """__global__ void {name}(float *y, const float *x, const float *z, int m) {{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < m; i += gridDim.x * blockDim.x)
    y[i] = x[i] * 2.0f + z[i];
}}
"""
TWO = """__global__ void {name}First(float *y, const float *a, const float *b, int n) {{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = a[i] * 2.0f + b[i];
}}
__global__ void {name}Second(float *y, int n) {{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = fmaxf(y[i], 3.0f);
}}
"""
STRIDE = "3, 64"
# Sizes n, m and k. The guarded kernels' own launches ask for blocks, so that n and m are positive for them.
POSITIVE = [(1, 1, 1), (33, 65, 9), (68, 36, 20), (4, 8, 0), (128, 128, 64), (40, 24, 72), (8, 1028, 4)]
WITH_NONE = POSITIVE + [(0, 5, 2), (5, 0, 2), (3, 1025, 1)]
# The class, its kernel, its launch, its sizes, its types, and the passes with their options.
CLASSES = {
    "product": (PRODUCT, GRID, POSITIVE, "float", [
        "shared-memory-tiling{bm=64 bn=32 bk=16}", "shared-memory-tiling{bm=128 bn=128 bk=8}", "register-tiling{tm=4 tn=8}", "register-tiling{tm=8 tn=4}",
        "double-buffer{stages=2}", "cp-async-pipeline{stages=4}", "split-k{split=4}", "swizzle-block-order{group=4}",
        "schedule{as='contraction vector=1 bm=32 bn=32 bk=8 stages=3'}", "schedule"]),
    "half-product": (PRODUCT, GRID, POSITIVE, "half", ["tensor-core-mma{core=half}", "schedule{as='contraction core=half bm=64 bn=64'}",
                                                           "shared-memory-tiling{bm=64 bn=64 bk=64}", "schedule"]),
    "rows": (ROWS, STRIDE, WITH_NONE, "float", [
        "several-rows-per-block{team=8 rows=4}", "several-rows-per-block{team=2 rows=16}", "warp-shuffle-reduction{team=16}", "warp-shuffle-reduction{team=32}",
        "two-stage-block-reduction{team=128}", "cache-row{cache=registers}", "cache-row{cache=none}", "thread-coarsening{inflight=4}",
        "schedule{as='rows vector=4'}", "schedule"]),
    "softmax": (SOFTMAX, STRIDE, WITH_NONE, "float", ["several-rows-per-block{team=4 rows=16}", "warp-shuffle-reduction{team=8}", "cache-row{cache=registers}",
                                                      "two-stage-block-reduction{team=64}", "schedule"]),
    "columns": (COLUMNS, STRIDE, WITH_NONE, "int", ["thread-coarsening{inflight=4}", "schedule{as='columns columns=32'}", "schedule"]),
    "map": (MAP, STRIDE, WITH_NONE, "float", ["thread-coarsening{inflight=4}", "schedule{as='map vector=4'}", "schedule{as='map vector=2 inflight=8'}", "schedule{as='map vector=1 block=1024'}",
                                              "schedule"]),
    "text": (GUARDED, "(n * m + 95) / 96, 96", POSITIVE, "float", ["vectorize-loads{width=4}", "vectorize-loads{width=2}", "tune-block-size{size=1024}", "grid-stride-loop", "thread-coarsening{inflight=2}",
                                                   "schedule"]),
    "stencil": (STENCIL, GRID, POSITIVE, "float", ["schedule{as='stencil inflight=8'}", "schedule{as='stencil inflight=2'}", "schedule{as='map'}", "schedule"]),
    "points": (POINTS, GRID, POSITIVE, "float", ["simplify-reduction", "simplify-reduction,warp-shuffle-reduction{team=8}", "schedule"]),
    "batch": (ONE, None, WITH_NONE, "float", ["batch-launches", "batch-launches,schedule"]),
    "joined": (TWO, None, WITH_NONE, "float", ["fuse-kernels-vertical", "fuse-kernels-vertical,schedule"]),
}


def launchOf(name, kind, grid):
    if kind == "batch":
        return f"  for (int i = 0; i < n; ++i)\n    {name}<<<{STRIDE}>>>(y + i * m, a + i * m, b + i * m, m);\n"
    if kind == "joined":
        return f"  {name}First<<<{STRIDE}>>>(y, a, b, n * m);\n  {name}Second<<<{STRIDE}>>>(y, n * m);\n"
    return f"  {name}<<<{grid}>>>(y, a, b, n, m, k);\n"


def programText(kind):
    kernel, grid, sizes, element, passes = CLASSES[kind]
    load = "a[r * k + p] * b[p * m + c]" if element != "half" else "__half2float(a[r * k + p]) * __half2float(b[p * m + c])"
    output = "int" if element == "int" else "float"
    source = "__half" if element == "half" else element
    text = "#include <cstdio>\n#include <cuda_fp16.h>\n#include <vector>\n\n"
    for number in range(len(passes)):
        name = f"k{number}x"
        text += kernel.format(name=name, T=output, S=source, load=load)
        text += f"\nvoid run{number}({output} *y, const {source} *a, const {source} *b, int n, int m, int k) {{\n{launchOf(name, kind, grid)}}}\n\n"
    text += f"""int main() {{
  const int sizes[][3] = {{{", ".join("{%d, %d, %d}" % each for each in sizes)}}};
  const size_t most = 20000;
  std::vector<{source}> in(most);
  std::vector<{output}> out(most);
  {source} *a, *b;
  {output} *y;
  cudaMalloc(&a, most * sizeof({source}));
  cudaMalloc(&b, most * sizeof({source}));
  cudaMalloc(&y, most * sizeof({output}));
  for (size_t i = 0; i < most; ++i)
    in[i] = {source}({"int" if element == "int" else "float"}(i * 7 % 31) * {"1" if element == "int" else "0.125f"});
  cudaMemcpy(a, in.data(), most * sizeof({source}), cudaMemcpyHostToDevice);
  for (size_t i = 0; i < most; ++i)
    in[i] = {source}({"int" if element == "int" else "float"}(i * 5 % 23) * {"1" if element == "int" else "0.0625f"});
  cudaMemcpy(b, in.data(), most * sizeof({source}), cudaMemcpyHostToDevice);
  double sum = 0;
  for (const int *size : sizes) {{
"""
    for number in range(len(passes)):
        text += (f"    cudaMemset(y, 0, most * sizeof({output}));\n    run{number}(y, a, b, size[0], size[1], size[2]);\n"
                 f"    cudaMemcpy(out.data(), y, most * sizeof({output}), cudaMemcpyDeviceToHost);\n    sum += out[size[1] / 2];\n")
    return text + '  }\n  printf("%.3f\\n", sum);\n}\n'


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=900)
    return done.returncode, done.stdout


def pipelineOf(passes, isJoined, isBatch):
    """Every pass for its own copy; what follows a pass that joins launches is for the kernel that it made."""
    steps = []
    for number, each in enumerate(passes):
        for place, step in enumerate(re.split(r",(?![^{]*})", each)):
            name, _, options = step.partition("{")
            kernel = f"k{number}x" + (("Batch" if isBatch else f"FirstK{number}xSecond") if place and (isJoined or isBatch) else "First" if isJoined else "")
            steps.append(f"{name}{{kernel={kernel} {options.rstrip('}')}}}")
    return ",".join(steps)


def main():
    folder, kind = pathlib.Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(parents=True, exist_ok=True)
    passes = CLASSES[kind][4]
    original, candidate = folder / f"{kind}.cu", folder / f"{kind}.new.cu"
    original.write_text(programText(kind))
    status, said = run("kb-opt", f"-passes={pipelineOf(passes, kind == 'joined', kind == 'batch')}", "-o", str(candidate), str(original))
    if status:
        sys.exit(f"kb-opt ended with status {status}\n{said}")
    status, plan = run("kb-opt", "--emit=plan", str(candidate))
    if status:
        sys.exit(f"--emit=plan ended with status {status}\n{plan}")
    given = {re.match(r"__global__ void (\w+)", line).group(1) for line in original.read_text().splitlines() if line.startswith("__global__")}
    launched = re.findall(r'"step":"launch","kernel":"_Z\d+(k\d+x\w*?)P', plan)
    wrong = [line.split("remark: ")[-1] for line in said.splitlines() if "does not apply" in line]
    for number, each in enumerate(passes):
        mine = [name for name in launched if name.startswith(f"k{number}x")]
        new = sum(name not in given for name in mine)
        if kind == "text": # these change the kernel where it stands
            continue
        print(f"{each}: new {new}, given {len(mine) - new}")
        if not new:
            wrong.append(f"no launch takes the kernel of {each}")
    status, verdict = run("kb-opt", "--by-passes", f"--judge={candidate}", "--promise=reassociates", str(original))
    print(said + verdict if status else verdict.splitlines()[-1])
    print("\n".join(wrong))
    sys.exit(status or bool(wrong))


main()
