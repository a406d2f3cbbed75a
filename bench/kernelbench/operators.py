# SPDX-License-Identifier: Apache-2.0

"""torch's operators by class, from its own schema (native_functions.yaml): that of an installed torch, else operators.json, which was made of one.

    python3 bench/kernelbench/operators.py [native_functions.yaml]     writes operators.json

pointwise   one result for each element of the operands, which are broadcast: the tag `pointwise`, or a TensorIterator underneath
reduction   `dim` and `keepdim` say what is left
loss        `reduction=Mean`: one number
What has none of these is asked of torch itself, on its meta device, where torch is installed.
"""
import importlib.util
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CLASSES = ("pointwise", "reduction", "loss")


def class_of(schema, lines):
    """schema: `name(arguments) -> results`; lines: what the file says of it."""
    if re.search(r"\bint reduction=Mean\b", schema):
        return "loss"
    if "keepdim" in schema:
        return "reduction"
    is_iterated = re.search(r"^\s*structured_inherits: TensorIteratorBase", lines, re.M) or re.search(r"^\s*tags:.*\bpointwise\b", lines, re.M)
    gives_one = re.search(r"-> Tensor(\(\w+!?\))?$", schema)
    return "pointwise" if is_iterated and gives_one and not re.search(r"\bint dim\b|Tensor\?\[\]", schema) else None


def read_schema(text):
    """Names by class. A name has the class of the first of its overloads that has one, and none if two disagree."""
    found = {}
    for entry in re.split(r"^- func: ", text, flags=re.M)[1:]:
        schema, _, lines = entry.partition("\n")
        kind = class_of(schema, lines)
        name = re.match(r"\w+", schema)[0]
        if kind and not name.startswith("_"):
            found.setdefault(name, set()).add(kind)
    classes = {kind: sorted(name for name, kinds in found.items() if kinds == {kind}) for kind in CLASSES}
    return classes


def installed():
    """The schema of the torch that is installed; None if there is none."""
    package = importlib.util.find_spec("torchgen")
    path = package and os.path.join(os.path.dirname(package.origin or ""), "packaged/ATen/native/native_functions.yaml")
    return path if path and os.path.exists(path) else None


def load():
    if path := installed():
        with open(path) as file:
            return read_schema(file.read())
    with open(os.path.join(HERE, "operators.json")) as file:
        return json.load(file)


TABLE = load()
KINDS = {name: kind for kind in CLASSES for name in TABLE[kind]}


def kind_of(name):
    """pointwise, reduction or loss; "" for anything else. `relu_` is `relu` in place."""
    return KINDS.get(name) or KINDS.get(name.rstrip("_"), "")


class Meta:
    """A tensor without values, as an argument of `evaluated`."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "bool": "bool"}


def evaluated(name, arguments):
    """The shapes of what torch's operator gives, one for each tensor; None if torch is not installed, or does not take these arguments."""
    if not importlib.util.find_spec("torch"):
        return None
    import torch
    values = [torch.empty(a.shape, dtype=getattr(torch, DTYPES[a.dtype]), device="meta") if isinstance(a, Meta) else a for a in arguments]
    for place in (torch, torch.nn.functional, torch.Tensor, torch.special, torch.linalg):
        try:
            result = getattr(place, name)(*values)
        except Exception:  # torch says in many ways that it does not take them
            continue
        tensors = [result] if isinstance(result, torch.Tensor) else list(result) if isinstance(result, (tuple, list)) else []
        if tensors and all(isinstance(each, torch.Tensor) for each in tensors):
            return [list(each.shape) for each in tensors]
    return None


if __name__ == "__main__":
    source = sys.argv[1] if len(sys.argv) > 1 else installed()
    if not source:
        sys.exit("no torch is installed: name its torchgen/packaged/ATen/native/native_functions.yaml")
    with open(source) as file:
        table = read_schema(file.read())
    with open(os.path.join(HERE, "operators.json.part"), "w") as file:
        json.dump(table, file, indent=1)
        file.write("\n")
    os.replace(os.path.join(HERE, "operators.json.part"), os.path.join(HERE, "operators.json"))
    print(", ".join(f"{len(table[kind])} {kind}" for kind in CLASSES))
