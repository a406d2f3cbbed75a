"""What the PTX ISA says that exactly specified instructions compute."""

import operator

import exact
from exact import NAN, decode, encode, sign_bit
from isa_fields import field_operation, signed
from operations import HALVES, TYPES

FLOAT_TYPES = {"f32": "f", "f64": "d", "f16": "h", "bf16": "b", "f16x2": "x", "bf16x2": "y"}
COMPARISONS = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
               "ge": operator.ge, "lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge}
ROUNDINGS = ("rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi")


def cut(value, bits):
    return value & (1 << bits) - 1


def clamp(value, bits, is_signed):
    low = -(1 << bits - 1) if is_signed else 0
    return max(low, min(low + (1 << bits) - 1, value))


def flush(t, bits):
    exponent, fraction = exact.WIDTHS[t]
    return bits if bits >> fraction & (1 << exponent) - 1 else bits & sign_bit(t)


def finish(t, bits, modifiers):
    if "ftz" in modifiers:
        bits = flush(t, bits)
    x = decode(t, bits)
    if "sat" in modifiers:
        one = encode(t, (0, 1, 0))
        bits = 0 if x == NAN or x[0] else min(bits, one)
    if "relu" in modifiers:
        bits = exact.nan_of(t) if x == NAN else 0 if x[0] else bits
    return bits


def is_tiny(t, x):
    """Below the least normal number, before it is rounded."""
    exponent, fraction = exact.WIDTHS[t]
    return x != NAN and x[1] is not None and x[1].bit_length() + x[2] <= 2 - (1 << exponent - 1)


def least_or_largest(t, name, x, y, modifiers):
    sign = (x ^ y) & sign_bit(t)
    if "abs" in modifiers:
        x, y = x & sign_bit(t) - 1, y & sign_bit(t) - 1
    numbers = [v for v in (x, y) if decode(t, v) != NAN]
    if not numbers or "NaN" in modifiers and len(numbers) < 2:
        return exact.nan_of(t)
    chosen = (min if name == "min" else max)(numbers, key=lambda v: exact.order(t, v))
    return chosen & sign_bit(t) - 1 | sign if "abs" in modifiers else chosen


def float_arithmetic(t, name, modifiers, words):
    """One number of type t; None if the operation is not known here."""
    if t in HALVES:
        parts = [float_arithmetic(HALVES[t], name, modifiers, [w >> at & 0xffff for w in words]) for at in (0, 16)]
        return None if None in parts else parts[0] | parts[1] << 16
    if "ftz" in modifiers:
        words = [flush(t, w) for w in words]
    x, mode = [decode(t, w) for w in words], next((m for m in modifiers if m in ROUNDINGS), "rn")
    if name in ("min", "max"):
        result = least_or_largest(t, name, *words, modifiers)
    elif name == "abs":
        result = words[0] & sign_bit(t) - 1
    elif name == "neg":
        result = words[0] ^ sign_bit(t)
    elif name == "copysign":
        result = words[1] & sign_bit(t) - 1 | words[0] & sign_bit(t)
    else:
        value = {"add": lambda: exact.add(*x, mode), "sub": lambda: exact.add(x[0], exact.negate(x[1]), mode),
                 "mul": lambda: exact.multiply(*x), "div": lambda: exact.divide(*x), "sqrt": lambda: exact.root(*x),
                 "rcp": lambda: exact.divide((0, 1, 0), *x),
                 "fma": lambda: exact.add(exact.multiply(*x[:2]), x[2], mode)}.get(name)
        if not value:
            return None
        result = encode(t, value(), mode)
        if name in ("div", "rcp") and "ftz" in modifiers and is_tiny(t, value()):
            result &= sign_bit(t)  # even where it rounds up to the least normal number
    return finish(t, result, modifiers)


def compare_floats(comparison, t, x, y):
    x, y = decode(t, x), decode(t, y)
    if comparison in ("num", "nan"):
        return (NAN in (x, y)) == (comparison == "nan")
    if NAN in (x, y):
        return comparison.endswith("u")
    numbers = [float("-inf" if v[0] else "inf") if v[1] is None else (-v[1] if v[0] else v[1]) << v[2] + 1200 for v in (x, y)]
    return COMPARISONS[comparison[:2]](*numbers)


def set_float(t, modifiers, words):
    """1.0 or 0.0 of the operands' type, for each number in a word."""
    if t in HALVES:
        parts = [set_float(HALVES[t], modifiers, [w >> at & 0xffff for w in words]) for at in (0, 16)]
        return parts[0] | parts[1] << 16
    words = [flush(t, w) for w in words] if "ftz" in modifiers else words
    return encode(t, (0, 1, 0)) if compare_floats(modifiers[0], t, *words) else 0


def classify(kind, t, bits):
    x = decode(t, bits)
    finite = x != NAN and x[1] is not None
    normal = finite and flush(t, bits) == bits  # zeros too
    return {"finite": finite, "infinite": x != NAN and not finite, "number": x != NAN, "notanumber": x == NAN,
            "normal": normal, "subnormal": finite and flush(t, bits) != bits}[kind]


def float_to_integer(t, word, bits, is_signed, mode):
    x = decode(t, word)
    if x == NAN:
        return 1 << bits - 1 if t == "d" or bits == 64 else 0
    if x[1] is None:
        return clamp(-(1 << 99) if x[0] else 1 << 99, bits, is_signed)
    return clamp(exact.integral(x, mode), bits, is_signed)


def float_to_float(to, source, word, modifiers, mode):
    x = decode(source, flush(source, word) if "ftz" in modifiers else word)
    if mode.endswith("i"):
        if x != NAN and x[1] is not None:
            x = (x[0], abs(exact.integral(x, mode)), 0)
        mode = "rn"
    return finish(to, encode(to, x, mode), [m for m in modifiers if m != "ftz" or to == "f"])


def convert(to, source, modifiers, words):
    mode = next((m for m in modifiers if m in ROUNDINGS), "rn")
    if to == "tf32":
        if "relu" in modifiers:
            words = [finish("f", words[0], ["relu"])]
        x = decode("f", words[0])
        if x == NAN:  # as an H200 has it, for PTX names no bits
            return words[0] & 0xffffe000 if mode == "rna" else 0x7fffe000
        return encode("tf32", x, mode) << 13
    if to.endswith("x2"):
        high, low = (float_to_float(FLOAT_TYPES[to[:-2]], "f", w, modifiers, mode) for w in words)
        return low | high << 16
    if to in FLOAT_TYPES and source in FLOAT_TYPES:
        return float_to_float(FLOAT_TYPES[to], FLOAT_TYPES[source], words[0], modifiers, mode)
    if source in FLOAT_TYPES:
        t, bits = FLOAT_TYPES[source], int(to[1:])
        word = flush(t, words[0]) if "ftz" in modifiers else words[0]
        value = float_to_integer(t, word, bits, to[0] == "s", mode)
        return signed(value, bits) if to[0] == "s" and value >= 0 else value
    value, bits = cut(words[0], int(source[1:])), int(source[1:])
    value = signed(value, bits) if source[0] == "s" else value
    if to in FLOAT_TYPES:
        return finish(FLOAT_TYPES[to], encode(FLOAT_TYPES[to], (int(value < 0), abs(value), 0), mode), modifiers)
    bits = int(to[1:])
    value = clamp(value, bits, to[0] == "s") if "sat" in modifiers else cut(value, bits)
    return signed(cut(value, bits), bits) if to[0] == "s" else value


def integer_arithmetic(name, modifiers, kind, bits, words):
    is_signed = kind == "s"
    x = [signed(cut(w, bits), bits) if is_signed else cut(w, bits) for w in words]
    low = (lambda v: signed(cut(v, bits), bits)) if is_signed else (lambda v: cut(v, bits))
    if name in ("mul", "mad", "mul24", "mad24"):
        if "24" in name:
            x[:2] = [signed(cut(w, 24), 24) if is_signed else cut(w, 24) for w in words[:2]]
        product = x[0] * x[1]
        if "wide" in modifiers:
            addend = words[2:]
        else:
            product, addend = low(product >> (16 if "24" in name else bits) if "hi" in modifiers else product), x[2:]
        total = product + sum(addend)
        return clamp(total, bits, True) if "sat" in modifiers else total
    if name in ("div", "rem"):
        if x[1] == 0:
            return -1
        quotient = abs(x[0]) // abs(x[1]) * (-1 if (x[0] < 0) != (x[1] < 0) else 1)
        return quotient if name == "div" else x[0] - quotient * x[1]
    if name in ("add", "sub"):
        total = x[0] + x[1] if name == "add" else x[0] - x[1]
        return clamp(total, bits, True) if "sat" in modifiers else total
    if name in ("min", "max"):
        chosen = (min if name == "min" else max)(x)
        return max(chosen, 0) if "relu" in modifiers else chosen
    if name == "bfind":
        length = (~x[0] if x[0] < 0 else x[0]).bit_length()
        return bits - length if length and "shiftamt" in modifiers else length - 1
    if name in ("shl", "shr"):
        return x[0] << min(words[1], bits) if name == "shl" else x[0] >> min(words[1], bits)
    simple = {"neg": lambda: -x[0], "abs": lambda: abs(x[0]), "sad": lambda: x[2] + abs(x[0] - x[1]),
              "not": lambda: ~x[0], "cnot": lambda: x[0] == 0, "and": lambda: x[0] & x[1], "or": lambda: x[0] | x[1],
              "xor": lambda: x[0] ^ x[1], "brev": lambda: int(f"{x[0]:0{bits}b}"[::-1], 2),
              "popc": lambda: x[0].bit_count(), "clz": lambda: bits - x[0].bit_length()}.get(name)
    return simple and simple()


def specified(operation, words):
    """The result's bits, or None where the ISA leaves it open or this file does not know."""
    text = operation.text
    if text[0] == "(" or "%" in text or "." not in text or operation.ulps:
        return None
    name, *modifiers, kind = text.split(".")
    if name == "set" and kind in FLOAT_TYPES and modifiers[-1] == kind:
        return set_float(FLOAT_TYPES[kind], modifiers, words)
    if name in ("setp", "set"):
        if kind in FLOAT_TYPES:
            t = FLOAT_TYPES[kind]
            holds = compare_floats(modifiers[0], t, *(flush(t, w) if "ftz" in modifiers else w for w in words))
        else:
            bits = int(kind[1:])
            holds = COMPARISONS[modifiers[0]](*(signed(w, bits) if kind[0] == "s" else w for w in words))
        return holds * (1 if name == "setp" else 0x3f800000 if modifiers[-1] == "f32" else 0xffffffff)
    if name == "testp":
        return int(classify(modifiers[0], FLOAT_TYPES[kind], words[0]))
    if name == "slct":
        selector = flush("f", words[2]) if "ftz" in modifiers else words[2]
        takes_first = compare_floats("ge", "f", selector, 0) if kind == "f32" else signed(selector, 32) >= 0
        return words[0] if takes_first else words[1]
    result = field_operation(name, modifiers, kind, words)
    if result is not None:
        return cut(result, TYPES[operation.result][1])
    if name == "cvt":
        result = convert(modifiers[-1], kind, modifiers[:-1], words)
    elif kind in FLOAT_TYPES:
        result = float_arithmetic(FLOAT_TYPES[kind], name, modifiers, words)
    elif kind[0] in "sub" and kind[1:].isdigit():
        result = integer_arithmetic(name, modifiers, kind[0], int(kind[1:]), words)
    else:
        return None
    return None if result is None else cut(int(result), TYPES[operation.result][1])
