# SPDX-License-Identifier: Apache-2.0

"""Functions of torch and methods of tensors, by name."""
import re

import operators
import shapes
from values import Int, Made, Opaque, Options, Tensor, Untranslatable, as_int, remember

DTYPES = {"kFloat16": "f16", "kHalf": "f16", "Half": "f16", "kBFloat16": "bf16", "BFloat16": "bf16", "kFloat": "f32", "kFloat32": "f32", "Float": "f32", "kDouble": "f64", "kFloat64": "f64",
          "Double": "f64", "kInt": "i32", "kInt32": "i32", "Int": "i32", "kLong": "i64", "kInt64": "i64", "Long": "i64", "kBool": "bool", "Bool": "bool", "kUInt8": "u8", "kByte": "u8",
          "kInt8": "i8", "kChar": "i8", "kShort": "i16", "kInt16": "i16"}
SAME_VALUES = set("clone detach contiguous data cpu cuda cpu_ requires_grad_ set_requires_grad alias Parameter".split())


def dtype_of(values, otherwise):
    """The type that one of the values names, as an option of torch::TensorOptions or bare."""
    for value in values:
        if isinstance(value, Opaque) and value.name in DTYPES:
            return DTYPES[value.name]
        if isinstance(value, Options) and "dtype" in value.settings:
            return dtype_of([value.settings["dtype"]], otherwise)
        if isinstance(value, Options):
            found = dtype_of(value.arguments, None)
            if found:
                return found
    return otherwise


def number_text(value):
    return f"{value.value if isinstance(value, Int) else value:g}"


def shape_of(value):
    return [as_int(e) for e in shapes.flat(value)]


def created(name, arguments):
    """randn and the like; None if the name is none of them."""
    dtype = dtype_of(arguments[1:], "f32")
    if name in ("randn", "rand", "zeros", "ones", "empty"):
        init = {"randn": "normal", "rand": "uniform(0, 1)", "zeros": "zeros", "ones": "ones", "empty": ""}[name]
        return Tensor(shape_of(arguments[0]), dtype, init)
    if name in ("full", "scalar_tensor", "tensor"):
        shape = shape_of(arguments[0]) if name == "full" else [Int(len(arguments[0]))] if isinstance(arguments[0], list) else []
        value = arguments[1 if name == "full" else 0]
        if isinstance(value, list):
            return Tensor(shape, dtype, "normal", "a list of numbers")
        return Tensor(shape, dtype, f"constant({number_text(value)})")
    if name in ("randint", "randperm", "arange"):
        dtype = dtype_of(arguments, "f32" if name == "randint" else "i64")
        if name != "randint":
            return Tensor([as_int(arguments[0])], dtype, "permutation" if name == "randperm" else "iota")
        low, high, shape = arguments[:3] if not isinstance(arguments[1], list) else (0, *arguments[:2])
        return Tensor(shape_of(shape), dtype, f"range({number_text(low)}, {number_text(high)})")
    if name in ("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like"):
        like = arguments[0]
        init = {"zeros_like": "zeros", "ones_like": "ones", "rand_like": "uniform(0, 1)", "randn_like": "normal"}.get(name, "")
        if name == "full_like" and not str(arguments[1]).startswith("nan"):
            init = f"constant({number_text(arguments[1])})"
        return Tensor(like.shape, dtype_of(arguments[1:], like.dtype), init)
    return None


def filled(name, tensor, arguments):
    """Methods that fill a tensor in place; False if the name is none of them."""
    kind = name.rstrip("_")
    if kind in ("normal", "uniform", "fill", "zero", "kaiming_uniform", "xavier_uniform", "constant", "ones", "zeros", "trunc_normal", "xavier_normal", "kaiming_normal") and name.endswith("_"):
        numbers = [number_text(a) for a in arguments if isinstance(a, (Int, int, float)) and not isinstance(a, bool)]
        if kind in ("kaiming_uniform", "xavier_uniform"):
            fan_in = 1
            for extent in tensor.shape[1:]:
                fan_in *= extent.value
            tensor.storage.init = "uniform(-{0:.6g}, {0:.6g})".format(fan_in ** -0.5)
        elif kind in ("fill", "constant"):
            tensor.storage.init = f"constant({numbers[0]})"
        elif kind in ("zero", "zeros", "ones"):
            tensor.storage.init = "ones" if kind == "ones" else "zeros"
        else:
            base = "uniform" if kind == "uniform" else "normal"
            numbers = numbers or (["0", "1"] if base == "uniform" else [])
            tensor.storage.init = base + (f"({', '.join((numbers + ['1'])[:2])})" if numbers else "")
        tensor.storage.note = tensor.storage.given = ""
        return True
    return False


def pooled(name, x, rest):
    found = re.fullmatch(r"(max|avg)_pool(\d)d", name)
    settings = {}
    if rest and isinstance(rest[0], Options):
        settings = {"kernel_size": rest[0].arguments[0] if rest[0].arguments else None, **rest[0].settings}
    else:
        names = ["kernel_size", "stride", "padding", *(["dilation"] if found[1] == "max" else []), "ceil_mode"]
        settings = dict(zip(names, rest))
    get = settings.get
    return shapes.pool(x, int(found[2]), get("kernel_size"), get("stride"), get("padding"), get("dilation"), bool(get("ceil_mode", False))), settings


def called(name, arguments, structure):
    """torch::name(arguments), or x.name(...) with x in front."""
    x = arguments[0] if arguments else None
    fresh = created(name, arguments)
    if fresh is not None:
        return fresh
    if isinstance(x, Tensor) and filled(name, x, arguments[1:]):
        x.made = None
        return x
    made = Made("call", name, arguments)
    result = applied(name, arguments, structure)
    if name in SAME_VALUES and name not in ("clone", "contiguous"):
        result.made = x.made
    elif name == "copy_":
        x.made = arguments[1].made or Made("call", "alias", arguments[1:2])
    else:
        remember(result, made)
        if name.endswith("_") and isinstance(x, Tensor) and not name.endswith("__"):
            made.what = name.rstrip("_")
            x.made = made
    return result


def applied(name, arguments, structure):
    """What it gives, by its shape and type."""
    x, rest = arguments[0] if arguments else None, arguments[1:]
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    if not tensors and not (isinstance(x, list) and x and isinstance(x[0], Tensor)) and name != "einsum":
        raise Untranslatable(f"torch::{name}")
    if name in SAME_VALUES:
        return x.reshaped(x.shape)
    if name in ("to", "type", "type_as", "half", "float"):
        dtype = {"half": "f16", "float": "f32"}.get(name) or dtype_of(rest, rest[0].dtype if rest and isinstance(rest[0], Tensor) else x.dtype)
        return Tensor(x.shape, dtype, storage=x.storage)
    if name in ("max", "min") and rest and not isinstance(rest[0], Tensor):
        values = shapes.reduction(name, x, *rest[:2])
        return [values, shapes.computed(values.shape, "i64", name)]
    if name in ("max", "min") and len(tensors) == 2:
        return shapes.elementwise(name, tensors)
    if name == "norm":
        return shapes.reduction(name, x, *rest[1:3])
    kind = shapes.kind_of(name)
    if kind == "reduction":
        return shapes.reduction(name, x, *[r for r in rest if not isinstance(r, (Opaque, Options))][:2])
    if name in ("matmul", "mm", "bmm"):
        return shapes.matmul(x, rest[0], name)
    if name == "linear":
        return shapes.linear(x, rest[0])
    if name in ("addmm", "baddbmm"):
        return shapes.elementwise(name, [x, shapes.matmul(rest[0], rest[1], name)])
    if name == "einsum":
        return shapes.einsum(x, rest[0])
    if re.fullmatch(r"conv\dd", name):
        structure(list(rest[0].shape[2:]), *rest[2:])
        return shapes.convolution(x, rest[0], *rest[2:6])
    if re.fullmatch(r"conv_transpose\dd", name):
        structure(list(rest[0].shape[2:]), *rest[2:])
        return shapes.transposed_convolution(x, rest[0], *rest[2:7])
    if re.fullmatch(r"(max|avg)_pool\dd", name):
        result, settings = pooled(name, x, rest)
        structure(*settings.values())
        return result
    if re.fullmatch(r"adaptive_(avg|max)_pool\dd", name):
        dims = int(name[-2])
        return shapes.computed([*x.shape[:-dims], *shapes.expanded(rest[0], dims, None)], x.dtype, name)
    if kind == "loss":
        return shapes.computed([], x.dtype, name)
    if name == "cosine_similarity":
        dim = rest[1].settings.get("dim", 1) if len(rest) > 1 and isinstance(rest[1], Options) else rest[1] if len(rest) > 1 else 1
        return shapes.reduction(name, x, dim)
    if name in ("tril", "triu") and x.storage.init in ("ones", "zeros"):
        return Tensor(x.shape, x.dtype, x.storage.init, f"computed by {name}")
    if kind == "pointwise":
        return shapes.elementwise(name, tensors)
    if name == "copy_":
        x.storage.init, x.storage.note = rest[0].storage.init, rest[0].storage.note
        return x
    if name in ("diag", "diagonal") and not rest:
        size = min(x.shape, key=lambda extent: extent.value)
        return shapes.computed([size, size] if len(x.shape) == 1 else [size], x.dtype, name)
    if name == "cat":
        return shapes.concatenated(x, as_int(rest[0]).value if rest else 0)
    if name == "stack":
        return shapes.concatenated([called("unsqueeze", [t, rest[0] if rest else Int(0)], structure) for t in x], as_int(rest[0]).value if rest else 0)
    if name in ("view", "reshape"):
        return shapes.viewed(x, rest[0] if isinstance(rest[0], list) else rest)
    if name == "permute":
        return shapes.permuted(x, rest[0])
    if name in ("transpose", "t"):
        return shapes.transposed(x, *(rest if name == "transpose" else (Int(0), Int(1))))
    if name == "flatten":
        first, last = (as_int(v).value for v in (*rest, *(0, -1)[len(rest):]))
        last %= len(x.shape)
        return shapes.viewed(x, [*x.shape[:first], Int(-1), *x.shape[last + 1:]])
    if name == "squeeze":
        gone = shapes.dims_of(x, rest[0] if rest else None)
        return x.reshaped([e for i, e in enumerate(x.shape) if not (i in gone and e.value == 1)])
    if name == "unsqueeze":
        place = as_int(rest[0]).value % (len(x.shape) + 1)
        return x.reshaped([*x.shape[:place], Int(1), *x.shape[place:]])
    if name in ("expand", "expand_as"):
        shape = rest[0].shape if isinstance(rest[0], Tensor) else shape_of(rest[0])
        return x.reshaped([o if e.value == -1 else e for e, o in zip(shape, [*[Int(1)] * (len(shape) - len(x.shape)), *x.shape])])
    if name in ("split", "chunk"):
        dim = as_int(rest[1]).value if len(rest) > 1 else 0
        total = x.shape[dim].value
        size = as_int(rest[0]) if name == "split" else Int(-(-total // as_int(rest[0]).value))
        parts = [Int(min(size.value, total - at)) if at + size.value > total else size for at in range(0, total, size.value)]
        return [shapes.computed([*x.shape[: dim % len(x.shape)], p, *x.shape[dim % len(x.shape) + 1:]], x.dtype, name) for p in parts]
    return asked(name, arguments, structure)


def asked(name, arguments, structure):
    """What an installed torch says of an operator that has no rule here."""
    plain = [operators.Meta([e.value for e in a.shape], a.dtype) if isinstance(a, Tensor) else [as_int(v).value for v in a] if isinstance(a, list) and all(isinstance(v, Int) for v in a)
             else a.value if isinstance(a, Int) else a for a in arguments if not isinstance(a, (Options, Opaque))]
    shapes_of = operators.evaluated(name, plain)
    if shapes_of is None:
        raise Untranslatable(f"torch::{name}")
    extents = [e for a in arguments if isinstance(a, Tensor) for e in a.shape]
    results = []
    for shape in shapes_of:
        known = [next((e for e in extents if e.value == value and value != 1), None) for value in shape]
        if None in [k for k, value in zip(known, shape) if value != 1]:
            structure(extents)  # an extent that none of the operands has: no other sizes are tried
        results.append(shapes.computed([k or Int(value) for k, value in zip(known, shape)], next(a.dtype for a in arguments if isinstance(a, Tensor)), name))
    return results if len(results) > 1 else results[0]
