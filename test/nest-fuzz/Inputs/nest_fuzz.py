"""Raises random kernels, gives them random schedules and judges what is printed; fails where a candidate is incorrect.

usage: nest_fuzz.py FOLDER FIRST_SEED PROGRAMS [KERNELS_PER_PROGRAM [FAMILY...]]

Prints a table: for each family how many kernels were made, raised, scheduled, refused and found incorrect, with how many kb-opt crashed, and
with how many it took too long. What fails is kept in FOLDER with the command that repeats it.
"""

import collections
import dataclasses
import os
import pathlib
import random
import re
import signal
import subprocess
import sys

from program import program

# A kb-opt that takes longer is ended; the kernel is named, and the next one follows.
SECONDS = 300
SKETCHES = {
    "map": {"vector": [1, 2, 4], "block": [64, 128, 256], "inflight": [1, 2, 4]},
    "rows": {"team": [1, 4, 8, 16, 32, 64, 128], "rows": [1, 2, 4, 8], "cache": ["none", "registers", "shared"], "vector": [1, 2, 4]},
    "columns": {"columns": [8, 16, 32], "split": [1, 2, 4]},
    "contraction": {"bm": [32, 64], "bn": [32, 64], "bk": [8, 16], "tm": [4, 8], "tn": [4, 8], "stages": [1, 2, 3], "split": [1, 2, 4]},
    "stencil": {"bm": [32], "bn": [32]},
    "reuse": {"block": [32, 64, 128], "bk": [8, 32, 128], "inflight": [1, 2, 4]},
    "scan": {"team": [32, 64, 128, 256], "vector": [1, 2, 4, 8], "rows": [1, 2, 8], "launches": [1, 1, 2, 3]},
    "transpose": {"tile": [16, 32, 64], "vector": [1, 2, 4], "block": [64, 128, 256]},
    "scatter": {"combine": ["thread", "block", "runs", "match", "bins"], "bins": [1, 16, 64, 100], "block": [32, 64, 256], "inflight": [1, 2, 4, 16],
                "along": ["none", "none", "r", "i"]},
    "convolution": {"bm": [32, 64], "bn": [32, 64], "bk": [8, 16, 32], "tm": [4, 8], "tn": [4, 8], "stages": [2, 2, 3], "vector": [1, 4], "split": [1, 1, 2]},
    "half": {"core": ["half"], "bm": [16, 32, 64, 128], "bn": [32, 64, 128], "stages": [3, 4], "tm": [16, 32, 64], "split": [1, 2, 4], "vector": [1, 4, 4]},
    "halfconvolution": {"core": ["half"], "bm": [16, 32, 64, 128], "bn": [32, 64, 128], "stages": [3, 4], "tm": [16, 32, 64], "tn": [16, 32, 64], "split": [1, 2, 4],
                         "vector": [1, 4]},
    "windows": {"inflight": [1, 2, 4, 8], "block": [32, 64, 256], "fixed": ["K0:3,K1:3,S0:1,S1:1", "K0:3,K1:3,S0:2,S1:2"]},
    "constantwindows": {"inflight": [1, 2, 4, 8], "block": [32, 64, 256]},
    "wgmma": {"unit": ["wgmma"], "load": ["async", "tma"], "bm": [64, 128, 256], "bn": [64, 128, 256], "stages": [3, 4]},
    "tf32": {"core": ["tf32"], "bm": [64, 128], "bn": [64, 128], "stages": [3, 4], "tm": [32]},
}
# Sketches with a name of their own above, and the keys without which they make no sense.
FORCED = {"convolution": ("contraction", "stages"), "half": ("contraction", "core"), "halfconvolution": ("contraction", "core"), "windows": ("stencil", "fixed"), "constantwindows": ("stencil", "inflight"), "wgmma": ("contraction", "unit"), "tf32": ("contraction", "core")}
CLASS = {"product": ["contraction", "rows", "map"], "rows": ["rows", "columns"], "inmemory": ["rows", "columns"],
         "softmax": ["rows"], "blockrows": ["rows"], "warprows": ["rows"], "blocksums": ["rows"], "stencil": ["stencil", "map"],
         "triangle": ["rows", "map"], "pairs": ["rows", "map"], "arrays": ["rows", "map", "columns"], "window": ["map", "rows", "stencil"],
         "pooled": ["map", "rows"], "gridsums": ["rows"], "groups": ["rows", "map"],
         "whiles": ["rows", "columns", "map"], "lines": ["rows", "columns"], "kept": ["rows"],
         "tiledproduct": ["contraction", "map"], "online": ["rows"], "moving": ["rows", "columns"],
         "jacobian": ["rows", "rows", "map", "contraction"], "means": ["rows", "map"], "images": ["rows", "rows", "columns", "map"], "batched": ["map"], "halves": ["rows", "map"],
         "structs": ["rows", "map"], "gathers": ["map", "rows"], "instances": ["rows", "map"], "launchloop": ["map", "rows", "contraction"],
         "ended": ["map", "rows"], "placed": ["map"], "turned": ["transpose", "transpose", "transpose", "map"], "quads": ["map", "map", "rows"], "plane": ["map", "transpose"], "digits": ["map", "transpose"], "paired": ["map"], "worded": ["rows", "map", "columns"], "fields": ["rows", "map"],
         "carried": ["scan", "scan", "scan", "map"], "counted": ["rows"],
         "scattered": ["scatter", "scatter", "scatter", "map"], "bodies": ["reuse", "reuse", "reuse", "rows", "map"], "sharing": ["rows", "map"], "halos": ["map", "rows", "stencil"], "accessed": ["map", "rows"], "joined": ["map", "rows"], "halfproduct": ["half", "half", "wgmma", "wgmma", "contraction"], "convolutions": ["convolution", "convolution", "convolution", "rows", "map"], "halfconvolutions": ["halfconvolution", "halfconvolution", "halfconvolution", "convolution", "map"], "transposedconvolutions": ["map", "map", "rows", "convolution"], "windows": ["windows", "constantwindows", "constantwindows", "map", "rows"], "coarseproduct": ["tf32", "tf32", "contraction"]}
SIMPLER = ("jacobian", "means", "product")
IN_PARTS = ("product", "rows", "tiledproduct", "halfproduct", "convolutions", "halfconvolutions", "warprows", "means", "images", "softmax", "halves", "jacobian", "lines", "moving", "whiles")
ONLINE = ("softmax", "online")
# Passes that set single keys: several of them work on one nest.
KEYS = {
    "map": ["thread-coarsening{kernel=%s inflight=4}", "thread-coarsening{kernel=%s inflight=2}"],
    "rows": ["warp-shuffle-reduction{kernel=%s team=8}", "warp-shuffle-reduction{kernel=%s team=32}", "two-stage-block-reduction{kernel=%s team=64}",
             "several-rows-per-block{kernel=%s team=8 rows=4}", "cache-row{kernel=%s cache=none}", "cache-row{kernel=%s}", "thread-coarsening{kernel=%s inflight=2}",
             "simplify-reduction{kernel=%s}"],
    "contraction": ["shared-memory-tiling{kernel=%s bm=64 bn=64 bk=16}", "register-tiling{kernel=%s tm=4 tn=4}", "register-tiling{kernel=%s tm=4 tn=8}", "double-buffer{kernel=%s}",
                    "cp-async-pipeline{kernel=%s stages=3}", "split-k{kernel=%s split=2}", "swizzle-block-order{kernel=%s group=4}", "tensor-core-mma{kernel=%s core=half}"],
}


@dataclasses.dataclass
class Choice:
    name: str      # the kernel that was made
    target: str    # the one that is scheduled: it, or what a pass before made of it
    steps: list    # passes
    said: str = "" # what the steps are about, for the table


def schedule(draw, family):
    word = draw.choice(CLASS.get(family, ["map"]))
    sketch, forced = FORCED.get(word, (word, ""))
    keys = [f"{key}={draw.choice(values)}" for key, values in SKETCHES[word].items() if key == forced or draw.random() < 0.5]
    if family in SIMPLER and draw.random() < 0.6:
        keys.append("simplify=1")
    if family in IN_PARTS and draw.random() < 0.4:
        keys.append(f"parts={draw.choice([2, 2, 3, 4, 8])}")
    elif family in ONLINE and draw.random() < 0.4:
        keys = [key for key in keys if not key.startswith("cache=")] + ["online=1"]
    return " ".join([sketch] + keys)


def choiceFor(draw, kernel):
    """Passes for one kernel: mostly a whole schedule, sometimes several passes that set single keys."""
    before, target = kernel.steps(draw) if kernel.steps else ([], kernel.name)
    sketches = [each for each in CLASS.get(kernel.family, ["map"]) if each in KEYS]
    if sketches and draw.random() < 0.25:
        known = KEYS[draw.choice(sketches)]
        steps = [each % target for each in draw.sample(known, min(len(known), draw.choice([1, 2, 3])))]
        return before, Choice(kernel.name, target, steps, steps[0].split("{")[0])
    text = schedule(draw, kernel.family)
    return before, Choice(kernel.name, target, [f"schedule{{kernel={target} as='{text}'}}"], text.split()[0])


def run(*command):
    """The exit status, 'timeout' or 'crash', and what was said."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True)
    try:
        said = process.communicate(timeout=SECONDS)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return "timeout", process.communicate()[0] or ""
    return ("crash" if process.returncode < 0 or process.returncode == 70 else process.returncode), said


def isUndecided(said):
    return "\ninconclusive" in said


class Fuzzer:
    def __init__(self, folder, perProgram, only):
        self.folder, self.perProgram, self.only = folder, perProgram, only
        self.remarks = folder / "remarks.yaml"
        self.table = collections.defaultdict(collections.Counter)
        self.failures, self.slow, self.undecided = [], [], 0
        self.arch = "sm_90"

    def rewrite(self, original, candidate, steps):
        return run("kb-opt", f"-arch={self.arch}", f"-passes={','.join(steps)}", "--quiet", f"--remarks-file={self.remarks}", "-o", str(candidate), str(original))

    def judge(self, original, candidate, choices, promise):
        """Whether the candidate is correct, and what was said."""
        candidate.unlink(missing_ok=True)
        self.remarks.unlink(missing_ok=True)
        status, said = self.rewrite(original, candidate, [step for each in choices for step in each.steps])
        if status:
            return status, said
        return run("kb-opt", "--by-passes", f"--judge={candidate}", f"--promise={promise}", f"-arch={self.arch}", str(original))

    def note(self, status, kernel, shown, said):
        """Counts what became of \\p kernel, and keeps the command that repeats it."""
        family = kernel.family if kernel else "program"
        column = status if status in ("crash", "timeout") else "incorrect"
        self.table[family][column] += 1
        if status == "timeout":
            self.slow.append(f"{family}: {shown}")
        else:
            self.failures.append(f"{shown}: {family}: status {status}\n{said[-1500:]}")

    def choices(self, draw, seed, made, raised, reasons):
        """What is tried with each kernel that is raised. A pass that makes another kernel is tried alone first."""
        result = []
        original = self.folder / f"{seed}.cu"
        for kernel in made:
            self.table[kernel.family]["made"] += 1
            if kernel.name not in raised:
                self.table[kernel.family]["why: " + reasons.get(kernel.name, "?")] += 1
                continue
            self.table[kernel.family]["raised"] += 1
            before, choice = choiceFor(draw, kernel)
            if before:
                tried = self.folder / f"{seed}.before.cu"
                tried.unlink(missing_ok=True)
                status, said = self.rewrite(original, tried, before)
                if status:
                    self.note(status, kernel, f"{original}: kb-opt \"-passes={','.join(before)}\" {original}", said)
                    continue
                if re.search(rf"\b{choice.target}\b", tried.read_text()):
                    choice.steps = before + choice.steps
                else:
                    self.table[kernel.family][f"why: {before[0].split('{')[0]}"] += 1
                    choice.steps = [step.replace(f"kernel={choice.target} ", f"kernel={kernel.name} ").replace(f"kernel={choice.target}}}", f"kernel={kernel.name}}}")
                                    for step in choice.steps]
                    choice.target = kernel.name
            result.append(choice)
        return result

    def scheduled(self, candidate, choices):
        """The kernels with a launch of something new."""
        new = candidate.read_text() if candidate.exists() else ""
        return {each.name for each in choices
                if re.search(rf"\b{each.target}_?\w+\s*(<[^;<>()]*>\s*)?<<<" if each.target == each.name else rf"\b{each.target}\w*\s*<<<", new)}

    def program(self, seed):
        text, made, isTolerant = program(seed, self.perProgram, self.only)
        # What only one chip has is allowed where a program is compiled for it alone.
        self.arch = "sm_90a" if seed % 2 == 0 and any(kernel.family == "halfproduct" for kernel in made) else "sm_90"
        promise = "lower-precision" if isTolerant else "reassociates"
        original, candidate = self.folder / f"{seed}.cu", self.folder / f"{seed}.scheduled.cu"
        original.write_text(text)
        status, said = run("kb-opt", "--emit=kb-nest", str(original))
        if status:
            self.note(status, None, f"{original}: kb-opt --emit=kb-nest {original}", said)
            return
        raised = {rest[:int(length)] for length, rest in re.findall(r"kb\.nest @_Z(\d+)(k\S*)", said)}
        reasons = {rest[:int(length)]: reason for length, rest, reason in re.findall(r'kb\.unraised @_Z(\d+)(k\S*) "(.*)"', said)}
        choices = self.choices(random.Random(f"schedule {seed}"), seed, made, raised, reasons)
        byName = {kernel.name: kernel for kernel in made}
        status, said = self.judge(original, candidate, choices, promise)
        scheduled = self.scheduled(candidate, choices)
        why = dict(re.findall(r"--- !Missed\n(?:.*\n){3,5}?Function: +(k\d+)\w*\nArgs:\n  - String: +(.*)\n", self.remarks.read_text())) if self.remarks.exists() else {}
        for each in choices if status not in ("crash", "timeout") else []:
            row = self.table[byName[each.name].family]
            row["scheduled" if each.name in scheduled else "refused"] += 1
            if each.name not in scheduled:
                row[f"why: {each.said}: {why.get(each.name, '?')}"] += 1
        if status == 0:
            return
        if isUndecided(said):
            self.undecided += 1
            return
        # Which kernel is it?
        found = False
        for each in choices:
            status, one = self.judge(original, candidate, [each], promise)
            if status and not isUndecided(one):
                found = True
                self.note(status, byName[each.name], f"{original} {byName[each.name].family}: kb-opt -arch={self.arch} \"-passes={','.join(each.steps)}\" --quiet -o {candidate} {original} && "
                          f"kb-opt --by-passes --judge={candidate} --promise={promise} -arch={self.arch} {original}", one)
        if not found:
            steps = [step for each in choices for step in each.steps]
            self.note(status if status in ("crash", "timeout") else "all together", None,
                      f"{original} all: kb-opt -arch={self.arch} \"-passes={','.join(steps)}\" --quiet -o {candidate} {original}", said)

    def report(self, programs):
        table = self.table
        columns = ["made", "raised", "scheduled", "refused", "incorrect", "crash", "timeout"]
        total = {name: sum(row[name] for row in table.values()) for name in columns}
        print(f"{'family':13}" + "".join(f"{name:>11}" for name in columns))
        for family in sorted(table):
            print(f"{family:13}" + "".join(f"{table[family][name]:11}" for name in columns))
        print(f"{'all':13}" + "".join(f"{total[name]:11}" for name in columns))
        print(f"{self.undecided} of {programs} programs could not be judged")
        illegal = total["made"] - total["raised"] + total["refused"] + total["incorrect"]
        print(f"{illegal} kernels or schedules did not apply: {100 * (illegal - total['incorrect']) / max(illegal, 1):.1f} % refused with a reason, "
              f"{total['incorrect']} left to the judge")
        for family in sorted(table):
            for key, count in table[family].items():
                if key.startswith("why: "):
                    print(f"{family}: {count} left: {key[5:]}")
        for each in self.slow:
            print(f"SLOW {each}")
        for failure in self.failures:
            print(f"FAILED {failure}")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    first, programs = int(sys.argv[2]), int(sys.argv[3])
    fuzzer = Fuzzer(folder, int(sys.argv[4]) if len(sys.argv) > 4 else 9, sys.argv[5:])
    for seed in range(first, first + programs):
        fuzzer.program(seed)
    fuzzer.report(programs)
    sys.exit(1 if fuzzer.failures else 0)


main()
