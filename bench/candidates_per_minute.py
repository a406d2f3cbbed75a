#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Searches programs with -passes=auto, without journal or knowledge of earlier runs, and says how long a candidate takes.

    candidates_per_minute.py KB-OPT [--corpus=FOLDER] [--jobs=1,0] [--candidates=10] [--seconds=S] [--out=FOLDER] PROGRAM… [-- …]

A PROGRAM is a file, or with --corpus a name of bench/corpus.json, whose repositories lie in FOLDER. Each is searched once for every
number of --jobs (kb-opt's -j; 0: as many as there are processors). What follows -- goes to kb-opt. A line for each search:

    each       seconds of one candidate: rewriting, counting, all gates of a search, counters of the GPU
    gates      of these, all gates
    in search  candidates a minute without what is done once: reading the program, judging the original, the winner's final check
    in all     candidates a minute over the whole run
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import corpus


def seconds_of(text, group, part):
    """Sum and number of a line of --time-passes."""
    found = re.search(rf"^  {re.escape(group)}\n((?:    .*\n)*)", text, re.M)
    line = re.search(rf"^ +([0-9.]+) s +[0-9.]+% +(\d+) x .*  {re.escape(part)}$", found[1] if found else "", re.M)
    return (float(line[1]), int(line[2])) if line else (0.0, 0)


def gates_of(text):
    found = re.search(r"^  gates of the search\n((?:    .*\n)*)", text, re.M)
    return sum(float(s) for s in re.findall(r"^ +([0-9.]+) s", found[1] if found else "", re.M))


def command_for(options, name, folder):
    for program in corpus.MANIFEST["programs"]:
        if options["corpus"] and program["name"] == name:
            given = {"kb-opt": options["tool"], "seconds": 600}
            return corpus.command_of(program, os.path.abspath(corpus.root_of(options["corpus"], program)), folder, given,
                                     options["extra"], program.get("arguments", []), name.replace("/", "-"))
    return [options["tool"], *options["extra"], name]


def measure(options, name, jobs):
    with tempfile.TemporaryDirectory() as folder:
        command = command_for(options, name, folder)
        command[1:1] = ["-v", "-passes=auto", "--time-passes", f"--budget-candidates={options['candidates']}",
                        f"--journal={folder}/j", f"--knowledge={folder}/k", "-o", f"{folder}/patch"]
        command[1:1] = [f"-j{jobs}"] if jobs else []
        command[1:1] = [f"--budget-seconds={options['seconds']}"] if options["seconds"] else []
        start = time.monotonic()
        run = subprocess.run(command, capture_output=True, text=True, errors="replace")
        seconds = time.monotonic() - start
    text = run.stderr
    title = f"{os.path.basename(name)} {'-j' + str(jobs) if jobs else 'all cores'}"
    if options["out"]:
        os.makedirs(options["out"], exist_ok=True)
        with open(os.path.join(options["out"], title.replace(" ", "-") + ".log"), "w") as log:
            log.write(text)
    if run.returncode not in (0, 4):
        print(f"{title}: failed with status {run.returncode}: {text.strip().splitlines()[-1] if text.strip() else ''}", flush=True)
        return None
    judged, count = seconds_of(text, "effects", "judge")
    once = sum(seconds_of(text, "effects", part)[0] for part in ("judge the original", "confirm"))
    if not count:
        print(f"{title}: no candidate was judged in {seconds:.1f} s", flush=True)
        return None
    others = sum(seconds_of(text, "effects", part)[0] for part in ("rewrite", "counters and model"))
    # The original is counted once, too.
    others *= count / (count + 1)
    gates = gates_of(text)
    during = seconds - once
    row = {"program": name, "jobs": jobs, "candidates": count, "each": (judged + others) / count, "gates": gates / count,
           "inSearch": 60 * count / during, "inAll": 60 * count / seconds, "original": seconds_of(text, "effects", "judge the original")[0],
           "confirm": seconds_of(text, "effects", "confirm")[0], "seconds": seconds}
    print(f"{title}: {count} candidates, each {row['each']:.2f} s, gates {row['gates']:.2f} s; a minute {row['inSearch']:.1f} in search, "
          f"{row['inAll']:.1f} in all; original {row['original']:.1f} s, final check {row['confirm']:.1f} s, all {seconds:.1f} s", flush=True)
    return row


def main(argv):
    options = {"corpus": "", "jobs": "0", "candidates": 10, "seconds": 0, "out": ""}
    options["extra"] = argv[argv.index("--") + 1:] if "--" in argv else []
    words = argv[:argv.index("--")] if "--" in argv else argv
    names = [word for word in words if not word.startswith("--")]
    for word in words:
        if word.startswith("--"):
            key, _, value = word[2:].partition("=")
            if key not in ("corpus", "jobs", "candidates", "seconds", "out") or not value:
                sys.exit(f"unknown option '{word}'\n{__doc__}")
            options[key] = type(options[key])(value)
    if len(names) < 2:
        sys.exit(__doc__)
    options["tool"] = names[0]
    rows = [measure(options, name, jobs) for name in names[1:] for jobs in map(int, options["jobs"].split(","))]
    if options["out"]:
        with open(os.path.join(options["out"], "results.json"), "w") as file:
            json.dump([row for row in rows if row], file, indent=1)
    sys.exit(0 if all(rows) else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
