#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds an extension as it was and as kb-opt patched it, calls both from Python, and compares results and times.

    python3 bench/torch_extension.py examples/torch-extension/row_scale.cu patched.cu      PyTorch, the CUDA toolkit, ninja and a GPU

Both are built by `CUDAExtension` (python3 setup.py build_ext), and the patched one by `load_inline` as well. Exit status: 1 if a result differs.
"""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

import torch
from torch.utils import cpp_extension

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "kernelbench"))
import times  # noqa: E402

EXAMPLE = os.path.join(os.path.dirname(HERE), "examples/torch-extension")
ROWS, COLUMNS, ROUNDS = 4096, 768, 50


def built(source, folder):
    """The module that setup.py makes of a file, under a name of its own: Python loads a module of one name only once."""
    name = "row_scale_" + os.path.basename(folder)
    os.makedirs(folder)
    shutil.copy(source, os.path.join(folder, "row_scale.cu"))
    with open(os.path.join(EXAMPLE, "setup.py")) as file:
        text = file.read()
    with open(os.path.join(folder, "setup.py"), "w") as file:
        file.write(text.replace('"row_scale"', f'"{name}"'))
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=folder, check=True)
    path = next(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".so"))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def inlined(source, folder):
    """The same file by load_inline; its PYBIND11_MODULE says what is called."""
    os.makedirs(folder)
    with open(source) as file:
        return cpp_extension.load_inline("row_scale_inline", cpp_sources="", cuda_sources=file.read(), build_directory=folder)


def clamps(module, x):
    """Whether clamp_, whose launch stands in a dispatch macro, does what torch does."""
    result = x.contiguous().clone()
    module.clamp_(result, -0.5, 0.5)
    return torch.equal(result, x.clamp(-0.5, 0.5))


def main(before, after):
    x, weight = torch.randn(ROWS, COLUMNS, device="cuda"), torch.rand(COLUMNS, device="cuda") + 0.5
    exact = (x.double() / (x.double().square().mean(1, keepdim=True) + 1e-6).sqrt() * weight.double())
    with tempfile.TemporaryDirectory() as folder:
        modules = {"as it was": built(before, folder + "/before"), "patched": built(after, folder + "/after"), "patched, load_inline": inlined(after, folder + "/inline")}
        wrong = 0
        for name, module in modules.items():
            distance = float((module.row_scale(x, weight).double() - exact).abs().max())
            is_right = distance < 1e-4 and all(clamps(module, x[:, :columns].to(dtype)) for dtype in (torch.float, torch.double) for columns in (COLUMNS, 33))
            wrong += not is_right
            print(f"{name}: {'right' if is_right else 'WRONG'}, at most {distance:.2g} from float64")
        calls = {f"row_scale {name}": lambda module=module: module.row_scale(x, weight) for name, module in modules.items()}
        calls.update({f"clamp_ {name}": lambda module=module: module.clamp_(x, -0.5, 0.5) for name, module in modules.items()})
        for name, us in times.microseconds(torch, calls, ROUNDS).items():
            print(f"{name}: {us:.1f} us with the wrapper, {torch.cuda.get_device_name()}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 3 else __doc__)
