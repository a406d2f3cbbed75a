"""Ends kb-opt while a child of a known number runs: the child itself tells it to stop, and then never ends.

usage: interrupt_child.py FOLDER PROGRAM TOOL NUMBER SIGNAL

TOOL is what kb-opt starts (bwrap, ld); NUMBER counts its starts. kb-opt must end with status 4, must leave
a program, and must hold nothing against any candidate.
"""

import os
import pathlib
import shutil
import subprocess
import sys

folder, program, tool, number, signal = pathlib.Path(sys.argv[1]), *sys.argv[2:]
wrappers = folder / "wrappers"
wrappers.mkdir(parents=True)
wrapper = wrappers / tool
wrapper.write_text(f"""#!/bin/sh
echo started >> {folder}/starts
if [ "$(wc -l < {folder}/starts)" -eq {number} ]; then
  kill -{signal} "$PPID"
  exec sleep 1000
fi
exec {shutil.which(tool)} "$@"
""")
wrapper.chmod(0o755)
done = subprocess.run(["kb-opt", "-v", "-passes=auto", "-j1", "--seed=1", "--budget-candidates=4",
                       "--compile-cache-size=0", f"--journal={folder}/j.sqlite",
                       f"--knowledge={folder}/kb", f"-o{folder}/out.cu", program],
                      env={**os.environ, "PATH": f"{wrappers}:{os.environ['PATH']}"},
                      capture_output=True, text=True, timeout=500)
sys.stderr.write(done.stderr)
assert len((folder / "starts").read_text().splitlines()) == int(number), "something was started after the interrupt"
assert "__global__" in (folder / "out.cu").read_text()
evidence = folder / "kb" / "evidence.jsonl"
assert not evidence.exists() or '"incorrect"' not in evidence.read_text(), evidence.read_text()
print(f"status {done.returncode}")
print([line for line in done.stderr.splitlines() if line.startswith("stopped: interrupted")][0])
