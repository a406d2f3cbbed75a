# SPDX-License-Identifier: Apache-2.0

"""Evaluates what a run kept beside PyTorch, each problem in a process of its own (programs.py for track A, answers.py for track B), and makes the tables.

What is more than twice as fast as the better of eager and torch.compile is evaluated once more in another process with other numbers; the worse of the two counts.
"""
import json
import os
import subprocess
import sys
import time

import track_a
from runs import geometric_mean, groups_of, latest

HERE = os.path.dirname(os.path.abspath(__file__))
SEED, OTHER_SEED = 42, 4711
SUSPICIOUS = 2.0
PRECISIONS = {"half": "half", "half kernels": "half, kernels alone", "strict": "float32", "tf32": "float32, PyTorch with TF32"}


def asked(command, log, seconds, environment=None):
    """The record that a process prints as its last line, or why there is none."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, env=environment)
    except subprocess.TimeoutExpired:
        return {"correct": False, "why": f"took more than {seconds:.0f} s"}
    with open(log, "w") as file:
        file.write(done.stdout + done.stderr)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        words = [line for line in done.stderr.strip().splitlines() if line.strip()]
        return {"correct": False, "why": (words or ["no word"])[-1][:300]}
    try:
        return json.loads(lines[-1])
    except json.JSONDecodeError:
        return {"correct": False, "why": "it printed no record"}


def over_better(times_us):
    """The better of PyTorch's times over kb-opt's."""
    return min(us for name, us in times_us.items() if name not in ("kb-opt", "given")) / times_us["kb-opt"]


def is_suspicious(record):
    return any(over_better(record[precision]) > SUSPICIOUS for precision in PRECISIONS if precision in record)


def slower_of(first, again):
    """The record that counts of two evaluations; both are kept."""
    if not again.get("correct"):
        return {**first, "correct": False, "why": "when evaluated again: " + again.get("why", "its results differ"), "again": again}
    precision = next(each for each in PRECISIONS if each in first)
    counts = min((first, again), key=lambda record: over_better(record[precision]))
    return {**counts, "again": again if counts is first else first}


def command_of(track, record, folder, kept, options):
    if track == "a":
        given = os.path.join(folder, "init.cu")
        return [os.path.join(HERE, "programs.py"), folder, given, kept if os.path.exists(kept) else given, json.dumps(record["flags"])]
    return [os.path.join(HERE, "answers.py"), folder, kept if os.path.exists(kept) else os.path.join(folder, "kernel.cu"), options["upstream"]]


def run(prepared, results, out, options):
    """Every problem of `results` (of a run) that has a program for PyTorch; what fails is named and counted."""
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(results, "results.json")) as file:
        gains = {record["name"]: record for record in json.load(file)}
    end = time.time() + options["deadline"] if options["deadline"] else None

    def judge(record):
        name = record["name"]
        found = {"name": name, "gain": gains.get(name, {}).get("gain", 1.0), "pipeline": gains.get(name, {}).get("pipeline")}
        why = record["why"] or (record.get("noReference") and "no reference: " + record["noReference"])
        left = min(options["seconds"], end - time.time()) if end else options["seconds"]
        if why or left < 5:
            return {**found, "correct": False, "why": why or "not begun before the deadline"}
        short = name.replace("/", "-")
        command = [sys.executable, *command_of(options["track"], record, os.path.join(prepared, name), os.path.join(results, short + ".cu"), options), ",".join(options["compile"])]
        with options["cards"].one() as environment:
            environment.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")  # of each process; torch's default is one for each core
            first = asked([*command, str(SEED)], os.path.join(out, short + ".log"), left, environment)
            if first.get("correct") and is_suspicious(first):
                left = min(options["seconds"], end - time.time()) if end else options["seconds"]
                first = slower_of(first, asked([*command, str(OTHER_SEED)], os.path.join(out, short + ".again.log"), max(left, 5), environment))
        print(f"{name}: {'correct' if first['correct'] else first.get('why', 'not right')}", flush=True)
        return {**found, **first}

    records = track_a.load(prepared, options)
    track_a.in_parallel(options["jobs"], judge, records, lambda rs: track_a.write_json(os.path.join(out, "evaluated.json"), rs))


def ratios(records, precision, of):
    return geometric_mean([of(record[precision]) for record in records if precision in record])


def table(paths):
    """Ratios by level and parity: over the given program (track A), over eager, over the better of eager and torch.compile. Then what is wrong by itself, and what was not evaluated."""
    records = latest(paths, "evaluated.json")
    lines = ["| level | numbers | problems | evaluated | right | precision | over given | over eager | over the better of eager and compile |", "|---|---|---:|---:|---:|---|---:|---:|---:|"]
    groups = {}
    for record in records:
        for group in groups_of(record):
            groups.setdefault(group, []).append(record)
    for (level, parity), group in sorted(groups.items()):
        right = [record for record in group if record["correct"]]
        for precision, words in PRECISIONS.items():
            timed = [record for record in right if precision in record]
            if not timed:
                continue
            given = f"{ratios(timed, precision, lambda us: us['given'] / us['kb-opt']):.2f}" if "given" in timed[0][precision] else ""
            lines.append(f"| {level} | {parity} | {len(group)} | {sum(any(p in r for p in PRECISIONS) for r in group)} | {len(right)} | {words} | {given} | "
                         f"{ratios(timed, precision, lambda us: us['eager'] / us['kb-opt']):.2f} | {ratios(timed, precision, over_better):.2f} |")
    return "\n".join(lines + wrong_by_themselves(records) + left_out(records))


def wrong_by_themselves(records):
    """The given programs whose results are not PyTorch's, and what the driver's own check says of them."""
    found = [record for record in records if "driver" in record and (not record["right"]["given"] or record["driver"]["random"] or record["driver"]["accepted"]["zeros"])]
    if not found:
        return []
    lines = ["", "| given program | off float64 by | eager | off by, drawn parameters | its own check | the same check of zeros | |", "|---|---:|---:|---:|---|---|---|"]
    word = {True: "accepts", False: "refuses"}
    for record in found:
        driver, drawn = record["driver"], record["drawn"]
        note = "the reference is random" if driver["random"] else "" if record["right"]["given"] else "wrong"
        lines.append(f"| {record['name']} | {driver['distance']['given']:.2g} | {driver['distance']['eager']:.2g} | {drawn['distance']['given']:.2g} | {word[driver['accepted']['given']]} | "
                     f"{word[driver['accepted']['zeros']]} | {note} |")
    return lines


def left_out(records):
    reasons = {}
    for record in records:
        if record.get("why"):
            reasons.setdefault(record["why"], []).append(record["name"])
    return ["", *(f"{len(names)} x {why} ({names[0]})" for why, names in sorted(reasons.items(), key=lambda r: -len(r[1])))] if reasons else []
