"""The operands of an operation: values of special interest, combined, and drawn ones."""

import functools
import itertools
import random

from operations import FLOATS, HALVES, TYPES

RANDOM = 128  # drawn operand tuples of an operation


def float_values(exponent, fraction, size):
    """Values of special interest, as bits: all of them, few enough for pairs, few enough for triples."""
    bias, top, last, half = (1 << exponent - 1) - 1, (1 << exponent) - 1, (1 << fraction) - 1, 1 << fraction - 1
    if size == 1:
        powers = [-2, -1, 0, 1, 2, 6, 7, 8, 14, 15, 16, 30, 31, 32, 62, 63, 64, fraction - 1, fraction, fraction + 1]
        exponents = [0, 1, *(bias + p for p in powers if bias + p < top - 1), top - 1, top]
        values = [e << fraction | f for e in dict.fromkeys(exponents) for f in (0, 1, half, half + 1, last)]
    elif size == 2:
        values = [0, 1, last, last + 1, bias << fraction, bias << fraction | 1, (bias + 1) << fraction | half >> 1,
                  (bias + fraction) << fraction | 1, (top << fraction) - 1, top << fraction, top << fraction | half | 1]
    else:
        sign = 1 << exponent + fraction
        return [0, sign, 1, bias << fraction, sign | (bias + 1) << fraction | half >> 1, (top << fraction) - 1,
                sign | top << fraction, top << fraction | half]
    return values + [v | 1 << exponent + fraction for v in values]


def integer_values(bits, size):
    sign, ones = 1 << bits - 1, (1 << bits) - 1
    if size > 2:
        return [0, 1, 8, 33, sign, sign - 1, ones, 0x9e3779b97f4a7c15 & ones]
    values = [0, 1, 2, 8, 31, 32, 33, 64, 255, sign - 1, sign, ones, ones - 30, 0x9e3779b97f4a7c15 & ones]
    if size == 1:
        values += [3, 5, 7, 15, 16, 17, 63, 65, 127, 128, 129, 256, 257, 2047, 2049, 32767, 32768, 65519, 65520, 65535, 65536,
                   0xffffff, 0x1000001, 0x1000003, sign + 1, sign - 64, ones - 127, ones - 128, ones - 32767, ones - 32768]
        values += [1 << bits * 3 // 4, (1 << bits * 3 // 4) + 1, 0x5555555555555555 & ones, 0xffffffff, 0x100000000]
    return list(dict.fromkeys(v & ones for v in values))


def special(letter, size):
    if letter in HALVES:
        low = float_values(*FLOATS[HALVES[letter]], size)
        return [v | low[(7 * n + 3) % len(low)] << 16 for n, v in enumerate(low)]
    return float_values(*FLOATS[letter], size) if letter in FLOATS else integer_values(TYPES[letter][1], size)


def drawn(letter, source):
    """Any bits, or a number around one."""
    if letter in HALVES:
        return drawn(HALVES[letter], source) | drawn(HALVES[letter], source) << 16
    bits = TYPES[letter][1]
    value = source.getrandbits(bits)
    near = source.getrandbits(2)
    if letter in FLOATS and near:
        exponent, fraction = FLOATS[letter]
        low = value & (4 << fraction) - 1
        return ((1 << exponent - 1) - 3 << fraction) + low | value >> bits - 1 << bits - 1
    return value >> source.getrandbits(6) % bits if near == 1 else value


@functools.lru_cache
def operand_tuples(letters):
    """Those of special interest, combined, and then RANDOM drawn ones."""
    tuples = list(itertools.product(*(special(t, len(letters)) for t in letters)))
    source = random.Random(letters)
    return tuples + [tuple(drawn(t, source) for t in letters) for _ in range(RANDOM)]
