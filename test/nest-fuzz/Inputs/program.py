"""Random programs: kernels of several families, a workload, and the function that launches them."""

import random

import convolutions
import families
import idioms
import kernels
import maps
import windows


def program(seed, count, only=()):
    """The text of a program with `count` kernels and its kernels; kernel number i is of family i + seed, so that few
    seeds meet every family. One seed of ten makes a program whose owner accepts lower precision. `only`: names of the families to draw from."""
    draw = random.Random(f"nest-fuzz {seed}")
    isTolerant = seed % 10 == 9
    order = list(families.TOLERANT if isTolerant else kernels.FAMILIES + families.FAMILIES + idioms.FAMILIES + convolutions.FAMILIES + maps.FAMILIES + windows.FAMILIES)
    order = [each for each in order if not only or each.__name__ in only] or order
    random.Random("order").shuffle(order)
    made = [order[(seed * count + i) % len(order)](draw, f"k{i}") for i in range(count)]
    sizes = [draw.choice(kernels.ODD) for _ in range(3)]
    tests = [[1, 1, 1], [draw.choice(kernels.ODD) for _ in range(3)], [draw.choice(kernels.ODD) for _ in range(3)]]
    used = sorted({word for kernel in made for word in kernel.launch.replace("(", " ").replace(",", " ").split()
                   if word[:2] in ("a_", "b_", "A_", "B_")})
    shapes = {"a": "2 * n + 3 * m + 3", "b": "n + m + 3", "A": "n * m + n * k + n * n + 3", "B": "k * m + 3"}
    lines = ["kb-workload:", "  entry: run", "  sizes: {n: %d, m: %d, k: %d}" % tuple(sizes),
             "  test-sizes: [" + ", ".join("{n: %d, m: %d, k: %d}" % tuple(test) for test in tests) + "]"]
    lines += ["  tolerance: {relative: 1e-2, absolute: 1e-2}"] * isTolerant + ["  parameters:"]
    parameters = []

    def buffer(name, kind, shape, role, init=None):
        text = f"    - {{name: {name}, type: {kind}, shape: \"{shape}\", role: {role}"
        lines.append(text + (f", init: \"{init}\"}}" if init else "}"))
        parameters.append(f"{'const ' if role == 'in' else ''}{kernels.CXX[kind]} *{name}")

    for kernel in made:
        kind, shape, role = kernel.output
        init = None if role == "out" else "uniform(0, 50)" if kind == "i32" else "uniform(-1, 1)"
        buffer(f"y_{kernel.name}", kind, shape, role, init)
    for name in used:
        kind = name[2:]
        # Sums over rows that cancel out may differ by more than the judge allows for another order.
        buffer(name, kind, shapes[name[0]], "in", "uniform(0, 50)" if kind == "i32" else "uniform(0.25, 1.25)" if name[0] == "A" else "uniform(-1, 1)")
    for kernel in made:
        for name, kind, shape, init in kernel.inputs:
            buffer(name, kind, shape, "in", init)
    for size in "nmk":
        lines.append(f"    - {{name: {size}, value: {size}}}")
        parameters.append(f"int {size}")
    text = "".join(f"// {line}\n" for line in lines) + "\n#include <cuda_fp16.h>\n\n"
    text += "\n".join(kernel.text for kernel in made)
    text += f"\nvoid run({', '.join(parameters)}) {{\n" + "".join(f"  {kernel.launch}\n" for kernel in made) + "}\n"
    return text, made, isTolerant
