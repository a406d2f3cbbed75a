"""Writes one recording folder and job per kernel of Image.cpp into a folder.

usage: make-jobs.py FOLDER IMAGE"""

import json
import os
import sys

folder, image = sys.argv[1:]
address = 0x600040000000


def plan(kernel):
    launch = {"step": "launch", "kernel": kernel, "grid": [2, 1, 1], "block": [32, 1, 1],
              "arguments": [{"bytes": address.to_bytes(8, "little").hex(),
                             "pointers": [{"at": 0, "buffer": 0, "offset": 0}]}]}
    whole = {"buffer": 0, "offset": 0, "bytes": 256}
    return {"version": 1,
            "outcome": {"ending": "exit", "message": "", "exitStatus": 0, "stdoutDigest": ""},
            "streams": [],
            "buffers": [{"id": 0, "bytes": 256, "kind": "device", "address": hex(address), "element": "i32"}],
            "steps": [{"step": "alloc", "buffer": 0}, {"step": "upload", "to": whole, "data": 0}, launch,
                      {"step": "read", "from": whole, "observable": 0}, {"step": "free", "buffer": 0}]}


for kernel in ("increment", "last", "outside", "trap", "die", "vanish", "forever", "missing"):
    os.makedirs(f"{folder}/{kernel}", exist_ok=True)
    with open(f"{folder}/{kernel}/plan.json", "w") as out:
        json.dump(plan(kernel), out)
    with open(f"{folder}/{kernel}/data.bin", "wb") as out:
        out.write(bytes(range(256)))
    job = {"version": 1, "plan": kernel, "image": image, "outputs": f"{kernel}/out", "result": f"{kernel}.json",
           "wallSeconds": 0.2 if kernel == "forever" else 60}
    if kernel in ("increment", "last"):
        job["repetitions"] = 5
    with open(f"{folder}/{kernel}.job.json", "w") as out:
        json.dump(job, out)
