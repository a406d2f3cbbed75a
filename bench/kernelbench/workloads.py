# SPDX-License-Identifier: Apache-2.0

"""Makes a kb-opt workload of a libtorch driver and the file that it drives.

What is a size: a variable of the driver that shapes a buffer, is handed to the entry (else the kernel has it as a constant), and is not part of what
is computed, as the window of a convolution. Buffers have the driver's distributions; of a tensor that the driver computes with torch, the shape
alone is kept. The output is the tensor that the driver compares; one that it fills with zeros is `inout`, because the kernel may rely on them.
"""
import re

import cxx
from drivers import ENTRY, Driver
from values import HostArray, Int, Pointer, Tensor, Untranslatable

BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i64": 8, "u64": 8, "i32": 4, "u32": 4, "bool": 1, "u8": 1, "i8": 1, "i16": 2, "u16": 2}
WORK = 1_000_000  # product of all sizes of a shape that the CPU device checks in a moment
NEEDED = {"vector": r"\bstd::vector\b|\bvector<", "cstdio": r"\b(stderr|fprintf|printf)\b", "cfloat": r"\bFLT_MAX\b", "algorithm": r"\bstd::(min|max|swap)\b", "string": r"\bstd::string\b",
          "iostream": r"\bstd::(cout|cerr)\b", "stdexcept": r"\bstd::(runtime_error|invalid_argument)\b"}
GIVES = {"cstdio": "stdio.h|iostream", "cfloat": "float.h", "algorithm": "cuda_runtime.h|cuda_fp16.h|vector|iostream", "string": "iostream|stdexcept", "stdexcept": "iostream|string"}


def entry_parameters(text, count, entry=ENTRY):
    """(type, name) of the definition of the entry that takes this many parameters; overloads and mere declarations are passed over."""
    words = cxx.words_of(re.sub(r"\\\n", " ", text))
    seen = []
    for at, (kind, word) in enumerate(words):
        if word != entry or at + 1 == len(words) or words[at + 1][1] != "(" or (at and words[at - 1][1] not in ("void", "int", "*") and words[at - 1][0] != "word"):
            continue
        parser = cxx.Parser(words)
        parser.at = at + 1
        try:
            parameters = parser.parameters()
        except cxx.Unreadable:
            continue
        if parser.peek() == "{":
            seen.append([(t, n) for t, n, _ in parameters])
    fitting = [p for p in seen if len(p) == count]
    if not fitting:
        raise Untranslatable(f"the file defines no {entry} of {count} parameters" + (f" (it has one of {len(seen[0])})" if seen else ""))
    return fitting[0]


def tensors_of(driver):
    return [a.tensor for a in driver.arguments if isinstance(a, Pointer) and a.tensor is not None]


def numbers_of(driver):
    """All Ints that the entry is handed."""
    result = []
    for argument in driver.arguments:
        items = argument.items if isinstance(argument, HostArray) else argument if isinstance(argument, list) else [argument]
        result += [i for i in items if isinstance(i, Int)]
    return result


def free_sizes(driver):
    shaping = {n for t in tensors_of(driver) for e in t.shape for n in e.names}
    passed = {n for number in numbers_of(driver) for n in number.names}
    return [n for n in driver.sizes if n in shaping & passed and n not in driver.structural and driver.sizes[n] > 0]


def aligned_below(n, limit):
    """The largest number up to the limit that is as divisible as n is, for vector loads: kb-opt tries odd sizes by itself where the original stands them."""
    step = min(n & -n, 64)
    while step > 1 and step * 4 > n:
        step //= 2
    return limit // step * step or step


class Translation:
    """One driver; text() is the workload, notes what is only roughly the driver's."""

    def __init__(self, driver_text, source_text, entry=ENTRY):
        self.driver_text, self.source_text, self.entry, self.notes = driver_text, source_text, entry, []
        first = Driver(driver_text, entry).run()
        self.names = free_sizes(first)
        self.driver = Driver(driver_text, entry, names=set(self.names)).run()
        self.sizes = {n: self.driver.sizes[n] for n in self.names}
        self.parameters = entry_parameters(source_text, len(self.driver.arguments), entry)
        declared = self.driver.functions.get(entry)
        called, taken = [n for _, n, _ in declared.parameters] if declared else [], [n for _, n in self.parameters]
        for here, there in zip(called, taken):
            if here != there and here in taken and there in called:
                raise Untranslatable(f"the driver hands '{here}' to the parameter '{there}'")
        self.outputs = [t.storage for t in self.driver.compared]
        if not any(t.storage in self.outputs for t in tensors_of(self.driver)):
            raise Untranslatable("no argument of the entry is compared")
        if not self.names:
            self.notes.append("fixed shape: no size of a buffer is handed to the entry")

    def holds(self, sizes):
        """Whether the driver works with these sizes, and the expressions of the workload say the same of them."""
        try:
            other = Driver(self.driver_text, self.entry, overrides=sizes, names=set(self.names)).run()
        except Untranslatable:
            return False
        here, there = tensors_of(self.driver), tensors_of(other)
        return len(here) == len(there) and all([e.text() for e in a.shape] == [e.text() for e in b.shape] for a, b in zip(here, there))

    def work(self, sizes):
        result = 1
        for name, value in self.sizes.items():
            result *= sizes.get(name, value)
        fixed = {(e.value, i) for t in tensors_of(self.driver) for i, e in enumerate(t.shape) if not e.names}
        for value, _ in fixed:
            result *= max(value, 1)
        return result

    def changed(self, change):
        """Sizes of which as many are changed as the driver stands: all, all but the smaller ones, the first one."""
        wanted = {n: change(v) for n, v in self.sizes.items() if change(v) != v and change(v) > 0}
        by_value = sorted(wanted, key=lambda n: self.sizes[n])
        attempts = [wanted] + [{n: wanted[n] for n in by_value[skip:]} for skip in range(1, len(by_value))] + [{n: wanted[n]} for n in self.names[:1] if n in wanted]
        return next((a for a in attempts if a and self.holds(a)), {})

    def test_sizes(self):
        """A small shape, as divisible as the driver's: a kernel without guards must stand it."""
        for cap in (64, 32, 16, 8, 4, 2):
            sizes = self.changed(lambda v: v if v <= cap else aligned_below(v, cap))
            if sizes and (self.work(sizes) <= WORK or cap == 2):
                return [sizes]
        return []

    def unseen_sizes(self):
        """A shape of other extents, as large as 64 MiB of buffers allow."""
        for tenths in (7, 4, 3, 2, 1):
            sizes = self.changed(lambda v: aligned_below(v, v * tenths // 10))
            if sizes and (self.bytes(sizes) <= 64 << 20 or tenths == 1):
                return [sizes]
        return []

    def buffer(self, tensor, name, declared):
        storage, lines = tensor.storage, []
        is_output = storage in self.outputs
        is_const = "const" in declared.split("*")[0]
        role = "in" if is_const or not is_output else "inout" if storage.init == "zeros" else "out"
        shape = [e.text() for e in tensor.shape if e.base or e.value != 1] or ["1"]
        lines.append("    shape: [" + ", ".join(f'"{s}"' if "," in s else s for s in shape) + "]")
        lines.append(f"    role: {role}")
        if role == "inout":
            lines.append("    init: zeros")
        elif role == "in":
            init = storage.init or "normal"
            if init == "normal" and tensor.dtype.startswith(("i", "u", "bool")):
                init = "range(0, 2)"
            if storage.note:
                self.notes.append(f"'{name}' is {storage.note} in the driver, here {init}")
            lines.append(f"    init: {init}")
        return [f"    type: {tensor.dtype}", *lines]

    def scalar(self, value, name, declared):
        if value is None or (isinstance(value, Pointer) and value.tensor is None):
            return ["    cxx: nullptr"]
        if isinstance(value, (list, HostArray)):
            items = value.items if isinstance(value, HostArray) else value
            text = "std::vector<int64_t>{" + ", ".join(i.text() if isinstance(i, Int) else str(i) for i in items) + "}"
            if any(f in text for f in ("ceildiv", "min(", "max(")):
                raise Untranslatable(f"'{name}' is a list of expressions that are no C++")
            return [f'    cxx: "{f"&{text}[0]" if isinstance(value, HostArray) else text}"']
        if isinstance(value, bool):
            return [f"    value: {int(value)}"]
        if isinstance(value, float) or re.search(r"\b(float|double)\b", declared):
            number = float(value.value if isinstance(value, Int) else value)
            return [f"    type: {'f64' if 'double' in declared else 'f32'}", f"    value: {number!r}"]
        if isinstance(value, Int):
            return [f'    value: "{value.text()}"' if "," in value.text() else f"    value: {value.text()}"]
        raise Untranslatable(f"the argument '{name}' ({type(value).__name__.lower()})")

    def text(self, small=False):
        """small: the first test shape is the one to make fast, for a run on the CPU device."""
        sizes = {**self.sizes, **next(iter(self.test_sizes()), {})} if small else self.sizes
        self.notes = [n for n in self.notes if n.startswith("fixed shape")]
        lines = [f"entry: {self.entry}"]
        if self.sizes:
            lines.append("sizes: {" + ", ".join(f"{n}: {v}" for n, v in sizes.items()) + "}")
            for field, list_ in (("test-sizes", self.test_sizes()[small:]), ("unseen-sizes", [] if small else self.unseen_sizes())):
                if list_:
                    lines.append(f"{field}: [" + ", ".join("{" + ", ".join(f"{n}: {v}" for n, v in s.items()) + "}" for s in list_) + "]")
        lines.append("parameters:")
        for argument, (declared, name) in zip(self.driver.arguments, self.parameters):
            lines.append(f"  - name: {name}")
            if isinstance(argument, Pointer) and argument.tensor is not None and argument.tensor.count():
                lines += self.buffer(argument.tensor, name, declared)
            elif isinstance(argument, Pointer) and argument.tensor is not None:
                lines.append("    cxx: nullptr")
            else:
                lines += self.scalar(argument, name, declared)
        return "\n".join(lines) + "\n"

    def bytes(self, sizes=None):
        driver = self.driver if sizes is None else Driver(self.driver_text, self.entry, overrides=sizes).run()
        return sum(t.count() * BYTES[t.dtype] for t in tensors_of(driver))


def missing_includes(text):
    """Standard headers whose names the file uses without including them: in KernelBlaster's build the driver's headers stand before it."""
    code = cxx.without_comments(text)
    included = set(re.findall(r"#\s*include\s*[<\"]([\w./]+)[>\"]", text))
    result = []
    for header, pattern in NEEDED.items():
        gives = {header, *GIVES.get(header, "").split("|")}
        if re.search(pattern, code) and not gives & included:
            result.append(header)
    return result
