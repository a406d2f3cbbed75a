"""Jobs for a serving kb-run: what is answered, and that a killed server loses nothing.

usage: serve.py pipe|spool FOLDER, where FOLDER has the jobs of make-jobs.py."""

import json
import os
import shutil
import subprocess
import sys
import time

mode, folder = sys.argv[1:]


def job(name, **fields):
    with open(f"{folder}/{name}.job.json") as file:
        text = json.load(file)
    return {**text, "id": name, "plan": f"{folder}/{name}", "outputs": f"{folder}/served-{name}", **fields}


def pipe():
    lines = [json.dumps(job("increment")), "", "{broken", json.dumps(job("vanish")), json.dumps(job("increment", seed=3))]
    done = subprocess.run(["kb-run", "serve", "-"], input="\n".join(lines) + "\n", capture_output=True, text=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done
    assert [(answer.get("id"), answer["status"], answer["exitStatus"]) for answer in answers] == [
        ("increment", "ok", 0), (None, "usage", 2), ("vanish", "crash", 1), ("increment", "ok", 0)], answers
    assert os.path.getsize(f"{folder}/served-increment/observables.bin") == 256


def serving(root):
    """Processes of a server of that folder."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                found += [process] if root.encode() in file.read().split(b"\0") else []
        except OSError:
            pass  # it has ended
    return found


def spool():
    root = f"{folder}/spool"
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(f"{root}/jobs")
    for number, fields in enumerate((job("forever", wallSeconds=600), job("increment"))):
        with open(f"{root}/jobs/{number}.json", "w") as file:
            json.dump(fields, file)
    server = subprocess.Popen(["kb-run", "serve", root])
    while not os.path.exists(f"{root}/claims/0.owner"):
        assert server.poll() is None
        time.sleep(0.01)
    server.kill()
    server.wait()
    for _ in range(1000):
        if not serving(root):
            break
        time.sleep(0.01)
    assert not serving(root), "its job ends with it"
    assert sorted(os.listdir(f"{root}/claims")) == ["0.json", "0.owner"], "the claim outlives its server"
    # The same job, quicker this time, and as if half a minute had passed.
    with open(f"{root}/claims/0.json", "w") as file:
        json.dump(job("forever", wallSeconds=0.2), file)
    past = time.time() - 60
    os.utime(f"{root}/claims/0.json", (past, past))
    assert subprocess.run(["kb-run", "serve", root, "--once"]).returncode == 0
    statuses = {}
    for name in os.listdir(f"{root}/results"):
        with open(f"{root}/results/{name}") as file:
            statuses[name] = json.load(file)["status"]
    assert statuses == {"0.json": "timeout", "1.json": "ok"}, statuses
    assert not os.listdir(f"{root}/claims") and not os.listdir(f"{root}/jobs")

    # A job that takes every server down is answered in the end.
    with open(f"{root}/claims/2.json", "w") as file:
        json.dump(job("increment"), file)
    with open(f"{root}/claims/2.owner", "w") as file:
        json.dump({"owner": "gone", "attempt": 3}, file)
    os.utime(f"{root}/claims/2.json", (past, past))
    subprocess.run(["kb-run", "serve", root, "--once"], check=True)
    with open(f"{root}/results/2.json") as file:
        assert json.load(file)["status"] == "crash"

    # What was sent long ago goes, unless an open job names it, until the rest is small enough.
    os.makedirs(f"{root}/plans/old")
    for name, age in (("plans/old/plan.json", 9000), ("blobs/used", 8000), ("blobs/use", 7500), ("blobs/older", 7000), ("blobs/young", 3000), ("blobs/new", 0)):
        with open(f"{root}/{name}", "w") as file:
            file.write(" " * 100)
        os.utime(f"{root}/{name}", (time.time() - age,) * 2)
    with open(f"{root}/claims/3.json", "w") as file:
        json.dump(job("increment", image="blobs/used"), file)
    subprocess.run(["kb-run", "serve", root, "--once", "--blob-bytes=300"], check=True)
    assert not os.listdir(f"{root}/plans") and sorted(os.listdir(f"{root}/blobs")) == ["new", "used", "young"], os.listdir(f"{root}/blobs")
    subprocess.run(["kb-run", "serve", root, "--once", "--blob-bytes=0"], check=True)
    assert sorted(os.listdir(f"{root}/blobs")) == ["new", "used"], os.listdir(f"{root}/blobs")


{"pipe": pipe, "spool": spool}[mode]()
