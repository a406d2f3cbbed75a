"""Counts the compilers that kb-opt starts: none in a run that its journal answers, and in a run that goes on after a
kill none for what was done before.

usage: count_compiles.py FOLDER PROGRAM
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

folder, program = pathlib.Path(sys.argv[1]), sys.argv[2]
# What one compile starts at most, beside the compiler itself: nvcc's parts and their shells are not counted.
COMPILER = re.compile(r'execve\("[^"]*/(clang[^/"]*|nvcc|ld[^/"]*|cc1plus|cicc|ptxas)", \[(.*)|execve\("[^"]*/kb-run", \["[^"]*", "compile"')


def run(name, cache, kill_after=None):
    """The commands of compilers that one kb-opt started."""
    log = folder / "execs"
    command = ["strace", "-f", "-qq", "-s", "64", "-e", "trace=execve", "-o", str(log),
               "kb-opt", "-v", "-passes=auto", "--budget-candidates=4", "--emit=source", "-j1", f"--journal={folder}/{name}.sqlite",
               f"--knowledge={folder}/{name}", f"-o{folder}/{name}.cu", program]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
                             env={**os.environ, "XDG_CACHE_HOME": str(folder / cache)})
    if kill_after is not None:
        begin = time.monotonic()
        while child.poll() is None and (not log.exists() or len(compilers(log)) < kill_after):
            assert time.monotonic() - begin < 120
            time.sleep(0.02)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    else:
        errors = child.communicate()[1]
        assert child.returncode in (0, 4), errors
    return compilers(log)


def compilers(log):
    return [line for line in log.read_text(errors="replace").splitlines() if COMPILER.search(line) and "ENOENT" not in line]


first = run("whole", "cache")
print("first run:", "some" if len(first) > 5 else first)
again = run("whole", "cache")
print(f"again: {len(again)}", *again)

killed = run("killed", "other", kill_after=len(first) // 2)
resumed = run("killed", "other")
# The compile that the kill ended is made again: nvcc starts four programs.
spare = len(killed) + len(resumed) - len(first)
print("resumed:", "only what was missing" if 0 < len(resumed) < len(first) and spare <= 5 else (len(first), len(killed), len(resumed)))
assert (folder / "killed.cu").read_bytes() == (folder / "whole.cu").read_bytes()
