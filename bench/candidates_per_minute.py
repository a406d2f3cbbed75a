"""Runs -passes=auto without journal or knowledge of earlier runs and prints candidates judged per minute.

usage: candidates_per_minute.py KB-OPT PROGRAM …
"""

import re
import subprocess
import sys
import tempfile
import time

tool, programs = sys.argv[1], sys.argv[2:]
for program in programs:
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        run = subprocess.run([tool, "-passes=auto", "--budget-candidates=10", f"--journal={folder}/j",
                              f"--knowledge={folder}/k", "-o", f"{folder}/patch", program],
                             capture_output=True, text=True)
        seconds = time.monotonic() - start
    if run.returncode not in (0, 4):
        sys.exit(run.stderr)
    judged = len(re.findall(r"^\[\d+\].*(?:correct|inconclusive)", run.stderr, re.M))
    print(f"{program}: {judged} candidates in {seconds:.1f} s, {60 * judged / seconds:.1f} per minute")
