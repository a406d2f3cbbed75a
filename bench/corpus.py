#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Optimizes public programs of other authors, and says what came of it.

    bench/corpus.py fetch FOLDER                        checks the repositories of bench/corpus.json out (git, network)
    bench/corpus.py run FOLDER OUT [options] [-- …]     kb-opt -passes=auto on each; what follows -- goes to kb-opt
        --kb-opt=PATH       the tool (default: build/bin/kb-opt)
        --only=REGEX        programs by name
        --jobs=N            so many at once (default 1)
        --seconds=S         for the search of each program (default 120)
        --deadline=S        after so many seconds nothing is begun and what runs is stopped (default: none)
        --replay            also run the found pipeline alone and compare what it prints with what the search wrote
    bench/corpus.py judge FOLDER OUT [options] [-- …]   each judged against itself, which must be correct; --seconds is for each
    bench/corpus.py report OUT                          table and geometric means; failures count as 1.0

Programs without a repository are this one's own. Nothing of the others is kept: OUT has kb-opt's words, the evidence in OUT/evidence.jsonl and
results.json. The author's best and cuBLAS: bench/native.py. Raised kernels: bench/raised.py.
"""
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MANIFEST = json.load(open(os.path.join(HERE, "corpus.json")))


def root_of(folder, program):
    return os.path.join(folder, program["repository"].split("/")[1]) if program["repository"] else os.path.dirname(HERE)


def fetch(folder):
    for repository, commit in MANIFEST["commits"].items():
        root = os.path.join(folder, repository.split("/")[1])
        if not os.path.isdir(root):
            subprocess.run(["git", "clone", "-q", "--filter=blob:none", f"https://github.com/{repository}", root], check=True)
        subprocess.run(["git", "-C", root, "checkout", "-q", commit], check=True)


def workload_of(program, arguments, seconds):
    """The workload file of a program; nothing for one that says in its source how to run it."""
    if "workload" in program:
        return "\n".join(program["workload"]) + "\n"
    if not program["repository"]:
        return ""
    limits = {"seconds": seconds, "gibibytes": 16}
    if "launches" in program:
        limits["launches"] = program["launches"]
    return "program: " + json.dumps({"arguments": arguments, "limits": limits}) + "\n"


def command_of(program, root, out, options, extra, arguments, name):
    workload, text = os.path.join(out, name + ".yaml"), workload_of(program, arguments, options["seconds"])
    with open(workload, "w") as file:
        file.write(text)
    flags = [flag.replace("{root}", root) for flag in program["flags"]]
    return [options["kb-opt"], *([f"--workload={workload}"] if text else []), os.path.join(root, program["file"]), *extra, "--", *flags]


def last(pattern, text):
    found = re.findall(pattern, text)
    return found[-1] if found else None


def understand(status, text):
    """What kb-opt said of one program, as a record."""
    result = {"status": status, "gain": 1.0}
    gain = last(r"result: ([0-9.]+) x faster, ([0-9.]+) -> ([0-9.]+) us", text)
    if gain and status in (0, 4):
        result.update(gain=float(gain[0]), beforeUs=float(gain[1]), afterUs=float(gain[2]))
    result["pipeline"] = last(r"replay: kb-opt -passes='([^']*)'", text)
    result["state"] = last(r"state: (.*)", text)
    result["floorUs"] = last(r"no rewrite goes below ([0-9.]+) us", text)
    result["note"] = last(r"(?:.*left alone|kb-opt: error): (.*)", text)
    result["tried"] = len(re.findall(r"^\[\d+\]", text, re.M))
    return result


def does_replay(program, root, out, options, arguments, name, pipeline):
    """Whether the pipeline alone writes the file that the search wrote."""
    again = os.path.join(out, name + ".replayed.cu")
    command = command_of(program, root, out, options, ["--quiet", "--unsafe-no-sandbox"], arguments, name)
    command[1:1] = [f"-passes={pipeline}", "-o", again]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    found = os.path.join(out, name + ".cu")
    return done.returncode == 0 and os.path.exists(found) and open(found).read() == open(again).read()


def words_of(command, end):
    """The exit status and all that the command said; no status where it was not over at `end`, a time or nothing."""
    left = end - time.time() if end else None
    if left is not None and left < 5:
        return None, ""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=left)
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(errors="replace")
    return done.returncode, done.stdout


def run_one(program, folder, out, options, extra):
    root = root_of(folder, program)
    name = program["name"].replace("/", "-")
    knowledge = os.path.join(out, "knowledge", name)
    os.makedirs(knowledge, exist_ok=True)
    arguments = program.get("arguments", [])
    command = command_of(program, root, out, options, extra, arguments, name)
    command[1:1] = ["-v", "-passes=auto", f"--knowledge={knowledge}", f"--journal={out}/{name}.sqlite",
                    f"--budget-seconds={options['seconds']}", "-o", os.path.join(out, name + ".cu")]
    start = time.time()
    status, text = words_of(command, options["end"])
    with open(os.path.join(out, name + ".log"), "w") as log:
        log.write(text)
    result = {"name": program["name"], **understand(status, text)}
    if status is None:
        result["note"] = "stopped at the deadline"
    result["seconds"] = round(time.time() - start, 1)
    if options["replay"] and result["pipeline"]:
        result["replays"] = does_replay(program, root, out, options, arguments, name, result["pipeline"])
    print(f"{result['name']}: {result['gain']:.2f} x, status {result['status']}, {result['seconds']} s"
          + (f", {result['note']}" if result["note"] else ""), flush=True)
    return result


VERDICT = re.compile(r"^(correct|(?:incorrect|inconclusive) \(.*|kb-opt: error.*)$", re.M)


def judge_one(program, candidate, name, folder, out, options, extra):
    """Whether kb-opt calls the file `candidate` a right rewrite of the program; says what it says."""
    command = command_of(program, root_of(folder, program), out, options, [], program.get("arguments", []), name)
    command[1:1] = [f"--judge={candidate}", f"--budget-seconds={options['seconds']}", "--time-passes", *extra]
    start = time.time()
    status, text = words_of(command, options["end"])
    with open(os.path.join(out, name + ".log"), "w") as log:
        log.write(text)
    verdict = VERDICT.search(text)
    print(f"{name}: {verdict[0] if verdict else 'not over'}, {time.time() - start:.1f} s", flush=True)
    return status == 0


def judge(folder, out, options, extra):
    folder, out = prepare(folder, out, options)
    with concurrent.futures.ThreadPoolExecutor(options["jobs"]) as pool:
        good = list(pool.map(
            lambda p: judge_one(p, os.path.join(root_of(folder, p), p["file"]), p["name"].replace("/", "-"), folder, out, options, extra),
            programs_of(options)))
    print(f"correct against themselves: {sum(good)} of {len(good)}")
    return 0 if all(good) else 1


def keep(out, results):
    """Whatever ends the run, what was done is there."""
    with open(os.path.join(out, "results.json.part"), "w") as file:
        json.dump(sorted(results, key=lambda r: r["name"]), file, indent=1)
    os.replace(os.path.join(out, "results.json.part"), os.path.join(out, "results.json"))
    lines = set()
    for result in results:
        path = os.path.join(out, "knowledge", result["name"].replace("/", "-"), "evidence.jsonl")
        if os.path.exists(path):
            lines.update(open(path).read().splitlines())
    with open(os.path.join(out, "evidence.jsonl"), "w") as file:
        file.writelines(line + "\n" for line in sorted(lines))


def prepare(folder, out, options):
    os.makedirs(out, exist_ok=True)
    options["end"] = time.time() + options["deadline"] if options["deadline"] else None
    return os.path.abspath(folder), os.path.abspath(out)


def programs_of(options):
    return [p for p in MANIFEST["programs"] if re.search(options["only"], p["name"])]


def run(folder, out, options, extra):
    folder, out = prepare(folder, out, options)
    results = []
    with concurrent.futures.ThreadPoolExecutor(options["jobs"]) as pool:
        waiting = [pool.submit(run_one, p, folder, out, options, extra) for p in programs_of(options)]
        for done in concurrent.futures.as_completed(waiting):
            results.append(done.result())
            keep(out, results)


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def summary(results):
    """A line per family: number, geometric mean, median, shares above 1, 1.1, 1.5 and 2."""
    families = {}
    for result in results:
        families.setdefault(result["name"].split("/")[0], []).append(result["gain"])
    rows = []
    for family, gains in [*families.items(), ("all", [r["gain"] for r in results])]:
        shares = [sum(g > least for g in gains) / len(gains) for least in (1, 1.1, 1.5, 2)]
        rows.append((family, len(gains), geometric_mean(gains), median(gains), shares))
    return rows


def report(out):
    results = json.load(open(os.path.join(out, "results.json")))
    print("| program | given, us | kept, us | gain | roofline, us | seconds | pipeline, or why not |\n|---|---:|---:|---:|---:|---:|---|")
    for r in results:
        cell = lambda key: f"{float(r[key]):.1f}" if r.get(key) else ""
        print(f"| {r['name']} | {cell('beforeUs')} | {cell('afterUs')} | {r['gain']:.2f} | {cell('floorUs')} | {r.get('seconds', 0):.0f} | "
              f"{'`' + r['pipeline'] + '`' if r['pipeline'] else r['note'] or 'nothing better was found'}{' (replays differently)' if r.get('replays') is False else ''} |")
    print("\n| family | programs | geometric mean | median | above 1 | 1.1 | 1.5 | 2 |\n|---|---|---|---|---|---|---|---|")
    for family, count, mean, middle, shares in summary(results):
        print(f"| {family} | {count} | {mean:.2f} | {middle:.2f} | " + " | ".join(f"{100 * s:.0f} %" for s in shares) + " |")


def read_options(argv, doc):
    """The names, the options and what goes to kb-opt."""
    options = {"kb-opt": "build/bin/kb-opt", "only": "", "jobs": 1, "seconds": 120, "deadline": 0, "replay": False}
    extra = argv[argv.index("--") + 1:] if "--" in argv else []
    words = argv[:argv.index("--")] if "--" in argv else argv
    names = [w for w in words if not w.startswith("--")]
    for word in words:
        if word == "--replay":
            options["replay"] = True
        elif word.startswith("--"):
            key, _, value = word[2:].partition("=")
            if key not in options or not value:
                sys.exit(f"unknown option '{word}'\n{doc}")
            options[key] = type(options[key])(value)
    return names, options, extra


def main(argv):
    names, options, extra = read_options(argv, __doc__)
    if names[:1] == ["fetch"] and len(names) == 2:
        return fetch(names[1])
    if names[:1] == ["run"] and len(names) == 3:
        return run(names[1], names[2], options, extra)
    if names[:1] == ["judge"] and len(names) == 3:
        return judge(names[1], names[2], options, extra)
    if names[:1] == ["report"] and len(names) == 2:
        return report(names[1])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
