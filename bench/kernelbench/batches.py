# SPDX-License-Identifier: Apache-2.0

"""Makes the batch of a module a number that kb_run is handed, so that it is searched with a small one and judged with a smaller one.

The graph is exported for three batches. Where the texts of templates.py differ in numbers alone, and each of these is a + b times the batch in all three, the number becomes that expression.
A module whose texts differ in another way keeps its batch.
"""
import re

from templates import Generator

SIZE = "batch_size"
SEARCHED_BYTES = 256 << 20
TOKEN = re.compile(r"\d[\w.]*|[A-Za-z_]\w*|\s+|.", re.S)


def expression(numbers, batches):
    """The text for a number that has these values for these batches; None if it is none that is linear in the batch."""
    if any(not re.fullmatch(r"\d+(\.0f)?", number) for number in numbers):
        return None
    is_float = numbers[0].endswith("f")
    values = [int(number.removesuffix(".0f")) for number in numbers]
    factor, rest = divmod(values[0] - values[1], batches[0] - batches[1])
    start = values[0] - factor * batches[0]
    if rest or any(value != start + factor * batch for value, batch in zip(values, batches)):
        return None
    text = SIZE if values[0] < 2 ** 31 else f"static_cast<long long>({SIZE})"
    text += f" * {factor}" if factor != 1 else ""
    text += f" {'+' if start > 0 else '-'} {abs(start)}" if start else ""
    return f"static_cast<float>({text})" if is_float else text if text == SIZE else f"({text})"


def unified(texts, batches):
    """One text for all batches; None where there is none."""
    tokens = [TOKEN.findall(text) for text in texts]
    if len({len(each) for each in tokens}) != 1:
        return None
    result = []
    for words in zip(*tokens):
        word = words[0] if len(set(words)) == 1 else expression(words, batches)
        if word is None:
            return None
        result.append(word)
    return "".join(result)


class Batched:
    """A module's program and workload; `graphs` are those for `batches`, the module's own first. `size` is the batch that is searched, None where the batch is no number that is handed over."""

    def __init__(self, graphs, batches):
        first = Generator(graphs[0]).run()
        self.generators, self.batches, self.size = [first, *(Generator(graph, first.wide).run() for graph in graphs[1:])], batches, None
        self.kernels, self.calls, self.allocations = first.kernels, first.calls, first.allocations()
        self.described = first.described()
        if len(graphs) == 3:
            self.unify()

    def unify(self):
        parts = {what: [unified(texts, self.batches) for texts in zip(*(of(g) for g in self.generators))]
                 for what, of in (("kernels", lambda g: g.kernels), ("calls", lambda g: g.calls), ("allocations", Generator.allocations), ("described", Generator.described))}
        if any(text is None for texts in parts.values() for text in texts) or len({len(g.kernels) for g in self.generators}) != 1:
            return
        if not any(SIZE in text for text in parts["described"]):
            return
        for place, kernel in enumerate(parts["kernels"]):
            body = kernel[kernel.index("\n"):]
            if SIZE in body:
                parts["kernels"][place] = re.sub(r"(\w+ count)\) \{", rf"\1, int {SIZE}) {{", kernel, count=1)
                parts["calls"][place] = parts["calls"][place].removesuffix(");") + f", {SIZE});"
        self.kernels, self.calls, self.allocations, self.described = (parts[what] for what in ("kernels", "calls", "allocations", "described"))
        self.size = self.searched()

    def bytes(self, batch):
        """Of all tensors with this batch: linear in it, as they all are."""
        one, two = (generator.bytes() for generator in self.generators[:2])
        return one + (one - two) // (self.batches[0] - self.batches[1]) * (batch - self.batches[0])

    def searched(self):
        """The module's own batch, halved until all tensors fit SEARCHED_BYTES or it is small or odd."""
        batch = self.batches[0]
        while batch > 16 and batch % 2 == 0 and self.bytes(batch) > SEARCHED_BYTES:
            batch //= 2
        return batch

    def program(self):
        return self.generators[0].program(self.kernels, self.calls, self.allocations, [SIZE] if self.size else [])

    def workload(self, small=False):
        """small: the shape to make fast is one that the CPU device stands."""
        others = [batch for batch in self.batches[1:] if batch != self.size]
        lines = ["entry: kb_run"]
        if self.size:
            lines += [f"sizes: {{{SIZE}: {others[0] if small else self.size}}}", f"test-sizes: [{{{SIZE}: {others[-1 if small else 0]}}}]"]
            lines += [] if small else [f"unseen-sizes: [{{{SIZE}: {others[-1]}}}]"]
        described = [re.sub(r"\((batch_size[^()]*)\)", r"\1", line.replace(f"static_cast<long long>({SIZE})", SIZE)) if "shape:" in line else line for line in self.described]
        lines += ["parameters:", *described, *([f"  - name: {SIZE}", f"    value: {SIZE}"] if self.size else []), "  - name: stream", "    cxx: nullptr", ""]
        return "\n".join(lines)
