"""Programs and candidates for `kb-run hold`, and what it must say of them: for the fake driver (check_hold.py) and for a
device (scripts/gpu-selftest)."""

import json
import math
import os
import random
import struct
import subprocess
import time

import make_jobs

# Formats of struct; bf16 has none.
FORMATS = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "u64": "Q", "i64": "q", "f16": "e", "bf16": None,
           "f32": "f", "f64": "d"}
FLOATS = ("f16", "bf16", "f32", "f64")
GUARD, PAGE = 4096, 2 << 20  # around buffers, and what device memory is mapped in
ELEMENTS = 10007             # no type's end is a multiple of 16 bytes


def encode(kind, values):
    if kind == "bf16":
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    return struct.pack(f"<{len(values)}{FORMATS[kind]}", *values)


def decode(kind, data):
    if kind == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    return list(struct.unpack(f"<{len(data) // struct.calcsize(FORMATS[kind])}{FORMATS[kind]}", data))


def values_of(kind, seed):
    """Bytes of a reference and of a candidate: equal, a little off, far off, and of other classes."""
    numbers = random.Random(f"{kind} {seed}")
    if kind not in FLOATS:
        bits = 8 * struct.calcsize(FORMATS[kind])
        low, high = (0, (1 << bits) - 1) if FORMATS[kind].isupper() else (-(1 << bits - 1), (1 << bits - 1) - 1)
        first = [numbers.randint(low, high) for _ in range(ELEMENTS)]
        second = [numbers.randint(low, high) if numbers.random() < 0.01 else value for value in first]
        return encode(kind, first), encode(kind, second)
    first = [numbers.gauss(0, 3) for _ in range(ELEMENTS)]
    second = [value * (1 + 0.01 * numbers.random()) if numbers.random() < 0.1 else value for value in first]
    # Pairs of every class with every class, at the start, in the middle, and at the very end.
    special = (0.0, -0.0, 1.0, -7.0, math.inf, -math.inf, math.nan)
    pairs = [(a, b) for a in special for b in special]
    for start in (0, 5003, ELEMENTS - len(pairs)):
        for i, (a, b) in enumerate(pairs):
            first[start + i], second[start + i] = a, b
    return encode(kind, first), encode(kind, second)


def figures(kind, reference, candidate):
    """What kb-opt/Screen/ScreenDevice.h's OutputMatch says, by the book."""
    width = len(encode(kind, [0]))
    found = {"elements": len(reference) // width, "differing": 0, "otherClass": 0, "largestError": 0.0, "relativeL2": 0.0}
    pieces = [(reference[i:i + width], candidate[i:i + width]) for i in range(0, len(reference), width)]
    if kind not in FLOATS:
        found["differing"] = sum(a != b for a, b in pieces)
        return found
    pairs = list(zip(decode(kind, reference), decode(kind, candidate)))
    finite = [r for r, _ in pairs if math.isfinite(r)]
    rms = math.sqrt(math.fsum(r * r for r in finite) / len(finite)) if finite else 0
    errors, squares = [], []
    for (a, b), (r, c) in zip(pieces, pairs):
        both = math.isfinite(r) and math.isfinite(c)
        differs = a != b and not (math.isnan(r) and math.isnan(c))
        found["differing"] += differs
        found["otherClass"] += differs and not both
        if both:
            errors.append((c - r) * (c - r))
            squares.append(r * r)
            if c != r:
                found["largestError"] = max(found["largestError"], abs(c - r) / max(abs(r), rms))
    found["relativeL2"] = math.sqrt(math.fsum(errors) / math.fsum(squares)) if math.fsum(errors) else 0.0
    return found


def typed(seed, second):
    """A plan with an output of each type, copied from the first or the second of two uploads; and the outputs' bytes."""
    plan, pairs = make_jobs.Plan(), []
    for kind in FORMATS:
        a, b = values_of(kind, seed)
        first, other, y = (plan.buffer(len(a), kind) for _ in range(3))
        plan.upload(first, a)
        plan.upload(other, b)
        plan.launch("_Z10copySecondiPKcS0_Pc" if second else "_Z9copyFirstiPKcS0_Pc", (len(a) + 255) // 256, 256,
                    make_jobs.integer(len(a)), first, other, y)
        plan.read(y, len(a))
        pairs.append((kind, a, b))
    return plan, pairs


def small(kernel, *more, size=1000, extra=0, read=None, data=None):
    """A plan of one kernel that takes a number, perhaps more, and its output."""
    plan = make_jobs.Plan()
    y = plan.buffer(4 * size)
    plan.upload(y, bytes(4 * size) if data is None else data)
    if extra:
        plan.buffer(extra)
    plan.launch(kernel, (size + 256) // 256, 256, make_jobs.integer(size), *more, y)
    plan.read(y, read or 4 * size)
    return plan


def large(factor):
    """y = factor * x + y for 2^28 elements that are filled on the device."""
    plan, n = make_jobs.Plan(), 1 << 28
    x, y = plan.buffer(4 * n, "f32"), plan.buffer(4 * n, "f32")
    plan.fill(x, 0x3f)
    plan.fill(y, 0x3e)
    plan.launch("_Z5saxpyifPKfPf", n // 256, 256, make_jobs.integer(n), make_jobs.real(factor), x, y)
    plan.read(y, 4 * n)
    return plan


def distance(count):
    return struct.pack("<q", count)


# Name: the plan, and what of the answer's status and message must match.
CANDIDATES = {
    "good": (lambda: small("_Z8offByOneiPi"), "ok", "^$"),
    "wrong": (lambda: small("_Z10forgetTailiPi"), "ok", "^$"),
    "outside": (lambda: small("_Z12writeOutsideiPi"), "fault", "^writes outside its buffers: memory outside buffer 0 "),
    "illegal": (lambda: small("_Z14illegalAddressiPi"), "fault", "^kernel _Z14illegalAddressiPi "),
    "trap": (lambda: small("_Z10trapAlwaysiPi"), "fault", "^kernel _Z10trapAlwaysiPi "),
    "assert": (lambda: small("_Z12assertAlwaysiPi"), "assert", "^kernel _Z12assertAlwaysiPi "),
    "endless": (lambda: small("_Z7endlessiPVi"), "timeout", "^kernel _Z7endlessiPVi .* was still running after [0-9.]+ seconds"),
    # The last word of the inputs' block lies one unmapped page before the block that kernels work in.
    "input": (lambda: small("_Z11writeBeforeixPi", distance(GUARD + PAGE + 4)), "fault|crash", "_Z11writeBeforeixPi"),
    "nowhere": (lambda: small("_Z11writeBeforeixPi", distance(GUARD + PAGE // 2)), "fault|crash", "_Z11writeBeforeixPi"),
    "no-kernel": (lambda: small("_Z7missingiPi"), "invalid-launch", "^the image has no kernel '_Z7missingiPi'"),
    "larger": (lambda: small("_Z8offByOneiPi", extra=10 << 20), "ok", "^$"),
    "huge": (lambda: small("_Z8offByOneiPi", extra=1 << 42), "out-of-memory", "^its buffers take 4096.0 GiB: "),
    "uploads": (lambda: small("_Z8offByOneiPi", data=bytes(3999) + b"x"), "unsupported",
                "^its uploads are not the original's: upload 0 has other bytes"),
    "reads": (lambda: small("_Z8offByOneiPi", read=400), "unsupported", "^its reads are not the original's"),
}


def write_all(folder):
    for name, (make, _, _) in CANDIDATES.items():
        make().write(f"{folder}/hold-{name}")
    for name in ("hanging", "slow"):  # which the fake driver alone has
        small(f"_Z{len(name)}{name}iPi").write(f"{folder}/hold-{name}")
    repeated = small("_Z8offByOneiPi", size=1 << 20)
    repeated.steps += 2 * repeated.steps[1:]  # upload, launch, read
    repeated.write(f"{folder}/hold-repeated")
    for seed in (1, 2):
        for second in (False, True):
            typed(seed, second)[0].write(f"{folder}/hold-typed-{seed}-{'second' if second else 'first'}")


def lives(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Hold:
    """A `kb-run hold`, and what it answers. The folder gets all jobs and answers, a line each."""

    def __init__(self, kb_run, folder, **environment):
        self.folder = folder
        self.process = subprocess.Popen([kb_run, "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder,
                                        env={**os.environ, **environment})

    def ask(self, op, *plans, **fields):
        job = {"version": 1, "op": op, "image": "kernels.cubin", "plans": [f"hold-{plan}" for plan in plans],
               "leastLimitSeconds": 0.5 if "endless" in plans else 10, **fields}
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        for name, text in (("jobs", json.dumps(job) + "\n"), ("answers", line)):
            with open(f"{self.folder}/hold-{name}.jsonl", "a") as file:
                file.write(text)
        return json.loads(line) if line else {"status": "none", "message": "no answer"}

    def workers(self):
        """Ids of the two processes that live, the older one first."""
        for _ in range(100):
            with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
                living = [int(child) for child in file.read().split() if lives(child)]
            if len(living) == 2:
                break
            time.sleep(0.05)  # others are about to end
        return living

    def close(self):
        self.process.stdin.close()
        return self.process.wait(60)


def differs(answer):
    """Whether any output differs."""
    return any(match["differing"] for matches in answer["matches"] for match in matches)


def is_close(found, expected):
    return all(found[key] == expected[key] if isinstance(expected[key], int) else
               math.isclose(found[key], expected[key], rel_tol=1e-9) for key in expected)


def check_figures(hold, check):
    """Figures of every type, on two sets of inputs."""
    answer = hold.ask("open", "typed-1-first", "typed-2-first", name="typed.cu")
    check("hold: an original that gives the same again differs nowhere",
          answer["status"] == "ok" and [len(matches) for matches in answer["matches"]] == 2 * [len(FORMATS)] and
          not differs(answer) and answer["originalUs"] > 0, answer)
    answer = hold.ask("screen", "typed-1-second", "typed-2-second")
    check("hold: a candidate runs, is timed, and its launches too", answer["status"] == "ok" and answer["candidateUs"] > 0 and
          answer["samples"] > 0 and len(answer["launches"]) == len(FORMATS) and
          all(launch["us"] > 0 for launch in answer["launches"]), {key: answer[key] for key in answer if key != "matches"})
    for number, matches in enumerate(answer["matches"]):
        for match, (kind, a, b) in zip(matches, typed(number + 1, True)[1]):
            expected = figures(kind, a, b)
            check(f"hold: figures of {kind}, set {number}", match["type"] == kind and is_close(match, expected), (match, expected))
    return answer
