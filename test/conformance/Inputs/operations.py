"""The operations of operations.txt, and how each is written in CUDA."""

import pathlib
import re

FLOATS = {"f": (8, 23), "d": (11, 52), "h": (5, 10), "b": (8, 7)}  # bits of exponent and fraction
HALVES = {"x": "h", "y": "b"}  # two in a word
# C++ type, bits, and the register and type of inline PTX.
TYPES = {"f": ("float", 32, "f", "float"), "d": ("double", 64, "d", "double"),
         "h": ("__half", 16, "h", "unsigned short"), "b": ("__nv_bfloat16", 16, "h", "unsigned short"),
         "x": ("__half2", 32, "r", "unsigned"), "y": ("__nv_bfloat162", 32, "r", "unsigned"),
         "i": ("int", 32, "r", "int"), "u": ("unsigned", 32, "r", "unsigned"),
         "l": ("long long", 64, "l", "long long"), "L": ("unsigned long long", 64, "l", "unsigned long long"),
         "s": ("short", 16, "h", "short"), "S": ("unsigned short", 16, "h", "unsigned short"),
         "p": ("bool", 8, "r", "unsigned")}


class Operation:
    """One of them. `ulps` says how near a result must be, in units in the last place; 0 is bit by bit. `of_isa` are held
    to the PTX ISA alone."""

    def __init__(self, signature, text, how):
        self.of_isa, ulps = how == "ISA", 0 if how == "ISA" else how
        self.result, self.operands = signature.split("=")
        self.name, self.text, self.ulps = f"{signature} {text}", text, ulps

    def statement(self):
        """C++ that stores the result for the operands a, b, c, d."""
        text, result = self.text, TYPES[self.result]
        if "." not in text or text[0] == "(":
            if text[0] != "(":
                text += "(" + ", ".join("abcd"[:len(self.operands)]) + ")"
            return f"store({text.replace('-long', ' long').replace('-char', ' char').replace('-short', ' short')});"
        numbers = ", ".join(f"%{n}" for n in range(len(self.operands) + 1))
        predicate = numbers.replace("%0", "p")
        if text.startswith(("setp.", "testp.")):
            text = f"{{.reg .pred p; {text} {predicate}; selp.u32 %0, 1, 0, p;}}"
        elif "%0" not in text:
            text = f"{text} {numbers};"
        inputs = ", ".join(f'"{TYPES[t][2]}"(get<{TYPES[t][3]}>(in[{n} * n + i]))' for n, t in enumerate(self.operands))
        return f'{{ {result[3]} r; asm("{text}" : "={result[2]}"(r) : {inputs}); store(r); }}'


def expand(pattern):
    """The alternatives of the braces in `pattern`; those of a raw PTX line stay."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if not found:
        return [pattern]
    return [one for choice in found[1].split(",")
            for one in expand(pattern[:found.start()] + choice + pattern[found.end():])]


def read_lines():
    """Section, signature and the rest of each line."""
    section = ""
    for line in (pathlib.Path(__file__).resolve().parent / "operations.txt").read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line and line[0] != "#":
            yield (section, *line.split(" ", 1))


def read_groups():
    """Section, signature, how they are held (a number of units in the last place, "ISA" or None) and patterns."""
    for section, signature, rest in read_lines():
        if rest.startswith(": "):
            yield section, signature, 0, [rest[2:]]
            continue
        ulps, patterns = 0, []
        for token in [*rest.split(), "~0"]:
            if token[0] not in "~?!":
                patterns.append(token)
                continue
            if patterns:
                yield section, signature, ulps, patterns
            ulps, patterns = {"?": None, "!": "ISA"}[token] if token in "?!" else int(token[1:]), []


def read_operations():
    """All that are held."""
    operations = [Operation(signature, text, ulps) for _, signature, ulps, patterns in read_groups() if ulps is not None
                  for pattern in patterns for text in ([pattern] if "%0" in pattern else expand(pattern))]
    assert len({o.name for o in operations}) == len(operations), "an operation is named twice"
    return operations
