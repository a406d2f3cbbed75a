# SPDX-License-Identifier: Apache-2.0

"""A KernelBench module as plain data: torch.export on shapes alone (the meta device), decomposed to core ATen. Needs torch; nothing is computed."""
import importlib.util
import math

import torch

from values import Untranslatable

DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64", torch.int32: "i32", torch.bool: "bool"}


def load(path):
    """The reference's Python module, as it is."""
    spec = importlib.util.spec_from_file_location("kernelbench_reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def argument(value):
    if isinstance(value, torch.fx.Node):
        return {"node": value.name}
    if isinstance(value, (list, tuple)):
        return [argument(v) for v in value]
    if isinstance(value, (torch.dtype, torch.device, torch.layout, torch.memory_format)):
        return str(value)
    return value


def init_of(kind, name, tensor):
    """As torch's modules draw their parameters, roughly: a workload's values need only be alike in size."""
    if kind == "USER_INPUT":
        return "uniform(0, 1)"  # upstream's inputs are torch.rand, with few exceptions
    if "var" in name or (tensor.dim() == 1 and name.endswith("weight")):
        return "uniform(0.5, 1.5)"
    bound = math.prod(tensor.shape[1:]) ** -0.5 if tensor.dim() > 1 else 0.5
    return f"uniform(-{bound:.6g}, {bound:.6g})"


def graph_of(path):
    """The graph that templates.py reads. Raises Untranslatable with torch's first line where export refuses."""
    try:
        with torch.device("meta"):
            module = load(path)
            model = module.Model(*module.get_init_inputs())
            inputs = tuple(module.get_inputs())
        program = torch.export.export(model, inputs).run_decompositions()
    except Exception as error:  # whatever torch or the reference raises
        raise Untranslatable(f"torch.export: {type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}") from error
    kinds = {spec.arg.name: spec.kind.name for spec in program.graph_signature.input_specs if hasattr(spec.arg, "name")}
    graph = {"inputs": [], "nodes": [], "outputs": list(program.graph_signature.user_outputs)}
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if node.op == "placeholder":
            if not isinstance(value, torch.Tensor):
                continue
            graph["inputs"].append({"name": node.name, "shape": list(value.shape), "dtype": DTYPES.get(value.dtype, str(value.dtype)), "role": kinds.get(node.name, ""), "used": bool(node.users),
                                    "init": init_of(kinds.get(node.name), node.name, value)})
        elif node.op == "call_function":
            first = value[0] if isinstance(value, (list, tuple)) else value
            if not isinstance(first, torch.Tensor):
                raise Untranslatable(f"{node.target} gives no tensor")
            name = getattr(node.target, "overloadpacket", None)
            graph["nodes"].append({"name": node.name, "op": str(name).split(".")[-1] if name else node.target.__name__, "args": argument(node.args),
                                   "kwargs": {k: argument(v) for k, v in node.kwargs.items()}, "shape": list(first.shape), "dtype": DTYPES.get(first.dtype, str(first.dtype))})
    # What only updates running statistics is no output of the module.
    needed = set(graph["outputs"])
    for node in reversed(graph["nodes"]):
        if node["name"] in needed:
            needed.update(names_in([node["args"], list(node["kwargs"].values())]))
    graph["nodes"] = [n for n in graph["nodes"] if n["name"] in needed]
    for value in graph["inputs"]:
        value["used"] = value["name"] in needed
        if value["used"] and value["role"] not in ("PARAMETER", "BUFFER", "USER_INPUT"):
            raise Untranslatable("a tensor that forward makes of numbers")
        if value["used"] and value["dtype"] != "f32":
            raise Untranslatable(f"an input of type {value['dtype']}")
    return graph


def names_in(value):
    if isinstance(value, dict):
        return [value["node"]] if "node" in value else []
    return [n for v in value for n in names_in(v)] if isinstance(value, list) else []
