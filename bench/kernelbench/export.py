# SPDX-License-Identifier: Apache-2.0

"""A KernelBench module as plain data: torch.export on shapes alone (the meta device), decomposed to core ATen. Needs torch; nothing is computed."""
import ast
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


def numbers_of_inputs(path):
    """The module's global numbers that get_inputs() uses, in the order of the file."""
    with open(path) as file:
        tree = ast.parse(file.read())
    function = next((f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == "get_inputs"), None)
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)} if function else set()
    return [target.id for statement in tree.body if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant) and type(statement.value.value) is int
            for target in statement.targets if isinstance(target, ast.Name) and target.id in used]


def batch_of(path):
    """(name, value) of the number that is the first extent of the first input and nothing that the model is made of; None if there is none."""
    for name in numbers_of_inputs(path):
        with torch.device("meta"):
            module = load(path)
            value, before, made = getattr(module, name), module.get_inputs(), module.get_init_inputs()
            setattr(module, name, value + 1)
            after, changed = module.get_inputs(), repr(module.get_init_inputs()) != repr(made)
        tensors = [(a, b) for a, b in zip(before, after) if isinstance(a, torch.Tensor)]
        if not changed and tensors and tensors[0][0].dim() and tensors[0][1].shape[0] == tensors[0][0].shape[0] + 1 and value > max(OTHER_BATCHES):
            return name, value
    return None


OTHER_BATCHES = (3, 2)


def graphs_of(path):
    """The graph with the module's own batch, and what batches.py needs of it: {"name", "value", "others": [[batch, graph], …]} under "size" where its batch can be changed."""
    graph = graph_of(path)
    batch = batch_of(path)
    if batch:
        try:
            graph["size"] = {"name": batch[0], "value": batch[1], "others": [[other, graph_of(path, {batch[0]: other})] for other in OTHER_BATCHES]}
        except Untranslatable:
            pass
    return graph


def graph_of(path, numbers=None):
    """The graph that templates.py reads, with other `numbers` of the module by name. Raises Untranslatable with torch's first line where export refuses."""
    try:
        with torch.device("meta"):
            module = load(path)
            for name, value in (numbers or {}).items():
                setattr(module, name, value)
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
