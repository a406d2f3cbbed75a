# SPDX-License-Identifier: Apache-2.0

"""Naive CUDA for a graph of core ATen operators: one kernel an operator, one thread an element of its result, float32.

The graph is plain data (export.py makes it from a torch module): {"inputs": [{"name", "shape", "dtype", "role"}], "nodes": [{"name", "op", "args", "shape", "dtype"}],
"outputs": [name]}; an argument is a number, text, nothing, a list, or {"node": name}. Every result is contiguous. generate() gives the text of kernel.cu, whose
    extern "C" void kb_run(float *out, const float *input, ..., cudaStream_t stream)
computes the outputs from the inputs. What has no template is refused by name.
"""
import math
import re

from values import Untranslatable

UNARY = {
    "relu": "fmaxf(a, 0.0f)", "sigmoid": "1.0f / (1.0f + expf(-a))", "tanh": "tanhf(a)", "exp": "expf(a)", "log": "logf(a)", "sqrt": "sqrtf(a)", "rsqrt": "1.0f / sqrtf(a)", "abs": "fabsf(a)",
    "neg": "-a", "erf": "erff(a)", "reciprocal": "1.0f / a", "sin": "sinf(a)", "cos": "cosf(a)", "log1p": "log1pf(a)", "floor": "floorf(a)", "clone": "a", "_to_copy": "a", "alias": "a",
    "sign": "static_cast<float>((a > 0.0f) - (a < 0.0f))", "logical_not": "static_cast<float>(a == 0.0f)",
}
BINARY = {
    "mul": "a * b", "div": "a / b", "maximum": "fmaxf(a, b)", "minimum": "fminf(a, b)", "pow": "powf(a, b)", "gt": "static_cast<float>(a > b)", "lt": "static_cast<float>(a < b)",
    "ge": "static_cast<float>(a >= b)", "le": "static_cast<float>(a <= b)", "eq": "static_cast<float>(a == b)", "ne": "static_cast<float>(a != b)", "logical_and": "static_cast<float>(a != 0.0f && b != 0.0f)",
}
REDUCE = {"sum": ("0.0f", "acc + v", "acc"), "mean": ("0.0f", "acc + v", "acc / {n}.0f"), "amax": ("-INFINITY", "fmaxf(acc, v)", "acc"), "amin": ("INFINITY", "fminf(acc, v)", "acc"),
          "max": ("-INFINITY", "fmaxf(acc, v)", "acc"), "min": ("INFINITY", "fminf(acc, v)", "acc"), "prod": ("1.0f", "acc * v", "acc")}
VIEWS = {"view", "_unsafe_view", "reshape", "squeeze", "unsqueeze", "flatten"}


def number(value):
    """A C++ literal of float."""
    value = float(value)
    if math.isinf(value):
        return "-INFINITY" if value < 0 else "INFINITY"
    text = f"{value:.9g}"
    return text + ("f" if "." in text or "e" in text else ".0f")


def strides(shape):
    result, step = [], 1
    for extent in reversed(shape):
        result.insert(0, step)
        step *= extent
    return result


def offset(indices, steps):
    terms = [f"{i} * {s}" if s != 1 else i for i, s in zip(indices, steps) if s]
    return " + ".join(terms) or "0"


def digits(shape, variable="i", prefix="i"):
    """Statements that take the index of an element apart, and the names of its parts."""
    lines, names, rest = [], [], math.prod(shape)
    for place, extent in enumerate(shape):
        rest //= extent
        names.append(f"{prefix}{place}")
        text = variable if rest == 1 else f"{variable} / {rest}"
        lines.append(f"  int {prefix}{place} = {text}{f' % {extent}' if place else ''};")
    return lines, names


TURNS = {"permute", "transpose", "t"}


def order_of(op, args, dims):
    """Which dimension of its operand each dimension of a turned tensor is."""
    order = list(args[1]) if op == "permute" else list(range(dims))
    if op == "transpose":
        order[args[1]], order[args[2]] = order[args[2]], order[args[1]]
    elif op == "t":
        order = order[::-1]
    return [each % dims for each in order]


def names_in(value):
    """The names of the nodes in an argument."""
    if isinstance(value, dict):
        return [value["node"]] if "node" in value else [name for each in value.values() for name in names_in(each)]
    return [name for each in value for name in names_in(each)] if isinstance(value, list) else []


class Generator:
    """`wide` are the numbers of the kernels that count in 64 bits; what is not given is found from the shapes."""

    def __init__(self, graph, wide=None):
        self.graph, self.kernels, self.calls, self.buffers, self.given, self.wide = graph, [], [], [], wide, set()
        self.shapes, self.alias, self.parts = {}, {}, {}
        for value in graph["inputs"]:
            self.shapes[value["name"]] = value["shape"]

    def name(self, argument):
        name = argument["node"]
        while name in self.alias:
            name = self.alias[name]
        return name

    def shape(self, argument):
        return self.shapes[argument["node"]]

    def kernel(self, node, body, operands, count=None):
        """One thread for each of count elements; operands are arguments that are tensors, a0, a1, ... in the body."""
        name, count = f"{node['op'].lstrip('_')}Kernel{len(self.kernels)}", count or math.prod(node["shape"])
        parameters = "".join(f", const float *__restrict__ a{i}" for i in range(len(operands)))
        text = (f"__global__ void {name}(float *__restrict__ y{parameters}, int count) {{\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= count)\n    return;\n" + "\n".join(body) + "\n}\n")
        if max([count, *(math.prod(self.shape(o)) for o in operands)]) >= 2 ** 31 if self.given is None else len(self.kernels) in self.given:
            self.wide.add(len(self.kernels))
            text = re.sub(r"\bint (?=\w)", "long long ", text).replace("blockIdx.x * blockDim.x", "blockIdx.x * static_cast<long long>(blockDim.x)")
        self.kernels.append(f"// {node['op']} -> {node['shape']}\n{text}")
        arguments = "".join(f", {self.name(o)}" for o in operands)
        self.calls.append(f"  {name}<<<({count} + 255) / 256, 256, 0, stream>>>({node['name']}{arguments}, {count});")

    # Templates

    def pointwise(self, node, expression, arguments):
        """a, b and c in the expression are the arguments, tensors with broadcasting or numbers."""
        lines, names = digits(node["shape"])
        values, operands = [], []
        for letter, argument in zip("abc", arguments):
            if isinstance(argument, dict):
                shape = self.shape(argument)
                steps = [0 if e == 1 else s for e, s in zip(shape, strides(shape))]
                place = "i" if shape == node["shape"] else offset(names[len(names) - len(shape):], steps)
                values.append(f"  float {letter} = a{len(operands)}[{place}];")
                operands.append(argument)
            else:
                values.append(f"  float {letter} = {number(argument)};")
        if all("[i]" in v or "[" not in v for v in values):
            lines = []
        self.kernel(node, [*lines, *values, f"  y[i] = {expression};"], operands)

    def concatenation(self, node, parts, dim):
        dim %= len(node["shape"])
        lines, names = digits(node["shape"])
        body, start = [*lines, f"  int at = {names[dim]};"], 0
        for number_, part in enumerate(parts):
            extent = self.shape(part)[dim]
            place = offset([*names[:dim], f"(at - {start})", *names[dim + 1:]], strides(self.shape(part)))
            body.append(f"  {'else ' if number_ else ''}if (at < {start + extent})\n    y[i] = a{number_}[{place}];")
            start += extent
        self.kernel(node, body, parts)

    def reduction(self, node, x, dims, keep, value="", result=""):
        """value and result: expressions in v and acc, in place of the element and of the operator's own result."""
        shape = self.shape(x)
        first, step, last = REDUCE[node["op"]]
        step, last = step.replace("v", value) if value else step, result or last
        dims = sorted(d % len(shape) for d in (dims if isinstance(dims, list) else [dims])) if dims not in (None, []) else list(range(len(shape)))
        kept = [d for d in range(len(shape)) if d not in dims]
        lines, names = digits([shape[d] for d in kept])
        steps, places = strides(shape), {d: n for d, n in zip(kept, names)}
        body, indent = [*lines, f"  float acc = {first};"], "  "
        for d in dims:
            body.append(f"{indent}for (int r{d} = 0; r{d} < {shape[d]}; ++r{d}){' {' if d == dims[-1] else ''}")
            places[d], indent = f"r{d}", indent + "  "
        body.append(f"{indent}float v = a0[{offset([places[d] for d in range(len(shape))], steps)}];")
        body.append(f"{indent}acc = {step};")
        body.append(f"{indent[:-2]}}}")
        self.kernel(node, [*body, f"  y[i] = {last.format(n=math.prod(shape[d] for d in dims))};"], [x], math.prod(shape[d] for d in kept))

    def product(self, node, a, b, bias=None, alpha=1, beta=1):
        left, right = self.shape(a), self.shape(b)
        m, k, n = left[-2], left[-1], right[-1]
        first = f"(batch * {k} + k) * {m} + row" if a["node"] in self.turned else f"(batch * {m} + row) * {k} + k"
        second = f"(batch * {n} + column) * {k} + k" if b["node"] in self.turned else f"(batch * {k} + k) * {n} + column"
        body = [f"  int column = i % {n}, row = i / {n} % {m}, batch = i / {m * n};", "  float acc = 0.0f;", f"  for (int k = 0; k < {k}; ++k)", f"    acc += a0[{first}] * a1[{second}];"]
        operands = [a, b]
        if bias is not None:
            shape = self.shape(bias)
            steps = [0 if e == 1 else s for e, s in zip(shape, strides(shape))]
            place = offset((["batch"] if len(node["shape"]) == 3 else []) + ["row", "column"] if len(shape) == len(node["shape"]) else ["column"], steps)
            operands.append(bias)
            body.append(f"  y[i] = {'' if alpha == 1 else number(alpha) + ' * '}acc + {'' if beta == 1 else number(beta) + ' * '}a2[{place}];")
        else:
            body.append("  y[i] = acc;")
        self.kernel(node, body, operands)

    def convolution(self, node, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
        shape, kernel, out = self.shape(x), self.shape(weight), node["shape"]
        dims, batch_in = len(kernel) - 2, shape[1]
        per_group = batch_in // groups
        outputs = out[1] // groups
        lines, names = digits(out)
        body = [*lines, f"  int group = i1 / {outputs};", f"  float acc = {'a2[i1]' if bias else '0.0f'};", f"  for (int c = 0; c < {per_group}; ++c)"]
        indent, at = "    ", []
        for d in range(dims):
            body.append(f"{indent}for (int k{d} = 0; k{d} < {kernel[2 + d]}; ++k{d}) {{")
            indent += "  "
            place = f"i{2 + d}"
            if transposed:
                body.append(f"{indent}int t{d} = {place} + {padding[d]} - k{d} * {dilation[d]}, p{d} = t{d} / {stride[d]};")
                body.append(f"{indent}if (t{d} < 0 || t{d} % {stride[d]} != 0 || p{d} >= {shape[2 + d]})\n{indent}  continue;")
            else:
                body.append(f"{indent}int p{d} = {place} * {stride[d]} - {padding[d]} + k{d} * {dilation[d]};")
                if padding[d]:
                    body.append(f"{indent}if (p{d} < 0 || p{d} >= {shape[2 + d]})\n{indent}  continue;")
            at.append(f"p{d}")
        place = offset(["i0", f"(group * {per_group} + c)", *at], strides(shape))
        window = [f"k{d}" for d in range(dims)]
        weights = offset([f"(group * {per_group} + c)", f"(i1 - group * {outputs})", *window] if transposed else ["i1", "c", *window], strides(kernel))
        body.append(f"{indent}acc += a0[{place}] * a1[{weights}];")
        body.append("    " + "}" * dims)
        self.kernel(node, [*body, "  y[i] = acc;"], [x, weight, *([bias] if bias else [])])

    def pool(self, node, x, dims, kernel, stride, padding, dilation, average, count_padding=True, divisor=None):
        shape, out = self.shape(x), node["shape"]
        lead = len(out) - dims
        widen = lambda v, d: ([*v] * dims if len(v) == 1 else v) if v else d
        kernel, padding, dilation = widen(kernel, None), widen(padding, [0] * dims), widen(dilation, [1] * dims)
        stride = widen(stride, kernel)
        lines, names = digits(out)
        body, indent, at = [*lines, f"  float acc = {'0.0f' if average else '-INFINITY'};", *(["  int inside = 0;"] if average and not count_padding else [])], "  ", []
        for d in range(dims):
            body.append(f"{indent}for (int k{d} = 0; k{d} < {kernel[d]}; ++k{d}) {{")
            indent += "  "
            body.append(f"{indent}int p{d} = i{lead + d} * {stride[d]} - {padding[d]} + k{d} * {dilation[d]};")
            body.append(f"{indent}if (p{d} < 0 || p{d} >= {shape[lead + d]})\n{indent}  continue;")
            at.append(f"p{d}")
        value = f"a0[{offset([*names[:lead], *at], strides(shape))}]"
        body.append(f"{indent}acc {'+= ' + value if average else '= fmaxf(acc, ' + value + ')'};" + (" ++inside;" if average and not count_padding else ""))
        body.append("  " + "}" * dims)
        by = number(divisor or math.prod(kernel)) if count_padding else "inside"
        self.kernel(node, [*body, f"  y[i] = acc{f' / {by}' if average else ''};"], [x])

    def softmax(self, node, x, dim, log):
        shape = self.shape(x)
        dim %= len(shape)
        n, step = shape[dim], strides(shape)[dim]
        body = [f"  const float *row = a0 + i / {n * step} * {n * step} + i % {step};", "  float top = -INFINITY;", f"  for (int j = 0; j < {n}; ++j)", f"    top = fmaxf(top, row[j * {step}]);",
                "  float sum = 0.0f;", f"  for (int j = 0; j < {n}; ++j)", f"    sum += expf(row[j * {step}] - top);", "  y[i] = a0[i] - top - logf(sum);" if log else "  y[i] = expf(a0[i] - top) / sum;"]
        self.kernel(node, body, [x])

    def normalized(self, node, x, weight, bias, rows, length, member, epsilon, channel):
        """(x - mean) / sqrt(variance + epsilon) over the elements `member` (in j) of the element's row, times a weight and plus a bias for each `channel`."""
        operands, scale, shift = [x], "", ""
        if weight:
            operands.append(weight)
            scale = f" * a{len(operands) - 1}[{channel}]"
        if bias:
            operands.append(bias)
            shift = f" + a{len(operands) - 1}[{channel}]"
        body = [*rows, "  float mean = 0.0f;", f"  for (int j = 0; j < {length}; ++j)", f"    mean += a0[{member}];", f"  mean /= {length}.0f;", "  float variance = 0.0f;",
                f"  for (int j = 0; j < {length}; ++j)", f"    variance += (a0[{member}] - mean) * (a0[{member}] - mean);", f"  variance /= {length}.0f;",
                f"  y[i] = (a0[i] - mean) / sqrtf(variance + {number(epsilon)}){scale}{shift};"]
        self.kernel(node, body, operands)

    def copied(self, node, x, steps, start="0"):
        lines, names = digits(node["shape"])
        self.kernel(node, [*lines, f"  y[i] = a0[{start} + {offset(names, steps)}];" if start != "0" else f"  y[i] = a0[{offset(names, steps)}];"], [x])

    # Operators

    def node(self, node):
        op, args, shape = node["op"], node["args"], node["shape"]
        get = lambda place, otherwise=None: args[place] if place < len(args) and args[place] is not None else otherwise
        if op == "getitem":
            if args[1] != 0:
                raise Untranslatable(f"result {args[1]} of {self.parts[args[0]['node']]}")
            self.alias[node["name"]], self.shapes[node["name"]] = args[0]["node"], shape
            return
        self.shapes[node["name"]], self.parts[node["name"]] = shape, op
        if op in VIEWS or node["name"] in self.turned:
            self.alias[node["name"]] = args[0]["node"]
            return
        if node["dtype"] not in ("f32", "bool"):
            raise Untranslatable(f"{op} of type {node['dtype']}")
        self.buffers.append(node)
        if op in UNARY:
            self.pointwise(node, UNARY[op], args[:1])
        elif op in BINARY:
            self.pointwise(node, BINARY[op], args[:2])
        elif op in ("add", "sub"):
            alpha = node.get("kwargs", {}).get("alpha", 1)
            self.pointwise(node, f"a {'+' if op == 'add' else '-'} {'' if alpha == 1 else number(alpha) + ' * '}b", args[:2])
        elif op == "rsub":
            self.pointwise(node, "b - a", args[:2])
        elif op == "gelu":
            is_tanh = node.get("kwargs", {}).get("approximate") == "tanh"
            self.pointwise(node, "0.5f * a * (1.0f + tanhf(0.797884561f * (a + 0.044715f * a * a * a)))" if is_tanh else "0.5f * a * (1.0f + erff(a * 0.707106781f))", args[:1])
        elif op == "leaky_relu":
            self.pointwise(node, f"a > 0.0f ? a : a * {number(get(1, 0.01))}", args[:1])
        elif op == "elu":
            alpha, scale, inner = (float(get(i, 1)) for i in (1, 2, 3))
            self.pointwise(node, f"a > 0.0f ? a * {number(scale)} : {number(alpha * scale)} * (expf(a * {number(inner)}) - 1.0f)", args[:1])
        elif op in ("clamp", "hardtanh"):
            low, high = get(1, -1.0 if op == "hardtanh" else None), get(2, 1.0 if op == "hardtanh" else None)
            text = f"fmaxf(a, {number(low)})" if low is not None else "a"
            self.pointwise(node, f"fminf({text}, {number(high)})" if high is not None else text, args[:1])
        elif op == "where":
            self.pointwise(node, "a != 0.0f ? b : c", args[:3])
        elif op in REDUCE:
            self.reduction(node, args[0], get(1), get(2, False))
        elif op in ("mm", "bmm"):
            self.product(node, args[0], args[1])
        elif op in ("addmm", "baddbmm"):
            keys = node.get("kwargs", {})
            self.product(node, args[1], args[2], args[0], keys.get("alpha", 1), keys.get("beta", 1))
        elif op == "convolution":
            self.convolution(node, *args[:9])
        elif op == "max_pool2d_with_indices" or op == "max_pool3d_with_indices":
            self.pool(node, args[0], int(op[8]), args[1], get(2), get(3), get(4), False)
        elif op.startswith("avg_pool"):
            self.pool(node, args[0], int(op[8]), args[1], get(2), get(3), None, True, get(5, True) or not any(get(3, [0])), get(6))
        elif op in ("_softmax", "_log_softmax"):
            self.softmax(node, args[0], args[1], op == "_log_softmax")
        elif op == "native_layer_norm":
            length = math.prod(args[1])
            self.normalized(node, args[0], args[2], args[3], [], length, f"i / {length} * {length} + j", args[4], f"i % {length}")
        elif op == "native_group_norm":
            _, weight, bias, batch, channels, inner, groups, epsilon = args[:8]
            length = channels // groups * inner
            self.normalized(node, args[0], weight, bias, [], length, f"i / {length} * {length} + j", epsilon, f"i / {inner} % {channels}")
        elif op in ("_native_batch_norm_legit", "_native_batch_norm_legit_functional") and (op.endswith("functional") or args[3] is True):
            functional = op.endswith("functional")
            source = self.shape(args[0])
            channels, inner = source[1], math.prod(source[2:])
            member = f"((j / {inner}) * {channels} + i / {inner} % {channels}) * {inner} + j % {inner}"
            self.normalized(node, args[0], args[1], args[2], [], source[0] * inner, member, args[7 if functional else 5], f"i / {inner} % {channels}")
        elif op == "_native_batch_norm_legit_no_training":
            x, weight, bias, mean, variance, _, epsilon = args[:7]
            channels, inner = shape[1], math.prod(shape[2:])
            operands = [x, mean, variance, *[p for p in (weight, bias) if p]]
            text = f"(a0[i] - a1[c]) / sqrtf(a2[c] + {number(epsilon)})" + (" * a3[c]" if weight else "") + (f" + a{len(operands) - 1}[c]" if bias else "")
            self.kernel(node, [f"  int c = i / {inner} % {channels};", f"  y[i] = {text};"], operands)
        elif op in TURNS:
            steps = strides(self.shape(args[0]))
            self.copied(node, args[0], [steps[o] for o in order_of(op, args, len(steps))])
        elif op == "expand":
            source = self.shape(args[0])
            steps = [0] * (len(shape) - len(source)) + [0 if e == 1 else s for e, s in zip(source, strides(source))]
            self.copied(node, args[0], steps)
        elif op == "slice":
            steps = strides(self.shape(args[0]))
            dim, start, step = get(1, 0), get(2, 0), get(4, 1)
            extent = self.shape(args[0])[dim]
            start = min(start + extent if start < 0 else start, extent)
            first = start * steps[dim]
            steps[dim] *= step
            self.copied(node, args[0], steps, str(first))
        elif op == "select":
            steps = strides(self.shape(args[0]))
            first = args[2] % self.shape(args[0])[args[1]] * steps[args[1]]
            self.copied(node, args[0], steps[: args[1]] + steps[args[1] + 1:], str(first))
        elif op in ("cumsum", "cumprod"):
            step, n = strides(shape)[args[1]], shape[args[1]]
            sign = "+" if op == "cumsum" else "*"
            self.kernel(node, [f"  const float *row = a0 + i / {n * step} * {n * step} + i % {step};", f"  float acc = {'0.0f' if sign == '+' else '1.0f'};",
                               f"  for (int j = 0; j <= i / {step} % {n}; ++j)", f"    acc = acc {sign} row[j * {step}];", "  y[i] = acc;"], args[:1])
        elif op == "linalg_vector_norm":
            order = get(1, 2)
            if order not in (1, 2):
                raise Untranslatable(f"a norm of order {order}")
            self.reduction({**node, "op": "sum"}, args[0], get(2), get(3, False), "fabsf(v)" if order == 1 else "v * v", "acc" if order == 1 else "sqrtf(acc)")
        elif op == "flip":
            steps, source = strides(shape), self.shape(args[0])
            flipped = [d % len(source) for d in args[1]]
            lines, names = digits(shape)
            places = [f"({source[d] - 1} - {n})" if d in flipped else n for d, n in enumerate(names)]
            self.kernel(node, [*lines, f"  y[i] = a0[{offset(places, steps)}];"], args[:1])
        elif op == "cat":
            self.concatenation(node, args[0], get(1, 0))
        elif op in ("full", "full_like", "scalar_tensor"):
            value = args[0 if op == "scalar_tensor" else 1]
            self.kernel(node, [f"  y[i] = {number(value)};"], [])
        else:
            raise Untranslatable(f"no template for aten.{op}")

    def turned_matrices(self):
        """The nodes that are matrices with rows and columns exchanged, where products alone use them: these read them so, and there is no copy."""
        found, others = {}, set(self.graph["outputs"])
        for node in self.graph["nodes"]:
            op, args = node["op"], node["args"]
            if op in TURNS and node["dtype"] == "f32":
                order = order_of(op, args, len(node["shape"]))
                if len(order) in (2, 3) and order == [*range(len(order) - 2), len(order) - 1, len(order) - 2]:
                    found[node["name"]] = args[0]
            factors = {"mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2)}.get(op, ())
            others.update(name for place, argument in enumerate(args) if place not in factors for name in names_in(argument))
            others.update(names_in(node.get("kwargs", {})))
        return {name: source for name, source in found.items() if name not in others and source["node"] not in found}

    def run(self):
        """Fills kernels, calls and buffers."""
        self.turned = self.turned_matrices()
        for node in self.graph["nodes"]:
            self.node(node)
        self.outputs = [self.name({"node": o}) for o in self.graph["outputs"]]
        self.inputs = [v for v in self.graph["inputs"] if v["used"]]
        if len(set(self.outputs)) != len(self.outputs) or any(o in [v["name"] for v in self.inputs] for o in self.outputs):
            raise Untranslatable("an output is an input, or is given twice")
        return self

    def inner(self):
        """(name, number of elements) of what lies between the inputs and the outputs."""
        return [(b["name"], math.prod(b["shape"])) for b in self.buffers if b["name"] not in self.outputs]

    def allocations(self):
        return [f"  float *{name};\n  cudaMallocAsync(&{name}, sizeof(float) * {count}, stream);" for name, count in self.inner()]

    def described(self):
        """The lines of the workload for all tensors."""
        produced = {b["name"]: b for b in self.buffers}
        lines = []
        for name in self.outputs:
            lines += [f"  - name: {name}", "    type: f32", f"    shape: [{math.prod(produced[name]['shape'])}]", "    role: out"]
        for value in self.inputs:
            lines += [f"  - name: {value['name']}", "    type: f32", f"    shape: [{', '.join(map(str, value['shape'])) or 1}]", "    role: in", f"    init: {value['init']}"]
        return lines

    def bytes(self):
        return 4 * (sum(count for _, count in self.inner()) + sum(math.prod(b["shape"]) for b in self.buffers if b["name"] in self.outputs) + sum(math.prod(v["shape"]) for v in self.inputs))

    def program(self, kernels, calls, allocations, sizes=()):
        """kernel.cu of these parts; `sizes` are numbers that kb_run is handed."""
        names = [f"float *{o}" for o in self.outputs] + [f"const float *{v['name']}" for v in self.inputs] + [f"int {size}" for size in sizes] + ["cudaStream_t stream"]
        return "\n".join(["// Made by bench/kernelbench.py from the graph of a PyTorch module: one naive kernel for each operator.", "#include <cuda_runtime.h>", "#include <math.h>", "", *kernels,
                          f'extern "C" void kb_run({", ".join(names)}) {{', *allocations, *calls, *(f"  cudaFreeAsync({name}, stream);" for name, _ in self.inner()), "}", ""])

    def generate(self):
        self.run()
        return self.program(self.kernels, self.calls, self.allocations())

    def workload(self):
        return "\n".join(["entry: kb_run", "parameters:", *self.described(), "  - name: stream", "    cxx: nullptr", ""])
