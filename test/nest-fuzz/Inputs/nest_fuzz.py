"""Raises random kernels, gives them random schedules and judges what is printed; fails where a candidate is incorrect.

usage: nest_fuzz.py FOLDER FIRST_SEED PROGRAMS [KERNELS_PER_PROGRAM]

Prints a table: for each family how many kernels were made, raised, scheduled, refused and found incorrect. What fails is kept in FOLDER with
the command that repeats it.
"""

import collections
import pathlib
import random
import re
import subprocess
import sys

import kernels

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
first, programs = int(sys.argv[2]), int(sys.argv[3])
perProgram = int(sys.argv[4]) if len(sys.argv) > 4 else 9
SKETCHES = {
    "map": {"vector": [1, 2, 4], "block": [64, 128, 256], "inflight": [1, 2, 4]},
    "rows": {"team": [1, 4, 8, 16, 32, 64, 128], "rows": [1, 2, 4, 8], "cache": ["none", "registers", "shared"], "vector": [1, 2, 4]},
    "columns": {"columns": [8, 16, 32], "split": [1, 2, 4]},
    "contraction": {"bm": [32, 64], "bn": [32, 64], "bk": [8, 16], "tm": [4, 8], "tn": [4, 8], "stages": [1, 2, 3]},
    "stencil": {"bm": [32], "bn": [32]},
}
CLASS = {"product": ["contraction", "rows", "map"], "rows": ["rows", "columns"], "inmemory": ["rows", "columns"],
         "softmax": ["rows"], "blockrows": ["rows"], "warprows": ["rows"], "blocksums": ["rows"], "stencil": ["stencil", "map"],
         "triangle": ["rows", "map"], "pairs": ["rows", "map"], "arrays": ["rows", "map", "columns"], "window": ["map", "rows", "stencil"],
         "pooled": ["map", "rows"], "gridsums": ["rows"], "groups": ["rows", "map"],
         "whiles": ["rows", "columns", "map"], "lines": ["rows", "columns"], "kept": ["rows"],
         "tiledproduct": ["contraction", "map"], "online": ["rows"], "moving": ["rows", "columns"],
         "jacobian": ["rows", "rows", "map", "contraction"], "means": ["rows", "map"], "batched": ["map"], "halves": ["rows", "map"]}
SIMPLER = ("jacobian", "means", "product")


def schedule(draw, family):
    sketch = draw.choice(CLASS.get(family, ["map"]))
    keys = [f"{key}={draw.choice(values)}" for key, values in SKETCHES[sketch].items() if draw.random() < 0.5]
    if family in SIMPLER and draw.random() < 0.6:
        keys.append("simplify=1")
    return " ".join([sketch] + keys)


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=900)
    return done.returncode, done.stdout


def pipeline(choices):
    return ",".join(f"schedule{{kernel={name} as='{choice}'}}" for name, choice in choices)


def judge(original, candidate, choices):
    """Whether the candidate is correct, and what was said."""
    status, said = run("kb-opt", f"-passes={pipeline(choices)}", "--quiet", f"--remarks-file={remarks}", "-o", str(candidate),
                       str(original))
    if status:
        return status, said
    return run("kb-opt", f"--judge={candidate}", "--promise=reassociates", str(original))


def isUndecided(said):
    return "\ninconclusive" in said


remarks = folder / "remarks.yaml"
undecided = 0
table = collections.defaultdict(collections.Counter)
failures = []
for seed in range(first, first + programs):
    text, made = kernels.program(seed, perProgram)
    original, candidate = folder / f"{seed}.cu", folder / f"{seed}.scheduled.cu"
    original.write_text(text)
    status, said = run("kb-opt", "--emit=kb-nest", str(original))
    if status:
        failures.append(f"{original}: --emit=kb-nest ended with status {status}\n{said[-1500:]}")
        continue
    raised = set(re.findall(r"kb\.nest @_Z\d+(k\d+)P", said))
    reasons = dict(re.findall(r'kb\.unraised @_Z\d+(k\d+)P\S* "(.*)"', said))
    draw = random.Random(f"schedule {seed}")
    choices = []
    for kernel in made:
        table[kernel.family]["made"] += 1
        if kernel.name in raised:
            table[kernel.family]["raised"] += 1
            choices.append((kernel.name, schedule(draw, kernel.family)))
        else:
            table[kernel.family]["why: " + reasons.get(kernel.name, "?")] += 1
    family = {kernel.name: kernel.family for kernel in made}
    status, said = judge(original, candidate, choices)
    scheduled = set()
    if candidate.exists():
        new = candidate.read_text()
        scheduled = {name for name, _ in choices if len(re.findall(rf"\b{name}_\w+\s*<<<", new))}
    said_no = dict(re.findall(r"--- !Missed\n(?:.*\n){3,5}?Function: +(k\d+)\nArgs:\n  - String: +(.*)\n", remarks.read_text())) if remarks.exists() else {}
    for name, choice in choices:
        table[family[name]]["scheduled" if name in scheduled else "refused"] += 1
        if name not in scheduled:
            table[family[name]][f"why: {choice.split()[0]}: {said_no.get(name, '?')}"] += 1
    if status == 0:
        continue
    if isUndecided(said):
        undecided += 1
        continue
    # Which kernel is it?
    found = False
    for choice in choices:
        if choice[0] not in scheduled:
            continue
        status, one = judge(original, candidate, [choice])
        if status and not isUndecided(one):
            found = True
            table[family[choice[0]]]["incorrect"] += 1
            failures.append(f"{original} {family[choice[0]]}: kb-opt \"-passes={pipeline([choice])}\" --quiet -o {candidate} {original} && "
                            f"kb-opt --judge={candidate} --promise=reassociates {original}\n{one[-1500:]}")
    if not found:
        failures.append(f"{original} all: kb-opt \"-passes={pipeline(choices)}\" --quiet -o {candidate} {original}: status {status}\n{said[-1500:]}")

columns = ["made", "raised", "scheduled", "refused", "incorrect"]
print(f"{'family':12}" + "".join(f"{name:>11}" for name in columns))
for family in sorted(table):
    print(f"{family:12}" + "".join(f"{table[family][name]:11}" for name in columns))
print(f"{'all':12}" + "".join(f"{sum(row[name] for row in table.values()):11}" for name in columns))
print(f"{undecided} of {programs} programs could not be judged")
total = {name: sum(row[name] for row in table.values()) for name in columns}
illegal = total["made"] - total["raised"] + total["refused"] + total["incorrect"]
print(f"{illegal} kernels or schedules did not apply: {100 * (illegal - total['incorrect']) / max(illegal, 1):.1f} % refused with a reason, "
      f"{total['incorrect']} left to the judge")
for family in sorted(table):
    for key, count in table[family].items():
        if key.startswith("why: "):
            print(f"{family}: {count} left: {key[5:]}")
for failure in failures:
    print(f"FAILED {failure}")
sys.exit(1 if failures else 0)
