"""CUDA kernels that apply operations to columns of operands, and their results."""

import struct

from operands import RANDOM, operand_tuples
from operations import FLOATS, HALVES, TYPES

PRELUDE = """#include <cstring>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef unsigned long long Word;
template <class T> __device__ T get(Word w) { T t; memcpy(&t, &w, sizeof t); return t; }
template <class T> __device__ Word put(T t) { Word w = 0; memcpy(&w, &t, sizeof t); return w; }
__device__ bool isUnordered(float x, float y) { return isnan(x) || isnan(y); }
__device__ bool isUnordered(double x, double y) { return isnan(x) || isnan(y); }
__device__ float frexpMantissa(float x) { int e; return frexpf(x, &e); }
__device__ double frexpMantissa(double x) { int e; return frexp(x, &e); }
__device__ int frexpExponent(float x) { int e; frexpf(x, &e); return isfinite(x) ? e : 0; }
__device__ int frexpExponent(double x) { int e; frexp(x, &e); return isfinite(x) ? e : 0; }
__device__ float modfFraction(float x) { float w; return modff(x, &w); }
__device__ double modfFraction(double x) { double w; return modf(x, &w); }
__device__ float modfWhole(float x) { float w; modff(x, &w); return w; }
__device__ double modfWhole(double x) { double w; modf(x, &w); return w; }
__device__ int remquoQuotient(float x, float y) { int q = 0; float r = remquof(x, y, &q); return isnan(r) ? 0 : q & 7; }
__device__ int remquoQuotient(double x, double y) { int q = 0; double r = remquo(x, y, &q); return isnan(r) ? 0 : q & 7; }
#define store(value) out[k++ * n + i] = put(value)
"""
MAIN = """
int main(int count, char **names) {
  // Operands and results lie in the folder: 64-bit words, column by column.
  for (Launch &launch : launches) {
    FILE *file = fopen((std::string(names[1]) + "/" + launch.operands).c_str(), "rb");
    std::vector<Word> in(launch.count * launch.columns), out(launch.count * launch.results);
    if (!file || fread(in.data(), 8, in.size(), file) != in.size())
      return 1;
    fclose(file);
    Word *from, *to;
    cudaMalloc(&from, 8 * in.size());
    cudaMalloc(&to, 8 * out.size());
    cudaMemcpy(from, in.data(), 8 * in.size(), cudaMemcpyHostToDevice);
    unsigned n = launch.count;
    void *arguments[] = {&from, &n, &to};
    cudaLaunchKernel(launch.kernel, dim3((n + 127) / 128), dim3(128), arguments, 0, 0);
    cudaMemcpy(out.data(), to, 8 * out.size(), cudaMemcpyDeviceToHost);
    if (cudaError_t error = cudaGetLastError())
      return fprintf(stderr, "%s: %s\\n", launch.name, cudaGetErrorString(error)), 1;
    file = fopen((std::string(names[1]) + "/" + launch.name + ".out").c_str(), "wb");
    fwrite(out.data(), 8, out.size(), file);
    fclose(file);
  }
}
"""


def make_groups(operations, size=16):
    """Operations of the same operands, up to `size` of them: one kernel each."""
    by_operands = {}
    for operation in operations:
        by_operands.setdefault(operation.operands, []).append(operation)
    return [group[n:n + size] for group in by_operands.values() for n in range(0, len(group), size)]


def kernel(name, group):
    letters = group[0].operands
    typed = "".join(f" auto {v} = get<{TYPES[t][0]}>(in[{n} * n + i]);" for n, (v, t) in enumerate(zip("abcd", letters)))
    unused = "".join(f" (void){v};" for v in "abcd"[:len(letters)])
    body = "\n".join("    " + o.statement() for o in group)
    return (f'extern "C" __global__ void {name}(const Word *in, unsigned n, Word *out) {{\n  unsigned k = 0, '
            f"i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) {{\n   {typed}{unused}\n{body}\n  }}\n}}\n")


def write_sources(folder, operations, parts):
    """Kernels in so many files, and their operands; the groups of each file, and the list of its launches."""
    groups, files = make_groups(operations), []
    for letters in {o.operands for o in operations}:
        columns = zip(*operand_tuples(letters))
        (folder / f"{letters}.in").write_bytes(b"".join(struct.pack(f"<{len(c)}Q", *c) for c in columns))
    for part in range(parts):
        mine = [(f"k{n}", g) for n, g in enumerate(groups) if n % parts == part]
        text = PRELUDE + "".join(kernel(*each) for each in mine)
        launches = [(name, g[0].operands, len(operand_tuples(g[0].operands)), len(g)) for name, g in mine]
        table = "".join(f'  {{"{k}", (const void *){k}, "{l}.in", {len(l)}, {n}, {r}}},\n' for k, l, n, r in launches)
        text += ("#include <string>\n#include <vector>\nstruct Launch { const char *name; const void *kernel; const char *operands; "
                 f"unsigned columns, count, results; }} launches[] = {{\n{table}}};\n{MAIN}")
        (folder / f"part{part}.cu").write_text(text)
        (folder / f"part{part}.txt").write_text("".join(f"{k} {l}.in {len(l)} {n} {r}\n" for k, l, n, r in launches))
        files.append(mine)
    return files


def canonical(letter, word):
    """All NaN are one value."""
    if letter in HALVES:
        return canonical(HALVES[letter], word & 0xffff) | canonical(HALVES[letter], word >> 16) << 16
    if letter in FLOATS:
        exponent, fraction = FLOATS[letter]
        if word & (1 << exponent + fraction) - 1 > (1 << exponent) - 1 << fraction:
            return (1 << exponent + fraction) - 1
    return word


def read_results(folder, files):
    """Words of every operation, by its name; an operation whose kernel did not run has none."""
    results = {}
    for mine in files:
        for name, group in mine:
            path = folder / f"{name}.out"
            if not path.exists():
                continue
            n = len(operand_tuples(group[0].operands))
            words = struct.unpack(f"<{n * len(group)}Q", path.read_bytes())
            for k, operation in enumerate(group):
                results[operation.name] = [canonical(operation.result, w) for w in words[k * n:k * n + n]]
    return results
