# SPDX-License-Identifier: Apache-2.0
"""A search whose times come from workers with GPUs, which a script plays, and whose candidates a third worker compiles. Usage: gpus.py FOLDER FAKE_GPU PROGRAM.

Each worker here speaks to the database as kb-run does, and hands its jobs to a server that pretends to have a GPU (fake_gpu.py), by a spool folder.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

sys.argv.insert(1, "gpus")
from cluster import FOLDER, run, started, worker  # noqa: E402

FAKE_GPU, PROGRAM = sys.argv[3:5]
PRODUCT, RELEASE = "NVIDIA H200", "0.1.0, jobs 1"


def text(value):
    """As SQL."""
    return "'" + value.replace("'", "''") + "'"


class Worker(threading.Thread):
    """Takes the jobs for the GPU `uuid` and those for any GPU until `ends`."""

    def __init__(self, database, uuid):
        super().__init__(daemon=True)
        self.database, self.uuid, self.ends = database, uuid, threading.Event()
        self.folder = FOLDER / uuid
        for part in ("jobs", "results", "blobs", "plans", "outputs", "claims"):
            (self.folder / part).mkdir(parents=True)
        self.server = subprocess.Popen([sys.executable, FAKE_GPU, self.folder], env={**os.environ, "FAKE_GPU": "faster"})
        self.greet()

    def greet(self):
        self.database.sql(f"insert into kbopt.workers (id, host, process, release, devices, gpu, product, arch, driver) values ('{self.uuid}', 'test', 1, '{RELEASE}', '{{cuda}}', '{self.uuid}', '{PRODUCT}', 'sm_90', '580.1') on conflict (id) do update set seen = now()")

    def run(self):
        while not self.ends.is_set():
            self.greet()
            taken = self.database.sql(f"update kbopt.jobs set state = 'running', worker = '{self.uuid}', attempts = attempts + 1, lease = now() + interval '1 minute' where id = (select id from kbopt.jobs where state = 'waiting' and device = 'cuda'"
                                      f" and (gpu is null or gpu = '{self.uuid}') and (product is null or product = '{PRODUCT}') order by id for update skip locked limit 1) returning id || ' ' || asker || ' ' || name || ' ' || request")
            if taken:
                self.answer(*taken.split(" ", 3))
            else:
                time.sleep(0.05)

    def fetch(self, digest, path):
        if digest and not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(bytes.fromhex(self.database.sql(f"select encode(content, 'hex') from kbopt.blobs where digest = '{digest}'")))

    def answer(self, number, asker, name, request):
        job = json.loads(request)
        for subject in (job, job.get("timing", {}).get("baseline", {})):
            digest = lambda field: subject.get(field, "").split("/")[-1]
            self.fetch(digest("image"), self.folder / "blobs" / digest("image"))
            self.fetch(digest("plan"), self.folder / "plans" / digest("plan") / "plan.json")
            self.fetch(digest("dataSha256"), self.folder / "blobs" / digest("dataSha256"))
        if not job["plan"]:
            result = {"version": 1, "status": "environment", "message": "", "device": {"kind": "cuda", "index": 0, "name": PRODUCT, "arch": "sm_90", "driver": "580.1", "cudaVersion": 13000, "multiprocessors": 132,
                                                                                     "l2Bytes": 52428800, "memoryBytes": 150754820096, "noise": []}, "launches": []}
        else:
            outputs = f"outputs/{number}"
            if job.get("outputs"):
                job["outputs"] = outputs
            (self.folder / "jobs" / ".new").write_text(json.dumps(job))
            os.rename(self.folder / "jobs" / ".new", self.folder / "jobs" / f"{number}.json")
            answered = self.folder / "results" / f"{number}.json"
            while not answered.exists():
                time.sleep(0.01)
            result = json.loads(answered.read_text())
        observables, digest = self.folder / "outputs" / number / "observables.bin", "null"
        if observables.exists():
            content = observables.read_bytes()
            digest = f"'{hashlib.sha256(content).hexdigest()}'"
            self.database.sql(f"insert into kbopt.blobs (digest, bytes, content) values ({digest}, {len(content)}, decode('{content.hex()}', 'hex')) on conflict do nothing")
        self.database.sql(f"update kbopt.jobs set state = 'answered', status = {text(result['status'])}, result = {text(json.dumps(result))}, observables = {digest}, finished = now() where id = {number}; select pg_notify('kbopt_{asker}', {text(name)})")

    def stop(self):
        self.ends.set()
        (self.folder / "stop").touch()
        self.join()
        self.server.wait()


stack, database = started()
with stack, worker(database.url) as compiler:
    assert database.sql("select compilers from kbopt.workers").startswith("NVRTC "), compiler.said.read_text()
    workers = [Worker(database, f"GPU-{letter}") for letter in "ab"]
    for each in workers:
        each.start()
    try:
        done = run("kb-opt", "-v", "-passes=auto", f"--device={database.url}", "--seed=1", "--trajectories=1", "--steps=1", "--budget-candidates=2", f"--knowledge={FOLDER}/kb", f"--journal={FOLDER}/journal", "-o", FOLDER / "kept.cu", PROGRAM,
                   timeout=150, env={**os.environ, "XDG_CACHE_HOME": str(FOLDER / "cache")})  # What another search has compiled is not asked again.
    finally:
        for each in workers:
            each.stop()
    assert done.returncode in (0, 4), done.stderr
    for words in ("cluster: times are measured on one GPU of its workers", "original: measured 10.00 us on NVIDIA H200", "result: 2.00 x faster, 10.00 -> 5.00 us, measured on NVIDIA H200"):
        assert words in done.stderr, done.stderr
    # Every time comes from one GPU; what is only executed is done by both.
    measured = database.sql("select distinct gpu || ' ' || worker from kbopt.jobs where kind in ('timing', 'profile', 'facts')").splitlines()
    assert len(measured) == 1 and len(set(measured[0].split())) == 1, measured
    assert database.sql("select count(distinct worker) from kbopt.jobs where kind = 'run'") == "2", done.stderr
    assert database.sql("select count(*) from kbopt.jobs where kind = 'run' and gpu is not null") == "0"
    # Candidates are compiled by a worker, whose machine code is that of nvcc here, or they would not count.
    compiled = database.sql("select count(*), min(status), min(device) from kbopt.jobs where kind = 'compile'").split("|")
    assert int(compiled[0]) >= 2 and compiled[1] == "ok" and compiled[2].startswith("compile:"), compiled
    # The CPU device's jobs go to that worker, too.
    assert database.sql("select count(*) > 10, count(distinct worker) from kbopt.jobs where device = 'cpu'") == "t|1"
