"""What a GPU computed, in few bytes, and how results differ from it."""

import json
import lzma
import struct
import zlib

from kernels import canonical
from operands import RANDOM, operand_tuples
from operations import FLOATS, HALVES, TYPES

BLOCK = 16  # drawn operand tuples that share a digest


def digests(words):
    return [zlib.crc32(struct.pack(f"<{BLOCK}Q", *words[n:n + BLOCK])) for n in range(0, len(words), BLOCK)]


def operands_digest(names):
    """Changes with the operands of the operations with these names."""
    letters = sorted({name.split(" ")[0].split("=")[1] for name in names})
    return zlib.crc32(repr([operand_tuples(each) for each in letters]).encode())


def pack(results, operations, facts):
    """One line of JSON, then per operation its words in few bytes. Of drawn operands there are digests, unless it is
    held within a bound."""
    kept, body = [o for o in operations if o.name in results], b""
    for o in kept:
        words, width = results[o.name], max(1, TYPES[o.result][1] // 8)
        body += b"".join(w.to_bytes(width, "little") for w in (words if o.ulps else words[:-RANDOM]))
        if not o.ulps:
            body += struct.pack(f"<{RANDOM // BLOCK}I", *digests(words[-RANDOM:]))
    names = [o.name for o in kept]
    head = {**facts, "operands": operands_digest(names), "operations": names, "whole": [o.name for o in kept if o.ulps]}
    return lzma.compress(json.dumps(head).encode() + b"\n" + body, preset=9 | lzma.PRESET_EXTREME)


def unpack(path):
    """The facts of the GPU, and words and digests by an operation's name."""
    head, body = lzma.decompress(path.read_bytes()).split(b"\n", 1)
    facts, at, expected = json.loads(head), 0, {}
    if facts["operands"] != operands_digest(facts["operations"]):
        raise SystemExit(f"{path.name} is of other operands: run scripts/gpu-conformance")
    for name in facts["operations"]:
        result, letters = name.split(" ")[0].split("=")
        width, whole = max(1, TYPES[result][1] // 8), name in facts["whole"]
        n = len(operand_tuples(letters)) - (0 if whole else RANDOM)
        words = [int.from_bytes(body[at + k * width:at + (k + 1) * width], "little") for k in range(n)]
        at += n * width
        blocks = () if whole else struct.unpack_from(f"<{RANDOM // BLOCK}I", body, at)
        at += 4 * len(blocks)
        expected[name] = (words, blocks)
    return facts, expected


def ordered(letter, word):
    """Neighbours of a float type are neighbours as integers."""
    sign = 1 << sum(FLOATS[letter])
    return sign - word if word & sign else word


def distance(letter, x, y):
    """In units in the last place; a NaN is infinitely far from a number."""
    if letter in HALVES:
        one = HALVES[letter]
        return max(distance(one, x & 0xffff, y & 0xffff), distance(one, x >> 16, y >> 16))
    nan = canonical(letter, (1 << sum(FLOATS[letter])) - 1)
    if x == y:
        return 0
    return float("inf") if nan in (x, y) else abs(ordered(letter, x) - ordered(letter, y))


def show(letter, word):
    text = f"0x{word:0{max(2, TYPES[letter][1] // 4)}x}"
    code = {"f": "<If", "d": "<Qd", "h": "<He"}.get(letter)
    if code:
        text += f" ({struct.unpack('<' + code[2], struct.pack(code[:2], word))[0]:g})"
    return text


def differences(operation, words, expected, source="a GPU gives"):
    """One line for each operand tuple, or block of drawn ones, whose result is not the GPU's."""
    wanted, blocks = expected
    tuples = operand_tuples(operation.operands)
    for operands, got, want in zip(tuples, words, wanted):
        if got != want and (not operation.ulps or distance(operation.result, got, want) > operation.ulps):
            named = ", ".join(f"{v} = {show(t, w)}" for v, t, w in zip("abcd", operation.operands, operands))
            yield f"{operation.name}: {named}: {source} {show(operation.result, want)}, the CPU device {show(operation.result, got)}"
    if operation.ulps:
        return  # digests know no distance
    for n, (got, want) in enumerate(zip(digests(words[len(words) - RANDOM:]), blocks)):
        if got != want:
            at = len(tuples) - RANDOM + n * BLOCK
            named = "; ".join(", ".join(show(t, w) for t, w in zip(operation.operands, each)) for each in tuples[at:at + 2])
            yield f"{operation.name}: the digest of {BLOCK} drawn operands differs, from {named}"
