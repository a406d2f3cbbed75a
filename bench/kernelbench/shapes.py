# SPDX-License-Identifier: Apache-2.0

"""Shapes of torch's operators, over Int. Every rule takes and gives Tensors; what it does not know it refuses."""
from values import Int, Tensor, Untranslatable, add, as_int, ceil_quotient, multiply, product, quotient, subtract

ELEMENTWISE = set("""relu relu_ sigmoid sigmoid_ tanh tanh_ gelu elu selu celu softplus softsign hardtanh hardsigmoid hardswish mish silu leaky_relu leaky_relu_ relu6
 log_softmax softmax exp log log2 log1p sqrt rsqrt abs neg square pow clamp clamp_ clamp_min clamp_max add sub mul div subtract multiply divide true_divide add_ sub_ mul_ div_
 where minimum maximum fmax fmin floor ceil round sign sin cos erf reciprocal logsigmoid threshold prelu masked_fill masked_fill_ cumsum cumprod eq ne lt gt le ge isnan isinf logical_not
 lerp addcmul addcdiv tril triu dropout normalize flip roll logical_and logical_or ones_like zeros_like empty_like full_like rand_like randn_like softmin instance_norm
 batch_norm group_norm layer_norm rms_norm local_response_norm hardshrink softshrink tanhshrink glu_ sgn bernoulli sigmoid_backward nan_to_num remainder fmod expm1""".split())
REDUCTIONS = set("sum mean max min amax amin norm logsumexp prod argmax argmin var std any all median".split())
LOSSES = set("""mse_loss l1_loss cross_entropy smooth_l1_loss huber_loss kl_div triplet_margin_loss hinge_embedding_loss cosine_embedding_loss nll_loss binary_cross_entropy
 binary_cross_entropy_with_logits margin_ranking_loss soft_margin_loss""".split())


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
        values = [as_int(v) for v in value]
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


def dims_of(x, dims):
    """Places in the shape, from a number or a list of them; nothing means all."""
    if dims is None or dims == []:
        return list(range(len(x.shape)))
    return [d.value % len(x.shape) for d in ([as_int(v) for v in dims] if isinstance(dims, list) else [as_int(dims)])]


def reduction(name, x, dims=None, keep=False):
    gone = dims_of(x, dims)
    shape = [Int(1) if i in gone else e for i, e in enumerate(x.shape) if keep or i not in gone]
    return computed(shape, "i64" if name.startswith("arg") else "bool" if name in ("any", "all") else x.dtype, name)


def viewed(x, shape):
    shape = [as_int(e) for e in shape]
    unknown = [i for i, e in enumerate(shape) if e.value == -1]
    known = product(e for i, e in enumerate(shape) if i not in unknown)
    if unknown:
        shape[unknown[0]] = quotient(product(x.shape), known)
    if product(shape).value != x.count():
        raise Untranslatable(f"a view of {x.count()} elements as {product(shape).value}")
    return x.reshaped(shape)


def permuted(x, order):
    return x.reshaped([x.shape[as_int(o).value] for o in order])


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
