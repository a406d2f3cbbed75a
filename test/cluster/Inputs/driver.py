# SPDX-License-Identifier: Apache-2.0
"""A kb-run as a worker with a driver that only pretends (test/cuda/fake). Usage: driver.py TEST FOLDER LIBRARIES MAKE_FAKE.

The worker, its walls and its processes are those of a machine with a GPU; recordings and images are those of test/cuda.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys

from cluster import FOLDER, eventually, started, worker

LIBRARIES, MAKE_FAKE = sys.argv[3:5]


def check_gpu_worker():
    """A worker says which GPU it has, executes and times on it, and survives what its GPU does not."""
    made = FOLDER / "made"
    subprocess.run([sys.executable, MAKE_FAKE, made], check=True)
    stack, database = started()

    def send(path):
        content = pathlib.Path(path).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        database.sql(f"insert into kbopt.blobs (digest, bytes, content) values ('{digest}', {len(content)}, decode('{content.hex()}', 'hex')) on conflict do nothing")
        return digest

    def subject(plan):
        data = made / plan / "data.bin"
        return {"plan": "plans/" + send(made / plan / "plan.json"), "image": "blobs/" + send(made / "kernels.cubin"), **({"dataSha256": send(data)} if data.exists() else {})}

    def ask(name, gpu=None, **fields):
        request = json.dumps({"version": 1, "device": "cuda", "blobs": "blobs", **fields})
        place = f"'{gpu}'" if gpu else "null"
        database.sql(f"insert into kbopt.jobs (name, kind, request, release, device, gpu, asker) values ('{name}', 'run', '{request}', '0.1.0, jobs 1', 'cuda', {place}, 'test'); notify kbopt_jobs")
        eventually(lambda: database.sql(f"select state from kbopt.jobs where name = '{name}'") == "answered", f"'{name}' is answered", 60)
        return json.loads(database.sql(f"select result from kbopt.jobs where name = '{name}'"))

    with stack, worker(database.url, environment={**os.environ, "LD_LIBRARY_PATH": LIBRARIES}) as one:
        devices, gpu, product, arch, driver = database.sql("select devices, gpu, product, arch, driver from kbopt.workers").split("|")
        assert "cuda" in devices and gpu and product and arch == "sm_90" and driver, (devices, gpu, product, arch, driver)
        assert f"waits for jobs for the {product}" in one.said.read_text()
        result = ask("run", **subject("saxpy-small"), repetitions=2, outputs="outputs")
        assert result["status"] == "ok", result
        observables = bytes.fromhex(database.sql("select encode(content, 'hex') from kbopt.blobs where digest = (select observables from kbopt.jobs where name = 'run')"))
        assert observables == (made / "saxpy-small" / "expected.bin").read_bytes()
        timing = {"warmUpSeconds": 0, "minSeconds": 0, "maxSeconds": 1, "batchBelowUs": 0, "baseline": subject("saxpy-small")}
        result = ask("time", gpu=gpu, **subject("saxpy-small"), timing=timing)
        assert result["status"] == "ok" and result["timing"]["cold"]["candidate"]["medianUs"] > 0, result
        assert ask("fault", **subject("illegal"))["status"] == "fault"
        assert ask("after", **subject("saxpy-small"))["status"] == "ok"
        assert one.poll() is None and database.sql("select answered from kbopt.workers") == "4"


globals()[f"check_{sys.argv[1]}"]()
