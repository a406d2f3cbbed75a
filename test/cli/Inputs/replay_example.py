"""Searches on an example, replays the pipeline that comes out, and searches once more.

usage: replay_example.py FOLDER PROGRAM CANDIDATES

The replayed file must be the search's, byte for byte; the second search must use the knowledge and the journal of the
first, say so, and carry out less.
"""

import pathlib
import re
import shlex
import subprocess
import sys

folder, program, candidates = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 4), done.stderr
    return done.stderr


def search(output):
    said = run(["kb-opt", "-v", "-passes=auto", f"--budget-candidates={candidates}", f"--journal={folder}/j.sqlite",
                f"--knowledge={folder}/kb", "-o", folder / output, program])
    answered, carried = map(int, re.search(r"effects: (\d+) answered from the journal, (\d+) carried out", said).groups())
    return said, answered, carried


first, _, carriedFirst = search("auto.cu")
assert "knowledge: the built-in seed" in first, first
replay = re.search(r"^replay: (.*)$", first, re.MULTILINE)
if replay:
    run([*shlex.split(replay.group(1)), "--emit=source", "-o", folder / "replayed.cu"])
    assert (folder / "replayed.cu").read_bytes() == (folder / "auto.cu").read_bytes()
else:
    assert (folder / "auto.cu").read_bytes() == pathlib.Path(program).read_bytes()
again, answered, carriedAgain = search("again.cu")
assert re.search(r"knowledge: [1-9]\d* records of earlier runs", again), again
assert answered > 0 and carriedAgain < carriedFirst, (answered, carriedFirst, carriedAgain)
print("replayed" if replay else "nothing to replay", f"{carriedFirst} effects, then {carriedAgain}")
