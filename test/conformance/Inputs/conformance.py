"""Holds the CPU device to what a GPU computes.

    conformance.py gpu RESULTS.xz            runs every operation of operations.txt on this machine's GPU and keeps the results
    conformance.py check RESULTS.xz FOLDER   runs them on the CPU device and compares
    conformance.py isa FOLDER                compares those that the PTX ISA specifies exactly with what it says
    conformance.py self-test FOLDER          holds a few operations to altered results of their own
    conformance.py table                     the operations, for docs/Conformance.md
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import isa
import results as data
from kernels import canonical, read_results, write_sources
from operands import operand_tuples
from operations import read_groups, read_operations


def run_on_gpu(path, folder):
    operations, parts = read_operations(), 2 * (os.cpu_count() or 1)
    files = write_sources(folder, operations, parts)

    def build_and_run(part):
        program = folder / f"part{part}"
        subprocess.run(["nvcc", "-std=c++17", "-arch=sm_90", "-o", program, f"{program}.cu"], check=True)
        subprocess.run([program, folder], check=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(build_and_run, range(parts)))
    query = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                           capture_output=True, text=True, check=True).stdout.splitlines()[0].split(", ")
    compiler = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    facts = {"card": query[0], "driver": query[1], "nvcc": re.search(r"V([\d.]+)", compiler)[1]}
    path.write_bytes(data.pack(read_results(folder, files), operations, facts))
    print(f"{len(operations)} operations on {facts}, {path.stat().st_size} bytes")


def run_on_cpu(folder, operations, parts=2):
    files = write_sources(folder, operations, parts)
    toolkit = os.environ.get("CUDA_PATH", "/usr/local/cuda")

    def build_and_run(part):
        source, bitcode = folder / f"part{part}.cu", folder / f"part{part}.bc"
        subprocess.run(["clang++-22", "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_90", f"--cuda-path={toolkit}",
                        f"-I{toolkit}/include/cccl", "-Wno-unknown-cuda-version", "-Wno-everything", "-std=c++17", "-emit-llvm", "-c",
                        "-O2", "-Xclang", "-disable-llvm-passes", source, "-o", bitcode], check=True)
        subprocess.run(["run-kernels", bitcode, folder / f"part{part}.txt"], check=True)

    with concurrent.futures.ThreadPoolExecutor(parts) as pool:
        list(pool.map(build_and_run, range(parts)))
    return read_results(folder, files)


def compare(operations, found, expected):
    """Prints what differs; how many operations do."""
    wrong = 0
    for operation in operations:
        if operation.name not in found:
            lines = [f"{operation.name}: its kernel did not run"]
        else:
            lines = list(data.differences(operation, found[operation.name], expected[operation.name]))
        wrong += bool(lines)
        print("".join(line + "\n" for line in lines[:3]), end="")
        if len(lines) > 3:
            print(f"{operation.name}: and {len(lines) - 3} more")
    return wrong


def check(path, folder):
    facts, expected = data.unpack(path)
    operations = [o for o in read_operations() if o.name in expected and not o.of_isa]
    wrong = compare(operations, run_on_cpu(folder, operations), expected)
    print(f"{len(operations) - wrong} of {len(operations)} operations are as on {facts['card']}")
    missing = [o.name for o in read_operations() if o.name not in expected]
    if missing:
        print(f"no results of {', '.join(missing)}: run scripts/gpu-conformance")
    return 1 if wrong or missing else 0


def check_isa(folder):
    operations = [o for o in read_operations() if isa.specified(o, operand_tuples(o.operands)[0]) is not None]
    found, wrong = run_on_cpu(folder, operations), 0
    for o in operations:
        tuples = operand_tuples(o.operands)
        wanted = [canonical(o.result, isa.specified(o, words)) for words in tuples]
        lines = list(data.differences(o, found[o.name], (wanted, ()), "the PTX ISA specifies"))
        wrong += bool(lines)
        print("".join(line + "\n" for line in lines[:3]), end="")
    print(f"{len(operations) - wrong} of {len(operations)} instructions are as specified")
    return 1 if wrong or not operations else 0


def compare_with(folder, operations, found, other):
    """The same with other results, packed as a GPU's are."""
    path = folder / "results.xz"
    path.write_bytes(data.pack(other, operations, {"card": "this machine"}))
    return compare(operations, found, data.unpack(path)[1])


def self_test(folder):
    """The CPU device is as itself, and not as results that were altered."""
    chosen = ["f=ff fminf", "i=f cvt.rni.s32.f32", "u=uu (a>>b)", "f=f sinf"]
    operations = [o for o in read_operations() if o.name in chosen]
    found = run_on_cpu(folder, operations, parts=1)
    assert compare_with(folder, operations, found, found) == 0, "results differ from themselves"
    altered = {name: list(words) for name, words in found.items()}
    altered["f=ff fminf"][operand_tuples("ff").index((0, 1 << 31))] ^= 1 << 31
    altered["i=f cvt.rni.s32.f32"][-1] += 1
    altered["f=f sinf"][7] += 1  # within its bound
    assert compare_with(folder, operations, found, altered) == 2, "altered results pass"


def table():
    """Markdown: every line of operations.txt with how it is held."""
    last = ""
    for section, signature, ulps, patterns in read_groups():
        if section != last:
            print(f"\n### {section[0].upper()}{section[1:]}\n\n| operands | held | operations |\n|---|---|---|")
        last = section
        how = "not" if ulps is None else "ISA" if ulps == "ISA" else f"{ulps} ulp" if ulps else "bits"
        text = ", ".join(f"`{p}`".replace("|", "\\|") for p in patterns)
        print(f"| `{signature}` | {how} | {text} |")


def main(arguments):
    if arguments[:1] == ["table"]:
        return table()
    if arguments[:1] == ["gpu"] and len(arguments) == 2:
        with tempfile.TemporaryDirectory() as folder:
            return run_on_gpu(pathlib.Path(arguments[1]), pathlib.Path(folder))
    if (arguments[:1], len(arguments)) not in ((["check"], 3), (["isa"], 2), (["self-test"], 2)):
        return __doc__
    folder = pathlib.Path(arguments[-1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if arguments[0] == "check":
        return check(pathlib.Path(arguments[1]), folder)
    return check_isa(folder) if arguments[0] == "isa" else self_test(folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
