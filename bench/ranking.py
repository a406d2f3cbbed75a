#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says how well the cost model ranks the steps that searches measured on a GPU.

    bench/ranking.py report PATH …                    figures of logs and evidence.jsonl files, or of folders with them
    bench/ranking.py count build/bin/kb-opt CORPUS FOLDER PATH …
                                                      makes the steps' programs again and counts them into FOLDER (slow, once)
    bench/ranking.py model build/bin/ModelTimes CHIP FOLDER
                                                      after a change of the model: models what FOLDER has, then reports

Programs are parted in two by a hash of their names: constants may be tuned on one half, the other one tests them.
"""
import collections
import hashlib
import json
import math
import os
import re
import subprocess
import sys

import calibration
import corpus

# A measured gain within this share of 1 is noise, and a modelled one within the other says "the same".
NOISE, SAME = 0.02, 0.005
TOP = (1, 3, 8)

# One step of a search. Gains are time before over time after: of the step, and of the whole program since the original.
Step = collections.namedtuple("Step", "program kernel step modelled measured modelled_all measured_all pipeline")

ATTEMPT = re.compile(r"^\[(?:sketch|\d+)\] (\S+?\{.*?\}|\S+)  correct, measured ([\d.]+) us, ([\d.]+) x of the step before"
                     r"(?: \(modelled ([\d.]+) x\))?(.*)$")


class Node:
    """A program that a search reached: its time, what the model says it gained since the original, and how it was made."""

    def __init__(self, us, modelled, pipeline):
        self.us, self.modelled, self.pipeline = us, modelled, pipeline


def kernel_of(step):
    found = re.search(r"\bkernel=(\w+)", step)
    return found[1] if found else ""


def steps_of_log(path, unmodelled=False):
    """A log does not name the program that a step starts from: it is the one with the time that the step's ratio gives."""
    program, nodes, steps = os.path.basename(path).removesuffix(".log"), [], []
    with open(path, errors="replace") as log:
        for line in log:
            original = re.match(r"\s+measured on .*?: ([\d.]+) us", line)
            if original:
                nodes = [Node(float(original[1]), 1.0, [])]
            attempt = ATTEMPT.match(line)
            if not attempt or not nodes or "identical" in attempt[5]:
                continue
            us, ratio = float(attempt[2]), float(attempt[3])
            if us <= 0 or ratio <= 0:
                continue
            parent = min(nodes, key=lambda node: abs(math.log(node.us / (us * ratio))))
            modelled = float(attempt[4]) if attempt[4] else None
            node = Node(us, parent.modelled * modelled if modelled and parent.modelled else None, parent.pipeline + [attempt[1]])
            nodes.append(node)
            if node.modelled or unmodelled:
                steps.append(Step(program, kernel_of(attempt[1]), attempt[1], modelled, ratio, node.modelled, nodes[0].us / us,
                                  tuple(node.pipeline)))
    return steps


def steps_of_evidence(path):
    """Evidence of a GPU whose attempts were modelled, too; programs are chained by what they were before and after."""
    steps, reached = [], {}
    with open(path) as file:
        for record in map(json.loads, file):
            if record.get("device") != "cuda" or "modelledGain" not in record or "achievedGain" not in record:
                continue
            modelled, measured = record["modelledGain"], record["achievedGain"]
            before = reached.get((record["program"], record["before"]), (0.0, 0.0, ()))
            options = " ".join(f"{key}={value}" for key, value in sorted(record.get("parameters", {}).items()))
            step = record["pass"] + (f"{{{options}}}" if options else "")
            after = (before[0] + modelled, before[1] + measured, before[2] + (step,))
            reached.setdefault((record["program"], record["after"]), after)
            steps.append(Step(record["program"], "", step, math.exp(modelled), math.exp(measured), math.exp(after[0]),
                              math.exp(after[1]), after[2]))
    return steps


def files_of(paths):
    for path in paths:
        if os.path.isdir(path):
            for folder, _, names in sorted(os.walk(path)):
                yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith((".log", "evidence.jsonl")))
        else:
            yield path


def read_steps(paths, unmodelled=False):
    """Steps of all files, also of logs those without a modelled gain if asked for; what several runs measured of one pipeline counts once, with the last run's times."""
    steps = {}
    for path in files_of(paths):
        for step in steps_of_evidence(path) if path.endswith(".jsonl") else steps_of_log(path, unmodelled):
            steps[step.program, step.pipeline] = step
    return list(steps.values())


def is_held_out(program):
    return hashlib.sha256(program.encode()).digest()[0] % 2 == 1


def settled(gain):
    return 1.0 if abs(gain - 1) <= NOISE else gain


def right_signs(steps):
    """Of the steps whose measured gain or loss is more than noise, the share that the model calls a gain or a loss."""
    clear = [s for s in steps if settled(s.measured) != 1]
    right = [s for s in clear if (s.modelled > 1 + SAME and s.measured > 1) or (s.modelled < 1 - SAME and s.measured < 1)]
    return len(right), len(clear)


def regrets(steps, top):
    """Per program: what the best of the model's first \\p top programs loses against the best of all that were measured."""
    groups = collections.defaultdict(list)
    for step in steps:
        groups[step.program].append(step)
    result = {}
    for program, group in groups.items():
        if len(group) > 1:
            first = sorted(group, key=lambda s: -s.modelled_all)[:top]
            result[program] = max(s.measured_all for s in group) / max(s.measured_all for s in first) - 1
    return result


def within_groups(steps):
    """Mean over programs of the rank correlation among the programs that one search reached, from four on."""
    groups = collections.defaultdict(list)
    for step in steps:
        groups[step.program].append(step)
    values = [calibration.spearman([s.modelled_all for s in g], [settled(s.measured_all) for s in g])
              for g in groups.values() if len(g) >= 4]
    return (sum(values) / len(values), len(values)) if values else (0.0, 0)


def print_figures(title, steps):
    programs = {s.program for s in steps}
    if len(steps) < 2:
        print(f"{title}: {len(steps)} steps")
        return
    right, clear = right_signs(steps)
    mean, groups = within_groups(steps)
    print(f"{title}: {len(steps)} steps on {len(programs)} programs: Spearman of the steps "
          f"{calibration.spearman([s.modelled for s in steps], [settled(s.measured) for s in steps]):.3f}, of programs since the original "
          f"{calibration.spearman([s.modelled_all for s in steps], [settled(s.measured_all) for s in steps]):.3f}, "
          f"within a program {mean:.3f} (mean of {groups}); right signs {right} of {clear}")
    for top in TOP:
        losses = regrets(steps, top)
        if losses:
            worst = max(losses, key=losses.get)
            print(f"  best of the first {top}: within 10 % of the best in {sum(v <= 0.1 for v in losses.values())} of {len(losses)} programs, "
                  f"worst {100 * losses[worst]:.0f} % ({worst})")


def print_report(steps, verbose):
    print_figures("all", steps)
    print_figures("tuning half", [s for s in steps if not is_held_out(s.program)])
    print_figures("held-out half", [s for s in steps if is_held_out(s.program)])
    for pass_name in sorted({s.step.split("{")[0] for s in steps}):
        of_pass = [s for s in steps if s.step.split("{")[0] == pass_name]
        if len(of_pass) >= 8:
            print_figures(pass_name, of_pass)
    if verbose:
        for s in sorted(steps, key=lambda s: -abs(math.log(s.modelled_all / s.measured_all))):
            print(f"{s.program} {' '.join(s.pipeline)}: modelled {s.modelled_all:.2f}, measured {s.measured_all:.2f}; "
                  f"of the step {s.modelled:.2f}, {s.measured:.2f}")


def report(arguments):
    verbose = "-v" in arguments
    print_report(read_steps([a for a in arguments if a != "-v"]), verbose)


# Programs made again, so that a changed model can be held against the same measurements.

def run(argv):
    return subprocess.run(argv, capture_output=True, text=True, timeout=240)


def sources(folder):
    """{name of a log: (file, flags, its entry in corpus.json)}."""
    result = {}
    for program in corpus.MANIFEST["programs"]:
        root = corpus.root_of(folder, program)
        flags = [flag.replace("{root}", root) for flag in program["flags"]]
        result[program["name"].replace("/", "-")] = (os.path.join(root, program["file"]), flags, program)
    return result


def options_of(program, folder, name):
    text = corpus.workload_of(program, program.get("arguments", []), 60)
    if not text:
        return []
    path = os.path.join(folder, name + ".yaml")
    with open(path, "w") as out:
        out.write(text)
    return [f"--workload={path}"]


def counts_of(folder, program, pipeline):
    digest = hashlib.sha256("\n".join((program, *pipeline)).encode()).hexdigest()[:12]
    return os.path.join(folder, f"{program}-{digest}.json")


def count(kb_opt, public, folder, *paths):
    os.makedirs(folder, exist_ok=True)
    model_times, known = os.path.join(os.path.dirname(kb_opt), "ModelTimes"), sources(public)
    entries = []
    for step in sorted(read_steps(paths, unmodelled=True), key=lambda s: (s.program, len(s.pipeline), s.pipeline)):
        if step.program not in known:
            continue
        source, flags, program = known[step.program]
        if os.path.exists(counts_of(folder, step.program, ()) + ".failed"):
            continue
        options = options_of(program, folder, step.program)
        files = []
        for pipeline in (step.pipeline[:-1], step.pipeline):
            counts = counts_of(folder, step.program, pipeline)
            files.append(os.path.basename(counts))
            if os.path.exists(counts) or os.path.exists(counts + ".failed"):
                continue
            made = counts.removesuffix(".json") + ".cu"
            if not make_program(kb_opt, source, flags, options, pipeline, made):
                problem = "the pipeline does not apply"
            else:
                try:
                    counted = run([model_times, "count", made, "h200", counts, *options, "--",
                                   *flags, "-I", os.path.dirname(source)])
                    problem = counted.stderr.strip()[-300:] if counted.returncode else ""
                except subprocess.TimeoutExpired:
                    problem = "counting takes too long"
            if problem:
                with open(counts + ".failed", "w") as out:
                    out.write(problem + "\n")
            print(f"{step.program} {' '.join(pipeline) or 'as it is'}: {problem or 'counted'}", flush=True)
        if all(os.path.exists(os.path.join(folder, name)) for name in files):
            entries.append({**step._asdict(), "counts": files})
    calibration.write_json(os.path.join(folder, "steps.json"), entries)


def make_program(kb_opt, source, flags, options, pipeline, made):
    if not pipeline:
        with open(source) as original, open(made, "w") as copy:
            copy.write(original.read())
        return True
    try:
        result = run([kb_opt, "--quiet", "-passes=" + ",".join(pipeline), *options, source, "-o", made, "--", *flags])
    except subprocess.TimeoutExpired:
        return False
    if result.returncode or not os.path.exists(made):
        return False
    with open(source) as original, open(made) as new:
        return original.read() != new.read()


def model(model_times, chip, folder, *rest):
    entries = calibration.read_json(os.path.join(folder, "steps.json"))
    names = sorted({name for entry in entries for name in entry["counts"]})
    output = run([model_times, "model", chip, *(os.path.join(folder, name) for name in names)])
    if output.returncode:
        sys.exit(output.stderr)
    us = {name: json.loads(line)["modelledUs"] for name, line in zip(names, output.stdout.splitlines())}
    steps = []
    for entry in entries:
        before, after = entry.pop("counts")
        entry["pipeline"] = tuple(entry["pipeline"])
        entry["modelled"] = us[before] / us[after]
        first = us.get(os.path.basename(counts_of(folder, entry["program"], ())), us[before])
        entry["modelled_all"] = first / us[after]
        steps.append(Step(**entry))
    print_report(steps, "-v" in rest)


if __name__ == "__main__":
    command, arguments = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if command == "report" and arguments:
        report(arguments)
    elif command == "count" and len(arguments) >= 4:
        count(*arguments)
    elif command == "model" and len(arguments) >= 3:
        model(*arguments)
    else:
        sys.exit(__doc__)
