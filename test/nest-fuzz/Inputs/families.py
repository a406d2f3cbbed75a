"""Families of random kernels whose shape is not one kernel of one instance: structs, gathers, templates, several launches, and products in
few bits. See kernels.py."""

from kernels import CXX, Kernel, expression, grid2, over


def structs(draw, name):
    """Arguments in a struct, and elements that are structs."""
    head, tail, launch = over(draw, "n")
    a = draw.choice(["a[i].x", "a[i].y", "a[i + 1].x"])
    if draw.random() < 0.5:
        text = (f"struct P{name} {{\n  float scale;\n  int n, m;\n}};\n__global__ void {name}(float *y, const float2 *a, P{name} p) {{\n  int n = p.n;\n  {head}\n"
                f"    float s = 0.0f;\n    for (int j = 0; j < p.m; ++j)\n      s += a[i + j].x * p.scale;\n    y[i] = s + {a};\n  {tail}\n}}\n")
        arguments = f"P{name}{{0.5f, n, m}}"
    else:
        text = (f"struct E{name} {{\n  float x, y;\n}};\n__global__ void {name}(float *y, const E{name} *a, int n, int m) {{\n  {head}\n    E{name} e = a[i];\n"
                f"    e.x += {draw.choice(['e.y', '1.0f', 'e.x * e.y'])};\n    float s = 0.0f;\n    for (int j = 0; j < m; ++j)\n      s += a[i + j].y;\n    y[i] = s * e.x;\n  {tail}\n}}\n")
        arguments = "n, m"
    cast = f"(const {'float2' if 'float2' in text else 'E' + name} *)in_{name}"
    return Kernel("structs", name, text, f"{name}{launch}(y_{name}, {cast}, {arguments});", ("f32", "n", "out"),
                  [(f"in_{name}", "f32", "2 * (n + m + 1)", "uniform(0.25, 1.25)")])


def gathers(draw, name):
    """Rows and elements that data chooses."""
    kind = draw.choice(["rows", "elements", "sums"])
    inputs = [(f"p_{name}", "i32", "n", "permutation")]
    if kind == "rows":
        head, tail, launch = over(draw, "n * m")
        body = f"y[i] = a[p[i / m] * m + i % m] {draw.choice(['* 2.0f', '+ a[i % m]', ''])};"
    elif kind == "elements":
        head, tail, launch = over(draw, "n")
        body = f"y[i * m] = {expression(draw, 'f32', ['a[p[i]]', 'a[i]'], 1)};"
    else:
        head, tail, launch = over(draw, "n")
        body = "float s = 0.0f;\n    for (int j = 0; j < m; ++j)\n      s += a[p[i] * m + j];\n    y[i * m] = s;"
    text = f"__global__ void {name}(float *y, const float *a, const int *p, int n, int m) {{\n  {head}\n    {body}\n  {tail}\n}}\n"
    return Kernel("gathers", name, text, f"{name}{launch}(y_{name}, A_f32, p_{name}, n, m);", ("f32", "n * m", "inout"), inputs)


def instances(draw, name):
    """A template with several instances, each launched somewhere."""
    head, tail, launch = over(draw, "n")
    if draw.random() < 0.5:
        first, second = draw.sample([1, 2, 3, 4, 7], 2)
        text = (f"template <int K>\n__global__ void {name}(float *y, const float *a, int n, int m) {{\n  {head}\n    float s = 0.0f;\n    for (int j = 0; j < m; ++j)\n"
                f"      s += a[i * m + j] * K;\n    y[i] = s{draw.choice(['', ' + K', ' * 0.5f'])};\n  {tail}\n}}\n")
        one, two = f"{name}<{first}>", f"{name}<{second}>"
    else:
        text = (f"template <typename T, bool IS_SCALED>\n__global__ void {name}(T *y, const T *a, int n, int m) {{\n  {head}\n    T s = 0;\n    for (int j = 0; j < m; ++j)\n"
                f"      s += a[i * m + j];\n    y[i] = IS_SCALED ? s * T(2) : s;\n  {tail}\n}}\n")
        one, two = f"{name}<float, true>", f"{name}<float, false>"
    arguments = f"(y_{name}, A_f32, n, m);"
    calls = draw.choice([f"if (m % 2)\n    {one}{launch}{arguments}\n  else\n    {two}{launch}{arguments}",
                         f"{one}{launch}{arguments}\n  {two}{launch}(y_{name} + n, A_f32, n, m);"])
    return Kernel("instances", name, text, calls, ("f32", "2 * n", "inout"))


def launchloop(draw, name):
    """A host loop of launches that do not depend on each other."""
    kind = draw.choice(["map", "rows", "product"])
    if kind == "map":
        head, tail, launch = over(draw, "m")
        value = expression(draw, "f32", ["x[i]", "b[i]"], 1)
        text = f"__global__ void {name}(float *y, const float *x, const float *b, int m) {{\n  {head}\n    y[i] = {value};\n  {tail}\n}}\n"
        call, output = f"{name}{launch}(y_{name} + t * m, A_f32 + t * m, b_f32, m);", ("f32", "n * m", "out")
    elif kind == "rows":
        head, tail, launch = over(draw, "k")
        text = (f"__global__ void {name}(float *y, const float *x, int k, int m) {{\n  {head}\n    float s = 0.0f;\n    for (int j = 0; j < m; ++j)\n      s += x[i * m + j];\n"
                f"    y[i] = s;\n  {tail}\n}}\n")
        call, output = f"{name}{launch}(y_{name} + t * k, in_{name} + t * k * m, k, m);", ("f32", "n * k", "out")
    else:
        text = (f"__global__ void {name}(float *y, const float *x, const float *b, int n, int m, int k) {{\n  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;\n"
                f"  if (r < k && c < m) {{\n    float s = 0.0f;\n    for (int p = 0; p < m; ++p)\n      s += x[r * m + p] * b[p * m + c];\n    y[r * m + c] = s;\n  }}\n}}\n")
        call = f"{name}<<<dim3((m + 15) / 16, (k + 7) / 8), dim3(16, 8)>>>(y_{name} + t * k * m, in_{name} + t * k * m, in2_{name}, n, m, k);"
        output = ("f32", "n * k * m", "out")
    inputs = [] if kind == "map" else [(f"in_{name}", "f32", "n * k * m", "uniform(0.25, 1.25)")]
    if kind == "product":
        inputs.append((f"in2_{name}", "f32", "m * m", "uniform(0.25, 1.25)"))
    return Kernel("launchloop", name, text, f"for (int t = 0; t < n; ++t)\n    {call}", output, inputs,
                  lambda draw: ([f"batch-launches{{kernel={name}}}"], f"{name}Batch"))


def joined(draw, name):
    """Two launches of which the second reads what the first stored."""
    kind = draw.choice(["maps", "maps", "rows", "product", "until"])
    head, tail, launch = over(draw, "n * m")
    second = draw.choice(["fmaxf(y[i], 0.5f)", "y[i] * 2.0f + a[i]", "y[i] > 1.0f ? y[i] : a[i]"])
    then = f"__global__ void {name}b(float *y, const float *a, int n, int m) {{\n  {head}\n    y[i] = {second};\n  {tail}\n}}\n"
    end, inputs = f"{name}b{launch}(y_{name}, A_f32, n, m);", []
    if kind == "maps":
        head, tail, launch = over(draw, "n * m")
        first = f"y[i] = {expression(draw, 'f32', ['a[i]', 'a[n * m - 1 - i]'], 1)};"
    elif kind == "until":
        head, tail, launch = over(draw, "n")
        first = "for (int j = 0; j < m; ++j) {\n      y[i * m + j] = a[i * m + j] * 0.5f;\n      if (a[i * m + j] > 1.1f)\n        break;\n    }"
    elif kind == "rows":
        head, tail, launch = over(draw, "n")
        first = "float s = 0.0f;\n    for (int j = 0; j < m; ++j)\n      s += a[i * m + j];\n    for (int j = 0; j < m; ++j)\n      y[i * m + j] = a[i * m + j] * 0.5f - s * 0.01f;"
    else:
        head, launch = grid2(draw)
        head, tail = head + "\n  if (r < n && c < m) {", "}"
        first = f"float s = 0.0f;\n    for (int p = 0; p < n; ++p)\n      s += a[r * n + p] * b_[p * m + c];\n    y[r * m + c] = s;".replace("b_", "a")
    text = f"__global__ void {name}(float *y, const float *a, int n, int m) {{\n  {head}\n    {first}\n  {tail}\n}}\n"
    return Kernel("joined", name, text + then, f"{name}{launch}(y_{name}, in_{name}, n, m);\n  {end}", ("f32", "n * m", "inout" if kind == "until" else "out"),
                  [(f"in_{name}", "f32", "n * m + n * n + n", "uniform(0.25, 1.25)")],
                  lambda draw: ([f"fuse-kernels-vertical{{kernel={name}}}"], f"{name}{name.upper()}b"))


def halfproduct(draw, name):
    """A product of halves into floats, as the matrix units form it."""
    index, launch = grid2(draw)
    a, b = draw.choice(["a[r * k + p]", "a[p * n + r]"]), draw.choice(["b[p * m + c]", "b[c * k + p]"])
    result = draw.choice(["f32", "f32", "f16"])
    end = "s" if result == "f32" else "__float2half(s)"
    end = draw.choice([end, end.replace("s)", "s * 0.5f)") if result == "f16" else "s * 0.5f"])
    text = (f"__global__ void {name}({CXX[result]} *y, const __half *a, const __half *b, int n, int m, int k) {{\n  {index}\n  if (r < n && c < m) {{\n    float s = 0.0f;\n"
            f"    for (int p = 0; p < k; ++p)\n      s += __half2float({a}) * __half2float({b});\n    y[r * m + c] = {end};\n  }}\n}}\n")
    return Kernel("halfproduct", name, text, f"{name}{launch}(y_{name}, A_f16, in_{name}, n, m, k);", (result, "n * m", "out"),
                  [(f"in_{name}", "f16", "k * m", "uniform(0.25, 1.25)")])


def coarseproduct(draw, name):
    """A product of floats whose owner accepts tf32: its sums run to the end, or to their row."""
    index, launch = grid2(draw)
    end = draw.choice(["k", "k", "min(r + 1, k)"])
    b = draw.choice(["b[p * m + c]", "b[c * k + p]"])
    text = (f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m, int k) {{\n  {index}\n  if (r < n && c < m) {{\n    float s = 0.0f;\n"
            f"    for (int p = 0; p < {end}; ++p)\n      s += a[r * k + p] * {b};\n    y[r * m + c] = s * 0.5f;\n  }}\n}}\n")
    return Kernel("coarseproduct", name, text, f"{name}{launch}(y_{name}, A_f32, in_{name}, n, m, k);", ("f32", "n * m", "out"),
                  [(f"in_{name}", "f32", "k * m", "uniform(0.25, 1.25)")])


FAMILIES = [structs, gathers, instances, launchloop, launchloop, joined, joined, halfproduct]
# Families of programs that declare a tolerance.
TOLERANT = [coarseproduct, halfproduct]
