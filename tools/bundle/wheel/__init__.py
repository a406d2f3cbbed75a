# SPDX-License-Identifier: Apache-2.0

"""kb-opt, a compiler that makes CUDA kernels faster. docs/Bundle.md tells what is in this package.

    os.environ["PYTORCH_NVCC"] = kb_opt.nvcc_launcher()   # before torch.utils.cpp_extension.load
"""

import os
import shlex
import shutil
import sys


def prefix():
    """The folder with bin, lib and share, for CMAKE_PREFIX_PATH."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundle")


def program(name):
    """The path of a command: "kb-opt", "kb-opt-cc", "kb-run", "kb-knowledge" or "run-kb-opt"."""
    return os.path.join(prefix(), "bin", name)


def nvcc_launcher(nvcc=None):
    """What PYTORCH_NVCC takes: nvcc behind the compiler launcher, which compiles what kbopt.lock has in its place.

    nvcc is that of CUDA_HOME or CUDA_PATH, else the one in PATH, unless it is named.
    """
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    candidates = [os.path.join(home, "bin", "nvcc") for home in homes if home]
    nvcc = nvcc or next(filter(os.path.exists, candidates), None) or shutil.which("nvcc") or "nvcc"
    return shlex.join([program("kb-opt-cc"), nvcc])


def main():
    """The commands of the package: each becomes the program of its name."""
    path = program(os.path.basename(sys.argv[0]))
    os.execv(path, [path, *sys.argv[1:]])
