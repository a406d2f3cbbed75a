"""Kills kb-opt while a model thinks and starts it again: it must end as an undisturbed run does, and ask nothing
again that was answered.

usage: kill_and_ask.py FOLDER PROGRAM STRATEGY QUESTION...
Each run is killed at its QUESTION; there are more than are open at once, so that some were answered.
"""
import os
import pathlib
import re
import select
import signal
import sqlite3
import subprocess
import sys

folder, program, strategy, holds = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
model = pathlib.Path(__file__).with_name("held_model.py")
pipe, leave = folder / "pipe", folder / "leave"
runs = 0
os.mkfifo(pipe)
os.mkfifo(leave)


def count():
    """Where the models of this run are counted; those of a run that was killed may still be starting."""
    return folder / f"count{runs}"


def start(name, hold=""):
    global runs
    runs += 1
    count().write_text("")
    command = ["kb-opt", "-v", "-passes=auto", f"--strategy={strategy}", "--roles=plan-code", f"--llm=command:{sys.executable} {model}", "--trajectories=2",
               "--steps=2", "--budget-candidates=4", "--emit=source", f"--journal={folder}/{name}.sqlite",
               f"--knowledge={folder}/{name}", f"-o{folder}/{name}.cu", program]
    settings = {"MODEL_COUNT": str(count()), "MODEL_LOG": f"{folder}/log", "MODEL_HOLD": hold,
                "MODEL_PIPE": str(pipe), "MODEL_LEAVE": str(leave)}
    return subprocess.Popen(command, env={**os.environ, **settings}, stderr=subprocess.PIPE, text=True)


def questions(name):
    """Names of the answered questions in the journal."""
    path = folder / f"{name}.sqlite"
    if not path.exists():
        return set()
    return {row[0] for row in sqlite3.connect(path).execute("select request from answers where kind = 'model'")}


def finish(name):
    """Runs to the end; returns how many questions were asked."""
    child = start(name)
    words = child.communicate()[1]
    assert child.returncode in (0, 4), words
    assert re.search(r"^result: [0-9.]+ x faster", words, re.M), words
    return len(count().read_text().splitlines())


def kill(name, hold):
    """Kills the run while the question of that number is open."""
    told, kept = os.open(pipe, os.O_RDWR), os.open(leave, os.O_RDWR)
    child = start(name, hold)
    ended = os.pidfd_open(child.pid)
    ready = select.select([told, ended], [], [])[0]
    assert told in ready, child.communicate()[1]
    child.send_signal(signal.SIGKILL)
    for file in (told, kept, ended):
        os.close(file)
    child.communicate()


all_asked = finish("whole")
assert all_asked == len(questions("whole")), (all_asked, len(questions("whole")))
kept = [0]
for hold in holds:
    kill("killed", hold)
    kept.append(len(questions("killed")))
    assert kept[-2] < kept[-1] < all_asked, (kept, all_asked)
again = finish("killed")
assert again == all_asked - kept[-1], (again, all_asked, kept)
assert questions("killed") == questions("whole")
assert (folder / "killed.cu").read_bytes() == (folder / "whole.cu").read_bytes()


def records(name):
    lines = (folder / name / "evidence.jsonl").read_text().splitlines()
    return sorted(line.split('"id":"')[1][:32] for line in lines)


def replies(name):
    return sorted(path.name for path in (folder / name / "replies").iterdir())


assert records("killed") == records("whole")
assert replies("killed") == replies("whole")
print(f"killed {len(holds)} times; {all_asked} questions, {again} of them at the end")
