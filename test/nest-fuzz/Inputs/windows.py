"""Random sums over windows of one to three dimensions, as people write them: transposed convolutions, filters of each channel, pooling.
See kernels.py."""

from kernels import CXX, Kernel


def indices(draw, axes, channels):
    """Declares an output's digits o0, o1, ... c and image; how the kernel is launched over `images` and the sizes of its output."""
    sizes = [str(draw.choice([1, 2, 3, 5, 8, 19])) for _ in axes]
    sizes[draw.choice(axes)] = draw.choice(["n", "m"])
    images = draw.choice([1, 2, 3])
    count = " * ".join([f"{images}", f"{channels}"] + [f"O{a}" for a in axes])
    head = f"int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= {count})\n    return;\n"
    rest = "i"
    for a in reversed(axes):
        head += f"  int o{a} = {rest} % O{a};\n"
        rest = f"{rest} / O{a}"
    head += f"  int c = {rest} % {channels}, image = {rest} / {channels};\n"
    host = " * ".join([str(images * channels)] + [f"({size})" for size in sizes])
    return head, f"<<<({host} + 127) / 128, 128>>>", sizes, images


def transposedconvolutions(draw, name):
    """One thread for each output adds the taps that its place is a multiple of the stride away from."""
    axes = list(range(draw.choice([1, 2, 2, 3])))
    kind = draw.choice(["f32", "f32", "f64", "i32"])
    cxx, zero = CXX[kind], {"f32": "0.0f", "f64": "0.0", "i32": "0"}[kind]
    inputs, outputs = draw.choice([1, 2, 3]), draw.choice([1, 2, 5])
    window, stride, pad = ([draw.choice(values) for _ in axes] for values in ([1, 2, 3, 4, 5], [1, 2, 2, 3, 4], [0, 1, 2]))
    head, launch, sizes, images = indices(draw, axes, outputs)
    known = draw.random() < 0.5 # constants, or parameters
    names = {f"K{a}": window[a] for a in axes} | {f"S{a}": stride[a] for a in axes} | {f"P{a}": pad[a] for a in axes}
    value = (lambda key: str(names[key])) if known else (lambda key: key)
    # The image is as large as the outputs need it, or smaller.
    height = [f"({size} / {s} + {draw.choice([1, 1, 0])})" for size, s in zip(sizes, stride)]
    place, weight = f"image * {inputs} + d", f"d * {outputs} + c"
    for a in axes:
        place, weight = f"({place}) * H{a} + u{a}", f"({weight}) * {value(f'K{a}')} + k{a}"
    form = draw.choice(["if", "continue", "quotient", "early", "mixed"])
    loops = list(axes)
    if draw.random() < 0.3:
        draw.shuffle(loops)
    body, close, late = "", "", []
    for a in loops:
        s, t = value(f"S{a}"), f"t{a}"
        body += f"  for (int k{a} = 0; k{a} < {value(f'K{a}')}; ++k{a}) {{\n    int {t} = o{a} + {value(f'P{a}')} - k{a};\n"
        close += "  }\n"
        mask = draw.random() < 0.5 and known and stride[a] in (2, 4)
        holds, fails = (f"({t} & {stride[a] - 1}) == 0", f"({t} & {stride[a] - 1}) != 0") if mask else (f"{t} % {s} == 0", f"{t} % {s} != 0")
        if form == "if":
            late.append((f"{t} >= 0 && {holds} && {t} / {s} < H{a}", f"int u{a} = {t} / {s};"))
        elif form == "continue":
            body += f"    if ({t} < 0 || {fails})\n      continue;\n    int u{a} = {t} / {s};\n    if (u{a} >= H{a})\n      continue;\n"
        elif form == "early":
            body += f"    if ({fails})\n      continue;\n    int u{a} = {t} / {s};\n"
            late.append((f"u{a} >= 0 && u{a} < H{a}", ""))
        else:
            body += f"    int u{a} = {t} / {s};\n"
            equation = f"u{a} * {s} == {t}" if form == "quotient" else holds
            late.append((f"{equation} && u{a} >= 0 && u{a} < H{a}" if draw.random() < 0.5 else f"u{a} >= 0 && u{a} < H{a} && {equation}", ""))
    channel = f"  for (int d = 0; d < {inputs}; ++d)"
    product = draw.choice([f"x[{place}] * w[{weight}]", f"w[{weight}] * x[{place}]"])
    inside = "".join(f"    {each}\n" for _, each in late if each)
    condition = " && ".join(each for each, _ in late)
    body += (f"    if ({condition}) {{\n{inside}" if condition else "") + f"    {channel}\n      s += {product};\n" + ("    }\n" if condition else "")
    target = f"(image * {outputs} + c)"
    for a in axes:
        target = f"({target} * O{a} + o{a})"
    end = draw.choice(["s", f"max(s, {zero})", "s * 2"])
    parameters = ", ".join([f"int H{a}, int O{a}" for a in axes] + ([] if known else [f"int {key}" for key in names]))
    text = (f"__global__ void {name}({cxx} *y, const {cxx} *x, const {cxx} *w, const {cxx} *b, {parameters}) {{\n  {head}  {cxx} s = {draw.choice(['0', 'b[c]'])};\n{body}{close}"
            f"  y[{target}] = {end};\n}}\n")
    arguments = ", ".join([f"{height[a]}, {sizes[a]}" for a in axes] + ([] if known else [str(each) for each in names.values()]))
    taps, init = " * ".join(str(each) for each in window), "uniform(-1, 1)" if kind != "i32" else "uniform(-50, 50)"
    return Kernel("transposedconvolutions", name, text, f"{name}{launch}(y_{name}, in_{name}, in2_{name}, in3_{name}, {arguments});",
                  (kind, f"{images * outputs} * " + " * ".join(sizes), "out"),
                  [(f"in_{name}", kind, f"{images * inputs} * " + " * ".join(f"({each} + 1)" for each in height), init),
                   (f"in2_{name}", kind, f"{inputs * outputs} * {taps}", init), (f"in3_{name}", kind, str(outputs), init)])


def windows(draw, name):
    """A filter of each channel, a maximum or a mean over a window, with or without places outside of the image."""
    axes = list(range(draw.choice([1, 2, 2, 2, 3])))
    kind = draw.choice(["f32", "f32", "f64", "i32", "f16"])
    cxx, total = CXX[kind], {"f16": "float"}.get(kind, CXX[kind])
    zero = {"float": "0.0f", "double": "0.0", "int": "0"}[total]
    channels = draw.choice([1, 2, 3])
    if draw.random() < 0.5:
        window, stride = [3 for _ in axes], [draw.choice([1, 2])] * len(axes)
    else:
        window, stride = [draw.choice([1, 2, 3, 3, 4]) for _ in axes], [draw.choice([1, 1, 2, 3]) for _ in axes]
    apart = [draw.choice([1, 1, 1, 2]) for _ in axes]
    isGuarded = draw.random() < 0.7
    pad = [draw.choice([0, 1, 2]) if isGuarded else 0 for _ in axes]
    head, launch, sizes, images = indices(draw, axes, channels)
    height = sizes if isGuarded else [f"({size} * {s} + {k * d})" for size, s, k, d in zip(sizes, stride, window, apart)]
    known = draw.random() < 0.5 # constants, or parameters
    names = {f"K{a}": window[a] for a in axes} | {f"S{a}": stride[a] for a in axes} | {f"P{a}": pad[a] for a in axes}
    value = (lambda key: str(names[key])) if known else (lambda key: key)
    place, weight = f"image * {channels} + c", "c"
    for a in axes:
        place, weight = f"({place}) * H{a} + u{a}", f"({weight}) * {value(f'K{a}')} + k{a}"
    element = f"__half2float(x[{place}])" if kind == "f16" else f"x[{place}]"
    factor = f"__half2float(w[{weight}])" if kind == "f16" else f"w[{weight}]"
    what = draw.choice(["filter", "filter", "largest", "mean", "sum"])
    term = {"filter": f"s += {element} * {factor};", "largest": f"s = max(s, {element});", "mean": f"s += {element}; ++number;", "sum": f"s += {element};"}[what]
    inside = " && ".join(f"u{a} >= 0 && u{a} < H{a}" for a in axes)
    guard = draw.choice(["if", "if", "continue", "early"]) if isGuarded else "none"
    body, close = "", ""
    for a in axes:
        body += (f"  for (int k{a} = 0; k{a} < {value(f'K{a}')}; ++k{a}) {{\n    int u{a} = o{a} * {value(f'S{a}')} + k{a}{'' if apart[a] == 1 else f' * {apart[a]}'}"
                 f"{f' - ' + value(f'P{a}') if isGuarded else ''};\n")
        body += f"    if (u{a} < 0 || u{a} >= H{a})\n      continue;\n" if guard == "early" else ""
        close += "  }\n"
    if guard == "if":
        body += f"    if ({inside}) {{\n      {term}\n    }}\n"
    else:
        body += f"    if (!({inside}))\n      continue;\n" if guard == "continue" else ""
        body += f"    {term}\n"
    target = f"(image * {channels} + c)"
    for a in axes:
        target = f"({target} * O{a} + o{a})"
    end = {"mean": "number ? s / number : s"}.get(what, draw.choice(["s", f"max(s, {zero})"]))
    start = "-1000" if what == "largest" else draw.choice(["0", "b[c]" if kind != "f16" else "__half2float(b[c])"])
    store = f"__float2half({end})" if kind == "f16" else end
    parameters = ", ".join([f"int H{a}, int O{a}" for a in axes] + ([] if known else [f"int {key}" for key in names]))
    text = (f"__global__ void {name}({cxx} *y, const {cxx} *x, const {cxx} *w, const {cxx} *b, {parameters}) {{\n  {head}  {total} s = {start};\n"
            f"{'  int number = 0;' + chr(10) if what == 'mean' else ''}{body}{close}  y[{target}] = {store};\n}}\n")
    arguments = ", ".join([f"{height[a]}, {sizes[a]}" for a in axes] + ([] if known else [str(each) for each in names.values()]))
    many, taps = " * ".join(height), " * ".join(str(each) for each in window)
    init = "uniform(-1, 1)" if kind != "i32" else "uniform(-50, 50)"
    return Kernel("windows", name, text, f"{name}{launch}(y_{name}, in_{name}, in2_{name}, in3_{name}, {arguments});",
                  (kind, f"{images * channels} * " + " * ".join(sizes), "out"),
                  [(f"in_{name}", kind, f"{images * channels} * {many}", init), (f"in2_{name}", kind, f"{channels} * {taps}", init),
                   (f"in3_{name}", kind, str(channels), init)])


FAMILIES = [transposedconvolutions, windows]
