#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the author's other kernels of llm.c in the place of the given one.

    bench/authors.py FOLDER OUT [--kb-opt=PATH] [--only=REGEX] [--jobs=N] [--seconds=S] [-- …]

FOLDER has the repositories (bench/corpus.py fetch); what follows -- goes to kb-opt. A program's `switch (kernel_num)` names its kernels: each
candidate is the program with the body of another case where the given one was. Candidates promise to reassociate. Not each of them is right (some
leave results unwritten, or compute in TF32), so that every verdict is printed with its reason, and nothing counts as failed.
"""
import concurrent.futures
import os
import re
import sys

import corpus

CASE = re.compile(r"^        case (\d+):.*\n((?:(?! +case | +default:|    \}).*\n)*)", re.M)


def bodies_of(text):
    """Of the dispatch at the end of `text`, where it begins and the number, place and body of each case."""
    begin = text.rfind("switch (kernel_num)")
    return [(int(m[1]), m.span(2), m[2]) for m in CASE.finditer(text, begin)] if begin >= 0 else []


def entry_of(workload):
    """The same workload for the dispatch, whose first parameter says which kernel."""
    lines, given = [], 1
    for line in workload:
        if line.startswith("entry:"):
            line, given = re.sub(r"(\d+)$", "", line), int(re.search(r"(\d+)$", line)[1])
        lines.append(re.sub(r"(block_size, value: \d+)}", r"\1, fixed: true}", line))
        if line == "parameters:":
            lines.append(f"  - {{name: kernel_num, value: {given}, fixed: true}}")
    return lines, given


def candidates_of(program, root, out):
    """The program for its dispatch, and the author's kernels with the files that have them in place of the given one."""
    source = os.path.join(root, program["file"])
    text = open(source).read()
    cases, name = bodies_of(text), program["name"].split("/")[1]
    given = int(program.get("arguments", ["1"])[0])
    if "workload" in program:
        program["workload"], given = entry_of(program["workload"])
    mine = next((place for number, place, _ in cases if number == given), None)
    files = []
    for number, _, body in cases if mine else []:
        if number != given:
            files.append((number, os.path.join(out, f"{name}-{number}.cu")))
            with open(files[-1][1], "w") as file:
                file.write(text[:mine[0]] + re.sub(r"^#.*\n", "", body, flags=re.M) + text[mine[1]:])
    return program, files


def main(argv):
    names, options, extra = corpus.read_options(argv, __doc__)
    if len(names) != 2:
        sys.exit(__doc__)
    folder, out = corpus.prepare(names[0], names[1], options)
    jobs = []
    for program in corpus.MANIFEST["programs"]:
        # The dispatch of attention_forward takes buffers that its first kernel does not have.
        if program["repository"] == "karpathy/llm.c" and "attention_forward" not in program["name"] and re.search(options["only"], program["name"]):
            root = corpus.root_of(folder, program)
            include = ["-I", os.path.dirname(os.path.join(root, program["file"]))]  # the candidates lie elsewhere
            program, files = candidates_of({**program, "flags": program["flags"] + include}, root, out)
            jobs += [(program, path, f"{program['name'].split('/')[1]}-{number}") for number, path in files]
    with concurrent.futures.ThreadPoolExecutor(options["jobs"]) as pool:
        good = list(pool.map(lambda job: corpus.judge_one(*job, folder, out, options, extra), jobs))
    print(f"correct: {sum(good)} of {len(good)}")


if __name__ == "__main__":
    main(sys.argv[1:])
