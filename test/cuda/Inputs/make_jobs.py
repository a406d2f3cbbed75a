"""Makes recordings and jobs for the kernels of kernels.cu.

As a program: make_jobs.py FOLDER, where FOLDER has kernels.cubin. As a module: see `jobs`."""

import array
import json
import os
import struct
import sys

BASE = 0x600000001000
TIMED_ALIKE = ("time-stream", "time-arithmetic", "time-reduction")
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
STRIDE = 1 << 24


class Plan:
    """Buffers and steps as runtime/include/kbrt/Plan.h has them."""

    def __init__(self):
        self.buffers, self.steps, self.data, self.read_bytes = [], [], b"", 0

    def buffer(self, size, element="i32", symbol=None):
        number = len(self.buffers)
        entry = {"id": number, "bytes": size, "kind": "symbol" if symbol else "device",
                 "address": hex(BASE + number * STRIDE), "element": element}
        if symbol:
            entry["symbol"] = symbol
        else:
            self.steps.append({"step": "alloc", "buffer": number})
        self.buffers.append(entry)
        return number

    def address(self, number):
        return BASE + number * STRIDE

    def upload(self, number, data, pointers=None):
        step = {"step": "upload", "to": {"buffer": number, "offset": 0, "bytes": len(data)}, "data": len(self.data)}
        if pointers:
            step["pointers"] = pointers
        self.steps.append(step)
        self.data += data

    def fill(self, number, value):
        size = self.buffers[number]["bytes"]
        self.steps.append({"step": "fill", "to": {"buffer": number, "offset": 0, "bytes": size}, "value": value})

    def launch(self, kernel, grid, block, *arguments):
        """An argument is packed bytes or the number of a buffer."""
        words = []
        for argument in arguments:
            if isinstance(argument, bytes):
                words.append({"bytes": argument.hex()})
            else:
                words.append({"bytes": struct.pack("<Q", self.address(argument)).hex(),
                              "pointers": [{"at": 0, "buffer": argument, "offset": 0}]})
        self.steps.append({"step": "launch", "kernel": kernel, "grid": [grid, 1, 1], "block": [block, 1, 1],
                           "arguments": words})

    def read(self, number, size):
        self.steps.append({"step": "read", "from": {"buffer": number, "offset": 0, "bytes": size},
                           "observable": self.read_bytes})
        self.read_bytes += size

    def read_rows(self, number, offset, width, height, pitch):
        place = {"buffer": number, "offset": offset, "width": width, "height": height, "pitch": pitch}
        self.steps.append({"step": "read", "from": place, "observable": self.read_bytes})
        self.read_bytes += width * height

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/plan.json", "w") as out:
            json.dump({"version": 1, "outcome": {"ending": "exit", "message": "", "exitStatus": 0, "stdoutDigest": ""},
                       "streams": [], "buffers": self.buffers, "steps": self.steps}, out)
        with open(f"{folder}/data.bin", "wb") as out:
            out.write(self.data)


def integer(value):
    return struct.pack("<i", value)


def real(value):
    return struct.pack("<f", value)


def saxpy(kernel, n):
    """Small whole numbers: float32 is exact."""
    x, y = array.array("f", (i % 97 for i in range(n))), array.array("f", (i % 31 for i in range(n)))
    plan = Plan()
    a, b = plan.buffer(4 * n, "f32"), plan.buffer(4 * n, "f32")
    plan.upload(a, x.tobytes())
    plan.upload(b, y.tobytes())
    plan.launch(kernel, (n + 255) // 256, 256, integer(n), real(2.0), a, b)
    plan.read(b, 4 * n)
    return plan, array.array("f", (2 * (i % 97) + i % 31 for i in range(n))).tobytes()


def repeats(kernel, n, periods=40, sums=5):
    """Periods that change nothing from the second on, and launches that always do."""
    x = array.array("f", (i % 97 for i in range(n)))
    plan = Plan()
    a, b = plan.buffer(4 * n, "f32"), plan.buffer(4 * n, "f32")
    plan.upload(a, x.tobytes())
    for _ in range(periods):
        plan.fill(b, 0)
        plan.launch(kernel, (n + 255) // 256, 256, integer(n), real(2.0), a, b)
        plan.read(b, 4 * n)
    for _ in range(sums):
        plan.launch(kernel, (n + 255) // 256, 256, integer(n), real(2.0), a, b)
    plan.read(b, 4 * n)
    return plan, b"".join(array.array("f", (2 * count * (i % 97) for i in range(n))).tobytes()
                          for count in [1] * periods + [1 + sums])


def reduction(n):
    x = array.array("i", (i % 1000 for i in range(n)))
    blocks = (n + 255) // 256
    plan = Plan()
    a, b = plan.buffer(4 * n), plan.buffer(4 * blocks)
    plan.upload(a, x.tobytes())
    plan.launch("_Z9sumBlocksiPKiPi", blocks, 256, integer(n), a, b)
    plan.read(b, 4 * blocks)
    return plan, array.array("i", (sum(x[256 * i:256 * i + 256]) for i in range(blocks))).tobytes()


def table(n, launches=2):
    plan = Plan()
    parts = [plan.buffer(4 * n), plan.buffer(4 * n)]
    for number, part in enumerate(parts):
        plan.upload(part, array.array("i", ((number + 1) * 1000 + i for i in range(n))).tobytes())
    pointers = plan.buffer(16, "unknown")
    plan.upload(pointers, struct.pack("<QQ", *(plan.address(part) for part in parts)),
                [{"at": 8 * i, "buffer": part, "offset": 0} for i, part in enumerate(parts)])
    y, count = plan.buffer(4 * n), plan.buffer(4, "i32", "launches")
    for _ in range(launches):
        plan.launch("_Z12throughTableiPKPKiPi", (n + 255) // 256, 256, integer(n), pointers, y)
    plan.read(y, 4 * n)
    plan.read(count, 4)
    expected = array.array("i", ((i % 2 + 1) * 1000 + 2 * i for i in range(n)))
    return plan, expected.tobytes() + integer(launches)


def output_only(kernel, n, uploaded=False):
    """A kernel of n and one output."""
    plan = Plan()
    y = plan.buffer(4 * n)
    if uploaded:
        plan.upload(y, bytes(4 * n))
    plan.launch(kernel, (n + 256) // 256, 256, integer(n), y)
    plan.read(y, 4 * n)
    return plan, array.array("i", range(n)).tobytes()


def write_input(n):
    plan = Plan()
    x, y = plan.buffer(4 * n), plan.buffer(4 * n)
    plan.upload(x, array.array("i", range(n)).tobytes())
    plan.launch("_Z10writeInputiPKiPi", (n + 255) // 256, 256, integer(n), x, y)
    plan.read(y, 4 * n)
    return plan, array.array("i", range(n)).tobytes()


def huge():
    plan = Plan()
    y = plan.buffer(1 << 42)
    plan.launch("_Z8offByOneiPi", 1, 1, integer(1), y)
    return plan, b""


def timed_alike():
    """One kernel of each kind that runs for 100 us or more on a large device, for comparing times with another tool's. Their
    memory is filled on the device, and the first bytes are read."""
    n, head = 1 << 26, 4096
    stream = Plan()
    x, y = stream.buffer(4 * n, "f32"), stream.buffer(4 * n, "f32")
    stream.fill(x, 0)
    stream.fill(y, 0)
    stream.launch("_Z5saxpyifPKfPf", n // 256, 256, integer(n), real(2.0), x, y)
    stream.read(y, head)
    arithmetic = Plan()
    threads = 132 * 2048
    y = arithmetic.buffer(4 * threads, "f32")
    arithmetic.launch("_Z12multiplyAddsiiPf", threads // 256, 256, integer(threads), integer(6000), y)
    arithmetic.read(y, head)
    reduce = Plan()
    x, sums = reduce.buffer(4 * n), reduce.buffer(4 * (n // 256))
    reduce.fill(x, 0)
    reduce.launch("_Z9sumBlocksiPKiPi", n // 256, 256, integer(n), x, sums)
    reduce.read(sums, head)
    return {"time-stream": (stream, bytes(head)), "time-arithmetic": (arithmetic, real(8.0) * (head // 4)),
            "time-reduction": (reduce, bytes(head))}


def plans(names=None):
    """Name to (plan, expected observables); of all plans, or of some."""
    makers = {
        "saxpy": lambda: saxpy("_Z5saxpyifPKfPf", 1 << 20),
        "saxpy-small": lambda: saxpy("_Z5saxpyifPKfPf", 4099),
        "saxpy-large": lambda: saxpy("_Z5saxpyifPKfPf", 1 << 22),
        "saxpy-strided": lambda: saxpy("_Z12saxpyStridedifPKfPf", 1 << 22),
        "reduction": lambda: reduction(100003),
        "table": lambda: table(1000),
        "counted": lambda: table(1000, 20),
        "repeats": lambda: repeats("_Z5saxpyifPKfPf", 4099),
        "repeats-slow": lambda: repeats("_Z12saxpyStridedifPKfPf", 4099),
        "outside": lambda: output_only("_Z12writeOutsideiPi", 1000),
        "input": lambda: write_input(1000),
        "tail": lambda: output_only("_Z10forgetTailiPi", 1000),
        "wrong": lambda: output_only("_Z8offByOneiPi", 1000),
        "illegal": lambda: output_only("_Z14illegalAddressiPi", 1000),
        "trap": lambda: output_only("_Z10trapAlwaysiPi", 1000),
        "assert": lambda: output_only("_Z12assertAlwaysiPi", 1000),
        "endless": lambda: output_only("_Z7endlessiPVi", 1000, True),
        "huge": huge,
        "race": lambda: output_only("_Z10raceSharediPi", 1000),
        "fresh": lambda: output_only("_Z9readFreshiPi", 1000),
        "barrier": lambda: output_only("_Z16divergentBarrieriPi", 1000),
        "device-launch": lambda: output_only("_Z13launchesChildiPi", 256),
        **{name: lambda name=name: timed_alike()[name] for name in TIMED_ALIKE},
    }
    return {name: makers[name]() for name in names or makers}


def jobs():
    """Name to job, without paths' folder; every result and output lies under results/."""
    def job(plan, image="kernels.cubin", **fields):
        return {"version": 1, "device": "cuda", "plan": plan, "image": image, **fields}

    timing = {"warmUpSeconds": 0.5, "maxSeconds": 5}
    return {
        "saxpy": job("saxpy", repetitions=20, arch="sm_90",
                     timing={"baseline": {"plan": "saxpy", "image": "kernels.cubin"}, **timing},
                     profile={"sets": "ABC"}),
        "saxpy-small": job("saxpy-small", repetitions=20,
                           timing={"baseline": {"plan": "saxpy-small", "image": "kernels.cubin"}, **timing}),
        "faster": job("saxpy-large", timing={"baseline": {"plan": "saxpy-strided", "image": "kernels.cubin"}, **timing},
                      profile={"sets": "ABCD"}),
        "slower": job("saxpy-strided", timing={"baseline": {"plan": "saxpy-large", "image": "kernels.cubin"}, **timing},
                      profile={"sets": "ABC"}),
        "ptx": job("saxpy", "kernels.ptx", repetitions=2),
        "reduction": job("reduction", repetitions=20, timing=timing, profile={"sets": "A"}),
        "table": job("table", repetitions=4, timing=timing),
        "counted": job("counted", repetitions=4, timing=timing),
        "repeats": job("repeats", repetitions=4,
                       timing={"baseline": {"plan": "repeats-slow", "image": "kernels.cubin"}, **timing}),
        "outside": job("outside"),
        "input": job("input"),
        "tail": job("tail", repetitions=2),
        "wrong": job("wrong", repetitions=2),
        "illegal": job("illegal"),
        "trap": job("trap"),
        "assert": job("assert"),
        "endless": job("endless", wallSeconds=2),
        "huge": job("huge"),
        "other-arch": job("saxpy", "kernels-sm_80.cubin"),
        "asked-arch": job("saxpy", arch="sm_80"),
        "no-kernel": job("saxpy", "empty.cubin"),
        "audit": job("table", audit=True),
        "audit-device-launch": job("device-launch", "device-launch.cubin", audit=True),
        "sanitizer-clean": job("reduction", sanitizer=TOOLS),
        "sanitizer-outside": job("outside", sanitizer=TOOLS),
        "sanitizer-race": job("race", sanitizer=TOOLS),
        "sanitizer-fresh": job("fresh", sanitizer=TOOLS),
        "sanitizer-barrier": job("barrier", sanitizer=TOOLS),
        "lines": job("saxpy-strided", profile={"sets": "A", "pcSampling": True}),
        **{name: job(name, timing={**timing, "hot": False}, profile={"sets": "A"}, deviceBytes=1 << 32)
           for name in TIMED_ALIKE},
    }


def write_all(folder):
    for name, (plan, expected) in plans().items():
        plan.write(f"{folder}/{name}")
        with open(f"{folder}/{name}/expected.bin", "wb") as out:
            out.write(expected)
    for name, job in jobs().items():
        with open(f"{folder}/{name}.job.json", "w") as out:
            json.dump({**job, "id": name, "outputs": f"results/{name}", "result": f"results/{name}.json"}, out)
    os.makedirs(f"{folder}/results", exist_ok=True)


if __name__ == "__main__":
    write_all(sys.argv[1])
