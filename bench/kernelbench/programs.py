# SPDX-License-Identifier: Apache-2.0

"""Judges and times what a run of track A kept beside the given program, eager PyTorch and torch.compile, in half precision, in one process. Needs torch, nvcc and a GPU.

PyTorch's program is the one that the driver compares with (references.py). It is computed in float64 as well, which says how far off each of the others is: on the driver's own tensors, and on
those of the workload, in which no constant hides a wrong index. The driver's own check is told beside that, and what it says of a result of nothing but zeros.
"""
import ctypes
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile

import times

ROUNDS = 25
WORKLOAD, DRIVER = 2, 3  # places in the records of TENSORS
TOLERANCE = 1e-1  # of KernelBlaster's drivers, relative and absolute


def built(source, call, flags, capability):
    """A shared library with kb_call, which is handed an array of pointers. Raises RuntimeError with the compiler's first error."""
    folder = tempfile.mkdtemp(prefix="kb-program-")
    wrapper, library = os.path.join(folder, "wrapper.cu"), os.path.join(folder, "wrapper.so")
    with open(wrapper, "w") as file:
        file.write(f'#include "{os.path.abspath(source)}"\n#include <cmath>\n#include <cstdint>\n#include <vector>\nextern "C" void kb_call(void **p) {{ {call}; }}\n')
    done = subprocess.run(["nvcc", "-O3", "-std=c++17", f"-arch=sm_{capability}", "-shared", "-Xcompiler", "-fPIC", *flags, wrapper, "-o", library], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(next((line for line in done.stderr.splitlines() if "error" in line), "nvcc failed")[:300])
    return ctypes.CDLL(library)


def filled(torch, what, place, generator, device="cuda"):
    """A tensor of TENSORS with the values of its distribution; what is left to the entry is zeros."""
    from operations import NATURAL
    shape, dtype, init = what[0], NATURAL[what[1]], what[place]
    kind, numbers = re.match(r"\w*", init)[0], [float(n) for n in re.findall(r"-?[\d.]+(?:e[+-]?\d+)?", init)]
    make = {"device": device}
    if kind in ("", "zeros"):
        return torch.zeros(shape, dtype=dtype, **make)
    if kind == "ones" or kind == "constant":
        return torch.full(shape, numbers[0] if numbers else 1, dtype=dtype, **make)
    if kind == "uniform":
        return (torch.rand(shape, generator=generator, **make) * (numbers[1] - numbers[0]) + numbers[0]).to(dtype)
    if kind == "range":
        return torch.randint(int(numbers[0]), max(int(numbers[1]), int(numbers[0]) + 1), shape, generator=generator, **make).to(dtype)
    if kind == "iota":
        return torch.arange(shape[0], **make).to(dtype)
    if kind == "permutation":
        return torch.randperm(shape[0], generator=generator, **make).to(dtype)
    if not dtype.is_floating_point:
        return torch.randint(0, 2, shape, generator=generator, **make).to(dtype)
    mean, deviation = numbers if len(numbers) == 2 else (0.0, 1.0)
    return (torch.randn(shape, generator=generator, **make) * deviation + mean).to(dtype)


class Problem:
    """The tensors of one problem and what computes on them. A problem whose reference changes what it is handed is filled anew for each use."""

    def __init__(self, torch, reference, seed, device="cuda"):
        self.torch, self.reference, self.seed, self.device = torch, reference, seed, device

    def tensors(self, place):
        generator = self.torch.Generator(self.device).manual_seed(self.seed)
        return {name: filled(self.torch, what, place, generator, self.device) for name, what in self.reference.TENSORS.items()}

    def expected(self, place, exact=False):
        from operations import EXACT, NATURAL
        tensors = self.tensors(place)
        if exact:
            tensors = {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
        return self.reference.reference(*[tensors[name] for name in self.reference.INPUTS], dtypes=EXACT if exact else NATURAL)

    def call(self, library, place):
        """A function that runs the entry on tensors of its own, and these."""
        tensors = self.tensors(place)
        handed = self.reference.arguments(tensors)
        pointers = (ctypes.c_void_p * len(handed))(*[tensor.data_ptr() for tensor in handed])
        return (lambda: library.kb_call(pointers)), tensors, handed

    def results(self, library, place):
        run, tensors, handed = self.call(library, place)
        run()
        self.torch.cuda.synchronize()
        del handed
        return self.reference.results(tensors)


def judged(problem, libraries, place):
    """How far off eager and the programs are from float64, and what the driver's check says."""
    torch = problem.torch
    with torch.no_grad():
        eager = problem.expected(place)
        try:
            exact = problem.expected(place, exact=True)
        except torch.OutOfMemoryError:
            exact = eager
        found = {"random": any(not torch.equal(a, b) for a, b in zip(eager, problem.expected(place))) and times.distance(problem.expected(place), eager) > 0.05,
                 "distance": {"eager": times.distance(eager, exact)}, "accepted": {}}
        accepted = lambda results: all(torch.allclose(a.double(), b.double(), rtol=TOLERANCE, atol=TOLERANCE) for a, b in zip(results, eager))
        found["accepted"]["zeros"] = accepted([torch.zeros_like(each) for each in eager])
        for name, library in libraries.items():
            results = problem.results(library, place)
            found["distance"][name] = times.distance([a.reshape(b.shape) if a.numel() == b.numel() else a for a, b in zip(results, exact)], exact)
            found["accepted"][name] = accepted(results)
    return found


def is_right(found, name):
    """At most four times as far off as eager PyTorch, and 0.4 % more, or a number that is not finite where eager has none."""
    ours, eager = found["distance"][name], found["distance"]["eager"]
    return ours <= 4 * eager + 2 ** -8 if ours == ours else eager != eager


def evaluate(folder, given, kept, flags, modes, seed):
    """The record of one problem; exceptions are for the caller."""
    import torch
    spec = importlib.util.spec_from_file_location("kb_reference", os.path.join(folder, "reference.py"))
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    major, minor = torch.cuda.get_device_capability()
    capability = f"{major}{minor}{'a' if major == 9 else ''}"
    libraries = {"given": built(given, reference.CALL, flags, capability)}
    if kept != given:
        libraries["kb-opt"] = built(kept, reference.CALL, flags, capability)
    record, problem = {"compile": {}}, Problem(torch, reference, seed)
    with times.computing():
        record["driver"], record["drawn"] = judged(problem, libraries, DRIVER), judged(problem, libraries, WORKLOAD)
        record["right"] = {name: is_right(record["driver"], name) and is_right(record["drawn"], name) for name in libraries}
        record["correct"] = record["right"]["given"] and record["right"].get("kb-opt", True) and not record["driver"]["random"]
        inputs = problem.tensors(DRIVER)
        inputs = [inputs[name] for name in reference.INPUTS]
        with torch.no_grad():
            functions = {"eager": reference.reference, **times.compiled(torch, reference.reference, modes, lambda made: made(*inputs), record["compile"])}
    calls = {name: lambda function=function: function(*inputs) for name, function in functions.items()}
    held = [problem.call(library, DRIVER) for library in libraries.values()]
    calls.update((name, run) for name, (run, _, _) in zip(libraries, held))
    calls.setdefault("kb-opt", calls["given"])
    with times.alone():
        record["half"] = times.microseconds(torch, calls, ROUNDS)
        record["half kernels"] = times.kernel_microseconds(torch, calls, ROUNDS)
    return record


if __name__ == "__main__":
    place, given_path, kept_path, all_flags, all_modes, number = sys.argv[1:]
    print(json.dumps(evaluate(place, given_path, kept_path, json.loads(all_flags), all_modes.split(",") if all_modes else [], int(number))))
