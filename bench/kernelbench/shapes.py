# SPDX-License-Identifier: Apache-2.0

"""Shapes of torch's operators, over Int. Every rule takes and gives Tensors; what it does not know it refuses."""
import operators
from values import Int, Tensor, Untranslatable, add, as_int, ceil_quotient, multiply, product, quotient, subtract

# What torch's schema (operators.py) does not show: operators along a dimension, norms, and those that are made of others.
SAME_SHAPE = set("""log_softmax softmax softmin cumsum cumprod logcumsumexp flip fliplr flipud roll normalize tril triu dropout alpha_dropout feature_dropout bernoulli instance_norm batch_norm
 group_norm layer_norm rms_norm local_response_norm subtract multiply divide true_divide hardswish logsigmoid prelu softsign tanhshrink""".split())


def kind_of(name):
    """pointwise, reduction or loss; "" for what is none of them."""
    if name in ("max", "min"):
        return "reduction"
    return "pointwise" if name in SAME_SHAPE or name.rstrip("_") in SAME_SHAPE else "loss" if name == "cross_entropy" else operators.kind_of(name)


def computed(shape, dtype, by):
    """A tensor whose values an operator makes; a workload can only draw something like them."""
    return Tensor(shape, dtype, "normal", f"computed by {by}")


def broadcast_extent(a, b):
    if not a.base and a.value == 1:
        return b
    if (not b.base and b.value == 1) or a.value == b.value:
        return a
    if a.value == 1:
        return b
    if b.value == 1:
        return a
    raise Untranslatable(f"extents {a.text()} and {b.text()} do not fit")


def broadcast(*shapes):
    result = []
    for place in range(1, max((len(s) for s in shapes), default=0) + 1):
        extent = Int(1)
        for shape in shapes:
            if place <= len(shape):
                extent = broadcast_extent(extent, shape[-place])
        result.insert(0, extent)
    return result


def elementwise(name, tensors):
    return computed(broadcast(*(t.shape for t in tensors)), tensors[0].dtype, name)


def same_extent(a, b, where):
    if a.value != b.value:
        raise Untranslatable(f"{where}: extents {a.text()} and {b.text()} differ")


def matmul(a, b, name="matmul"):
    if len(a.shape) == 1 or len(b.shape) == 1:
        left = a.shape if len(a.shape) > 1 else [Int(1), *a.shape]
        right = b.shape if len(b.shape) > 1 else [*b.shape, Int(1)]
        same_extent(left[-1], right[-2], name)
        shape = [*broadcast(left[:-2], right[:-2]), *left[-2:-1][: len(a.shape) > 1], *right[-1:][: len(b.shape) > 1]]
        return computed(shape, a.dtype, name)
    same_extent(a.shape[-1], b.shape[-2], name)
    return computed([*broadcast(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]], a.dtype, name)


def linear(x, weight):
    same_extent(x.shape[-1], weight.shape[1], "linear")
    return computed([*x.shape[:-1], weight.shape[0]], x.dtype, "linear")


def einsum(equation, tensors):
    inputs, output = equation.replace(" ", "").split("->")
    extents = {}
    for letters, tensor in zip(inputs.split(","), tensors):
        for letter, extent in zip(letters, tensor.shape):
            same_extent(extents.setdefault(letter, extent), extent, "einsum")
    return computed([extents[letter] for letter in output], tensors[0].dtype, "einsum")


def expanded(value, count, default):
    """An option of a convolution or a pool, for each of its dimensions."""
    if value is None:
        value = default
    if isinstance(value, list):
        values = [as_int(v) for v in flat(value)]
        return values * count if len(values) == 1 else values
    return [as_int(value)] * count


def window(extent, kernel, stride, padding, dilation, ceil_mode=False):
    reach = add(multiply(dilation, subtract(kernel, Int(1))), Int(1))
    span = subtract(add(extent, multiply(Int(2), padding)), reach)
    if span.value < 0:
        raise Untranslatable(f"a window of {reach.text()} on {extent.text()} elements")
    return add((ceil_quotient if ceil_mode else quotient)(span, stride), Int(1))


def convolution(x, weight, stride=None, padding=None, dilation=None, groups=None):
    dims = len(weight.shape) - 2
    groups = as_int(groups if groups is not None else 1)
    batch = x.shape[: len(x.shape) - dims - 1]
    same_extent(x.shape[len(batch)], multiply(weight.shape[1], groups), "a convolution's channels")
    s, p, d = (expanded(v, dims, default) for v, default in ((stride, 1), (padding, 0), (dilation, 1)))
    extents = [window(x.shape[i - dims], weight.shape[i - dims], s[i], p[i], d[i]) for i in range(dims)]
    return computed([*batch, weight.shape[0], *extents], x.dtype, "a convolution")


def transposed_convolution(x, weight, stride=None, padding=None, output_padding=None, groups=None, dilation=None):
    dims = len(weight.shape) - 2
    groups = as_int(groups if groups is not None else 1)
    batch = x.shape[: len(x.shape) - dims - 1]
    same_extent(x.shape[len(batch)], weight.shape[0], "a transposed convolution's channels")
    s, p, o, d = (expanded(v, dims, default) for v, default in ((stride, 1), (padding, 0), (output_padding, 0), (dilation, 1)))
    extents = []
    for i in range(dims):
        extent = subtract(multiply(subtract(x.shape[i - dims], Int(1)), s[i]), multiply(Int(2), p[i]))
        extents.append(add(add(extent, multiply(d[i], subtract(weight.shape[i - dims], Int(1)))), add(o[i], Int(1))))
    return computed([*batch, multiply(weight.shape[1], groups), *extents], x.dtype, "a transposed convolution")


def pool(x, dims, kernel, stride=None, padding=None, dilation=None, ceil_mode=False):
    k, p, d = (expanded(v, dims, default) for v, default in ((kernel, None), (padding, 0), (dilation, 1)))
    s = expanded(stride, dims, kernel) if stride is not None and stride != [] else k
    extents = [window(x.shape[i - dims], k[i], s[i], p[i], d[i], ceil_mode) for i in range(dims)]
    return computed([*x.shape[:-dims], *extents], x.dtype, "a pool")


def flat(values):
    """The numbers of a list that may hold lists: a std::vector in braces."""
    return [each for value in values for each in flat(value)] if isinstance(values, list) else [values]


def dims_of(x, dims):
    """Places in the shape, from a number or a list of them; nothing means all."""
    if dims is None or dims == []:
        return list(range(len(x.shape)))
    return [d.value % len(x.shape) for d in map(as_int, flat(dims))]


def reduction(name, x, dims=None, keep=False):
    gone = dims_of(x, dims)
    shape = [Int(1) if i in gone else e for i, e in enumerate(x.shape) if keep or i not in gone]
    return computed(shape, "i64" if name.startswith("arg") else "bool" if name in ("any", "all") else x.dtype, name)


def viewed(x, shape):
    shape = [as_int(e) for e in flat(shape)]
    unknown = [i for i, e in enumerate(shape) if e.value == -1]
    known = product(e for i, e in enumerate(shape) if i not in unknown)
    if unknown:
        shape[unknown[0]] = quotient(product(x.shape), known)
    if product(shape).value != x.count():
        raise Untranslatable(f"a view of {x.count()} elements as {product(shape).value}")
    return x.reshaped(shape)


def permuted(x, order):
    return x.reshaped([x.shape[as_int(o).value] for o in flat(order)])


def transposed(x, a, b):
    order = list(range(len(x.shape)))
    a, b = as_int(a).value, as_int(b).value
    order[a], order[b] = order[b], order[a]
    return x.reshaped([x.shape[o] for o in order])


def concatenated(tensors, dim):
    dim %= len(tensors[0].shape)
    shape = list(tensors[0].shape)
    for other in tensors[1:]:
        shape[dim] = add(shape[dim], other.shape[dim])
    return computed(shape, tensors[0].dtype, "cat")
