"""Counts the programs that kb-opt runs for their recording: none where an earlier run left one that still holds.

usage: count_recordings.py FOLDER PROGRAM
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
program = folder / "program.cu"
shutil.copy(sys.argv[2], program)
cache = folder / "cache"
recordings = cache / "kb-opt" / "recordings"
PROGRAM = re.compile(r'execve\("[^"]*/program", ')
jobs = 0


def start(*options, environment=()):
    """A run of kb-opt that records the program, as a process, with its folder of results and the list of what it starts."""
    global jobs
    jobs += 1
    job, log = folder / f"job{jobs}", folder / f"execs{jobs}"
    command = ["strace", "-f", "-qq", "-e", "trace=execve", "-o", str(log), "kb-opt", "--emit=job", f"-o{job}", *options,
               str(program)]
    return job, log, subprocess.Popen(command, stderr=subprocess.PIPE, text=True,
                                      env={**os.environ, "XDG_CACHE_HOME": str(cache), **dict(environment)})


def finish(started):
    """How many programs it ran, its results, and what it said."""
    job, log, child = started
    errors = child.communicate()[1]
    assert child.returncode == 0, errors
    runs = [line for line in log.read_text(errors="replace").splitlines() if PROGRAM.search(line) and "= 0" in line]
    return len(runs), {name.name: name.read_bytes() for name in job.iterdir()}, errors


def run(what, *options, environment=()):
    runs, results, errors = finish(start(*options, environment=environment))
    print(f"{what}: {runs}", *errors.splitlines())
    return results


# Files are older than the runs that read them.
def write(path, text):
    path.write_text(text)
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns - 10**9))


write(program, program.read_text())
first = run("first")
assert run("again") == first
assert run("with another path", environment={"SHLVL": "7", "OLDPWD": "/"}) == first
assert run("an unrelated file", environment=write(folder / "other.txt", "x") or ()) == first

write(folder / "input.txt", "5")
changed = run("an input appeared")
assert changed != first
assert run("again") == changed
write(folder / "input.txt", "6")
assert run("an input changed") != changed
(folder / "input.txt").unlink()
assert run("an input is gone") == first

assert run("another variable", environment={"KB_TEST_FACTOR": "3"}) != first
assert run("the first variables") == first
assert run("nothing is kept", "--recordings-size=0") == first

for blob in recordings.iterdir():
    if blob.stat().st_size == 4 << 14:
        blob.chmod(0o600)
        blob.write_bytes(b"damaged")
assert run("damaged") == first
assert run("mended") == first

shutil.rmtree(recordings)
both = [start(), start()]
results = [finish(each) for each in both]
print("two at once:", results[0][2] + results[1][2] + "the same" if results[0][1] == results[1][1] == first else "differ")
assert run("after both") == first

shutil.rmtree(recordings)
recordings.write_text("")
assert run("no folder") == first
