"""Kills kb-opt at random moments and starts it again: the last run must end as an undisturbed one does,
and must carry out exactly the effects that no earlier run had finished.

usage: kill_and_resume.py FOLDER PROGRAM SEED
"""

import pathlib
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time

folder, program, seed = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
random.seed(seed)


def command(name):
    return ["kb-opt", "-v", "-passes=auto", "--budget-candidates=6", "--emit=source", "-j1",
            f"--journal={folder}/{name}.sqlite", f"--knowledge={folder}/{name}", f"-o{folder}/{name}.cu", program]


def effects(name):
    """How many answers the journal holds, whatever its tables are called; a gate's is part of a confirmation."""
    path = folder / f"{name}.sqlite"
    if not path.exists():
        return 0
    database = sqlite3.connect(path)
    tables = [row[0] for row in database.execute("select name from sqlite_master where type = 'table'")]
    counts = [database.execute(f'select count(*) from "{table}" where kind is not null and kind <> \'gate\'').fetchone()[0]
              for table in tables
              if "kind" in [column[1] for column in database.execute(f'pragma table_info("{table}")')]]
    return sum(counts)


def finish(name):
    done = subprocess.run(command(name), capture_output=True, text=True)
    assert done.returncode in (0, 4), done.stderr
    answered, carried = re.search(r"effects: (\d+) answered from the journal, (\d+) carried out", done.stderr).groups()
    return int(carried)


finish("whole")
kills = 0
# Not close to the end, where evidence is written: another run would know it and go another way.
for target in sorted(random.sample(range(effects("whole") * 3 // 4), 4)):
    child = subprocess.Popen(command("killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while effects("killed") < target:
        assert child.poll() is None, "it ended by itself"
        time.sleep(0.02)
    time.sleep(random.uniform(0, 0.2))
    child.send_signal(signal.SIGKILL)
    child.wait()
    kills += 1
before = effects("killed")
carried = finish("killed")
assert carried == effects("killed") - before, (carried, before, effects("killed"))
assert (folder / "killed.cu").read_bytes() == (folder / "whole.cu").read_bytes()
assert effects("killed") == effects("whole"), (effects("killed"), effects("whole"))


def records(name):
    lines = (folder / name / "evidence.jsonl").read_text().splitlines()
    return sorted(line.split('"id":"')[1][:32] for line in lines)


assert records("killed") == records("whole")
print(f"killed {kills} times, {before} effects kept, {carried} carried out at the end")
