# SPDX-License-Identifier: Apache-2.0

"""What kb-opt-cc costs: for every file of a project of 50, without and with a lock entry.

The compiler is a program that does nothing, so that what is left is the launcher; with entries it is compared with clang's parse
of the same files, which is the least that any answer about them takes.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time

KERNEL = """#include <cstdio>
__global__ void scale{n}(float *out, const float *in, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in[i] * {n}.0f;
}}
void run{n}(float *out, const float *in, int n) {{ scale{n}<<<(n + 63) / 64, 64>>>(out, in, n); }}
// kb-workload:
//   entry: run{n}
//   sizes: {{n: 1024}}
//   parameters:
//     - {{name: out, type: f32, shape: n, role: out}}
//     - {{name: in, type: f32, shape: n, role: in, init: "uniform(0, 1)"}}
//     - {{name: n, value: n}}
"""


def milliseconds(words, folder, repeat=1):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/bin", help="folder of kb-opt and kb-opt-cc")
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--entries", type=int, default=3, help="files with an entry that are measured")
    arguments = parser.parse_args()
    tools = os.path.abspath(arguments.bin)
    with tempfile.TemporaryDirectory() as folder:
        fake = os.path.join(folder, "nvcc")
        shutil.copy("/bin/true", fake)
        names = [f"k{n}.cu" for n in range(arguments.files)]
        for n, name in enumerate(names):
            with open(os.path.join(folder, name), "w") as file:
                file.write(KERNEL.format(n=n))
        for name in names[:arguments.entries]:
            subprocess.run([f"{tools}/kb-opt", "-passes=tune-block-size", "--lock=kbopt.lock", "-o", "/dev/null", name],
                           cwd=folder, check=True, capture_output=True)
        launcher = f"{tools}/kb-opt-cc"
        bare = statistics.median(milliseconds([fake, "-c", each], folder, 5) for each in names[arguments.entries:])
        without = statistics.median(milliseconds([launcher, fake, "-c", each], folder, 5) for each in names[arguments.entries:])
        print(f"no entry: {without - bare:.1f} ms more than {bare:.1f} ms for the bare command, {len(names)} files")
        with_entry = statistics.median(milliseconds([launcher, fake, "-c", each, "-o", each + ".o"], folder, 3)
                                       for each in names[:arguments.entries])
        parse = statistics.median(
            milliseconds(["clang++-22", "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_90", "-fsyntax-only",
                          "-Wno-unknown-cuda-version", each], folder, 3) for each in names[:arguments.entries])
        print(f"with an entry: {with_entry - bare:.0f} ms more; clang's parse of the file takes {parse:.0f} ms")


if __name__ == "__main__":
    main()
