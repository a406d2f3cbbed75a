"""Compares the plans that launch maps derive with recorded ones, and prints a line for each program.

usage: compare.py FOLDER examples SOURCE FAMILY [PASS…]      the before and after of each pass of a family
       compare.py FOLDER passes PROGRAM PIPELINE [PROGRAM PIPELINE…]

Fails where a derived plan differs from the recorded one, or where kb-opt fails.
"""

import pathlib
import re
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
bad = False


def compare(name, before, after, workload=None):
    global bad
    command = ["kb-opt", "--quiet", "--emit=launch-map", f"--judge={after}", str(before)]
    if workload:
        command.append(f"--workload={workload}")
    done = subprocess.run(command, capture_output=True, text=True)
    said = re.sub(r" \([\d.]+ ms\)", "", done.stdout.removeprefix("launch map: ").strip())
    print(f"{name}: {said or done.stderr.strip()}", flush=True)
    bad |= done.returncode != 0


def examples(source, family, names):
    for example in sorted((source / "passes" / family).glob("*/examples/after.cu")):
        name = example.parent.parent.name
        places = [example.parent.parent / "test/workload.yaml", pathlib.Path(__file__).parent / f"{name}.yaml"]
        workload = next((place for place in places if place.exists()), None)
        if workload and (not names or name in names):
            compare(name, example.parent / "before.cu", example, workload)


def passes(pairs):
    for number, (program, pipeline) in enumerate(pairs):
        after = folder / f"{number}.cu"
        subprocess.run(["kb-opt", "--quiet", f"-passes={pipeline}", "-o", after, program], check=True)
        compare(f"{pathlib.Path(program).stem} {pipeline}", program, after)


if sys.argv[2] == "examples":
    examples(pathlib.Path(sys.argv[3]), sys.argv[4], sys.argv[5:])
else:
    passes(zip(sys.argv[3::2], sys.argv[4::2]))
sys.exit(bad)
