#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says which kernels of the public programs kb-opt raises to kb.nest, and why not the others.

    bench/raised.py FOLDER [--kb-opt=PATH] [--only=REGEX] [--jobs=N] [--list] [--json=FILE] [--sources=GLOB [--flags=FLAGS]]

FOLDER has the repositories (bench/corpus.py fetch). Asked are the programs of bench/corpus.json, this repository's own included, each file once, and
the odd-numbered problems of KernelBlaster's data/kernelbench-cuda (level, number and name make the program's name). Kernels are counted, not programs:
an instance of a template is one.
With --sources, the programs are instead the files below FOLDER that the pattern names, each compiled with FLAGS, in which {folder} is the file's
own folder and {root} is FOLDER: --sources='src/*-cuda/main.cu' --flags='-O3 -I {folder} -I {root}/src/include'.
--list prints every kernel that is not raised with its reason; the table groups reasons that differ in names and numbers alone.
"""
import collections
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys

import corpus


def kernels_of(text):
    """Name and reason of each kernel that --emit=kb-nest prints; the reason of a raised one is empty."""
    found = re.findall(r'^\s*kb\.(nest|unraised) @(?:"([^"]*)"|(\S+))(?: "((?:[^"\\]|\\.)*)")?', text, re.M)
    return [(quoted or plain, re.sub(r'\\(["\\])', r"\1", reason) if kind == "unraised" else "") for kind, quoted, plain, reason in found]


def kind_of(reason):
    """The reason without names and numbers."""
    return re.sub(r"\b\d+\b", "…", re.sub(r"'[^']*'|\"[^\"]*\"", "…", reason))


def programs_in(folder):
    """(name, file, flags) of everything to ask, each file once."""
    seen, result = set(), []
    for program in corpus.MANIFEST["programs"]:
        root = corpus.root_of(folder, program)
        if program["file"] not in seen:
            seen.add(program["file"])
            result.append((program["name"], os.path.join(root, program["file"]), [flag.replace("{root}", root) for flag in program["flags"]]))
    for path in sorted(glob.glob(os.path.join(folder, "KernelBlaster/data/kernelbench-cuda/level*/*/init.cu"))):
        level, problem = path.split("/")[-3:-1]
        if int(problem.split("_")[0]) % 2:
            result.append((f"KernelBlaster-{level[-1]}/{problem}", path, []))
    return result


def programs_of(folder, pattern, flags):
    """(name, file, flags) of the files below folder that pattern names."""
    result = []
    for path in sorted(glob.glob(os.path.join(folder, pattern))):
        words = [w.replace("{folder}", os.path.dirname(path)).replace("{root}", folder) for w in flags.split()]
        result.append((os.path.basename(os.path.dirname(path)), path, words))
    return result


def ask(options, program):
    name, path, flags = program
    try:
        done = subprocess.run([options["kb-opt"], "--emit=kb-nest", path, "--", *flags], capture_output=True, text=True, errors="replace", timeout=120)
    except subprocess.TimeoutExpired:
        return name, [("(all)", "longer than 120 s")]
    if done.returncode:
        return name, [("(all)", f"kb-opt ended with status {done.returncode}: {(done.stderr.splitlines() or [''])[0]}")]
    return name, kernels_of(done.stdout)


def table(answers):
    """Rows (family, programs, kernels, raised), and how often each kind of reason was given, with an example."""
    rows, reasons = collections.OrderedDict(), collections.OrderedDict()
    for name, kernels in answers:
        row = rows.setdefault(name.split("/")[0], [0, 0, 0])
        row[0] += 1
        row[1] += len(kernels)
        row[2] += sum(not reason for _, reason in kernels)
        for kernel, reason in kernels:
            if reason:
                entry = reasons.setdefault(kind_of(reason), [0, f"{name} {kernel}"])
                entry[0] += 1
    return rows, sorted(reasons.items(), key=lambda item: -item[1][0])


def main(argv):
    options = {"kb-opt": "build/bin/kb-opt", "only": "", "jobs": 2, "list": False, "json": "", "sources": "", "flags": ""}
    names = [w for w in argv if not w.startswith("--")]
    for word in (w for w in argv if w.startswith("--")):
        key, _, value = word[2:].partition("=")
        if key == "list":
            options["list"] = True
        elif key in options and value:
            options[key] = type(options[key])(value)
        else:
            sys.exit(f"unknown option '{word}'\n{__doc__}")
    if len(names) != 1:
        sys.exit(__doc__)
    folder = os.path.abspath(names[0])
    every = programs_of(folder, options["sources"], options["flags"]) if options["sources"] else programs_in(folder)
    programs = [p for p in every if re.search(options["only"], p[0])]
    with concurrent.futures.ThreadPoolExecutor(options["jobs"]) as pool:
        answers = list(pool.map(lambda program: ask(options, program), programs))
    rows, reasons = table(answers)
    if options["list"]:
        for name, kernels in answers:
            for kernel, reason in kernels:
                if reason:
                    print(f"{name} {kernel}: {reason}")
        print()
    if options["json"]:
        with open(options["json"], "w") as file:
            json.dump(answers, file, indent=1)
    print("| family | programs | kernels | raised | |\n|---|---:|---:|---:|---:|")
    groups = {"corpus": [r for f, r in rows.items() if not f.startswith("KernelBlaster")], "KernelBlaster": [r for f, r in rows.items() if f.startswith("KernelBlaster")]}
    for family, row in [*rows.items(), *((f"**{name}**", [sum(c) for c in zip(*group)]) for name, group in groups.items() if group)]:
        print(f"| {family} | {row[0]} | {row[1]} | {row[2]} | {100 * row[2] / max(row[1], 1):.0f} % |")
    print("\n| not raised | why | for example |\n|---:|---|---|")
    for reason, (count, example) in reasons:
        print(f"| {count} | {reason} | {example} |")


if __name__ == "__main__":
    main(sys.argv[1:])
