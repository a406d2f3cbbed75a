"""Random CUDA kernels of known structure, for nest_fuzz.py.

Every family is a function of a random generator and a number that returns a Kernel: what it computes is defined for every
size (no race, no access outside of its buffers), so that any candidate that differs is wrong.
"""

import dataclasses
import random


@dataclasses.dataclass
class Kernel:
    family: str
    name: str
    text: str                 # the kernel
    launch: str               # statements of the entry function
    output: tuple             # type, shape expression, role of its output buffer
    inputs: list = dataclasses.field(default_factory=list)  # (name, type, shape expression, init)
    steps: object = None      # a function of a random generator: passes that come before, and the kernel to schedule then


ODD = [1, 2, 3, 5, 7, 13, 31, 32, 33, 61, 64, 97, 127, 130]
CXX = {"f32": "float", "f64": "double", "f16": "__half", "i32": "int"}


def literal(draw, kind):
    value = draw.choice([0.5, 2.0, 1.25, -0.75, 3.0, 0.125])
    return {"f32": f"{value}f", "f64": f"{value}", "i32": str(int(value * 4)), "f16": f"__float2half({value}f)"}[kind]


def expression(draw, kind, terms, depth=2):
    """A well-conditioned expression over the terms."""
    if depth == 0 or draw.random() < 0.25:
        return draw.choice(terms + ([literal(draw, kind)] if kind != "f16" else []))
    a, b = expression(draw, kind, terms, depth - 1), expression(draw, kind, terms, depth - 1)
    forms = [f"({a} + {b})", f"({a} - {b})", f"{a} * {b}"]
    if kind == "f32":
        forms += [f"fmaxf({a}, {b})", f"fabsf({a})", f"({a} > {b} ? {a} : {b})"]
    elif kind == "i32":
        forms += [f"max({a}, {b})", f"({a} ^ {b})", f"({a} & 1023)"]
    return draw.choice(forms)


def index1(draw, how):
    """Declares i with a guard i < count; how the kernel is launched over count."""
    block = draw.choice([32, 64, 96, 128, 256])
    if how == "guard":
        return ("int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < {count}) {{", "}}", f"<<<({{host}} + {block - 1}) / {block}, {block}>>>")
    if how == "return":
        return ("int i = threadIdx.x + blockIdx.x * blockDim.x;\n  if (i >= {count}) return;\n  {{", "}}",
                f"<<<({{host}} + {block - 1}) / {block}, {block}>>>")
    if how == "fixed":
        return (f"int i = blockIdx.x * {block} + threadIdx.x;\n  if (i < {{count}}) {{{{", "}}",
                f"<<<({{host}} + {block - 1}) / {block}, {block}>>>")
    return ("for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < {count}; i += blockDim.x * gridDim.x) {{", "}}",
            f"<<<{draw.choice([1, 2, 7])}, {block}>>>")


def over(draw, count, host=None):
    head, tail, launch = index1(draw, draw.choice(["guard", "return", "fixed", "stride"]))
    host = host or count
    return head.format(count=count), tail.format(), launch.format(host=host)


def elementwise(draw, name):
    kind = draw.choice(["f32", "f32", "f64", "i32", "f16"])
    cxx = CXX[kind]
    head, tail, launch = over(draw, "n")
    a, b = draw.choice(["a[i]", "a[i + 1]", "a[n - 1 - i]", "a[2 * i]"]), draw.choice(["b[i]", "b[0]", "b[i]"])
    if kind == "f16":
        value = draw.choice([f"__hadd({a}, {b})", f"__float2half(__half2float({a}) * 0.5f)", a])
    else:
        value = expression(draw, kind, [a, b])
    target, size = draw.choice([("y[i]", "n"), ("y[2 * i + 1]", "2 * n"), ("y[n - 1 - i]", "n"), ("y[i]", "n")])
    role = "out" if size == "n" and draw.random() < 0.7 else "inout"
    if role == "inout" and draw.random() < 0.5 and kind != "f16":
        assign = draw.choice([f"{target} += {value};", f"{target} = {value} - {target};"])
    else:
        assign = f"{target} = {value};"
    text = f"__global__ void {name}({cxx} *y, const {cxx} *a, const {cxx} *b, int n) {{\n  {head}\n    {assign}\n  {tail}\n}}\n"
    return Kernel("elementwise", name, text, f"{name}{launch}(y_{name}, a_{kind}, b_{kind}, n);", (kind, size, role))


def inplace(draw, name):
    """One buffer through two parameters."""
    head, tail, launch = over(draw, "n")
    value = expression(draw, "f32", ["x[i]"])
    text = f"__global__ void {name}(float *y, float *x, int n) {{\n  {head}\n    float v = {value};\n    y[i] = v;\n  {tail}\n}}\n"
    return Kernel("inplace", name, text, f"{name}{launch}(y_{name}, y_{name}, n);", ("f32", "n", "inout"))


def digits(draw, name):
    kind = draw.choice(["f32", "i32"])
    cxx = CXX[kind]
    three = draw.random() < 0.5
    count = "n * m * 3" if three else "n * m"
    head, tail, launch = over(draw, count)
    if three:
        split = "int u = i % 3, v = i / 3 % m, w = i / (3 * m);"
        target = draw.choice(["(u * m + v) * n + w", "(v * n + w) * 3 + u", "i"])
        value = expression(draw, kind, ["a[w]", "b[v]", "a[u]"])
    else:
        split = "int v = i % m, w = i / m;"
        target = draw.choice(["v * n + w", "i", "w * m + v"])
        value = expression(draw, kind, ["a[w]", "b[v]", "a[v + w]"])
    text = f"__global__ void {name}({cxx} *y, const {cxx} *a, const {cxx} *b, int n, int m) {{\n  {head}\n    {split}\n    y[{target}] = {value};\n  {tail}\n}}\n"
    return Kernel("digits", name, text, f"{name}{launch}(y_{name}, a_{kind}, b_{kind}, n, m);", (kind, count, "out"))


def grid2(draw):
    x, y = draw.choice([(32, 8), (16, 16), (8, 4), (32, 1)])
    swap = draw.random() < 0.4
    rows, columns = ("x", "y") if swap else ("y", "x")
    text = (f"int c = blockIdx.{columns} * blockDim.{columns} + threadIdx.{columns};\n"
            f"  int r = blockIdx.{rows} * blockDim.{rows} + threadIdx.{rows};")
    size = {"x": x, "y": y}
    grid = {columns: f"(m + {size[columns] - 1}) / {size[columns]}", rows: f"(n + {size[rows] - 1}) / {size[rows]}"}
    return text, f"<<<dim3({grid['x']}, {grid['y']}), dim3({x}, {y})>>>"


def plane(draw, name):
    kind = draw.choice(["f32", "f64"])
    cxx = CXX[kind]
    index, launch = grid2(draw)
    value = expression(draw, kind, ["a[r * m + c]", "b[c]", "a[r]"])
    target, size = draw.choice([("r * m + c", "n * m"), ("c * n + r", "n * m")])
    guard = draw.choice(["if (r < n && c < m)", "if (r >= n || c >= m)\n    return;\n ", "if (c < m && r < n)"])
    text = f"__global__ void {name}({cxx} *y, const {cxx} *a, const {cxx} *b, int n, int m) {{\n  {index}\n  {guard}\n    y[{target}] = {value};\n}}\n"
    return Kernel("plane", name, text, f"{name}{launch}(y_{name}, A_{kind}, b_{kind}, n, m);", (kind, size, "out"))


def stencil(draw, name):
    index, launch = grid2(draw)
    edge = draw.choice([1, 2])
    taps = [f"a[(r + {dr}) * m + c + {dc}]".replace("+ -", "- ") for dr in range(-edge, edge + 1)
            for dc in range(-edge, edge + 1) if draw.random() < 0.5] or ["a[r * m + c]"]
    value = " + ".join(f"{draw.choice(['0.25f', '0.5f', '1.5f'])} * {tap}" for tap in taps)
    other = draw.choice([f"  else if (r < n && c < m)\n    y[r * m + c] = a[r * m + c];\n", ""])
    text = (f"__global__ void {name}(float *y, const float *a, int n, int m) {{\n  {index}\n"
            f"  if (r >= {edge} && r < n - {edge} && c >= {edge} && c < m - {edge})\n    y[r * m + c] = {value};\n{other}}}\n")
    return Kernel("stencil", name, text, f"{name}{launch}(y_{name}, A_f32, n, m);", ("f32", "n * m", "inout"))


REDUCTIONS = {
    "sum": ("0.0f", "s += {v};"),
    "max": ("-INFINITY", "s = fmaxf(s, {v});"),
    "min": ("INFINITY", "s = {v} < s ? {v} : s;"),
    "top": ("-INFINITY", "if ({v} > s)\n        s = {v};"),
    "product": ("1.0f", "s *= 1.0f + 0.001f * {v};"),
}


def reduction(draw, row, name):
    kind = draw.choice(list(REDUCTIONS))
    start, step = REDUCTIONS[kind]
    v = f"a[{row}]" if kind in ("min", "top") else expression(draw, "f32", [f"a[{row}]", "b[j]"], 1)
    step = step.format(v=v)
    return start, step


def rows(draw, name):
    head, tail, launch = over(draw, "n")
    row = draw.choice(["i * m + j", "j * n + i", "(n - 1 - i) * m + j"])
    start, step = reduction(draw, row, name)
    loop = draw.choice(["for (int j = 0; j < m; ++j)", "for (int j = 0; j < m; j++)", "for (int j = m - 1; j >= 0; --j)"])
    end = draw.choice(["y[i] = s;", "y[i] = s * 0.5f + a[i];", "y[i] = (m > 5 ? s : 1.0f);"])
    text = f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m) {{\n  {head}\n    float s = {start};\n    {loop} {{\n      {step}\n    }}\n    {end}\n  {tail}\n}}\n"
    return Kernel("rows", name, text, f"{name}{launch}(y_{name}, A_f32, b_f32, n, m);", ("f32", "n", "out"))


def inmemory(draw, name):
    head, tail, launch = over(draw, "n")
    row = draw.choice(["i * m + j", "j * n + i"])
    start = draw.choice(["y[i] = 0.0f;", "y[i] *= 0.5f;", ""])
    text = f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m) {{\n  {head}\n    {start}\n    for (int j = 0; j < m; ++j)\n      y[i] += a[{row}] * b[j];\n  {tail}\n}}\n"
    return Kernel("inmemory", name, text, f"{name}{launch}(y_{name}, A_f32, b_f32, n, m);", ("f32", "n", "inout"))


def softmax(draw, name):
    head, tail, launch = over(draw, "n")
    third = draw.choice(["expf(x[j] - top) / sum", "x[j] - top + sum * 0.001f"])
    text = (f"__global__ void {name}(float *y, const float *a, int n, int m) {{\n  {head}\n    const float *x = a + i * m;\n    float top = -INFINITY;\n"
            f"    for (int j = 0; j < m; ++j)\n      top = fmaxf(top, x[j]);\n    float sum = 0.0f;\n    for (int j = 0; j < m; ++j)\n      sum += expf(x[j] - top);\n"
            f"    for (int j = 0; j < m; ++j)\n      y[i * m + j] = {third};\n  {tail}\n}}\n")
    return Kernel("softmax", name, text, f"{name}{launch}(y_{name}, A_f32, n, m);", ("f32", "n * m", "out"))


def product(draw, name):
    index, launch = grid2(draw)
    a = draw.choice(["a[r * k + p]", "a[p * n + r]"])
    b = draw.choice(["b[p * m + c]", "b[c * k + p]"])
    kind = draw.choice(["f32", "f32", "i32", "f64"])
    cxx = CXX[kind]
    term = draw.choice([f"{a} * {b}", f"{a} * {b}", f"({a} - {b}) * ({a} - {b})"])
    low = draw.choice(["0", "0", "0", "r"]) if term.startswith("a") else "0"
    loop = f"for (int p = {low}; p < k; ++p)"
    if draw.random() < 0.5:
        body = f"{cxx} s = 0;\n    {loop}\n      s += {term};\n    y[r * m + c] = {draw.choice(['s', 's * 2', 's + y[r * m + c]'])};"
    else:
        body = f"y[r * m + c] {draw.choice(['= 0', '*= 2', '+= 1'])};\n    {loop}\n      y[r * m + c] += {term};"
    text = f"__global__ void {name}({cxx} *y, const {cxx} *a, const {cxx} *b, int n, int m, int k) {{\n  {index}\n  if (r < n && c < m) {{\n    {body}\n  }}\n}}\n"
    return Kernel("product", name, text, f"{name}{launch}(y_{name}, A_{kind}, B_{kind}, n, m, k);", (kind, "n * m", "inout"))


def triangle(draw, name):
    head, tail, launch = over(draw, "n")
    test = draw.choice(["j <= i", "j < i"])
    text = f"__global__ void {name}(float *y, const float *a, int n) {{\n  {head}\n    float s = 0.0f;\n    for (int j = 0; {test}; ++j)\n      s += a[j] * 0.5f;\n    y[i] = s;\n  {tail}\n}}\n"
    return Kernel("triangle", name, text, f"{name}{launch}(y_{name}, A_f32, n);", ("f32", "n", "out"))


def scatter(draw, name):
    head, tail, launch = over(draw, "n")
    text = f"__global__ void {name}(float *y, const float *a, const int *p, int n) {{\n  {head}\n    y[p[i]] = a[i] * 2.0f;\n  {tail}\n}}\n"
    return Kernel("scatter", name, text, f"{name}{launch}(y_{name}, a_f32, p_{name}, n);", ("f32", "n", "out"),
                  [(f"p_{name}", "i32", "n", "permutation")])


COMBINE = {"sum": ("0.0f", "{a} += {b};"), "max": ("-INFINITY", "{a} = fmaxf({a}, {b});"), "min": ("INFINITY", "{a} = fminf({a}, {b});")}


def blockrows(draw, name):
    """One block a row: partial results, a tree in shared memory, a broadcast."""
    threads = draw.choice([32, 64, 128])
    kind = draw.choice(list(COMBINE))
    start, step = COMBINE[kind]
    stride = draw.choice(["blockDim.x", str(threads)])
    tree = draw.choice([
        f"for (int h = {threads} / 2; h > 0; h /= 2) {{\n    if (t < h)\n      {step.format(a='part[t]', b='part[t + h]')}\n    __syncthreads();\n  }}",
        f"for (int h = blockDim.x / 2; h > 0; h >>= 1) {{\n    if (t < h)\n      {step.format(a='part[t]', b='part[t + h]')}\n    __syncthreads();\n  }}",
        f"for (int h = 1; h < {threads}; h *= 2) {{\n    if (t % (2 * h) == 0)\n      {step.format(a='part[t]', b='part[t + h]')}\n    __syncthreads();\n  }}",
    ])
    value = expression(draw, "f32", ["a[row * m + j]", "b[j]"], 1)
    if kind != "sum":
        value = "a[row * m + j]"
    end = draw.choice(["if (t == 0)\n    y[row * m] = part[0];",
                       f"float all = part[0];\n  for (int j = t; j < m; j += {stride})\n    y[row * m + j] = a[row * m + j] * 0.5f - all * 0.01f;"])
    text = (f"__global__ void {name}(float *y, const float *a, const float *b, int m) {{\n  __shared__ float part[{threads}];\n  int row = blockIdx.x, t = threadIdx.x;\n"
            f"  float s = {start};\n  for (int j = t; j < m; j += {stride}) {{\n    {step.format(a='s', b=value)}\n  }}\n  part[t] = s;\n  __syncthreads();\n  {tree}\n  {end}\n}}\n")
    return Kernel("blockrows", name, text, f"{name}<<<n, {threads}>>>(y_{name}, A_f32, b_f32, m);", ("f32", "n * m", "inout"))


def warprows(draw, name):
    """One warp, or a part of it, a row: shuffles."""
    lanes = draw.choice([32, 32, 16, 8])
    kind = draw.choice(list(COMBINE))
    start, step = COMBINE[kind]
    block = draw.choice([64, 128])
    direction = draw.choice(["xor", "down"])
    shuffle = f"__shfl_{direction}_sync(0xffffffff, s, h, {lanes})" if lanes < 32 else f"__shfl_{direction}_sync(0xffffffff, s, h)"
    if draw.random() < 0.5:
        reduce = f"for (int h = {lanes // 2}; h > 0; h /= 2)\n    {step.format(a='s', b=shuffle)}"
    else:
        offsets = [str(lanes >> i) for i in range(1, 6) if lanes >> i]
        reduce = "\n  ".join(step.format(a="s", b=shuffle.replace("s, h", f"s, {offset}")) for offset in offsets)
    end = "if (lane == 0)\n    y[row * m] = s * 0.5f;"
    if direction == "xor" and draw.random() < 0.5:
        end = f"for (int j = lane; j < m; j += {lanes})\n    y[row * m + j] = a[row * m + j] - s;"
    text = (f"__global__ void {name}(float *y, const float *a, int n, int m) {{\n  int lane = threadIdx.x % {lanes}, row = blockIdx.x * (blockDim.x / {lanes}) + threadIdx.x / {lanes};\n"
            f"  if (row >= n)\n    return;\n  float s = {start};\n  for (int j = lane; j < m; j += {lanes})\n    {step.format(a='s', b='a[row * m + j]')}\n  {reduce}\n  {end}\n}}\n")
    per = block // lanes
    return Kernel("warprows", name, text, f"{name}<<<(n + {per - 1}) / {per}, {block}>>>(y_{name}, A_f32, n, m);", ("f32", "n * m", "inout"))


def blocksums(draw, name):
    """A block's sum of warp sums."""
    threads = draw.choice([64, 128, 256])
    second = draw.choice([
        "if (t < 32) {\n    s = t < blockDim.x / 32 ? part[t] : 0.0f;\n    for (int h = 16; h > 0; h /= 2)\n      s += __shfl_down_sync(0xffffffff, s, h);\n    if (t == 0)\n      y[blockIdx.x] = s;\n  }",
        f"if (t == 0) {{\n    float all = 0.0f;\n    for (int w = 0; w < {threads // 32}; ++w)\n      all += part[w];\n    y[blockIdx.x] = all;\n  }}",
        "s = t % 32 < blockDim.x / 32 ? part[t % 32] : 0.0f;\n  for (int h = 16; h > 0; h /= 2)\n    s += __shfl_xor_sync(0xffffffff, s, h);\n  if (t == 0)\n    y[blockIdx.x] = s;",
    ])
    text = (f"__global__ void {name}(float *y, const float *a, int m) {{\n  __shared__ float part[32];\n  int t = threadIdx.x;\n  float s = 0.0f;\n"
            f"  for (int j = t; j < m; j += blockDim.x)\n    s += a[blockIdx.x * m + j];\n  for (int h = 16; h > 0; h >>= 1)\n    s += __shfl_down_sync(0xffffffff, s, h);\n"
            f"  if (t % 32 == 0)\n    part[t / 32] = s;\n  __syncthreads();\n  {second}\n}}\n")
    return Kernel("blocksums", name, text, f"{name}<<<n, {threads}>>>(y_{name}, A_f32, m);", ("f32", "n", "out"))


def vectors(draw, name):
    """Several elements at once through a cast pointer, a tail one by one."""
    width = 2  # the judge's buffers are not aligned to 16 bytes
    block = draw.choice([64, 128])
    fields = "xyzw"[:width]
    value = {field: expression(draw, "f32", [f"v.{field}", f"v.{draw.choice(fields)}"], 1) for field in fields}
    if draw.random() < 0.5:
        write = f"*reinterpret_cast<float{width} *>(y + {width} * i) = make_float{width}({', '.join(value[f] for f in fields)});"
    else:
        write = f"float{width} w;\n    " + "\n    ".join(f"w.{f} = {value[f]};" for f in fields) + f"\n    ((float{width} *)y)[i] = w;"
    text = (f"__global__ void {name}(float *y, const float *a, int n) {{\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) {{\n"
            f"    const float{width} v = reinterpret_cast<const float{width} *>(a)[i];\n    {write}\n  }}\n}}\n")
    return Kernel("vectors", name, text, f"{name}<<<(n + {block - 1}) / {block}, {block}>>>(y_{name}, in_{name}, n);", ("f32", f"{width} * n", "out"),
                  [(f"in_{name}", "f32", f"{width} * n", "uniform(-1, 1)")])


def pairs(draw, name):
    """Halves two by two, and what is left over."""
    head, tail, launch = over(draw, "n")
    by = draw.choice([2, 3, 4])
    terms = " + ".join(f"__half2float(x[j + {k}])" for k in range(by))
    start = draw.choice(["0", "1", "m / 2"])
    text = (f"__global__ void {name}(float *y, const __half *a, int n, int m) {{\n  {head}\n    const __half *x = a + i;\n    float s = 0.0f;\n    int j = {start};\n"
            f"    for (; j + {by - 1} < m; j += {by})\n      s += {terms};\n    for (; j < m; ++j)\n      s += __half2float(x[j]);\n    y[i] = s;\n  {tail}\n}}\n")
    return Kernel("pairs", name, text, f"{name}{launch}(y_{name}, a_f16, n, m);", ("f32", "n", "out"))


def arrays(draw, name):
    """A few sums of each thread in an array."""
    size = draw.choice([2, 3, 4])
    head, tail, launch = over(draw, "n")
    start = draw.choice(["= {}", "= {0.0f}", "= {1.0f}"])
    row = draw.choice([f"(i * {size} + k) * m + j", f"(j * n + i) * {size} + k"])
    step = draw.choice([f"acc[k] += a[{row}] * b[j];", f"acc[k] += near[k] * b[j];"])
    load = f"float near[{size}];\n      for (int k = 0; k < {size}; ++k)\n        near[k] = a[{row}];\n      "
    text = (f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m) {{\n  {head}\n    float acc[{size}] {start};\n    for (int j = 0; j < m; ++j) {{\n"
            f"      {load if 'near' in step else ''}for (int k = 0; k < {size}; ++k)\n        {step}\n    }}\n    for (int k = 0; k < {size}; ++k)\n      y[i * {size} + k] = acc[k];\n  {tail}\n}}\n")
    return Kernel("arrays", name, text, f"{name}{launch}(y_{name}, in_{name}, b_f32, n, m);", ("f32", f"{size} * n", "out"),
                  [(f"in_{name}", "f32", f"{size} * n * m", "uniform(-1, 1)")])


def window(draw, name):
    """A window with a guard at its edges, in strides and dilated."""
    index, launch = grid2(draw)
    width, stride, apart, pad = draw.choice([1, 3, 4]), draw.choice([1, 1, 2]), draw.choice([1, 1, 2]), draw.choice([0, 1, 2])
    inside = "u >= 0 && u < n && v >= 0 && v < m"
    term, start, step = draw.choice([("a[u * m + v]", "0.0f", "s += {v};"), ("a[u * m + v]", "-INFINITY", "s = fmaxf(s, {v});"),
                                     ("a[u * m + v] * b[p * " + str(width) + " + q]", "0.0f", "s += {v};")])
    guard = draw.choice(["if", "choice", "continue"])
    if guard == "if":
        body = f"if ({inside})\n          {step.format(v=term)}"
    elif guard == "continue":
        body = f"if (u < 0 || u >= n || v < 0 || v >= m)\n          continue;\n        {step.format(v=term)}"
    else:
        body = f"float x = {inside} ? {term} : {start};\n        {step.format(v='x')}"
    text = (f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m) {{\n  {index}\n  if (r >= n || c >= m)\n    return;\n  float s = {start};\n"
            f"  for (int p = 0; p < {width}; ++p) {{\n    int u = r * {stride} + p * {apart} - {pad};\n    for (int q = 0; q < {width}; ++q) {{\n      int v = c * {stride} + q * {apart} - {pad};\n"
            f"        {body}\n    }}\n  }}\n  y[r * m + c] = s;\n}}\n")
    return Kernel("window", name, text, f"{name}{launch}(y_{name}, A_f32, in_{name}, n, m);", ("f32", "n * m", "out"),
                  [(f"in_{name}", "f32", "16", "uniform(-1, 1)")])


def pooled(draw, name):
    """Output sizes that are quotients of sums."""
    stride, width = draw.choice([1, 2, 3]), draw.choice([2, 3])
    block = draw.choice([64, 128])
    text = (f"__global__ void {name}(float *y, const float *a, int n, int m, int p) {{\n  int h = (n + 2 * p - {width}) / {stride} + 1, w = (m + 2 * p - {width}) / {stride} + 1;\n"
            f"  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= h * w)\n    return;\n  int c = i % w, r = i / w;\n  float s = 0.0f;\n"
            f"  for (int u = 0; u < {width}; ++u)\n    for (int v = 0; v < {width}; ++v) {{\n      int x = r * {stride} + u - p, z = c * {stride} + v - p;\n"
            f"      s += x >= 0 && x < n && z >= 0 && z < m ? a[x * m + z] : 0.0f;\n    }}\n  y[r * w + c] = s;\n}}\n")
    return Kernel("pooled", name, text, f"{name}<<<((n + 3) * (m + 3) + {block - 1}) / {block}, {block}>>>(y_{name}, A_f32, n, m, 1 + {width} / 2);",
                  ("f32", "(n + 5) * (m + 5)", "inout"))


def tiles(draw, name):
    """Each block has a few rows."""
    many, threads = draw.choice([2, 4, 8]), draw.choice([32, 64])
    value = expression(draw, "f32", ["a[r * m + c]", "b[c]"], 1)
    end = draw.choice([f"min(first + {many}, n)", f"first + {many} && r < n"])
    text = (f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m) {{\n  int first = blockIdx.x * {many};\n  for (int r = first; r < {end}; ++r)\n"
            f"    for (int c = threadIdx.x; c < m; c += blockDim.x)\n      y[r * m + c] = {value};\n}}\n")
    return Kernel("tiles", name, text, f"{name}<<<(n + {many - 1}) / {many}, {threads}>>>(y_{name}, A_f32, b_f32, n, m);", ("f32", "n * m", "out"))


def gridsums(draw, name):
    """All blocks share out one sum; each stores its part."""
    threads, blocks = draw.choice([64, 128]), draw.choice([1, 3, 4])
    text = (f"__global__ void {name}(float *y, const float *a, int n) {{\n  __shared__ float part[{threads}];\n  int t = threadIdx.x;\n  float s = 0.0f;\n"
            f"  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)\n    s += a[i] * a[i];\n  part[t] = s;\n  __syncthreads();\n"
            f"  for (int h = {threads} / 2; h > 0; h /= 2) {{\n    if (t < h)\n      part[t] += part[t + h];\n    __syncthreads();\n  }}\n  if (t == 0)\n    y[blockIdx.x] = part[0];\n}}\n")
    return Kernel("gridsums", name, text, f"{name}<<<{blocks}, {threads}>>>(y_{name}, A_f32, n * m);", ("f32", str(blocks), "out"))


def groups(draw, name):
    """Two passes over the channels of a group."""
    per = draw.choice([1, 2, 3])
    block = draw.choice([32, 64])
    text = (f"__global__ void {name}(float *y, const float *a, int c, int g, int s) {{\n  int group = blockIdx.x % g, item = blockIdx.x / g, size = c / g * s;\n  float sum = 0.0f;\n"
            f"  for (int i = 0; i < size; ++i)\n    sum += a[(item * c + group * (c / g) + i / s) * s + i % s];\n"
            f"  for (int i = threadIdx.x; i < size; i += blockDim.x) {{\n    int at = (item * c + group * (c / g) + i / s) * s + i % s;\n    y[at] = a[at] - sum * 0.01f;\n  }}\n}}\n")
    return Kernel("groups", name, text, f"{name}<<<n * 2, {block}>>>(y_{name}, in_{name}, {2 * per}, 2, m);", ("f32", f"n * {2 * per} * m", "out"),
                  [(f"in_{name}", "f32", f"n * {2 * per} * m", "uniform(-1, 1)")])


def whiles(draw, name):
    """Loops in other words: while, do, and breaks and returns that only end the range."""
    head, tail, launch = over(draw, "n")
    start, step = reduction(draw, "i * m + j", name)
    loop = draw.choice([
        "int j = 0;\n    while (j < m) {{\n      {step}\n      ++j;\n    }}",
        "int j = m - 1;\n    while (j >= 0) {{\n      {step}\n      --j;\n    }}",
        "int j = 0;\n    do {{\n      {step}\n      j += 1;\n    }} while (j < m);",
        "for (int j = 0;; ++j) {{\n      if (j >= m)\n        break;\n      {step}\n    }}",
        "for (int j = 0; j < 2 * m + 3; j += 2) {{\n      if (j + 1 > m)\n        break;\n      {step}\n    }}",
        "for (int j = 0; j < m; ++j) {{\n      if (i + j >= n)\n        break;\n      {step}\n    }}",
        "int j = i;\n    while (true) {{\n      if (!(j < m))\n        break;\n      {step}\n      j += 3;\n    }}",
    ]).format(step=step)
    text = f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m) {{\n  {head}\n    float s = {start};\n    {loop}\n    y[i] = s;\n  {tail}\n}}\n"
    return Kernel("whiles", name, text, f"{name}{launch}(y_{name}, A_f32, b_f32, n, m);", ("f32", "n", "out"))


def shares(draw, name):
    """Each thread has a few elements, up to the end."""
    per, block = draw.choice([2, 3, 8]), draw.choice([32, 64])
    leave = draw.choice(["break", "return"])
    mode = draw.random() < 0.5
    value = "v" if mode else expression(draw, "f32", ["a[at]", "a[i]"], 1)
    cases = (f"    float v = a[at];\n    switch ({draw.choice(['n % 3', 'k % 4', 'n'])}) {{\n    case 0:\n    case 2:\n      v *= 2.0f;\n      break;\n    case 1: {{\n      v = v - 1.0f;\n      break;\n    }}\n"
             f"    {draw.choice(['default:', 'case 3:'])}\n      v = 0.5f;\n    }}\n" if mode else "")
    text = (f"__global__ void {name}(float *y, const float *a, int n, int k) {{\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  for (int j = 0; j < {per}; ++j) {{\n    int at = i * {per} + j;\n"
            f"    if (at >= n)\n      {leave};\n{cases}    y[at] = {value};\n  }}\n}}\n")
    count = block * per
    return Kernel("shares", name, text, f"{name}<<<(n + {count - 1}) / {count}, {block}>>>(y_{name}, a_f32, n, k);", ("f32", "n", "out"))


def lines(draw, name):
    """Rows or columns of a block form sums beside each other."""
    kind = draw.choice(list(COMBINE))
    start, step = COMBINE[kind]
    isRow = draw.random() < 0.5
    size, others = draw.choice([8, 16, 32, 64] if isRow else [4, 8, 16]), draw.choice([2, 4, 8] if isRow else [8, 16, 32])
    wide = size if isRow else others
    pad = draw.choice([0, 0, 1])
    lane, other = ("x", "y") if isRow else ("y", "x")
    at = (lambda place: f"part[threadIdx.y][{place}]") if isRow else (lambda place: f"part[{place}][threadIdx.x]")
    count, length, row = ("n", "m", "line * m + j") if isRow else ("m", "n", "j * m + line")
    guard = draw.choice([f"if (line < {count})\n    ", f"if (line < {count}) "])
    tree = draw.choice([
        f"for (int h = {size} / 2; h > 0; h /= 2) {{\n    if (t < h)\n      {step.format(a=at('t'), b=at('t + h'))}\n    __syncthreads();\n  }}\n  if (t == 0 && line < {count})\n    y[line] = {at('0')};",
        f"int h = {size} / 2;\n  while (h != 0) {{\n    if (t < h)\n      {step.format(a=at('t'), b=at('t + h'))}\n    __syncthreads();\n    h /= 2;\n  }}\n  if (line < {count} && t == 0)\n    y[line] = {at('0')} * 0.5f;",
        f"if (t == 0 && line < {count}) {{\n    float all = {start};\n    for (int k = 0; k < {size}; ++k)\n      {step.format(a='all', b=at('k'))}\n    y[line] = all;\n  }}",
    ])
    stride = draw.choice([str(size), f"blockDim.{lane}"])
    text = (f"__global__ void {name}(float *y, const float *a, int n, int m) {{\n  __shared__ float part[{others if isRow else size}][{wide + pad}];\n"
            f"  int line = blockIdx.x * {draw.choice([str(others), 'blockDim.' + other])} + threadIdx.{other}, t = threadIdx.{lane};\n  float s = {start};\n"
            f"  {guard}for (int j = t; j < {length}; j += {stride}) {{\n      {step.format(a='s', b=f'a[{row}]')}\n    }}\n  {at('t')} = s;\n  __syncthreads();\n  {tree}\n}}\n")
    block = f"dim3({size}, {others})" if isRow else f"dim3({others}, {size})"
    return Kernel("lines", name, text, f"{name}<<<({count} + {others - 1}) / {others}, {block}>>>(y_{name}, A_f32, n, m);", ("f32", count, "out"))


def kept(draw, name):
    """A tree in shared memory whose threads keep what they store."""
    threads = draw.choice([32, 64, 128])
    scale = draw.choice(["", "  float scale = 2.0f;\n"])
    change = draw.choice(["", "  scale = 3.0f;\n"]) if scale else ""
    text = (f"__global__ void {name}(float *y, const float *a, int m) {{\n  __shared__ float part[{threads}];\n  int t = threadIdx.x, j = t;\n  float s = 0.0f;\n{scale}"
            f"  while (j < m) {{\n    s += a[blockIdx.x * m + j]{' * scale' if scale else ''};\n    j += blockDim.x;\n  }}\n  part[t] = s;\n{change}  __syncthreads();\n"
            f"  for (int h = blockDim.x / 2; h > 0; h >>= 1) {{\n    if (t < h)\n      part[t] = s = s + part[t + h];\n    __syncthreads();\n  }}\n  if (t == 0)\n    y[blockIdx.x] = {draw.choice(['s', 'part[0]'])}{' * scale' if scale else ''};\n}}\n")
    return Kernel("kept", name, text, f"{name}<<<n, {threads}>>>(y_{name}, A_f32, m);", ("f32", "n", "out"))


def tiledproduct(draw, name):
    """A product that copies tiles into shared memory."""
    size = draw.choice([8, 16])
    pad = draw.choice([0, 1])
    aside, bside = f"row < n && t * {size} + tx < k", f"t * {size} + ty < k && col < m"
    fill = draw.choice([
        f"as[ty][tx] = {aside} ? a[row * k + t * {size} + tx] : 0.0f;\n    bs[ty][tx] = {bside} ? b[(t * {size} + ty) * m + col] : 0.0f;",
        f"if ({aside})\n      as[ty][tx] = a[row * k + t * {size} + tx];\n    else\n      as[ty][tx] = 0.0f;\n    if ({bside})\n      bs[ty][tx] = b[(t * {size} + ty) * m + col];\n    else\n      bs[ty][tx] = 0.0f;",
    ])
    term = draw.choice(["as[ty][u] * bs[u][tx]", "bs[u][tx] * as[ty][u]"])
    end = draw.choice(["s", "s * 0.5f + 1.0f", "fmaxf(s, 0.5f)"])
    text = (f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m, int k) {{\n  __shared__ float as[{size}][{size + pad}], bs[{size}][{size + pad}];\n"
            f"  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * {size} + ty, col = blockIdx.x * {size} + tx;\n  float s = 0.0f;\n"
            f"  for (int t = 0; t < (k + {size - 1}) / {size}; ++t) {{\n    {fill}\n    __syncthreads();\n    for (int u = 0; u < {size}; ++u)\n      s += {term};\n    __syncthreads();\n  }}\n"
            f"  if (row < n && col < m)\n    y[row * m + col] = {end};\n}}\n")
    launch = f"{name}<<<dim3((m + {size - 1}) / {size}, (n + {size - 1}) / {size}), dim3({size}, {size})>>>(y_{name}, A_f32, B_f32, n, m, k);"
    return Kernel("tiledproduct", name, text, launch, ("f32", "n * m", "out"))


def online(draw, name):
    """A maximum and a sum of exponentials in one loop."""
    head, tail, launch = over(draw, "n")
    update = draw.choice([
        "float next = fmaxf(top, x[j]);\n      sum = sum * expf(top - next) + expf(x[j] - next);\n      top = next;",
        "if (x[j] > top) {\n        sum *= expf(top - x[j]);\n        top = x[j];\n      }\n      sum += expf(x[j] - top);",
    ])
    text = (f"__global__ void {name}(float *y, const float *a, int n, int m) {{\n  {head}\n    const float *x = a + i * m;\n    float top = -INFINITY, sum = 0.0f;\n"
            f"    for (int j = 0; j < m; ++j) {{\n      {update}\n    }}\n    for (int j = 0; j < m; ++j)\n      y[i * m + j] = expf(x[j] - top) / sum;\n  {tail}\n}}\n")
    return Kernel("online", name, text, f"{name}{launch}(y_{name}, A_f32, n, m);", ("f32", "n * m", "out"))


def moving(draw, name):
    """Pointers and second counters that move on with a loop."""
    head, tail, launch = over(draw, "n")
    loop = draw.choice([
        "const float *p = a + i;\n    for (int j = 0; j < m; ++j) {\n      s += *p * b[j];\n      p += n;\n    }",
        "int at = i * m;\n    for (int j = 0; j < m; ++j) {\n      s += a[at] * b[j];\n      ++at;\n    }",
        "for (int j = 0, at = i; j < m; ++j, at += n)\n      s += a[at] * b[j];",
        "const float *p = a + i * m + m;\n    for (int j = 0; j < m; ++j) {\n      --p;\n      s += p[0] * b[j];\n    }",
        "const float *p = a + i;\n    for (int j = m - 1; j >= 0; j -= 2) {\n      s += p[0] * b[j];\n      p += n;\n    }",
    ])
    text = f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m) {{\n  {head}\n    float s = 0.0f;\n    {loop}\n    y[i] = s;\n  {tail}\n}}\n"
    return Kernel("moving", name, text, f"{name}{launch}(y_{name}, A_f32, b_f32, n, m);", ("f32", "n", "out"))


def jacobian(draw, name):
    """A sum with an indicator, or with factors that do not vary: simplify-reduction's class, and near misses of it."""
    index, launch = grid2(draw)
    row = draw.choice(["a + r * m", "a + r * m"])
    here = draw.choice(["(k == c ? 1.0f : 0.0f)", "(c != k ? 0.0f : 1.0f)", "(k == c ? 0.5f : 0.25f)", "(k + 1 == c ? 1.0f : 0.0f)", "(x[k] == x[c] ? 1.0f : 0.0f)"])
    term = draw.choice([f"0.5f * (x[k] * ({here} - x[c])) * a[k]", f"x[k] * {here} * a[k]", f"x[k] * a[k] + {here} * x[k] * a[k]", "(x[k] + a[c]) * a[k]",
                        "x[k] * a[k] / a[c]", f"fmaxf({here}, x[k])", "x[k] * x[c] * 2.0f", "0.1 * x[k]"])
    end = draw.choice(["s", "x[c] * s", "s + y[r * m + c]"])
    low = draw.choice(["s = 0.0f", "s = 1.0f"])
    inside = draw.choice(["r < n && c < m", "r < n && c < m", "r < n && c < m && c <= r", "r < n && c < m && c >= 2"])
    text = (f"__global__ void {name}(float *y, const float *a, int n, int m) {{\n  {index}\n  if ({inside}) {{\n    const float *x = {row};\n    float {low};\n"
            f"    for (int k = 0; k < m; ++k)\n      s += {term};\n    y[r * m + c] = {end};\n  }}\n}}\n")
    role = "inout" if inside != "r < n && c < m" or "y[" in end else "out"
    return Kernel("jacobian", name, text, f"{name}{launch}(y_{name}, A_f32, n, m);", ("f32", "n * m", role))


def means(draw, name):
    """Each element forms the sums of its row anew."""
    head, tail, launch = over(draw, "n * m")
    kind = draw.choice(["f32", "f32", "f64"])
    cxx = CXX[kind]
    second = draw.choice(["(x[k] - mean) * (x[k] - mean)", "x[k] * mean", "x[k] * x[k]"])
    text = (f"__global__ void {name}({cxx} *y, const {cxx} *a, int n, int m) {{\n  {head}\n    const {cxx} *x = a + i / m * m;\n    {cxx} mean = 0, more = 0;\n"
            f"    for (int k = 0; k < m; ++k)\n      mean += x[k];\n    mean = mean / m;\n    for (int k = 0; k < m; ++k)\n      more += {second};\n"
            f"    y[i] = {draw.choice(['a[i] * mean + more', '(a[i] + mean) / (more + 1)'])};\n  {tail}\n}}\n")
    return Kernel("means", name, text, f"{name}{launch}(y_{name}, A_{kind}, n, m);", (kind, "n * m", "out"))


def batched(draw, name):
    """A loop over images, in the kernel or at its launch."""
    head, tail, launch = over(draw, "m")
    value = draw.choice(["a[b * m + i] * 2.0f", "a[b * m + i] + a[i]", "fmaxf(a[b * m + i], 0.5f)"])
    if draw.random() < 0.5:
        text = f"__global__ void {name}(float *y, const float *a, int n, int m) {{\n  {head}\n    for (int b = 0; b < n; ++b)\n      y[b * m + i] = {value};\n  {tail}\n}}\n"
        return Kernel("batched", name, text, f"{name}{launch}(y_{name}, A_f32, n, m);", ("f32", "n * m", "out"))
    value = value.replace("a[b * m + i]", "x[i]")
    text = f"__global__ void {name}(float *y, const float *x, const float *a, int m) {{\n  {head}\n    y[i] = {value};\n  {tail}\n}}\n"
    return Kernel("batched", name, text, f"for (int b = 0; b < n; ++b)\n    {name}{launch}(y_{name} + b * m, A_f32 + b * m, A_f32, m);", ("f32", "n * m", "out"))


def halves(draw, name):
    """Rows of half elements that are summed or scaled in float."""
    head, tail, launch = over(draw, "n")
    if draw.random() < 0.5:
        body, output = "float s = 0.0f;\n    for (int j = 0; j < m; ++j)\n      s += __half2float(a[i * m + j]);\n    y[i] = s;", ("f32", "n", "out")
    else:
        body = "float s = 1.0f;\n    for (int j = 0; j < m; ++j)\n      s += __half2float(a[i * m + j]);\n    for (int j = 0; j < m; ++j)\n      y[i * m + j] = __float2half(__half2float(a[i * m + j]) / s);"
        output = ("f16", "n * m", "out")
    text = f"__global__ void {name}({CXX[output[0]]} *y, const __half *a, int n, int m) {{\n  {head}\n    {body}\n  {tail}\n}}\n"
    return Kernel("halves", name, text, f"{name}{launch}(y_{name}, A_f16, n, m);", output)


def images(draw, name):
    """Sums over an image, whose rows may lie one after the other, and what follows them."""
    head, tail, launch = over(draw, "n")
    width, gap = draw.choice([2, 4, 8, 16]), draw.choice([0, 0, 0, 3])
    kind = draw.choice(["f32", "f32", "f64"])
    cxx, x = CXX[kind], f"x[(i * m + j) * {width + gap} + l]"
    loops = draw.choice([f"for (int j = 0; j < m; ++j)\n      for (int l = 0; l < {width}; ++l)", f"for (int j = 0; j < m; ++j)\n      for (int l = {width} - 1; l >= 0; --l)"])
    mean = f"{cxx} mean = {draw.choice([0, 1])}, more = 0;\n    {loops}\n        mean += {x};\n    mean = mean / (m * {width});\n    {loops}\n        more += ({x} - mean) * ({x} - mean);"
    both = f"{cxx} mean = 0, more = 0;\n    {loops} {{\n        mean += {x};\n        more += {x} * {x};\n      }}"
    top = f"{cxx} mean = -1, more = 0;\n    {loops}\n        mean = fmax{'f' if kind == 'f32' else ''}(mean, {x});\n    {loops}\n        more += {x} - mean;"
    sums = draw.choice([mean, both, top])
    y = x.replace("x[", "y[")
    end = draw.choice(["y[i] = mean + more;", f"{loops}\n        {y} = ({x} - mean) / (more + 1);", f"{loops}\n        {y} = {x} + mean * more;"])
    shape = f"n * m * {width + gap}"
    output = (kind, "n", "out") if end.startswith("y[i] = mean") else (kind, shape, "inout" if gap else "out")
    text = f"__global__ void {name}({cxx} *y, const {cxx} *x, int n, int m) {{\n  {head}\n    {sums}\n    {end}\n  {tail}\n}}\n"
    return Kernel("images", name, text, f"{name}{launch}(y_{name}, x_{name}, n, m);", output, [(f"x_{name}", kind, shape, "uniform(0.25, 1.25)")])


FAMILIES = [elementwise, elementwise, inplace, digits, plane, stencil, rows, rows, inmemory, softmax, product, product, triangle,
            scatter, blockrows, blockrows, warprows, blocksums,
            vectors, pairs, arrays, window, window, pooled, tiles, gridsums, groups, whiles, whiles, shares, lines, lines, kept,
            tiledproduct, online, moving, jacobian, jacobian, means, batched, halves, images, images]
