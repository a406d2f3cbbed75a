# SPDX-License-Identifier: Apache-2.0

"""What the modules of references.py are made of: torch's operators by the names and the order of operands that they have in C++. Needs torch."""
import torch
import torch.nn as nn
import torch.nn.functional as F

NATURAL = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8,
           "u8": torch.uint8, "bool": torch.bool}
EXACT = {name: torch.float64 if dtype.is_floating_point else dtype for name, dtype in NATURAL.items()}


def operation(name, count, has_settings=False):
    """The function for a C++ call of `count` operands. Operators of the schema come first: what C++ hands over by place may be a keyword there. With options by name it is torch.nn.functional's."""
    packet = None if has_settings else getattr(torch.ops.aten, name, None)
    if packet is not None:
        schemas = [getattr(packet, overload)._schema for overload in packet.overloads()]
        places = lambda schema: [a for a in schema.arguments if not a.kwarg_only]
        fitting = [schema for schema in schemas if not any(a.is_out for a in schema.arguments)]
        if any(len(places(schema)) >= count for schema in fitting):
            # torch's own function has the same operands, and takes a number for a list, unless it was written anew in Python.
            own = getattr(torch._C._VariableFunctions, name, None)
            return own if own and own is getattr(torch, name, None) else packet
        for schema in fitting:
            if len(schema.arguments) >= count:
                first, names = len(places(schema)), [a.name for a in schema.arguments if a.kwarg_only]
                return lambda *operands: packet(*operands[:first], **dict(zip(names, operands[first:])))
    for place in (F, torch, torch.special, torch.linalg, torch.Tensor):
        if hasattr(place, name):
            return getattr(place, name)
    raise AttributeError(f"torch has no '{name}'")
