"""Ctrl-C: the run ends soon, with the best so far and status 4."""

import signal
import subprocess
import sys
import time

child = subprocess.Popen(["kb-opt", "-passes=auto", "--emit=source", *sys.argv[2:], sys.argv[1]],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
seen = ""
while "correct" not in seen:
    line = child.stderr.readline()
    assert line, seen
    seen += line
child.send_signal(signal.SIGINT)
start = time.monotonic()
out, err = child.communicate(timeout=60)
print(f"status {child.returncode}")
assert "__global__" in out, out
print([line for line in (seen + err).splitlines() if line.startswith("stopped")][0])
