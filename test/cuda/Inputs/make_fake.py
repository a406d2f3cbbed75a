"""Writes recordings, jobs and made-up images for the fake driver (test/cuda/fake) to a folder.

usage: make_fake.py FOLDER"""

import json
import struct
import sys

sys.dont_write_bytecode = True
import make_jobs  # noqa: E402

KERNELS = ("_Z5saxpyifPKfPf _Z12saxpyStridedifPKfPf _Z9sumBlocksiPKiPi _Z12writeOutsideiPi _Z10forgetTailiPi _Z8offByOneiPi "
           "_Z10writeInputiPKiPi _Z14illegalAddressiPi _Z10trapAlwaysiPi _Z12assertAlwaysiPi _Z7endlessiPVi "
           "_Z9copyFirstiPKcS0_Pc _Z10copySecondiPKcS0_Pc _Z11writeBeforeixPi _Z7hangingiPi _Z4slowiPi")
SMALL = ("saxpy-small", "reduction", "outside", "input", "tail", "wrong", "illegal", "trap", "assert", "endless", "huge", "repeats")


def cubin(architecture, kernels):
    """The header of a cubin, and the kernels' names where its code would be."""
    header = b"\177ELF" + bytes([2, 1, 1, 0, 8]) + bytes(9) + struct.pack("<H", 190)
    header += bytes(48 - len(header)) + struct.pack("<I", architecture << 8)
    return header + bytes(64 - len(header)) + kernels.encode() + b"\0"


def reads():
    """A plan without kernels that reads much, twice, and rows that lie apart; and the bytes of each read."""
    size, part = 41 << 20, bytes(i * 7 % 251 for i in range(1 << 16))
    plan = make_jobs.Plan()
    number = plan.buffer(size, "u8")
    plan.fill(number, 5)
    plan.upload(number, part)
    plan.read(number, size)
    plan.read(number, size)
    plan.read_rows(number, 3, 997, 10, 5000)
    plan.read(number, 0)
    whole = part + bytes([5]) * (size - len(part))
    rows = b"".join(part[3 + 5000 * row:3 + 5000 * row + 997] for row in range(10))
    return plan, (whole, whole, rows, b"")


def main(folder):
    for name, architecture, kernels in (("kernels.cubin", 90, KERNELS), ("kernels-sm_80.cubin", 80, KERNELS),
                                        ("empty.cubin", 90, "_Z5otherv")):
        make_jobs.os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/{name}", "wb") as out:
            out.write(cubin(architecture, kernels))
    # An image that says which variables it has: none.
    with open(f"{folder}/kernels.ptx", "w") as out:
        out.write(f".version 9.0\n.target sm_90\n// {KERNELS}\n")
    plans = make_jobs.plans(SMALL)
    for name, (plan, expected) in plans.items():
        plan.write(f"{folder}/{name}")
        with open(f"{folder}/{name}/expected.bin", "wb") as out:
            out.write(expected)
    timing = {"warmUpSeconds": 0, "minSeconds": 0, "maxSeconds": 1, "batchBelowUs": 0}
    jobs = {name: {"plan": name, "image": "kernels.cubin", "repetitions": 2} for name in SMALL}
    jobs["endless"]["wallSeconds"] = 0.2
    jobs["other-arch"] = {"plan": "saxpy-small", "image": "kernels-sm_80.cubin"}
    jobs["asked-arch"] = {"plan": "saxpy-small", "image": "kernels.cubin", "arch": "sm_80"}
    jobs["no-kernel"] = {"plan": "saxpy-small", "image": "empty.cubin"}
    jobs["timed"] = {"plan": "saxpy-small", "image": "kernels.cubin",
                     "timing": {**timing, "baseline": {"plan": "saxpy-slow", "image": "kernels.cubin"}}}
    jobs["repeats"]["image"] = "kernels.ptx"
    jobs["repeats"]["timing"] = {**timing, "baseline": {"plan": "repeats-slow", "image": "kernels.ptx"}}
    jobs["repeats-unknown"] = {"plan": "repeats", "image": "kernels.cubin"}
    jobs["watched"] = {"plan": "outside", "image": "kernels.cubin", "sanitizer": make_jobs.TOOLS[:3]}
    jobs["hung"] = {"plan": "outside", "image": "kernels.cubin", "sanitizer": make_jobs.TOOLS[3:], "sanitizerSeconds": 0.5}
    jobs["separate"] = {"plan": "reduction", "image": "kernels.cubin", "separateBuffers": True}
    # The fill before each launch begins a period: the first is steps 3 to 5.
    resting = {"begin": 3, "period": 3, "count": 40, "periods": 2}
    jobs["repeats-separate"] = {"plan": "repeats", "image": "kernels.cubin", "separateBuffers": True, "resting": [resting]}
    jobs["repeats-elsewhere"] = {**jobs["repeats-separate"], "resting": [{**resting, "count": 1000}]}
    jobs["repeats-wrong"] = {**jobs["repeats-separate"], "resting": [{**resting, "periods": 41}]}
    jobs["audit"] = {"plan": "reduction", "image": "kernels.cubin", "audit": True}
    jobs["profile"] = {"plan": "reduction", "image": "kernels.cubin", "profile": {"sets": "A", "pcSampling": True}}
    jobs["reads"] = {"plan": "reads", "image": "kernels.cubin"}
    plan, expected = reads()
    plan.write(f"{folder}/reads")
    with open(f"{folder}/reads/expected.bin", "wb") as out:
        out.write(b"".join(expected))
    make_jobs.saxpy("_Z12saxpyStridedifPKfPf", 4099)[0].write(f"{folder}/saxpy-slow")
    make_jobs.repeats("_Z12saxpyStridedifPKfPf", 4099)[0].write(f"{folder}/repeats-slow")
    for name, job in jobs.items():
        with open(f"{folder}/{name}.json", "w") as out:
            json.dump({"version": 1, "device": "cuda", **job, "outputs": f"{name}.out", "result": f"{name}.result.json"}, out)


if __name__ == "__main__":
    main(sys.argv[1])
