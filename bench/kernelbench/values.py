# SPDX-License-Identifier: Apache-2.0

"""What the variables of a libtorch driver hold: integers that remember which sizes they come from, tensors of which only shape, type,
distribution and origin are known, and the rest as plain objects."""
import copy
import math


class Untranslatable(Exception):
    """The driver does something that has no counterpart in a workload, or that is not understood."""


class Int:
    """A whole number and its expression in the sizes of a workload: `base + offset`, where base may be empty.

    rank is 3 for a base that is one name or call, 2 for a product, 1 for a sum."""

    __slots__ = ("value", "base", "rank", "offset", "names")

    def __init__(self, value, base="", rank=3, offset=None, names=frozenset()):
        self.value, self.base, self.rank, self.names = value, base, rank, names
        self.offset = (0 if base else value) if offset is None else offset

    @staticmethod
    def size(name, value):
        return Int(value, name, 3, 0, frozenset([name]))

    def text(self, rank=1):
        """The expression, in parentheses where a place of this rank needs them."""
        if not self.base:
            return str(self.value) if self.value >= 0 or rank == 1 else f"({self.value})"
        own = self.rank if not self.offset else 1
        text = self.base + (f" {'+' if self.offset > 0 else '-'} {abs(self.offset)}" if self.offset else "")
        return f"({text})" if own < rank else text

    def __repr__(self):
        return f"{self.text()} ({self.value})"


def as_int(value):
    if isinstance(value, Int):
        return value
    if isinstance(value, (bool, int)):
        return Int(int(value))
    if isinstance(value, float) and value == int(value):
        return Int(int(value))
    raise Untranslatable(f"a whole number is expected, not {describe(value)}")


def describe(value):
    return "a tensor" if isinstance(value, Tensor) else f"'{value}'" if isinstance(value, str) else type(value).__name__.lower() if value is not None else "nothing"


def add(a, b):
    if not a.base:
        a, b = b, a
    if not b.base:
        return Int(a.value + b.value, a.base, a.rank, a.offset + b.value, a.names)
    text = f"{Int(0, a.base, a.rank, 0).text(1)} + {Int(0, b.base, b.rank, 0).text(1)}"
    return Int(a.value + b.value, text, 1, a.offset + b.offset, a.names | b.names)


def negate(a):
    return Int(-a.value) if not a.base else Int(-a.value, "-" + Int(0, a.base, a.rank, 0).text(3), 2, -a.offset, a.names)


def subtract(a, b):
    if not b.base:
        return add(a, Int(-b.value))
    if not a.base and not a.value:
        return negate(b)
    text = f"{Int(0, a.base, a.rank, 0).text(1) if a.base else a.value} - {Int(0, b.base, b.rank, 0).text(2)}"
    return Int(a.value - b.value, text, 1, (a.offset if a.base else 0) - b.offset, a.names | b.names)


def multiply(a, b):
    for one, other in ((a, b), (b, a)):
        if not one.base and one.value == 1:
            return other
        if not one.base and one.value == 0:
            return Int(0)
    value = a.value * b.value
    return Int(value) if not (a.base or b.base) else Int(value, f"{a.text(2)} * {b.text(2)}", 2, 0, a.names | b.names)


def quotient(a, b):
    """Towards zero, as in C++."""
    if b.value == 0:
        raise Untranslatable("a division by zero")
    value = int(math.copysign(abs(a.value) // abs(b.value), a.value * b.value)) if a.value else 0
    if not b.base and b.value == 1:
        return a
    return Int(value) if not (a.base or b.base) else Int(value, f"{a.text(2)} / {b.text(3)}", 2, 0, a.names | b.names)


def ceil_quotient(a, b):
    if not b.base and b.value == 1:
        return a
    value = -(-a.value // b.value)
    return Int(value) if not (a.base or b.base) else Int(value, f"ceildiv({a.text()}, {b.text()})", 3, 0, a.names | b.names)


def remainder(a, b):
    if b.value == 0:
        raise Untranslatable("a division by zero")
    value = int(math.fmod(a.value, b.value))
    return Int(value) if not (a.base or b.base) else Int(value, f"{a.text(2)} % {b.text(3)}", 2, 0, a.names | b.names)


def product(factors):
    result = Int(1)
    for factor in factors:
        result = multiply(result, factor)
    return result


class Storage:
    """The memory behind tensors: how a workload fills it, and what is only roughly so. `given` is what torch fills it with, where that
    is something else."""

    def __init__(self, init, note="", given=""):
        self.init, self.note, self.given = init, note, given


class Made:
    """How torch makes a tensor. kind says what `what` is: "call" (an operator or a function by name), "module", "operator" (of the
    language), "slice", or "item" (a place in the results of `arguments[0]`, another Made). Tensors among the arguments are as they were
    then: what is done in place later does not change them."""

    def __init__(self, kind, what, arguments):
        self.kind, self.what = kind, what
        self.arguments = [copy.copy(a) if isinstance(a, Tensor) else a for a in arguments]


def remember(result, made):
    """Says of what was made, one tensor or several, how."""
    if isinstance(result, Tensor):
        result.made = made
    elif isinstance(result, list):
        for at, each in enumerate(result):
            each.made = Made("item", at, [made])
    return result


class Tensor:
    """init "" means that nothing was written; a computed tensor has a note, which names the function. `made` is None where the storage
    holds what it was filled with."""

    def __init__(self, shape, dtype, init="", note="", storage=None):
        self.shape, self.dtype, self.storage = list(shape), dtype, storage or Storage(init, note)
        self.made = None
        for extent in self.shape:
            if extent.value < 0:
                raise Untranslatable(f"a negative extent {extent.text()}")

    def reshaped(self, shape):
        return Tensor(shape, self.dtype, storage=self.storage)

    def count(self):
        return math.prod(e.value for e in self.shape)


class Pointer:
    """data_ptr() of a tensor; of nothing it is a null pointer."""

    def __init__(self, tensor):
        self.tensor = tensor


class HostArray:
    """data() of a std::vector."""

    def __init__(self, items):
        self.items = items


class Iterator:
    """A place in a std::vector."""

    def __init__(self, items, at):
        self.items, self.at = items, at

    def until(self, end):
        return self.items[self.at:end.at]


class Options:
    """torch::nn::...Options or torch::TensorOptions: what was handed to the constructor, and what was set by name."""

    def __init__(self, kind, arguments):
        self.kind, self.arguments, self.settings = kind, arguments, {}


class Opaque:
    """A name of torch that is only passed on (a device, a type)."""

    def __init__(self, name):
        self.name = name
