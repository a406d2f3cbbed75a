"""What the PTX ISA says of instructions on fields of a word, and of choices."""

PERMUTATIONS = {  # the bytes that a named mode of prmt takes for each selection, the highest first
    "f4e": ("3210", "4321", "5432", "6543"), "b4e": ("5670", "6701", "7012", "0123"), "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"), "ecr": ("0000", "1110", "2210", "3210"), "rc16": ("1010", "3232", "1010", "3232")}


def signed(value, bits):
    return value - (1 << bits) if value >> bits - 1 & 1 else value


def field(number, bits):
    """PTX takes the low byte of a position or length; in 64 bits an H200 takes all of it."""
    return number & 255 if bits == 32 else min(number, 255)


def extract(words, bits, is_signed):
    at, length = field(words[1], bits), field(words[2], bits)
    fill = words[0] >> min(at + length - 1, bits - 1) & 1 if is_signed and length else 0
    return sum((words[0] >> at + n & 1 if n < length and at + n < bits else fill) << n for n in range(bits))


def insert(words, bits):
    at, length = field(words[2], bits), field(words[3], bits)
    mask = (1 << length) - 1 << at
    return words[1] & ~mask | words[0] << at & mask & (1 << bits) - 1


def dot_product(name, modifiers, kind, words):
    width = 8 if name == "dp4a" else 16
    total = signed(words[2], 32)
    for n in range(4 if name == "dp4a" else 2):
        x = words[0] >> width * n & (1 << width) - 1
        y = words[1] >> 8 * (n + 2 * ("hi" in modifiers)) & 255
        total += (signed(x, width) if modifiers[-1][0] == "s" else x) * (signed(y, 8) if kind[0] == "s" else y)
    return total


def permute(modes, words):
    both, digits = words[1] << 32 | words[0], f"{words[2] & 0xffff:04x}"
    if modes:
        digits = PERMUTATIONS[modes[0]][words[2] & 3]
    result = 0
    for digit in digits:
        byte = both >> 8 * (int(digit, 16) & 7) & 255
        result = result << 8 | ((255 if byte >> 7 else 0) if int(digit, 16) & 8 else byte)
    return result


def field_operation(name, modifiers, kind, words):
    """None for what is none of them."""
    if name == "prmt":
        return permute([kind] if kind in PERMUTATIONS else [], words)
    if name in ("bfe", "bfi"):
        return extract(words, int(kind[1:]), kind[0] == "s") if name == "bfe" else insert(words, int(kind[1:]))
    if name in ("dp4a", "dp2a"):
        return dot_product(name, modifiers, kind, words)
    limit = (lambda v: v & 31) if "wrap" in modifiers else (lambda v: min(v, 32))
    if name == "shf":
        pair, by = words[1] << 32 | words[0], limit(words[2])
        return pair << by >> 32 if "l" in modifiers else pair >> by
    if name == "bmsk":
        return (1 << limit(words[1])) - 1 << limit(words[0])
    if name == "szext":
        width = limit(words[1])
        low = words[0] & (1 << width) - 1
        return signed(low, width) if kind[0] == "s" and width else low
    return None
