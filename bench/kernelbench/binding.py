# SPDX-License-Identifier: Apache-2.0

"""A Python module that upstream's eval_kernel_against_ref takes as an answer: the reference's text, and `ModelNew` beside its `Model`.

ModelNew has the parameters of Model, made in the same order, so that the same seed fills both with the same values. Its forward hands them and the inputs to kb_run of the CUDA text that the
module holds, which is compiled once for each card.
"""
import json

TEXT = '''

# What follows was made by bench/kernelbench.py: ModelNew computes forward by the CUDA program CUDA.
import ctypes as _ctypes
import hashlib as _hashlib
import os as _os
import subprocess as _subprocess
import tempfile as _tempfile

import torch as _torch

CUDA = {cuda!r}
# Memory that was freed stays with the process, as that of PyTorch does.
KEEP = """
#include <cstdint>
extern "C" void kb_keep() {{
  int device;
  cudaMemPool_t pool;
  uint64_t all = UINT64_MAX;
  if (cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess)
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
}}
"""
ARGUMENTS = {arguments}  # of kb_run behind the outputs: role and name
OUTPUTS = {outputs}  # their shapes
SIZES = {sizes}  # numbers behind the tensors


def _library():
    major, minor = _torch.cuda.get_device_capability()
    words = ["nvcc", "-O3", "-std=c++17", f"-arch=sm_{{major}}{{minor}}{{'a' if major == 9 else ''}}", "-shared", "-Xcompiler", "-fPIC"]
    name = _hashlib.sha256(" ".join([*words, CUDA + KEEP]).encode()).hexdigest()[:16]
    path = _os.path.join(_tempfile.gettempdir(), f"kb-model-{{name}}.so")
    if not _os.path.exists(path):
        with _tempfile.TemporaryDirectory() as folder:
            source = _os.path.join(folder, "kernel.cu")
            with open(source, "w") as file:
                file.write(CUDA + KEEP)
            _subprocess.run([*words, source, "-o", path + f".{{_os.getpid()}}"], check=True)
        _os.replace(path + f".{{_os.getpid()}}", path)
    return _ctypes.CDLL(path)


class ModelNew(Model):
    _run = None

    def forward(self, *inputs):
        if ModelNew._run is None:
            library = _library()
            library.kb_keep()
            ModelNew._run = library.kb_run
        own = {{"p_" + name.replace(".", "_"): tensor for name, tensor in self.named_parameters()}}
        own.update({{"b_" + name.replace(".", "_"): tensor for name, tensor in self.named_buffers()}})
        given = [tensor for tensor in inputs if isinstance(tensor, _torch.Tensor)]
        passed = [given[which] if role == "input" else own[which] for role, which in ARGUMENTS]
        passed = [tensor.detach().contiguous() for tensor in passed]
        device = passed[0].device
        results = [_torch.empty(shape, dtype=_torch.float32, device=device) for shape in OUTPUTS]
        pointers = [_ctypes.c_void_p(tensor.data_ptr()) for tensor in results + passed]
        ModelNew._run(*pointers, *map(_ctypes.c_int, SIZES), _ctypes.c_void_p(_torch.cuda.current_stream(device).cuda_stream))
        return results[0] if len(results) == 1 else tuple(results)
'''


def arguments_of(graph):
    """What kb_run is handed behind its outputs: the place of an input among the module's, or the name of a parameter or buffer."""
    result, place = [], 0
    for value in graph["inputs"]:
        is_input = value["role"] == "USER_INPUT"
        if value["used"]:
            result.append(("input", place) if is_input else ("own", value["name"]))
        place += is_input
    return result


def model_new(reference, graph, cuda):
    """The module's text. `reference` and `cuda` are texts, `graph` is that of export.py."""
    shapes = {value["name"]: value["shape"] for value in graph["nodes"]}
    return reference.rstrip() + TEXT.format(cuda=cuda, arguments=arguments_of(graph), outputs=[shapes[name] for name in graph["outputs"]],
                                            sizes=[graph["size"]["value"]] if graph.get("size") else [])


def model_of(folder, cuda_path):
    """The same of a prepared problem's folder."""
    with open(f"{folder}/reference.py") as reference, open(f"{folder}/graph.json") as graph, open(cuda_path) as cuda:
        return model_new(reference.read(), json.load(graph), cuda.read())
