#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says how well the schedules of a kernel are put in order before any of them is tried.

    bench/schedules.py prepare build/bin/kb-opt FOLDER [NAME …]    here: every schedule of bench/schedules/*.cu as a program
    bench/schedules.py measure FOLDER OUT                          there: nvcc and a GPU; writes OUT/times.json
    bench/schedules.py report build/bin/kb-opt FOLDER times.json   figures of the order and the estimates of this kb-opt
    bench/schedules.py evidence build/bin/kb-opt FOLDER times.json the same as records for `kb-knowledge import`, to stdout

Of each kernel and each line of sizes, up to 32 schedules are measured: the first 24 of the list and the first of each
sketch, then more of the list. Times are medians with a cold L2. Kernels are parted in two by a hash of their names:
what is tuned may look at one half alone.
"""
import concurrent.futures
import glob
import hashlib
import json
import math
import os
import re
import statistics
import subprocess
import sys

from calibration import read_json, spearman, write_json

MOST, REPETITIONS = 32, 7
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schedules")
LINE = re.compile(r"^  (?:modelled ([\d.]+) us, (\S+)|not modelled) +(\w+ .*)$")

MAIN = r"""
#include <cstdio>
#include <cmath>
#include <cstring>
#include <algorithm>
#include <vector>
__global__ void fillFloats(float *p, size_t n, unsigned seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    unsigned h = (unsigned(i) + seed) * 2654435761u;
    h ^= h >> 15, h *= 2246822519u, h ^= h >> 13;
    p[i] = float(h) / 4294967296.0f * 2 - 1;
  }
}
__global__ void fillInts(int *p, size_t n, unsigned below) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    unsigned h = unsigned(i) * 2654435761u;
    h ^= h >> 15, h *= 2246822519u, h ^= h >> 13;
    p[i] = h % below;
  }
}
static char *flushed;
static double timeOf(void (*run)()) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin), cudaEventCreate(&end);
  std::vector<float> times;
  for (int i = 0; i < REPETITIONS + 1; ++i) {
    cudaMemsetAsync(flushed, i, size_t(256) << 20);
    cudaEventRecord(begin), run(), cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    if (i)
      times.push_back(ms * 1000);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}
template <typename T> static double differenceOf(const std::vector<char> &a, const std::vector<char> &b) {
  auto *x = reinterpret_cast<const T *>(a.data()), *y = reinterpret_cast<const T *>(b.data());
  double most = 0, scale = 0;
  for (size_t i = 0; i < a.size() / sizeof(T); ++i) {
    double d = std::fabs(double(x[i]) - double(y[i]));
    most = std::max(most, std::isnan(double(y[i])) ? 1e30 : d), scale = std::max(scale, std::fabs(double(x[i])));
  }
  return scale ? most / scale : most;
}
"""


def sources(names):
    for path in sorted(glob.glob(os.path.join(HERE, "*.cu"))):
        name = os.path.splitext(os.path.basename(path))[0]
        if not names or name in names:
            with open(path) as file:
                yield name, file.read()


def variants(names):
    """(name of kernel and sizes, kernel, program) of each line of sizes."""
    for name, text in sources(names):
        for sizes in re.search(r"^// sizes: (.*)$", text, re.M)[1].split(";"):
            constants = ", ".join(re.sub("=", " = ", word) for word in sizes.split())
            program = re.sub(r"^constexpr int .*;$", f"constexpr int {constants};", text, count=1, flags=re.M)
            yield name + "_" + re.sub(r"\W+", "_", sizes.strip()), name, program


def listed(kb_opt, path):
    """[(schedule, modelled us or None)] as kb-opt lists them."""
    done = subprocess.run([kb_opt, "--emit=schedules", path], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{path}: {done.stderr}")
    found = (LINE.match(line) for line in done.stdout.splitlines())
    return [(m[3], float(m[1]) if m[1] else None) for m in found if m]


def figures_of(kb_opt, path):
    """The figures of the nest that kb-opt names."""
    text = subprocess.run([kb_opt, "--emit=schedules", path], capture_output=True, text=True).stdout
    found = re.search(r"^  nest: (.*)$", text, re.M)
    return {name: float(value) for name, value in (word.split("=") for word in found[1].split())} if found else {}


def evidence(kb_opt, folder, times_path):
    """Each kernel is a program of its own name: what is learnt of one speaks for the others."""
    times = read_json(times_path)
    for each in read_json(os.path.join(folder, "programs.json")):
        measured = {s: t[0] for s, t in times.get(each["variant"], {}).items() if t[2] == "no error" and t[1] < 1e-2}
        given, path = measured.pop("", None), os.path.join(folder, each["source"])
        nest = figures_of(kb_opt, path)
        for schedule, us in listed(kb_opt, path):
            if not given or schedule not in measured or not us or not nest:
                continue
            print(json.dumps({
                "pass": "schedule", "parameters": {"as": schedule}, "nest": nest, "estimatedUs": us, "primary": "unknown",
                "achievedGain": math.log(given / measured[schedule]), "verdict": "screened", "chip": "h200", "device": "cuda",
                "program": "bench/schedules/" + each["kernel"], "before": each["variant"]}))


def chosen(schedules):
    """The first of the list and the first of each sketch."""
    sketches, first = set(), []
    for number, schedule in enumerate(schedules):
        if number < MOST - 8 or schedule.split()[0] not in sketches:
            first.append(schedule)
        sketches.add(schedule.split()[0])
    return first + [s for s in schedules if s not in first][:max(0, MOST - len(first))]


def prepare_one(kb_opt, folder, variant, name, program):
    made = os.path.join(folder, variant)
    os.makedirs(made, exist_ok=True)
    source = os.path.join(made, name + ".cu")
    with open(source, "w") as out:
        out.write(program)
    texts, schedules = [program], [""]
    for schedule in chosen([s for s, _ in listed(kb_opt, source)]):
        target = os.path.join(made, "candidate.cu")
        done = subprocess.run([kb_opt, "--quiet", f'-passes=schedule{{as="{schedule}"}}', source, "-o", target],
                              capture_output=True, text=True)
        with open(target) as file:
            text = file.read()
        if done.returncode == 0 and text != program:
            texts.append(text)
            schedules.append(schedule)
    buffers = [word.split(":") for word in re.search(r"^// buffers: (.*)$", program, re.M)[1].split()]
    write_main(os.path.join(made, "main.cu"), program, texts, buffers)
    return {"variant": variant, "kernel": name, "source": f"{variant}/{name}.cu", "schedules": schedules}


def write_main(path, program, texts, buffers):
    includes, bodies = [], []
    for number, text in enumerate(texts):
        includes += re.findall(r"^#include .*$", text, re.M)
        bodies.append(f"namespace v{number} {{\n" + re.sub(r"^#include .*$", "", text, flags=re.M) + "\n}\n")
    constants = re.search(r"^constexpr int .*;$", program, re.M)[0]
    types = {"f32": "float", "i32": "int"}
    lines = ["#define REPETITIONS " + str(REPETITIONS), *sorted(set(includes)), MAIN, *bodies, constants]
    for name, kind, count, role in buffers:
        lines.append(f"static {types[kind]} *{name};")
    names = ", ".join(b[0] for b in buffers)
    output, kind, count, _ = buffers[0]
    lines.append("int main() {\n  cudaMalloc(&flushed, size_t(256) << 20);")
    for number, (name, kind_, count_, role) in enumerate(buffers):
        lines.append(f"  cudaMalloc(&{name}, sizeof(*{name}) * size_t({count_}));")
        below = re.match(r"below\((\d+)\)", role)
        fill = f"fillInts<<<1024, 256>>>({name}, {count_}, {below[1]})" if below else f"fillFloats<<<1024, 256>>>({name}, {count_}, {number})"
        if role != "out":
            lines.append(f"  {fill};")
    lines.append(f"  const size_t bytes = sizeof(*{output}) * size_t({count});\n  std::vector<char> given(bytes), result(bytes);")
    for number in range(len(texts)):
        kept = "given" if number == 0 else "result"
        lines.append(f"  cudaMemset({output}, 0, bytes);\n  {{ auto run = [] {{ v{number}::run({names}); }};\n  double us = timeOf(run);"
                     f"\n  cudaMemcpy({kept}.data(), {output}, bytes, cudaMemcpyDeviceToHost);"
                     f'\n  printf("{number} %.3f %.3g %s\\n", us, differenceOf<{types[kind]}>(given, {kept}), cudaGetErrorString(cudaGetLastError())); }}')
    lines.append("}\n")
    with open(path, "w") as out:
        out.write("\n".join(lines))


def prepare(kb_opt, folder, *names):
    os.makedirs(folder, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(lambda each: prepare_one(kb_opt, folder, *each), list(variants(names))))
    write_json(os.path.join(folder, "programs.json"), made)
    print(f"{len(made)} kernels with sizes, {sum(len(m['schedules']) - 1 for m in made)} schedules")


def measure(folder, out):
    made = read_json(os.path.join(folder, "programs.json"))

    def build(each):
        path = os.path.join(folder, each["variant"])
        return subprocess.run(["nvcc", "-O3", "-std=c++17", "-arch=sm_90", "-o", path + "/main", path + "/main.cu"],
                              capture_output=True, text=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        built = list(pool.map(build, made))
    times = {}
    for each, done in zip(made, built):
        if done.returncode:
            print(each["variant"], done.stderr[:2000])
            continue
        try:
            ran = subprocess.run([os.path.join(folder, each["variant"], "main")], capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            print(each["variant"], "timeout")
            continue
        rows = [line.split(maxsplit=3) for line in ran.stdout.splitlines()]
        times[each["variant"]] = {each["schedules"][int(r[0])]: [float(r[1]), float(r[2]), r[3]] for r in rows}
        write_json(os.path.join(out, "times.json"), times)
    print(f"{len(times)} of {len(made)} measured")


def half_of(kernel):
    return int(hashlib.sha256(kernel.encode()).hexdigest(), 16) % 2


def report(kb_opt, folder, times_path, *options):
    """With --verbose, every schedule of every kernel: its place, modelled and measured time."""
    times, rows = read_json(times_path), []
    for each in read_json(os.path.join(folder, "programs.json")):
        measured = {s: t[0] for s, t in times.get(each["variant"], {}).items() if t[2] == "no error" and t[1] < 1e-2}
        given = measured.pop("", None)
        order = [(s, us) for s, us in listed(kb_opt, os.path.join(folder, each["source"])) if s in measured]
        if not given or not order:
            print(f"{each['variant']}: not measured")
            continue
        best = min(measured.values())
        both = [(us, measured[s]) for s, us in order if us]
        rows.append((each["kernel"], best / measured[order[0][0]], best / min(measured[s] for s, _ in order[:4]),
                     spearman(*zip(*both)) if len(both) > 2 else None, [(us / t) for us, t in both]))
        print(f"{each['variant']:40} {half_of(each['kernel'])} given {given:9.1f} best {best:8.1f} first {measured[order[0][0]]:8.1f} "
              f"({rows[-1][1]:.2f}, of four {rows[-1][2]:.2f}) rank correlation {rows[-1][3] if rows[-1][3] is None else round(rows[-1][3], 2)} of {len(both)}")
        if "--verbose" in options:
            for s, us in order:
                print(f"      {measured[s]:9.1f} {us or 0:9.1f}  {s}")
    for name, part in (("all", rows), ("half 0", [r for r in rows if half_of(r[0]) == 0]), ("half 1", [r for r in rows if half_of(r[0])])):
        if part:
            ranks = [r[3] for r in part if r[3] is not None]
            print(f"{name}: {len(part)} kernels with sizes; first over best {statistics.geometric_mean(r[1] for r in part):.3f}, best of four "
                  f"over best {statistics.geometric_mean(r[2] for r in part):.3f}; rank correlation within a kernel "
                  f"{statistics.mean(ranks) if ranks else float('nan'):.3f}")


if __name__ == "__main__":
    commands = {"prepare": (prepare, 2), "measure": (measure, 2), "report": (report, 3),
                "evidence": (evidence, 3)}
    command, arguments = (commands.get(sys.argv[1]) if len(sys.argv) > 1 else None), sys.argv[2:]
    if not command or len(arguments) < command[1]:
        sys.exit(__doc__)
    command[0](*arguments)
