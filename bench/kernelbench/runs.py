# SPDX-License-Identifier: Apache-2.0

"""Runs kb-opt -passes=auto on prepared problems, and reports.

A problem is parsed if kb-opt reads its file, runs if its original was recorded and judged, and is judged if the search ended with a verdict on it (a gain, or nothing
better). A problem without a gain, for whatever reason, counts as 1.0 in the geometric mean over all: the user keeps what there was. What was timed and screened, but not proven in the time, is no
gain; a mean of its own takes it as one.
"""
import json
import math
import os
import re
import subprocess
import time

import track_a
from batches import SIZE


def last(pattern, text):
    found = re.findall(pattern, text, re.M)
    return found[-1] if found else None


def understand(status, text):
    result = {"status": status, "gain": 1.0, "screened": 1.0, "beforeUs": None, "afterUs": None}
    gain = last(r"result: ([0-9.]+) x faster, ([0-9.]+) -> ([0-9.]+) us", text)
    if gain and status in (0, 4):
        result.update(gain=float(gain[0]), beforeUs=float(gain[1]), afterUs=float(gain[2]))
    screened = last(r"(?:not proven: |another program was screened at )([0-9.]+) x", text)
    result["screened"] = max(float(screened or 1), result["gain"])
    result["pipeline"] = last(r"replay: kb-opt -passes='([^']*)'", text)
    result["floorUs"] = last(r"no rewrite goes below ([0-9.]+) us", text)
    result["note"] = last(r"(?:.*left alone|kb-opt: error): (.*)", text) or last(r": (?:fatal )?error: (.*)", text) or last(r"^stopped: (.* before the original was judged)", text)
    result["tried"] = len(re.findall(r"^\[\d+\]", text, re.M))
    result["parsed"] = status is not None and not re.search(r"\.cu:\d+:\d+: (fatal )?error:", text)
    result["ran"] = result["floorUs"] is not None or bool(gain) or bool(screened)
    return result


def words_of(command, end, environment=None):
    """The exit status and what was said; no status where it was not over at `end`, a time or nothing. The process gets 20 seconds to end by itself."""
    left = end - time.time() if end else None
    if left is not None and left < 10:
        return None, ""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment)
    try:
        text, _ = process.communicate(timeout=left)
        return process.returncode, text
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            text, _ = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
        return None, text


def run_one(record, prepared, out, options):
    if record["why"]:
        return {"name": record["name"], "gain": 1.0, "status": None, "parsed": False, "ran": False, "note": record["why"], "pipeline": None, "seconds": 0}
    name = record["name"].replace("/", "-")
    source = os.path.join(prepared, record["name"], record.get("file", "init.cu"))
    os.makedirs(os.path.join(out, "knowledge", name), exist_ok=True)
    command = [options["kb-opt"], "-v", "-passes=auto", f"--knowledge={out}/knowledge/{name}", f"--journal={out}/{name}.sqlite", f"--budget-seconds={options['seconds']}",
               "-o", os.path.join(out, name + ".cu"), source, *options["extra"], "--", *record["flags"]]
    start = time.time()
    with options["cards"].one() as environment:
        status, text = words_of(command, options["end"], environment)
    with open(os.path.join(out, name + ".log"), "w") as log:
        log.write(text)
    result = {"name": record["name"], **understand(status, text), "seconds": round(time.time() - start, 1)}
    if status is None:
        result["note"] = "stopped at the deadline" if text else "not begun before the deadline"
    print(f"{result['name']}: {result['gain']:.2f} x, status {status}, {result['seconds']} s" + (f", {result['note']}" if result["note"] else ""), flush=True)
    return result


def run(prepared, out, options):
    """Short problems first is not known beforehand; small ones are, so that a deadline costs few of them."""
    prepared, out = os.path.abspath(prepared), os.path.abspath(out)
    os.makedirs(out, exist_ok=True)
    options["end"] = time.time() + options["deadline"] if options["deadline"] else None
    records = sorted(track_a.load(prepared, options), key=lambda r: r.get("bytes", 0))
    track_a.in_parallel(options["jobs"], lambda r: run_one(r, prepared, out, options), records, lambda rs: track_a.write_json(os.path.join(out, "results.json"), rs))


FILL = "fuse-kernels-vertical,schedule"


def kept_path(out, record):
    return os.path.join(out, record["name"].replace("/", "-") + ".cu")


def amend(prepared, out, options, is_wanted, change):
    """Calls change(record, result, environment), which changes the result, for problems whose result is wanted, and keeps all results."""
    records = {record["name"]: record for record in track_a.load(prepared, options)}
    with open(os.path.join(out, "results.json")) as file:
        results = {result["name"]: result for result in json.load(file)}
    options["end"] = time.time() + options["deadline"] if options["deadline"] else None

    def one(result):
        with options["cards"].one() as environment:
            change(records[result["name"]], result, environment)
        return result

    def keep(_):
        track_a.write_json(os.path.join(out, "results.json"), [results[name] for name in sorted(results)])

    track_a.in_parallel(options["jobs"], one, [r for n, r in results.items() if n in records and not records[n]["why"] and is_wanted(records[n], r)], keep)


def prove(prepared, out, options):
    """Judges what a run screened and did not prove: what is correct, and faster, is a gain."""

    def change(record, result, environment):
        with open(kept_path(out, record).removesuffix(".cu") + ".log") as log:
            promise = last(r"^\s*promise: ([a-z-]+)", log.read()) or "bitwise"
        source, end = os.path.join(prepared, record["name"], record.get("file", "init.cu")), time.time() + options["seconds"]
        command = [options["kb-opt"], f"--judge={kept_path(out, record)}", "--by-passes", f"--promise={promise}", source, *options["extra"], "--", *record["flags"]]
        start = time.time()
        status, text = words_of(command, min(end, options["end"] or end), environment)
        faster = re.search(r"^faster: ([0-9.]+) us, the original ([0-9.]+) us, ([0-9.]+) x", text, re.M)
        if status == 0 and faster:
            result.update(gain=float(faster[3]), afterUs=float(faster[1]), beforeUs=float(faster[2]))
        result["judged"] = last(r"^((?:correct|incorrect|inconclusive)\b[^\n]*)", text) or (f"took more than {time.time() - start:.0f} s" if status is None else f"status {status}")
        print(f"{result['name']}: {result['gain']:.2f} x of {result['screened']:.2f} x, {result['judged']}, {time.time() - start:.1f} s", flush=True)

    amend(prepared, out, options, lambda record, result: result["status"] == 4 and result["screened"] > result["gain"] and os.path.exists(kept_path(out, record)), change)


def workload_of(prepared, record, out):
    """The file of the workload with the size that the module itself has, in place of the one that a search can bear; none where there are not two."""
    folder = os.path.join(prepared, record["name"])
    if not record.get("batch"):
        return None
    with open(os.path.join(folder, "graph.json")) as graph, open(os.path.join(folder, "kernel.workload.yaml")) as workload:
        own, text = json.load(graph)["size"]["value"], workload.read()
    path = kept_path(out, record) + ".workload.yaml"
    with open(path, "w") as file:
        file.write(re.sub(rf"^sizes: {{({SIZE}): \d+}}", rf"sizes: {{\1: {own}}}", text, flags=re.M))
    return path


def fill(prepared, out, options):
    """Where a run kept nothing: what FILL writes for the module's own sizes, without a measurement or a proof."""

    def change(record, result, environment):
        source = os.path.join(prepared, record["name"], record.get("file", "init.cu"))
        workload = workload_of(prepared, record, out)
        sizes = ["--workload=" + workload] if workload else []
        status, text = words_of([options["kb-opt"], "-passes=" + FILL, *sizes, "-o", kept_path(out, record), source, *options["extra"], "--", *record["flags"]], time.time() + options["seconds"], environment)
        result.update(pipeline=FILL, unmeasured=True) if status == 0 else None
        print(f"{result['name']}: " + (FILL if status == 0 else f"status {status}, {last(r'error: (.*)', text)}"), flush=True)

    amend(prepared, out, options, lambda record, result: not result.get("pipeline") or result.get("unmeasured"), change)


# Problems that KernelBenchFiltered (pavanyellow/KernelBenchFiltered at 67a4e2b, the part of KernelBench on which METR reports) leaves out, by level: results that do not depend on the inputs, are
# all but constant, or need next to no work.
FILTERED_OUT = {"level1": {8, 12, 23, 37, 39, 50, 77, 90, 95, 97}, "level2": {9, 13, 23, 27, 36, 38, 41, 44, 45, 49, 58, 66, 77, 80, 83, 84, 89, 91, 93, 96},
                "level3": {3, 5, 7, 11, 12, 18, 28, 32, 34, 35, 45, 46, 47}}


def groups_of(result):
    """The lines of a table that a problem counts in: (level, which numbers)."""
    level, rest = result["name"].split("/")
    number = re.match(r"\d+", rest)
    parity = parity_of(result)
    is_kept = level in FILTERED_OUT and number and int(number[0]) not in FILTERED_OUT[level]
    return [(level, parity), *([(level, parity + ", filtered")] if is_kept else [])]


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else 1.0


def parity_of(result):
    number = re.match(r"\d+", result["name"].split("/")[1])
    return ("odd" if int(number[0]) % 2 else "even") if number else "all"


def latest(paths, file):
    """The records in files, or in `file` of folders, by name. Later records of a problem take the place of earlier ones."""
    records = {}
    for path in paths:
        with open(os.path.join(path, file) if os.path.isdir(path) else path) as text:
            records.update((record["name"], record) for record in json.load(text))
    return [records[name] for name in sorted(records)]


def report(paths):
    results = latest(paths, "results.json")
    print("| problem | given, us | kept, us | gain | roofline, us | seconds | pipeline, or why not |\n|---|---:|---:|---:|---:|---:|---|")
    for r in results:
        cell = lambda key: f"{float(r[key]):.1f}" if r.get(key) else ""
        print(f"| {r['name']} | {cell('beforeUs')} | {cell('afterUs')} | {r['gain']:.2f} | {cell('floorUs')} | {r.get('seconds', 0):.0f} | "
              f"{'`' + r['pipeline'] + '`' if r['pipeline'] else r['note'] or 'nothing better was found'} |")
    print("\n| level | numbers | problems | parsed | ran | judged | gained | geometric mean of those that gained | of all, others as 1.0 | of all, with gains that were not proven |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    groups = {}
    for r in results:
        for level, parity in groups_of(r):
            groups.setdefault((level, parity), []).append(r)
            groups.setdefault(("all", parity), []).append(r)
    for (level, parity), group in sorted(groups.items(), key=lambda g: (not g[0][1].startswith("odd"), "filtered" in g[0][1], g[0][0] == "all", g[0][0])):
        share = lambda key: f"{100 * sum(bool(key(r)) for r in group) / len(group):.0f} %"
        gains = [r["gain"] for r in group]
        print(f"| {level} | {parity} | {len(group)} | {share(lambda r: r['parsed'])} | {share(lambda r: r['ran'])} | {share(lambda r: r['ran'] and r['status'] in (0, 4))} | "
              f"{share(lambda r: r['gain'] > 1)} | {geometric_mean([g for g in gains if g > 1]):.2f} | {geometric_mean(gains):.2f} | "
              f"{geometric_mean([max(r.get('screened', 1.0), r['gain']) for r in group]):.2f} |")
