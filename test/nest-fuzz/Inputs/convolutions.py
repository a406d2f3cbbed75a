"""Random convolutions of one to three dimensions, as people write them. See kernels.py."""

from kernels import CXX, Kernel


def convolve(draw, name, family, kinds):
    """One thread for each output, bounds in one of several forms, any stride, dilation, padding and number of groups."""
    rank = draw.choice([1, 2, 2, 2, 3])
    axes = list(range(rank))
    kind = draw.choice(kinds)
    cxx, total = CXX[kind], {"f16": "float"}.get(kind, CXX[kind])
    images, groups = draw.choice([1, 2, 3]), draw.choice([1, 1, 1, 2, 3])
    channels = draw.choice([1, 3, 8, 16, 24] if family == "halfconvolutions" else [1, 2, 3, 4, 8])
    outputs = draw.choice([1, 2, 5, 8, 33]) * groups
    window = [draw.choice([1, 2, 3, 3, 5] if rank < 3 else [1, 2, 3]) for _ in axes]
    stride, apart, pad = ([draw.choice(values) for _ in axes] for values in ([1, 1, 2, 3], [1, 1, 2], [0, 1, 2]))
    sizes = [str(draw.choice([1, 2, 3, 5, 8])) for _ in axes]
    sizes[draw.choice(axes)] = draw.choice(["n", "m"])
    isGuarded = draw.random() < 0.8
    # Without bounds the image is as large as the outputs need it.
    height = sizes if isGuarded else [f"({size} * {s} + {k * d})" for size, s, k, d in zip(sizes, stride, window, apart)]
    known = draw.random() < 0.5 # constants, or parameters
    names = {f"K{a}": window[a] for a in axes} | {f"S{a}": stride[a] for a in axes} | {f"P{a}": pad[a] for a in axes} | {"C": channels, "OC": outputs, "N": images}
    value = (lambda key: str(names[key])) if known else (lambda key: key)
    out = [f"O{a}" for a in axes]
    isLinear = draw.random() < 0.6
    if isLinear:
        count = " * ".join([value("N"), value("OC")] + out)
        head = f"int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= {count})\n    return;\n"
        rest = "i"
        for a in reversed(axes):
            head += f"  int o{a} = {rest} % {out[a]};\n"
            rest = f"{rest} / {out[a]}"
        head += f"  int oc = {rest} % {value('OC')}, image = {rest} / {value('OC')};\n"
        host = " * ".join([str(images), str(outputs)] + [f"({size})" for size in sizes])
        launch = f"<<<({host} + 127) / 128, 128>>>"
    else:
        inner = " * ".join(out)
        head = f"int p = blockIdx.x * blockDim.x + threadIdx.x, oc = blockIdx.y, image = blockIdx.z;\n  if (p >= {inner})\n    return;\n"
        rest = "p"
        for a in reversed(axes):
            head += f"  int o{a} = {rest} % {out[a]};\n" if a else f"  int o{a} = {rest};\n"
            rest = f"{rest} / {out[a]}"
        launch = f"<<<dim3(({' * '.join(f'({size})' for size in sizes)} + 63) / 64, {outputs}, {images}), 64>>>"
    channel = "c" if groups == 1 else f"(oc / ({value('OC')} / {groups}) * {value('C')} + c)"
    place = f"image * ({value('C')} * {groups}) + {channel}"
    weight = f"oc * {value('C')} + c"
    for a in axes:
        place, weight = f"({place}) * H{a} + u{a}", f"({weight}) * {value(f'K{a}')} + k{a}"
    element, factor = f"x[{place}]", f"w[{weight}]"
    if kind == "f16":
        element, factor = f"__half2float({element})", f"__half2float({factor})"
    inside = " && ".join(f"u{a} >= 0 && u{a} < H{a}" for a in axes)
    guard = draw.choice(["if", "if", "choice", "continue", "early"]) if isGuarded else "none"
    product = draw.choice(["{x} * {w}", "{w} * {x}"])
    body, close = f"  for (int c = 0; c < {value('C')}; ++c)\n", ""
    for a in axes:
        body += f"  for (int k{a} = 0; k{a} < {value(f'K{a}')}; ++k{a}) {{\n    int u{a} = o{a} * {value(f'S{a}')} + k{a} * {apart[a]}{f' - ' + value(f'P{a}') if isGuarded else ''};\n"
        body += f"    if (u{a} < 0 || u{a} >= H{a})\n      continue;\n" if guard == "early" else ""
        close += "  }\n"
    if guard == "if":
        body += f"    if ({inside})\n      s += {product.format(x=element, w=factor)};\n"
    elif guard == "choice":
        body += f"    {total} v = {inside} ? {element} : {'0.0f' if total == 'float' else '0'};\n    s += {product.format(x='v', w=factor)};\n"
    else:
        body += f"    if (!({inside}))\n      continue;\n" if guard == "continue" else ""
        body += f"    s += {product.format(x=element, w=factor)};\n"
    target = "(image * " + value("OC") + " + oc)"
    for a in axes:
        target = f"({target} * {out[a]} + o{a})"
    end = draw.choice(["s", "s", "max(s, {0})", "s * {2}"]).replace("{0}", {"float": "0.0f", "double": "0.0", "int": "0"}[total]).replace("{2}", "2")
    start = draw.choice(["0", "0", "b[oc]" if kind != "f16" else "__half2float(b[oc])"])
    store = f"__float2half({end})" if kind == "f16" else end
    parameters = ", ".join([f"int H{a}, int O{a}" for a in axes] + ([] if known else [f"int {key}" for key in names]))
    text = (f"__global__ void {name}({cxx} *y, const {cxx} *x, const {cxx} *w, const {cxx} *b, {parameters}) {{\n  {head}  {total} s = {start};\n{body}{close}"
            f"  y[{target}] = {store};\n}}\n")
    arguments = ", ".join([f"{height[a]}, {sizes[a]}" for a in axes] + ([] if known else [str(each) for each in names.values()]))
    many, taps = " * ".join(height), " * ".join(str(each) for each in window)
    init = "uniform(-1, 1)" if kind != "i32" else "uniform(-50, 50)"
    return Kernel(family, name, text, f"{name}{launch}(y_{name}, in_{name}, in2_{name}, in3_{name}, {arguments});",
                  (kind, f"{images * outputs} * " + " * ".join(sizes), "out"),
                  [(f"in_{name}", kind, f"{images * channels * groups} * {many}", init), (f"in2_{name}", kind, f"{outputs * channels} * {taps}", init),
                   (f"in3_{name}", kind, str(outputs), init)])


def convolutions(draw, name):
    return convolve(draw, name, "convolutions", ["f32", "f32", "f32", "f64", "i32", "f16"])


def halfconvolutions(draw, name):
    """For the matrix units."""
    return convolve(draw, name, "halfconvolutions", ["f16"])


FAMILIES = [convolutions, halfconvolutions]
