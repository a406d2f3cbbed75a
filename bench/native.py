#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a program's given kernel, ours and the author's best (or cuBLAS) in one way, without kb-opt.

    bench/native.py FOLDER OUT [--only=REGEX] [--jobs=N] [--arch=native]

FOLDER has the repositories (bench/corpus.py fetch), OUT the rewritten files of a `bench/corpus.py run FOLDER OUT`. Every program of bench/native.json
becomes one executable with the given and the author's functions and one with the rewritten file, both with the same `main`: random inputs, the L2
cache emptied before each call, the time between two events around the call, the median of up to 15. The given functions are called with
the block sizes of the plan and the author's best with all that its author tries; the fastest counts. `sums apart` says that ours left other values.

Needs nvcc and a GPU. Writes OUT/native.json and prints a table with the ratios and their geometric mean by family.
"""
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys

import corpus

with open(os.path.join(corpus.HERE, "native.json")) as manifest:
    PROGRAMS = json.load(manifest)["programs"]

HARNESS = r"""
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstring>
#define main mainOfTheAuthor
#include "%(source)s"
#undef main
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace harness {
template <class T> __global__ void fill(T *p, size_t n, int range, unsigned seed) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    unsigned long long z = (i + 1) * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull; z = (z ^ (z >> 27)) * 0x94D049BB133111EBull; z ^= z >> 31;
    p[i] = range ? (T)(float)(z %% range) : (T)((float)(unsigned)(z >> 40) * (2.0f / 16777216.0f) - 1.0f);
  }
}
__global__ void emptyCache(const float4 *p, size_t n, float *sink) {
  float s = 0;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) s += p[i].x + p[i].w;
  if (s == 12345.678f) *sink = s;
}
template <class T> double sumOf(const T *p, size_t n) {
  std::vector<T> host(n);
  cudaMemcpy(host.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += std::fabs((double)(float)host[i]) * (1 + i %% 7);
  return sum;
}
template <class F> void measure(const char *what, int block, F call) {
  static float4 *junk; static float *sink; const size_t bytes = 192u << 20;
  if (!junk) { cudaMalloc(&junk, bytes); cudaMalloc(&sink, 4); cudaMemset(junk, 0, bytes); }
  cudaEvent_t start, stop; cudaEventCreate(&start); cudaEventCreate(&stop);
  std::vector<float> times; double spent = 0;
  bool isBad = false;
  for (int i = -1; i < 15 && !isBad && (spent < 400 || i < 0); ++i) { // the first is warm-up, unless it is very slow
    emptyCache<<<1024, 256>>>(junk, bytes / 16, sink);
    if (i == 0 && spent < 200) times.clear();
    cudaEventRecord(start); call(); cudaEventRecord(stop); cudaEventSynchronize(stop);
    float ms = 0; cudaEventElapsedTime(&ms, start, stop); times.push_back(ms * 1000); spent += ms;
    isBad = cudaGetLastError() != cudaSuccess;
  }
  if (isBad) { std::printf("failed %%d %%s\n", block, what); std::fflush(stdout); return; }
  std::sort(times.begin(), times.end());
  std::printf("time %%d %%.3f %%s\n", block, times[times.size() / 2], what); std::fflush(stdout);
}
} // namespace harness

int main() {
  %(lines)s
  %(setup)s
%(buffers)s
%(first)s
%(sums)s
%(calls)s
}
"""


def label_of(call):
    """The function of a call, with the number of the kernel where that is its first argument."""
    return re.sub(r"[(](?:(\d+),)?.*", lambda m: f" {m[1]}" if m[1] else "", call)


def harness_of(program, source, calls):
    """The text of an executable that makes `calls`, a list of (call, block sizes), with the functions of `source`."""
    buffers, sums = [], []
    for seed, (kind, name, count, init) in enumerate(program["buffers"]):
        buffers.append(f"  {kind} *{name}; cudaMalloc(&{name}, ({count}) * sizeof({kind}) + 256); cudaMemset({name}, 0, ({count}) * sizeof({kind}));")
        if init != "zeros":
            limit = init.split()[1] if init.startswith("range") else 0
            buffers.append(f"  harness::fill<<<2048, 256>>>({name}, {count}, {limit}, {seed + 1}u);")
        else:
            sums.append(f'  std::printf("sum %.9g {name}\\n", harness::sumOf({name}, {count}));')
    first = f"  {{ int block = {program['given-blocks'][0]}; (void)block; {program['call']}; cudaDeviceSynchronize(); }}"
    lines = [f'  {{ int block = {block}; (void)block; harness::measure("{label_of(call)}", {block}, [&] {{ {call}; }}); }}'
             for call, blocks in calls for block in blocks]
    return HARNESS % {"source": source, "lines": program["lines"], "setup": program["setup"], "buffers": "\n".join(buffers),
                      "first": first, "sums": "\n".join(sums), "calls": "\n".join(lines)}


def understand(text):
    """Sums by buffer, and (microseconds, block size, function) of each call that worked."""
    sums = {name: float(value) for value, name in re.findall(r"^sum (\S+) (\S+)$", text, re.M)}
    times = [(float(us), int(block), what) for block, us, what in re.findall(r"^time (-?\d+) (\S+) (.*)$", text, re.M)]
    return sums, times


def agree(ours, given):
    # Masked elements are infinite, and so is their sum.
    return all(ours[name] == value or abs(ours[name] - value) <= 1e-2 * abs(value) + 1e-6 for name, value in given.items() if name in ours)


def summarize(program, outputs):
    """A row of the table from what the executables printed (`original`, `ours`); a file that was not rewritten is as fast as the given one."""
    sums, times = understand(outputs["original"])
    given = [t for t in times if t[2] == label_of(program["call"])]
    best = [t for t in times if t[2] != label_of(program["call"])]
    row = {"name": program["name"], "givenUs": min(given)[0] if given else None, "bestUs": min(best)[0] if best else None,
           "best": f"{min(best)[2]}, block {min(best)[1]}" if best else "", "oursUs": min(given)[0] if given else None, "note": "not rewritten"}
    if "ours" in outputs:
        our_sums, our_times = understand(outputs["ours"])
        row.update(oursUs=min(our_times)[0] if our_times else None, note="" if agree(our_sums, sums) else "sums apart")
    if row["bestUs"] and row["oursUs"]:
        row["ratio"] = row["bestUs"] / row["oursUs"]
    return row


def build(text, path, program, entry, options):
    with open(path + ".cu", "w") as file:
        file.write(text)
    root = corpus.root_of(options["folder"], entry)
    source = os.path.join(root, entry["file"])
    flags = [flag.replace("{root}", root) for flag in entry["flags"]] + program.get("flags", [])
    flags = [flag for flag in flags if flag not in ("-x", "cu")]
    done = subprocess.run(["nvcc", f"-arch={options['arch']}", "-O3", "-w", "-I", os.path.dirname(source), path + ".cu", "-o", path, *flags],
                          capture_output=True, text=True, errors="replace")
    return done.stderr


def main(argv):
    options = {"only": "", "jobs": os.cpu_count() or 1, "arch": "native"}
    names = [w for w in argv if not w.startswith("--")]
    for word in (w for w in argv if w.startswith("--")):
        key, _, value = word[2:].partition("=")
        if key not in options or not value:
            sys.exit(f"unknown option '{word}'\n{__doc__}")
        options[key] = type(options[key])(value)
    if len(names) != 2:
        sys.exit(__doc__)
    options["folder"], out = os.path.abspath(names[0]), os.path.abspath(names[1])
    work = os.path.join(out, "native")
    os.makedirs(work, exist_ok=True)
    entries = {p["name"]: p for p in corpus.MANIFEST["programs"]}
    programs = [p for p in PROGRAMS if re.search(options["only"], p["name"])]
    waiting = {}
    with concurrent.futures.ThreadPoolExecutor(options["jobs"]) as pool:
        for program in programs:
            entry, label = entries[program["name"]], program["name"].replace("/", "-")
            given = [(program["call"], program["given-blocks"])]
            source = os.path.join(corpus.root_of(options["folder"], entry), entry["file"])
            best = [(call, program["best-blocks"]) for call in program["best"]]
            path = os.path.join(work, label)
            waiting[program["name"], "original"] = path, pool.submit(build, harness_of(program, source, best + given), path, program, entry, options)
            ours = os.path.join(out, label + ".cu")
            if os.path.exists(ours):
                path = os.path.join(work, label + "-ours")
                waiting[program["name"], "ours"] = path, pool.submit(build, harness_of(program, ours, given), path, program, entry, options)
    rows = []
    for program in programs:
        outputs = {}
        for kind in ("original", "ours"):
            if (program["name"], kind) not in waiting:
                continue
            path, job = waiting[program["name"], kind]
            log = job.result()
            outputs[kind] = ""
            if os.path.exists(path):
                try:
                    outputs[kind] = subprocess.run([path], capture_output=True, text=True, errors="replace", timeout=60).stdout
                except subprocess.TimeoutExpired as late:
                    outputs[kind] = (late.stdout or b"").decode(errors="replace")
                os.remove(path)
            with open(path + ".log", "w") as file:
                file.write(log + outputs[kind])
        rows.append(summarize(program, outputs))
        with open(os.path.join(out, "native.json"), "w") as file:
            json.dump(rows, file, indent=1)
    report(rows)


def report(rows):
    print("| program | given, us | ours, us | author's best or cuBLAS, us | ratio | which | |\n|---|---:|---:|---:|---:|---|---|")
    cell = lambda value: f"{value:.1f}" if value else ""
    for r in rows:
        print(f"| {r['name']} | {cell(r['givenUs'])} | {cell(r['oursUs'])} | {cell(r['bestUs'])} | {r.get('ratio', 0):.2f} | {r['best']} | {r['note']} |")
    for family in dict.fromkeys(r["name"].split("/")[0] for r in rows):
        ratios = [r["ratio"] for r in rows if r["name"].split("/")[0] == family and r.get("ratio")]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{family}: geometric mean {mean:.2f}, least {min(ratios):.2f}, {len(ratios)} programs")


if __name__ == "__main__":
    main(sys.argv[1:])
