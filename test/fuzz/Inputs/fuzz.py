"""Feeds mutated inputs to the tools and fails where one ends by a signal, as an internal error (status 70), or not at all.

usage: fuzz.py FOLDER SOURCE_DIR SEED KIND=ROUNDS …

Kinds: options, pipelines, evidence, plans, jobs (cheap), workloads, sources (each a run of the compiler). The seed
decides everything. An input that fails is kept in FOLDER; the command to repeat it is printed.
"""

import json
import pathlib
import random
import shutil
import subprocess
import sys

folder, project, seed = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), sys.argv[3]
folder.mkdir(parents=True, exist_ok=True)
SECONDS = 200
SPLICES = [b"\0", b"\xff\xfe", b"{", b"}", b"[", b'"', b"'", b"-1", b"99999999999999999999", b"1e400", b"nan", b"/*", b"//",
           b"\\", b"\n", b"#", b"%s", b"(", b")", b",", b"=", b"0", b"kernel=", b"<<<", b";"]


def mutate(draw, data):
    """A few local changes, as an editor, a torn write or a confused program would make them."""
    data = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(data) + 1)
        end = min(len(data), at + draw.randint(1, draw.choice([2, 8, 60])))
        kind = draw.randrange(6)
        if kind == 0:
            del data[at:end]
        elif kind == 1:
            data[at:at] = data[at:end]
        elif kind == 2:
            data[at:at] = draw.choice(SPLICES)
        elif kind == 3 and data:
            data[at % len(data)] = draw.randrange(256)
        elif kind == 4:
            other = draw.randrange(len(data) + 1)
            data[at:end] = data[other:other + end - at]
        elif draw.random() < 0.2:
            del data[at:]
        else:
            digits = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
            if digits:
                i = draw.choice(digits)
                data[i:i + 1] = draw.choice([b"0", b"-1", b"2147483648", b"18446744073709551616", b""])
    return bytes(data)


VALUES = [0, -1, 1, 255, 2**31, 2**32 + 1, 2**63 - 1, 2**64 - 1, 1e308, "", "0x0", "0x600040000000", "k", None, True, [], {}, [[]]]


def mutateJson(draw, data):
    """Changes of meaning that keep the syntax: a leaf gets another value, an entry leaves or comes twice."""
    document = json.loads(data)
    for _ in range(draw.randint(1, 2)):
        at = document
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = draw.choice(keys)
            if isinstance(at[key], (dict, list)) and draw.random() < 0.9:
                at = at[key]
                continue
            if isinstance(at, list) and draw.random() < 0.5:
                at.insert(draw.randrange(len(at) + 1), at[key])
            elif draw.random() < 0.2:
                del at[key]
            else:
                at[key] = draw.choice(VALUES)
            break
    return json.dumps(document).encode()


def written(name, data):
    path = folder / name
    path.write_bytes(data)
    return str(path)


def text(data):
    """Bytes as an argument: no zero bytes, nothing that cannot be decoded."""
    return data.replace(b"\0", b"").decode("utf-8", "replace")


def options(draw, _):
    line = b"-passes=auto --emit=kb-ir --chip=h200 -j 2 --seed=3 --budget-candidates=2 --opt-bisect-limit=1 -o out no-such.cu -- -O2"
    return ["kb-opt", *text(mutate(draw, line)).split(" ")]


PIPELINES = [b"pad-shared-array{pad=1},unroll-loop{factor=4 kernel=k}", b"vectorize-loads{width=4 site=2}",
             b"tune-block-size{threads=256},add-restrict-const", b"hoist-loop-invariant,fix-double-literals{kernel=a<float>}"]


def pipelines(draw, _):
    # The file does not exist: what parses ends there.
    return ["kb-opt", "-passes=" + text(mutate(draw, draw.choice(PIPELINES))), "no-such.cu"]


def evidence(draw, name):
    log = (project / "test/kb-knowledge/Inputs" / draw.choice(["mine.jsonl", "learnt.jsonl"])).read_bytes()
    return ["kb-knowledge", "verify", written(f"{name}.jsonl", mutate(draw, log))]


def prepareJobs():
    """One recording and its image, made as the tests of kb-run make them."""
    image = folder / "image.so"
    inputs = project / "test/kb-run/Inputs"
    if not image.exists():
        subprocess.run(["clang++", "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{project}/runtime/include",
                        str(inputs / "Image.cpp"), "-o", str(image)], check=True)
        subprocess.run([sys.executable, str(inputs / "make-jobs.py"), str(folder), str(image)], check=True)


def plans(draw, name):
    prepareJobs()
    recording = folder / name
    recording.mkdir(exist_ok=True)
    shutil.copy(folder / "increment/data.bin", recording)
    change = mutateJson if draw.random() < 0.75 else mutate
    (recording / "plan.json").write_bytes(change(draw, (folder / "increment/plan.json").read_bytes()))
    return ["kb-run", f"--plan={recording}", f"--image={folder}/image.so"]


def jobs(draw, name):
    prepareJobs()
    return ["kb-run", written(f"{name}.job.json", draw.choice([mutate, mutateJson])(draw, (folder / "increment.job.json").read_bytes()))]


WORKLOAD = b"""kernel: scale
sizes: {n: 64, m: 4}
parameters:
  - {name: out, type: f32, shape: [n, m], role: out}
  - {name: in, type: f32, shape: ["n * m"], role: in, init: uniform(-1, 1)}
  - {name: n, value: "n * m"}
grid: ["ceildiv(n * m, 32)"]
block: [32]
tolerance: {absolute: 1e-6, relative: 1e-5}
"""
SCALE = b"""__global__ void scale(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = 2 * in[i];
}
"""


def workloads(draw, name):
    return ["kb-opt", "--emit=plan", f"--journal={folder}/j.sqlite", "--budget-seconds=20",
            f"--workload={written(f'{name}.yaml', mutate(draw, WORKLOAD))}", written("scale.cu", SCALE)]


def sources(draw, name):
    examples = sorted((project / "examples").glob("*/*.cu"))
    path = written(f"{name}.cu", mutate(draw, draw.choice(examples).read_bytes()))
    return ["kb-opt", "-passes=" + draw.choice(["hoist-loop-invariant,unroll-loop,vectorize-loads,coalesce-accesses",
                                                "add-restrict-const,pad-shared-array,fix-double-literals,tune-block-size"]), path]


kinds = {kind.__name__: kind for kind in (options, pipelines, evidence, plans, jobs, workloads, sources)}
failed, statuses = 0, {}
for request in sys.argv[4:]:
    kind, rounds = request.split("=")
    for number in range(int(rounds)):
        name = f"{kind}-{seed}-{number}"
        draw = random.Random(name)
        command = kinds[kind](draw, name)
        try:
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                    timeout=SECONDS, cwd=folder)
            outcome, errors = status.returncode, status.stderr.decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            outcome, errors = "no end", ""
        statuses[outcome] = statuses.get(outcome, 0) + 1
        silent = outcome not in (0, 4) and not errors.strip() and command[0] != "kb-run"
        if outcome not in (0, 1, 2, 3, 4) or silent:
            failed += 1
            print(f"FAILED ({outcome}{', without a word' if silent else ''}): {json.dumps(command)}\n{errors[-600:]}")
print("statuses:", ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items(), key=str)))
sys.exit(f"{failed} inputs failed" if failed else 0)
