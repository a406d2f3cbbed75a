"""Families of random kernels in the forms that people write: loops that data ends, places that data names, indices in any pairing, sums in other
words, switches, arrays in structs, and shared memory in other uses than tiles and trees. See kernels.py."""

from kernels import Kernel, expression, over


def ended(draw, name):
    """A loop that data ends: a search, an iteration, a return from a loop."""
    head, tail, launch = over(draw, "n")
    kind = draw.choice(["first", "bisect", "shrink", "returns", "twice", "counted"])
    function = ""
    if kind == "first":
        body = (f"float found = -1.0f;\n    for (int j = 0; j < m; ++j) {{\n      if (a[i * m + j] > {draw.choice(['1.0f', '0.9f', '5.0f'])}) {{\n        found = j;\n        break;\n      }}\n"
                f"      {draw.choice(['', 'found -= 0.5f;'])}\n    }}\n    y[i] = found;")
    elif kind == "bisect":
        body = "int low = 0, high = m;\n    while (low < high) {\n      int middle = (low + high) / 2;\n      if (a[middle] < a[i])\n        low = middle + 1;\n      else\n        high = middle;\n    }\n    y[i] = low;"
    elif kind == "shrink":
        step = draw.choice(["x *= 0.5f;", "x = x * 0.25f + 0.01f;", "x -= 0.3f;"])
        body = f"float x = a[i] * 8.0f;\n    int turns = 0;\n    {draw.choice(['while (x > 0.5f && turns < 40) {', 'for (; x > 0.5f && turns < 40;) {'])}\n      {step}\n      turns++;\n    }}\n    y[i] = x + turns;"
    elif kind == "returns":
        function = (f"__device__ float {name}at(const float *x, int m, float limit) {{\n  for (int j = 0; j < m; ++j)\n    if (x[j] > limit)\n      return x[j];\n  return {draw.choice(['-1.0f', 'x[0]'])};\n}}\n")
        body = f"y[i] = {name}at(a + i * m, m, {draw.choice(['1.0f', '3.0f'])}) * 2.0f;"
    elif kind == "twice":
        body = ("float s = 0.0f;\n    for (int j = 0; j < m; ++j) {\n      for (int k = j; k < m; ++k) {\n        if (a[i * m + k] > 1.2f)\n          break;\n        s += a[i * m + k];\n      }\n"
                "      if (s > 20.0f)\n        break;\n    }\n    y[i] = s;")
    else:
        body = "float s = 0.0f;\n    bool isOn = a[i] > 0.5f;\n    for (int j = 0; isOn && j < m; ++j)\n      s += a[i * m + j];\n    y[i] = s;"
    text = f"{function}__global__ void {name}(float *y, const float *a, int n, int m) {{\n  {head}\n    {body}\n  {tail}\n}}\n"
    return Kernel("ended", name, text, f"{name}{launch}(y_{name}, A_f32, n, m);", ("f32", "n", "out"))


def placed(draw, name):
    """Rows and elements stored where data says."""
    inputs = [(f"p_{name}", "i32", "n", "permutation")]
    threads = draw.choice([32, 64])
    kind = draw.choice(["rows", "elements", "adds"])
    if kind == "rows":
        value = expression(draw, "f32", ["a[blockIdx.x * m + j]", "a[j]"], 1)
        text = (f"__global__ void {name}(float *y, const float *a, const int *p, int m) {{\n  for (int j = threadIdx.x; j < m; j += blockDim.x)\n    y[p[blockIdx.x] * m + j] = {value};\n}}\n")
        return Kernel("placed", name, text, f"{name}<<<n, {threads}>>>(y_{name}, A_f32, p_{name}, m);", ("f32", "n * m", "out"), inputs)
    head, tail, launch = over(draw, "n")
    step = "y[p[i]] = a[i] * 0.5f;" if kind == "elements" else "y[p[i]] += a[i];"
    text = f"__global__ void {name}(float *y, const float *a, const int *p, int n) {{\n  {head}\n    {step}\n  {tail}\n}}\n"
    return Kernel("placed", name, text, f"{name}{launch}(y_{name}, a_f32, p_{name}, n);", ("f32", "n", "inout"), inputs)


def paired(draw, name):
    """Tiles and places in them by any of the indices."""
    size = draw.choice([8, 16, 32])
    form = draw.choice(["swapped", "flat", "named"])
    if form == "swapped":
        index = f"int r = blockIdx.x * {size} + threadIdx.y, c = blockIdx.y * {size} + threadIdx.x;"
        launch = f"<<<dim3((n + {size - 1}) / {size}, (m + {size - 1}) / {size}), dim3({size}, {size})>>>"
    elif form == "named":
        index = "int r = blockIdx.x * blockDim.y + threadIdx.y, c = blockIdx.y * blockDim.x + threadIdx.x;"
        launch = f"<<<dim3((n + 7) / 8, (m + {size - 1}) / {size}), dim3({size}, 8)>>>"
    else:
        index = f"int r = blockIdx.y * {size} + threadIdx.x / {size}, c = blockIdx.x * {size} + threadIdx.x % {size};"
        launch = f"<<<dim3((m + {size - 1}) / {size}, (n + {size - 1}) / {size}), {size * size}>>>"
    value = expression(draw, "f32", ["a[r * m + c]", "a[c]", "a[r]"], 1)
    text = f"__global__ void {name}(float *y, const float *a, int n, int m) {{\n  {index}\n  if (r < n && c < m)\n    y[{draw.choice(['r * m + c', 'c * n + r'])}] = {value};\n}}\n"
    return Kernel("paired", name, text, f"{name}{launch}(y_{name}, A_f32, n, m);", ("f32", "n * m", "out"))


def worded(draw, name):
    """Sums, branches and counters in other words."""
    head, tail, launch = over(draw, "n")
    kind = draw.choice(["fused", "memory", "chain", "switch", "nested", "counted", "sorted"])
    if kind == "fused":
        body = "float s = 0.0f;\n    for (int j = 0; j < m; ++j)\n      s = fmaf(a[i * m + j], b[j], s);\n    y[i] = s;"
    elif kind == "memory":
        step = draw.choice(["y[i] + a[i * m + j] * b[j]", "a[i * m + j] * b[j] + y[i]", "y[i] - a[i * m + j] * 0.5f"])
        body = f"y[i] = 0.0f;\n    for (int j = 0; j < m; ++j)\n      y[i] = {step};"
    elif kind == "chain":
        body = "float s = 1.0f;\n    for (int j = 0; j < m; ++j)\n      s = s + a[i * m + j] - b[j];\n    y[i] = s;"
    elif kind == "switch":
        ends = ["break;" if draw.random() < 0.7 else "" for _ in range(2)]
        body = (f"float s = a[i];\n    switch ({draw.choice(['i % 4', 'm % 3'])}) {{\n    case 0:\n      s += 1.0f;\n      {ends[0]}\n    case 2:\n      s *= 3.0f;\n      {ends[1]}\n    default:\n      s -= 0.25f;\n    }}\n    y[i] = s;")
    elif kind == "counted":
        body = (f"int seen[{draw.choice([8, 16, 90])}] = {{0}};\n    for (int j = 0; j < m; ++j)\n      seen[(int)(a[i * m + j] * 5.0f) & 7]++;\n    float s = 0.0f;\n"
                f"    for (int k = 0; k < 7; ++k)\n      s += seen[k] * {draw.choice(['0.5f', '1.5f'])};\n    y[i] = s;")
    elif kind == "sorted":
        body = ("float v[5];\n    for (int k = 0; k < 5; ++k)\n      v[k] = a[i + k * 3 % 5];\n    for (int k = 1; k < 5; ++k) {\n      float key = v[k];\n      int j = k - 1;\n"
                "      while (j >= 0 && v[j] > key) {\n        v[j + 1] = v[j];\n        j--;\n      }\n      v[j + 1] = key;\n    }\n    y[i] = v[2] - v[0];")
    else:
        body = "int k = 64, count = 0;\n    float s = 0.0f;\n    while (k >>= 1) {\n      int at = count++;\n      s += a[i + at];\n    }\n    y[i] = s;"
    text = f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m) {{\n  {head}\n    {body}\n  {tail}\n}}\n"
    return Kernel("worded", name, text, f"{name}{launch}(y_{name}, A_f32, b_f32, n, m);", ("f32", "n", "inout"))


def fields(draw, name):
    """Arrays and pointers in a struct that is passed by value."""
    head, tail, launch = over(draw, "p.n")
    launch = launch.replace("p.n", "n")
    value = draw.choice(["p.w[j % 3]", "p.w[2]", "p.w[0] + p.w[1]"])
    text = (f"struct P{name} {{\n  const float *from;\n  float w[3];\n  int n, strides[2];\n}};\n__global__ void {name}(float *y, P{name} p, int m) {{\n  {head}\n    float s = 0.0f;\n"
            f"    for (int j = 0; j < m; ++j)\n      s += p.from[i * p.strides[0] + j * p.strides[1]] * {value};\n    y[i] = s;\n  {tail}\n}}\n")
    strides = draw.choice(["{m, 1}", "{1, n}"])
    return Kernel("fields", name, text, f"{name}{launch}(y_{name}, P{name}{{A_f32, {{0.5f, 2.0f, 0.25f}}, n, {strides}}}, m);", ("f32", "n", "out"))


def accessed(draw, name):
    """Accessors of two dimensions, of which a[i] is an object of its own."""
    size = draw.choice(["y.size(0)", "y.sizes[0]"])
    head, tail, launch = over(draw, size)
    launch = launch.replace(size, "n")
    row = draw.choice(["x[i][j]", "row[j]"])
    body = draw.choice([f"float s = 0.0f;\n    for (int j = 0; j < x.size(1); ++j)\n      s += {row} * 0.5f;\n    y[i][0] = s;",
                        f"for (int j = 0; j < x.size(1); ++j)\n      y[i][j] = {row} + 1.0f;"])
    text = (f"struct R{name} {{\n  __host__ __device__ R{name}(float *data, const int *strides) : data(data), strides(strides) {{}}\n"
            f"  __host__ __device__ float &operator[](int i) const {{ return data[strides[0] * i]; }}\n  float *data;\n  const int *strides;\n}};\n"
            f"struct A{name} {{\n  A{name}(const float *data, int n, int m, int outer, int inner) : data((float *)data), sizes{{n, m}}, strides{{outer, inner}} {{}}\n  __host__ __device__ R{name} operator[](int i) const {{ return R{name}(data + strides[0] * i, strides + 1); }}\n"
            f"  __host__ __device__ int size(int d) const {{ return sizes[d]; }}\n  float *data;\n  int sizes[2], strides[2];\n}};\n"
            f"__global__ void {name}(A{name} y, A{name} x) {{\n  {head}\n    {'const auto row = x[i];' if 'row' in body else ''}\n    {body}\n  {tail}\n}}\n")
    strides = draw.choice(["m, 1", "1, n"])
    return Kernel("accessed", name, text, f"{name}{launch}(A{name}(y_{name}, n, m, m, 1), A{name}(A_f32, n, m, {strides}));", ("f32", "n * m", "inout"))


def sharing(draw, name):
    """Shared memory: own sums, bins, transposes, groups, prefix sums."""
    kind = draw.choice(["own", "bins", "transposed", "staged", "prefix"])
    if kind == "prefix":
        threads = draw.choice([32, 64, 128])
        step = draw.choice(["float v = t >= o ? s[t - o] : 0.0f;\n    __syncthreads();\n    s[t] += v;\n    __syncthreads();",
                            "float v = 0.0f;\n    if (t >= o)\n      v = s[t - o];\n    __syncthreads();\n    if (t >= o)\n      s[t] = s[t] + v;\n    __syncthreads();"]).replace("s[", f"s{name}[")
        value = draw.choice([f"s{name}[t]", f"t > 0 ? s{name}[t - 1] : 0.0f", f"s{name}[t] - s{name}[{threads - 1}]", f"s{name}[{threads - 1} - t]"])
        text = (f"__global__ void {name}(float *y, const float *a, int n) {{\n  __shared__ float s{name}[{threads}];\n  int t = threadIdx.x, i = blockIdx.x * {threads} + t;\n"
                f"  s{name}[t] = i < n ? a[i] : 0.0f;\n  __syncthreads();\n  for (int o = 1; o < {draw.choice([str(threads), 'blockDim.x'])}; o {draw.choice(['*= 2', '<<= 1'])}) {{\n    {step}\n  }}\n"
                f"  if (i < n)\n    y[i] = {value};\n}}\n")
        return Kernel("sharing", name, text, f"{name}<<<(n + {threads - 1}) / {threads}, {threads}>>>(y_{name}, A_f32, n);", ("f32", "n", "inout"))
    if kind == "own":
        threads = draw.choice([32, 64, 128])
        text = (f"__global__ void {name}(float *y, const float *a, int m) {{\n  __shared__ float part[{threads}];\n  int t = threadIdx.x;\n  part[t] = {draw.choice(['0.0f', '0'])};\n"
                f"  for (int j = t; j < m; j += {threads})\n    part[t] += a[blockIdx.x * m + j];\n  __syncthreads();\n  for (int h = {threads // 2}; h > 0; h >>= 1) {{\n    if (t < h)\n      part[t] += part[t + h];\n"
                f"    __syncthreads();\n  }}\n  if (t == 0)\n    y[blockIdx.x] = part[0];\n}}\n")
        return Kernel("sharing", name, text, f"{name}<<<n, {threads}>>>(y_{name}, A_f32, m);", ("f32", "n", "out"))
    if kind == "bins":
        text = (f"__global__ void {name}(int *y, const int *a, int n) {{\n  __shared__ int bins[64];\n  if (threadIdx.x < 64)\n    bins[threadIdx.x] = 0;\n  __syncthreads();\n"
                f"  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)\n    atomicAdd(&bins[a[i] & 63], 1);\n  __syncthreads();\n"
                f"  if (threadIdx.x < 64)\n    atomicAdd(&y[threadIdx.x], bins[threadIdx.x]);\n}}\n")
        return Kernel("sharing", name, text, f"{name}<<<{draw.choice([1, 3])}, {draw.choice([64, 128])}>>>(y_{name}, a_i32, n);", ("i32", "64", "inout"))
    if kind == "transposed":
        rows = draw.choice([8, 4, 32])
        text = (f"__global__ void {name}(float *y, const float *a, int w, int h) {{\n  __shared__ float tile[32][{draw.choice([32, 33])}];\n  int x = blockIdx.x * 32 + threadIdx.x, z = blockIdx.y * 32 + threadIdx.y;\n"
                f"  for (int j = 0; j < 32; j += {rows})\n    if (x < w && z + j < h)\n      tile[threadIdx.y + j][threadIdx.x] = a[(z + j) * w + x];\n  __syncthreads();\n"
                f"  x = blockIdx.y * 32 + threadIdx.x;\n  z = blockIdx.x * 32 + threadIdx.y;\n  for (int j = 0; j < 32; j += {rows})\n    if (x < h && z + j < w)\n      y[(z + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];\n}}\n")
        return Kernel("sharing", name, text, f"{name}<<<dim3((m + 31) / 32, (n + 31) / 32), dim3(32, {rows})>>>(y_{name}, A_f32, m, n);", ("f32", "n * m", "out"))
    lanes = draw.choice([8, 16, 32])
    per = 64 // lanes
    text = (f"__global__ void {name}(float *y, const float *a, int n, int m) {{\n  extern __shared__ float raw{name}[];\n  int lane = threadIdx.x % {lanes}, local = threadIdx.x / {lanes}, row = blockIdx.x * {per} + local;\n"
            f"  if (row >= n)\n    return;\n  float top = 0.0f;\n  for (int j = lane; j < m; j += {lanes}) {{\n    raw{name}[local * m + j] = a[row * m + j];\n    top = fmaxf(top, raw{name}[local * m + j]);\n  }}\n"
            f"  for (int h = {lanes // 2}; h > 0; h /= 2)\n    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, h, {lanes}));\n  for (int j = lane; j < m; j += {lanes})\n    y[row * m + j] = raw{name}[local * m + j] - top;\n}}\n")
    return Kernel("sharing", name, text, f"{name}<<<(n + {per - 1}) / {per}, 64, {per} * m * sizeof(float)>>>(y_{name}, A_f32, n, m);", ("f32", "n * m", "inout"))


def halos(draw, name):
    """Tiles that reach beyond what a block computes: ends by threads of their own, rows in strides, sizes of the launch, blocks with a rim."""
    kind, r, b = draw.choice(["ends", "strides", "launch", "rim", "vectors"]), draw.choice([1, 2, 3]), draw.choice([32, 64])
    fits, outside = draw.choice([("q >= 0 && q < n", "0.0f"), ("q < n && q >= 0", "1.5f")])
    term = draw.choice(["s += {};", "s += {} * b[j & 3];", "s = fmaxf(s, {});"])
    if kind == "ends":
        text = (f"__global__ void {name}(float *y, const float *a, const float *b, int n) {{\n  __shared__ float t{name}[{b} + 2 * {r}];\n  int i = blockIdx.x * {b} + threadIdx.x, l = threadIdx.x + {r};\n"
                f"  t{name}[l] = i < n ? a[i] : {outside};\n  if (threadIdx.x < {r}) {{\n    t{name}[l - {r}] = i >= {r}{draw.choice(['', f' && i - {r} < n'])} ? a[i - {r}] : {outside};\n"
                f"    t{name}[l + {b}] = i + {b} < n ? a[i + {b}] : {outside};\n  }}\n  __syncthreads();\n  if (i < n) {{\n    float s = 0.0f;\n    for (int j = 0; j <= 2 * {r}; ++j)\n"
                f"      {term.format(f't{name}[threadIdx.x + j]')}\n    y[i] = s;\n  }}\n}}\n")
        return Kernel("halos", name, text, f"{name}<<<(n + {b - 1}) / {b}, {b}>>>(y_{name}, A_f32, b_f32, n);", ("f32", "n", "inout"))
    if kind in ("strides", "launch"):
        size, wide = (f"{b} + 2 * {r}", f"__shared__ float t{name}[{b} + 2 * {r}];") if kind == "strides" else ("blockDim.x + 2 * r", f"extern __shared__ float t{name}[];")
        radius = str(r) if kind == "strides" else "r"
        text = (f"__global__ void {name}(float *y, const float *a, const float *b, int n, int r) {{\n  {wide}\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                f"  for (int k = threadIdx.x; k < {size}; k += blockDim.x) {{\n    int q = blockIdx.x * blockDim.x + k - {radius};\n    t{name}[k] = ({fits}) ? a[q] : {outside};\n  }}\n"
                f"  __syncthreads();\n  if (i < n) {{\n    float s = 0.0f;\n    for (int j = 0; j <= 2 * {radius}; ++j)\n      {term.format(f't{name}[threadIdx.x + j]')}\n    y[i] = s;\n  }}\n}}\n")
        shared = ", (%d + 2 * %d) * sizeof(float)" % (b, r) if kind == "launch" else ""
        return Kernel("halos", name, text, f"{name}<<<(n + {b - 1}) / {b}, {b}{shared}>>>(y_{name}, A_f32, b_f32, n, {r});", ("f32", "n", "inout"))
    if kind == "rim":
        inner = 16 - 2 * r
        text = (f"__global__ void {name}(float *y, const float *a, int w, int h) {{\n  __shared__ float t[16][{draw.choice([16, 17])}];\n  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * {inner} + tx - {r}, z = blockIdx.y * {inner} + ty - {r};\n"
                f"  t[ty][tx] = x >= 0 && x < w && z >= 0 && z < h ? a[z * w + x] : {outside};\n  __syncthreads();\n"
                f"  if (tx >= {r} && tx < {16 - r} && ty >= {r} && ty < {16 - r} && x < w && z < h)\n    y[z * w + x] = t[ty][tx - {r}] + 2.0f * t[ty - {r}][tx] - t[ty + {draw.choice([0, r])}][tx + {r}];\n}}\n")
        return Kernel("halos", name, text, f"{name}<<<dim3((m + {inner - 1}) / {inner}, (n + {inner - 1}) / {inner}), dim3(16, 16)>>>(y_{name}, A_f32, m, n);", ("f32", "n * m", "inout"))
    text = (f"__global__ void {name}(float *y, const float *a, int m) {{\n  __shared__ float2 part[{b}];\n  int t = threadIdx.x;\n  float2 s = make_float2(0.0f, 0.0f);\n"
            f"  for (int j = t; j < m; j += {b}) {{\n    s.x += a[blockIdx.x * m + j];\n    s.y += a[blockIdx.x * m + j] * a[blockIdx.x * m + j];\n  }}\n  part[t] = s;\n  __syncthreads();\n"
            f"  for (int h = {b // 2}; h > 0; h >>= 1) {{\n    if (t < h) {{\n      part[t].x += part[t + h].x;\n      part[t].y += part[t + h].y;\n    }}\n    __syncthreads();\n  }}\n"
            f"  if (t == 0)\n    y[blockIdx.x] = part[0].y - part[0].x;\n}}\n")
    return Kernel("halos", name, text, f"{name}<<<n, {b}>>>(y_{name}, A_f32, m);", ("f32", "n", "out"))


def bodies(draw, name):
    """Points that all read the same elements in a loop."""
    kind = draw.choice(["forces", "features", "image", "batch", "distances", "window"])
    skip = draw.choice(["", "if (j != i)\n        ", "if (i != j)\n        ", "if (a[j] > 0.7f)\n        "])
    if kind in ("forces", "window"):
        head, tail, launch = over(draw, "n")
        width, stop = draw.choice([1, 1, 2, 3]), draw.choice(["n", "n", "m", "n / 2"])
        element = f"a[{width} * j]" if kind == "forces" else "(a[j] + a[j + 1] - a[j + 2])"
        term = draw.choice([f"{element} * a[i]", f"fabsf({element} - b[i])", f"({element} - a[i]) * a[{width} * j + {width - 1}]"])
        reduce = draw.choice(["s += {};", "s = fmaxf(s, {});", "s = s * 0.5f + {};"]).format(term)
        start, end = draw.choice([("0.0f", "y[i] = s;"), ("y[i]", "y[i] = s * 0.5f;"), ("b[i]", "y[i] += s;")])
        then = draw.choice(["", f"\n    for (int j = 0; j < {stop}; ++j)\n      s += a[j] - s * 0.125f;"])
        body = f"float s = {start};\n    for (int j = 0; j < {stop}; ++j)\n      {skip}{reduce}{then}\n    {end}"
        stopSize = max(width, 1)
        text = f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m) {{\n  {head}\n    {body}\n  {tail}\n}}\n"
        return Kernel("bodies", name, text, f"{name}{launch}(y_{name}, in_{name}, b_f32, n, m);", ("f32", "n", "inout"),
                      [(f"in_{name}", "f32", f"{stopSize} * (n + m) + 3", "uniform(0.25, 1.25)")])
    if kind in ("features", "distances"):
        head, tail, launch = over(draw, "n")
        count = draw.choice([2, 3, 4, 8, "k"])
        sums = f"float d = 0.0f;\n      for (int l = 0; l < {count}; ++l)\n        d += (a[i * {count} + l] - b[j * {count} + l]) * {draw.choice(['0.5f', 'b[j * %s]' % count, '(a[i * %s + l] - b[j * %s + l])' % (count, count)])};"
        body = (f"float s = 1e30f;\n    for (int j = 0; j < m; ++j) {{\n      {sums}\n      {'y[i * m + j] = d;' if kind == 'distances' else 's = fminf(s, d);'}\n    }}"
                + ("\n    y[i] = s;" if kind == "features" else ""))
        text = f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m, int k) {{\n  {head}\n    {body}\n  {tail}\n}}\n"
        return Kernel("bodies", name, text, f"{name}{launch}(y_{name}, in_{name}, other_{name}, n, m, k);", ("f32", "n * m", "inout"),
                      [(f"in_{name}", "f32", f"{count} * n", "uniform(0.25, 1.25)"), (f"other_{name}", "f32", f"{count} * m", "uniform(0.25, 1.25)")])
    index = "int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;"
    launch = "<<<dim3((m + 31) / 32, (n + 3) / 4), dim3(32, 4)>>>"
    element = draw.choice(["b[j]", "b[2 * j + 1]"]) if kind == "image" else draw.choice(["a[r * k + j]", "a[r * k + j] * b[j]"])
    body = f"float s = 0.0f;\n    for (int j = 0; j < k; ++j)\n      s += {element} * {draw.choice(['(c - j)', 'c', '(r + c)'])};\n    y[{draw.choice(['r * m + c', 'c * n + r'])}] = s;"
    text = f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m, int k) {{\n  {index}\n  if (r < n && c < m) {{\n    {body}\n  }}\n}}\n"
    return Kernel("bodies", name, text, f"{name}{launch}(y_{name}, A_f32, in_{name}, n, m, k);", ("f32", "n * m", "inout"),
                  [(f"in_{name}", "f32", "2 * k", "uniform(-1, 1)")])


def scattered(draw, name):
    """Integers that points combine by atomics: bins, totals, segments, columns."""
    kind = draw.choice(["bins", "total", "segments", "columns", "named"])
    operation = draw.choice(["Add", "Add", "Add", "Max", "Min", "Xor", "Or", "And"])
    value = draw.choice(["1", "a[i]", "a[i] - 7", "i & 15"])
    guard = draw.choice(["", "if (a[i] > 20)\n      ", "if (a[i] != i)\n      "])
    head, tail, launch = over(draw, "n")
    inputs = [(f"in_{name}", "i32", "n * m + n", "uniform(0, 50)"), (f"p_{name}", "i32", "n", "permutation")]
    if kind == "bins":
        index = draw.choice(["a[i] & 31", "(a[i] * 3) & 63", "a[i] & 15", "a[i] % 64"])
        body = f"{guard}atomic{operation}(&y[{index}], {value});"
    elif kind == "named":
        body = f"{guard}atomic{operation}(&y[p[i]], {value});"
    elif kind == "total":
        body = f"{guard}atomic{operation}({draw.choice(['y', '&y[3]'])}, {value});"
        if draw.random() < 0.3:
            body += f"\n    atomicAdd(q, {draw.choice(['1', 'a[i]'])});"
    else:
        index = draw.choice(["int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;",
                             "int t = (blockIdx.y * gridDim.x + blockIdx.x) * 128 + threadIdx.y * 32 + threadIdx.x, r = t / m, c = t % m;"])
        target = draw.choice(["c", "c * 2 + 1"]) if kind == "columns" else draw.choice(["p[r] * m + c", "(p[r] & 1) * m + c", "p[r]"])
        value = draw.choice(["a[r * m + c]", "a[r * m + c] * (r + 1)", "a[c]"])
        text = (f"__global__ void {name}(int *y, const int *a, const int *p, int n, int m) {{\n  {index}\n  if (r < n && c < m)\n    {draw.choice(['', 'if (a[c] > 9)'])}\n"
                f"    atomic{operation}(&y[{target}], {value});\n}}\n")
        return Kernel("scattered", name, text, f"{name}<<<dim3((m + 31) / 32, (n + 3) / 4), dim3(32, 4)>>>(y_{name}, in_{name}, p_{name}, n, m);",
                      ("i32", "(n + 2) * m + 64", "inout"), inputs)
    text = f"__global__ void {name}(int *y, int *q, const int *a, const int *p, int n, int m) {{\n  {head}\n    {body}\n  {tail}\n}}\n"
    return Kernel("scattered", name, text, f"{name}{launch}(y_{name}, y_{name} + n + 64, in_{name}, p_{name}, n, m);", ("i32", "n + 65", "inout"), inputs)


def carried(draw, name):
    """Values that grow along a row: by a loop, in falling order, under a condition, or as a sum over what comes before."""
    kind = draw.choice(["loop", "loop", "falling", "two", "elements"])
    element = draw.choice(["a[i * m + j]", "a[i * m + j]", "a[i * m + j] * b[j]", "(a[i * m + j] + 0.5f)"])
    start, grow = draw.choice([("0.0f", "s += {};"), ("0.0f", "s += {};"), ("b[i]", "s = fmaxf(s, {});"), ("1.0f", "s *= 1.0f + 0.01f * {};"), ("0.0f", "s -= {};")])
    guard = draw.choice(["", "", "if (a[i * m + j] > 0.5f)\n        ", "if (j != 3)\n        "])
    step = f"{guard}{grow.format(element)}"
    store = draw.choice(["y[i * m + j] = s;", "y[i * m + j] = s * a[i * m + j] + b[j];"])
    if kind == "elements":
        last = draw.choice(["c + 1", "c"])
        text = (f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m) {{\n  int t = blockIdx.x * blockDim.x + threadIdx.x;\n  if (t < n * m) {{\n"
                f"    int i = t / m, c = t % m;\n    float s = 0.0f;\n    for (int j = 0; j < {last}; ++j)\n      s += {element};\n    y[t] = s{draw.choice(['', ' * b[c]'])};\n  }}\n}}\n")
        return Kernel("carried", name, text, f"{name}<<<(n * m + 127) / 128, 128>>>(y_{name}, A_f32, in_{name}, n, m);", ("f32", "n * m", "inout"),
                      [(f"in_{name}", "f32", "n + m", "uniform(0.25, 1.25)")])
    head, tail, launch = over(draw, "n")
    loop = "for (int j = m - 1; j >= 0; --j)" if kind == "falling" else "for (int j = 0; j < m; ++j)"
    second, more, after = "", "", draw.choice(["", "\n    y[n * m + i] = s;", "\n    y[n * m + i] = s * 2.0f + b[i];"])
    if kind == "two":
        second, more = "\n    float q = -4.0f;", f"\n      q = fmaxf(q, {element});"
        store = "y[i * m + j] = s - q;"
    lines = [step, store] if draw.random() < 0.6 else [store, step]
    body = f"float s = {start};{second}\n    {loop} {{\n      {lines[0]}{more}\n      " + "\n      ".join(lines[1:]) + f"\n    }}{after}"
    text = f"__global__ void {name}(float *y, const float *a, const float *b, int n, int m) {{\n  {head}\n    {body}\n  {tail}\n}}\n"
    return Kernel("carried", name, text, f"{name}{launch}(y_{name}, A_f32, in_{name}, n, m);", ("f32", "n * m + n", "inout"),
                  [(f"in_{name}", "f32", "n + m", "uniform(0.25, 1.25)")])


def counted(draw, name):
    """Sums that the last block ends, however it knows that it is the last one."""
    threads = draw.choice([32, 64])
    count = draw.choice([f"atomicInc(c{name}, gridDim.x)", f"atomicInc(&c{name}[0], gridDim.x)", f"atomicAdd(c{name}, 1u)"])
    wraps = draw.random() < 0.3
    if wraps:
        count = f"atomicInc(c{name}, gridDim.x - 1)"
    reset = "" if wraps else draw.choice([f"*c{name} = 0;", f"c{name}[0] = 0u;", f"atomicExch(c{name}, 0u);"])
    combine, start = draw.choice([("{0} += {1};", "0.0f"), ("{0} = fmaxf({0}, {1});", "-9.0f")])
    tree = (f"  for (int h = {threads // 2}; h > 0; h /= 2) {{\n    if (t < h)\n      {combine.format(f's{name}[t]', f's{name}[t + h]')}\n    __syncthreads();\n  }}\n")
    text = (f"__device__ unsigned c{name}[1];\n__global__ void {name}(float *y, float *p, const float *a, int n) {{\n  __shared__ float s{name}[{threads}];\n  __shared__ bool isLast{name};\n"
            f"  int t = threadIdx.x;\n  float v = {start};\n  for (int i = blockIdx.x * {threads} + t; i < n; i += gridDim.x * {threads})\n    {combine.format('v', 'a[i]')}\n"
            f"  s{name}[t] = v;\n  __syncthreads();\n{tree}  if (t == 0) {{\n    p[blockIdx.x] = s{name}[0];\n    __threadfence();\n    isLast{name} = {count} == gridDim.x - 1;\n  }}\n  __syncthreads();\n")
    if draw.random() < 0.5:
        text += (f"  if (!isLast{name})\n    return;\n  v = {start};\n  for (int i = t; i < gridDim.x; i += {threads})\n    {combine.format('v', 'p[i]')}\n  s{name}[t] = v;\n  __syncthreads();\n{tree}"
                 f"  if (t == 0) {{\n    y[0] = s{name}[0];\n    {reset}\n  }}\n}}\n")
    else:
        text += (f"  if (isLast{name} && t == 0) {{\n    v = {start};\n    for (int i = 0; i < gridDim.x; ++i)\n      {combine.format('v', 'p[i]')}\n    y[0] = v * 0.5f;\n    {reset}\n  }}\n}}\n")
    return Kernel("counted", name, text, f"{name}<<<{draw.choice(['3', '7', '40'])}, {threads}>>>(y_{name}, y_{name} + 1, a_f32, n);", ("f32", "64", "inout"))


FAMILIES = [carried, carried, counted, accessed, halos, halos, halos, ended, ended, placed, paired, worded, worded, fields, sharing, sharing, bodies, bodies, scattered, scattered]
