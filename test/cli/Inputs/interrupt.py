"""Ctrl-C, or the signal that SIGNAL names: the run ends soon, with the best so far and status 4. With --fix the file stays
as it is."""

import os
import signal
import subprocess
import sys
import time

before = open(sys.argv[1]).read()
child = subprocess.Popen(["kb-opt", "-v", "-passes=auto", "--emit=source", *sys.argv[2:], sys.argv[1]],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
seen = ""
while "correct" not in seen:
    line = child.stderr.readline()
    assert line, seen
    seen += line
child.send_signal(getattr(signal, "SIG" + os.environ.get("SIGNAL", "INT")))
start = time.monotonic()
out, err = child.communicate(timeout=60)
print(f"status {child.returncode}")
assert "--fix" in sys.argv or "__global__" in out, out
assert open(sys.argv[1]).read() == before
print("\n".join(line for line in (seen + err).splitlines() if "left as it is" in line))
print([line for line in (seen + err).splitlines() if line.startswith("stopped")][0])
