#!/usr/bin/python3
"""fake_gpu.py FOLDER: serves a spool folder with a GPU that knows one kernel.

For tests of what kb-opt asks and believes: the kernel is out[i] = 6 * in[i] + 1 for i < n, whatever
the image says. $FAKE_GPU lists what it pretends:
faster, slower, inconclusive (other images than the baseline's), wrong (outputs), lost (the device
goes away whenever a candidate is timed), noisy, counters."""

import array
import json
import os
import sys
import time

MODES = os.environ.get("FAKE_GPU", "faster").split(",")
DEVICE = {"kind": "cuda", "index": 0, "name": "NVIDIA H200", "arch": "sm_90", "driver": "580.1", "cudaVersion": 13000,
          "multiprocessors": 132, "l2Bytes": 52428800, "memoryBytes": 150754820096,
          "noise": ["another process uses the device"] if "noisy" in MODES else []}


SEEN = []


def argument_pointer(argument):
    return argument["pointers"][0]["buffer"]


def execute(folder, data, poison, wrong):
    """The bytes of all reads, and the launches."""
    plan = json.load(open(os.path.join(folder, "plan.json")))
    buffers = {b["id"]: bytearray([poison]) * b["bytes"] for b in plan["buffers"]}
    reads, launches = bytearray(), []
    for index, step in enumerate(plan["steps"]):
        kind = step["step"]
        if kind == "upload":
            to = step["to"]
            buffers[to["buffer"]][to["offset"]:to["offset"] + to["bytes"]] = data[step["data"]:step["data"] + to["bytes"]]
        elif kind == "fill":
            to = step["to"]
            buffers[to["buffer"]][to["offset"]:to["offset"] + to["bytes"]] = bytes([step["value"]]) * to["bytes"]
        elif kind == "launch":
            source, target, count = step["arguments"]
            n = int.from_bytes(bytes.fromhex(count["bytes"]), "little")
            values = array.array("I", bytes(buffers[argument_pointer(source)][:4 * n]))
            result = array.array("I", [(6 * v + 1 + wrong) & 0xFFFFFFFF for v in values])
            buffers[argument_pointer(target)][:4 * n] = result.tobytes()
            launches.append({"step": index, "repeats": 1, "kernel": step["kernel"], "grid": step["grid"],
                             "block": step["block"], "dynamicSharedBytes": step.get("sharedBytes", 0), "status": "ok",
                             "message": "", "wallSeconds": 1e-5, "findings": [], "notes": []})
        elif kind == "read":
            part = step["from"]
            reads += buffers[part["buffer"]][part["offset"]:part["offset"] + part["bytes"]]
    return bytes(reads), launches


def summary(us):
    return {"count": 40, "minUs": us * 0.99, "q1Us": us, "medianUs": us, "q3Us": us * 1.01, "maxUs": us * 1.1,
            "meanUs": us, "relativeDeviation": 0.004}


def series(same):
    us = 10.0 if same or "inconclusive" in MODES else 16.0 if "slower" in MODES else 5.0
    comparison = "faster" if us < 10 else "slower" if us > 10 else "inconclusive"
    return {"stop": "quiet", "seconds": 0.1, "usualMHz": 1980, "discardedShare": 0, "candidate": summary(us),
            "baseline": summary(10.0),
            "decision": {"comparison": comparison, "ratio": 10 / us, "lower": 9.9 / us, "upper": 10.1 / us,
                         "reason": "as pretended"}}


def metrics(launch):
    stalls = {"long_scoreboard": 9.0, "wait": 2.0, "barrier": 0.1, "selected": 1.0}
    values = {"gpu__time_duration.sum": 9000.0, "dram__throughput.avg.pct_of_peak_sustained_elapsed": 20.0,
              "smsp__issue_active.avg.pct_of_peak_sustained_active": 12.0,
              "sm__cycles_active.avg": 900.0, "sm__cycles_active.max": 1000.0,
              "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio": 32.0}
    for name, cycles in stalls.items():
        values[f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio"] = cycles
    return {"step": launch["step"], "kernel": launch["kernel"], "metrics": values}


def subject_data(job, subject):
    path = os.path.join(subject["plan"], "data.bin")
    if not os.path.exists(path) and subject.get("dataSha256"):
        path = os.path.join(job["blobs"], subject["dataSha256"])
    return open(path, "rb").read() if os.path.exists(path) else b""


def answer(job):
    result = {"version": 1, "status": "ok", "message": "", "mode": None, "device": DEVICE, "launches": []}
    if not job["plan"]:
        return dict(result, status="environment", message="no plan")
    if "timing" in job and "lost" in MODES and not same_images(job):
        return dict(result, status="environment", message="the device is lost", kernels=[])
    # Only candidates are wrong: the original is asked without a baseline, too, and stays right.
    wrong = int("wrong" in MODES and not is_original(job["image"]))
    reads, launches = execute(job["plan"], subject_data(job, job), job.get("memoryPoison", 203), wrong)
    result.update(kernels=[], launches=launches, findings=[], notes=[], wallSeconds=1e-4,
                  repetitions={"count": job.get("repetitions", 1), "identical": True})
    if job.get("outputs"):
        os.makedirs(job["outputs"], exist_ok=True)
        open(os.path.join(job["outputs"], "observables.bin"), "wb").write(reads)
    if "timing" in job:
        same = same_images(job)
        result["timing"] = {"status": "ok", "message": "", "cold": series(same), "notes": [],
                            "outputs": {"candidate": {"checked": 40, "different": 0},
                                        "baseline": {"checked": 40, "different": 0}}}
        if job["timing"].get("hot", True):
            result["timing"]["hot"] = series(same)
    if "profile" in job:
        has = "counters" in MODES
        result["profile"] = {"status": "ok", "message": "", "isDegraded": not has,
                             "degraded": "" if has else "this user may not read counters",
                             "launches": [metrics(l) for l in launches] if has else [],
                             "noLines": "this user may not sample"}
        if has and job["profile"].get("pcSampling"):
            result["profile"]["noLines"] = ""
            result["profile"]["lines"] = {l["kernel"]: [
                {"file": "map.cu", "line": 6, "samples": 90, "stalls": {"long_scoreboard": 60, "wait": 30}},
                {"file": "map.cu", "line": 7, "samples": 10, "stalls": {"wait": 10}}] for l in launches}
    if "audit" in job:
        result["audit"] = {"launches": [{k: l[k] for k in ("kernel", "grid", "block", "dynamicSharedBytes")} |
                                        {"stream": 7} for l in launches], "changedAfterReturn": False}
    if "sanitizer" in job:
        result["sanitizer"] = {"degraded": "there is no compute-sanitizer", "findings": []}
    return result


def same_images(job):
    other = job["timing"].get("baseline")
    return other is not None and open(job["image"], "rb").read() == open(other["image"], "rb").read()


def is_original(image):
    """The first image that was asked for."""
    mine = open(image, "rb").read()
    SEEN.append(mine)
    return SEEN[0] == mine


def serve_spool(root):
    for kind in ("jobs", "claims", "results", "blobs"):
        os.makedirs(os.path.join(root, kind), exist_ok=True)
    while not os.path.exists(os.path.join(root, "stop")):
        for name in sorted(n for n in os.listdir(os.path.join(root, "jobs")) if n.endswith(".json")):
            claim = os.path.join(root, "claims", name)
            os.rename(os.path.join(root, "jobs", name), claim)
            job = json.load(open(claim))
            for holder in (job, job.get("timing", {}).get("baseline", {})):
                for field in ("plan", "image", "blobs", "outputs"):
                    if holder.get(field):
                        holder[field] = os.path.join(root, holder[field])
            temporary = os.path.join(root, "results", "." + name)
            json.dump(answer(job), open(temporary, "w"))
            os.rename(temporary, os.path.join(root, "results", name))
            os.remove(claim)
        time.sleep(0.02)


serve_spool(sys.argv[1])
