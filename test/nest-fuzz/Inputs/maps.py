"""Families of random maps, for nest_fuzz.py: transposes and permutations, elements that a thread names one by one, and rows that it reads."""

from kernels import CXX, Kernel, expression, grid2, over


def turned(draw, name):
    """Reads along one dimension and writes along another, maybe in batches, from several arrays, or by a loop of each thread."""
    kind = draw.choice(["f32", "f32", "f16", "f64"])
    cxx = CXX[kind]
    form = draw.choice(["plane", "batch", "loop", "digits"])
    if form == "batch":
        index = "int b = blockIdx.z, r = blockIdx.y * 8 + threadIdx.y, c = blockIdx.x * 32 + threadIdx.x;\n  if (r >= n || c >= m)\n    return;"
        launch, count, base = "<<<dim3((m + 31) / 32, (n + 7) / 8, 3), dim3(32, 8)>>>", "3 * n * m", "b * n * m + "
    elif form == "digits":
        head, tail, launch = over(draw, "3 * n * m")
        index, count, base = f"{head}\n  int c = i % m, r = i / m % n, b = i / (n * m);", "3 * n * m", "b * n * m + "
    elif form == "loop":
        index = "int r = blockIdx.x * 64 + threadIdx.x;\n  if (r >= n)\n    return;\n  for (int c = 0; c < m; ++c) {"
        launch, count, base = "<<<(n + 63) / 64, 64>>>", "n * m", ""
    else:
        index, launch = grid2(draw)
        index, count, base = index + "\n  if (r >= n || c >= m)\n    return;", "n * m", ""
    end = {"loop": "\n  }", "digits": f"\n  {tail}" if form == "digits" else ""}.get(form, "")
    read, other = f"a[{base}r * m + c]", draw.choice([f"d[{base}c * n + r]", f"d[{base}r * m + c]", "d[c]", "d[r]"])
    if kind == "f16":
        value = draw.choice([read, f"__hadd({read}, {other})", f"__float2half(__half2float({read}) * 0.5f)"])
    else:
        value = expression(draw, kind, [read, other], 1) if draw.random() < 0.5 else f"{read} + {other}"
    guard = draw.choice(["", "", f"if (c != 3 || r != 2)\n    "])
    text = f"__global__ void {name}({cxx} *y, const {cxx} *a, const {cxx} *d, int n, int m) {{\n  {index}\n  {guard}y[{base}c * n + r] = {value};{end}\n}}\n"
    return Kernel("turned", name, text, f"{name}{launch}(y_{name}, in_{name}, in2_{name}, n, m);", (kind, count, "inout"),
                  [(f"in_{name}", kind, "3 * n * m", "uniform(0.25, 1.25)"), (f"in2_{name}", kind, "3 * n * m", "uniform(0.25, 1.25)")])


def quads(draw, name):
    """Elements of a thread that lie side by side, by name or in a row of its own."""
    head, tail, launch = over(draw, "n")
    width = draw.choice([2, 4, 4, 3])
    form = draw.choice(["named", "named", "inplace", "row", "steps"])
    parts = [f"a[{width} * i{f' + {c}' if c else ''}]" for c in range(width)]
    if form == "row":
        step = draw.choice(["s += a[i * m + j];", "s = s * 0.5f + a[i * m + j];", "y[i * m + j] = s; s += a[i * m + j];", "if (a[i * m + j] > 0.6f)\n        s += a[i * m + j];",
                            "y[i * m + j] = a[i * m + j] + s;"])
        body = f"float s = 0.0f;\n    for (int j = 0; j < {draw.choice(['m', 'm', 'm - 1', '8'])}; ++j) {{\n      {step}\n    }}\n    y[n * m + 8 * n + i] = s;"
        return Kernel("quads", name, f"__global__ void {name}(float *y, const float *a, int n, int m) {{\n  {head}\n    {body}\n  {tail}\n}}\n",
                      f"{name}{launch}(y_{name}, in_{name}, n, m);", ("f32", "n * m + 9 * n", "inout"), [(f"in_{name}", "f32", "n * m + 8 * n", "uniform(0.25, 1.25)")])
    if form == "steps":
        body = (f"float s = 0.0f;\n    for (int j = 0; j < m; ++j)\n      s += a[{width} * (i * m + j)] * a[{width} * (i * m + j) + 1]"
                + (f" + a[{width} * (i * m + j) + 2]" if width > 2 else "") + (f" - a[{width} * (i * m + j) + 3]" if width > 3 else "") + ";\n    y[i] = s;")
    else:
        target = "a" if form == "inplace" else "y"
        order = draw.sample(range(width), width)
        lines = [f"{target}[{width} * i + {c}] = {expression(draw, 'f32', parts, 1)};" for c in order]
        body = draw.choice(["\n    ".join(lines), "float v = " + " + ".join(parts) + ";\n    " + "\n    ".join(lines) + f"\n    {target}[{width} * i] = v;"])
    const = "" if form == "inplace" else "const "
    text = f"__global__ void {name}(float *y, {const}float *a, int n, int m) {{\n  {head}\n    {body}\n  {tail}\n}}\n"
    arguments = f"y_{name}, y_{name}" if form == "inplace" else f"y_{name}, in_{name}"
    return Kernel("quads", name, text, f"{name}{launch}({arguments}, n, m);", ("f32", f"{width} * n * m + {width} * n", "inout"),
                  [(f"in_{name}", "f32", f"{width} * n * m + {width} * n", "uniform(0.25, 1.25)")])


FAMILIES = [turned, turned, quads, quads]
