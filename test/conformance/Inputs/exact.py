"""Floating-point arithmetic in exact integers, rounded once, as IEEE 754 and the PTX ISA specify it.

A number is (sign, m, e), which stands for m times 2 to the e; m is None for an infinity, and NaN is `NAN`. What is cut
off below m is said by an odd last bit, which is far below every rounding.
"""

import math

NAN = "NaN"
WIDTHS = {"f": (8, 23), "d": (11, 52), "h": (5, 10), "b": (8, 7), "tf32": (8, 10)}  # exponent, fraction


def sign_bit(t):
    return 1 << sum(WIDTHS[t])


def nan_of(t):
    return sign_bit(t) - 1


def infinity(t, sign):
    return (sign << WIDTHS[t][0] | (1 << WIDTHS[t][0]) - 1) << WIDTHS[t][1]


def decode(t, bits):
    exponent, fraction = WIDTHS[t]
    sign, power, m = bits >> exponent + fraction & 1, bits >> fraction & (1 << exponent) - 1, bits & (1 << fraction) - 1
    if power == (1 << exponent) - 1:
        return NAN if m else (sign, None, 0)
    return sign, m | (power > 0) << fraction, max(power, 1) - (1 << exponent - 1) + 1 - fraction


def encode(t, x, mode="rn"):
    """The bits of x, rounded to nearest even (rn), nearest away (rna), zero (rz), down (rm) or up (rp)."""
    if x == NAN:
        return nan_of(t)
    sign, m, e = x
    if m is None:
        return infinity(t, sign)
    exponent, fraction = WIDTHS[t]
    least = 2 - (1 << exponent - 1) - fraction  # the exponent of subnormal numbers
    cut = max(m.bit_length() - 1 - fraction, least - e)
    if cut > 0:
        rest, half = m & (1 << cut) - 1, 1 << cut - 1
        m >>= cut
        away = {"rn": rest > half or rest == half and m & 1, "rna": rest >= half, "rz": False,
                "rp": rest and not sign, "rm": rest and sign}[mode]
        m += bool(away)
    else:
        m <<= -cut
    e += cut
    if m >> fraction + 1:
        m, e = m >> 1, e + 1
    power = e - least + 1 if m >> fraction else 0
    if power >= (1 << exponent) - 1:
        return infinity(t, sign) - (mode == "rz" or mode == ("rp" if sign else "rm"))
    return sign << exponent + fraction | power << fraction | m & (1 << fraction) - 1


def negate(x):
    return x if x == NAN else (1 - x[0], *x[1:])


def add(x, y, mode="rn"):
    if NAN in (x, y) or None in (x[1], y[1]):
        if NAN in (x, y) or (x[1] is y[1] is None and x[0] != y[0]):
            return NAN
        return x if x[1] is None else y
    e = min(x[2], y[2])
    total = sum((-m if sign else m) << power - e for sign, m, power in (x, y))
    if not total and (x[0] != y[0] or x[1]):
        return (x[0] if x[0] == y[0] else int(mode == "rm")), 0, 0
    return int(total < 0 or not total and x[0]), abs(total), e


def multiply(x, y):
    if NAN in (x, y):
        return NAN
    if None in (x[1], y[1]):
        return NAN if 0 in (x[1], y[1]) else (x[0] ^ y[0], None, 0)
    return x[0] ^ y[0], x[1] * y[1], x[2] + y[2]


def divide(x, y):
    if NAN in (x, y) or (x[1] is y[1] is None) or (x[1] == 0 == y[1]):
        return NAN
    sign = x[0] ^ y[0]
    if x[1] is None or y[1] == 0:
        return sign, None, 0
    if y[1] is None:
        return sign, 0, 0
    quotient, rest = divmod(x[1] << 200, y[1])
    return sign, quotient << 1 | bool(rest), x[2] - y[2] - 201


def root(x):
    if x == NAN or x[0] and x[1] != 0:
        return NAN
    if not x[1]:
        return x
    m, e = x[1] << 200 + x[2] % 2, x[2] - x[2] % 2 - 200
    low = math.isqrt(m)
    return 0, low << 1 | (low * low != m), e // 2 - 1


def integral(x, mode):
    """A finite number as an integer: rni, rzi, rmi or rpi."""
    m = -x[1] if x[0] else x[1]
    if x[2] >= 0:
        return m << x[2]
    down, rest, half = m >> -x[2], m & (1 << -x[2]) - 1, 1 << -x[2] - 1
    return down + {"rni": rest > half or rest == half and down & 1, "rzi": bool(rest) and m < 0, "rmi": False, "rpi": rest > 0}[mode]


def order(t, bits):
    """Grows with the number; -0 is below +0."""
    magnitude = bits & sign_bit(t) - 1
    return -magnitude - 1 if bits & sign_bit(t) else magnitude
