# SPDX-License-Identifier: Apache-2.0

"""Track B: KernelBench's own PyTorch modules (float32).

A prepared problem is a folder level/problem with the unmodified reference.py, graph.json (what torch.export makes of it), kernel.cu with `extern "C" void kb_run` from templates.py, and
kernel.workload.yaml. What has no template, or is refused by torch.export, is named with its reason. Nothing of it is committed.
"""
import json
import os
import re
import shutil

import track_a
from batches import Batched
from limits import within
from values import Untranslatable

REPOSITORY = "ScalingIntelligence/KernelBench"
COMMIT = "423217d9fda91e0c2d67e4a43bf62f96f6d104f1"
DATA = "KernelBench"


def problems_in(folder, options):
    """(name, path) of level/NNN_name.py; numbers get three digits so that names sort."""
    data = os.path.join(folder, REPOSITORY.split("/")[1], DATA)
    data = data if os.path.isdir(data) else folder
    result = []
    for level in sorted(os.listdir(data)):
        if not re.fullmatch(r"level[123]", level):
            continue
        for file in os.listdir(os.path.join(data, level)):
            number, _, rest = file.partition("_")
            name = f"{level}/{int(number):03}_{rest.removesuffix('.py').rstrip('_')}" if number.isdigit() and file.endswith(".py") else ""
            if name and track_a.is_wanted(name, options):
                result.append((name, os.path.join(data, level, file)))
    return sorted(result)


def translate(graph, folder, small=False):
    """kernel.cu and its workload from a graph; no torch is needed."""
    size = graph.get("size")
    batched = Batched([graph, *(other for _, other in size["others"])], [size["value"], *(batch for batch, _ in size["others"])]) if size else Batched([graph], [0])
    os.makedirs(folder, exist_ok=True)
    for name, content in (("kernel.cu", batched.program()), ("kernel.workload.yaml", batched.workload(small))):
        with open(os.path.join(folder, name), "w") as file:
            file.write(content)
    graph["size"] = {"name": size["name"], "value": size["value"]} if batched.size else None
    return {"kernels": len(batched.kernels), "batch": batched.size, "bytes": batched.bytes(batched.size) if batched.size else batched.generators[0].bytes()}


def graph_beside(path, seconds):
    """The graph that is kept beside a reference, else torch's, which may take so many seconds."""
    kept = path.removesuffix(".py") + ".graph.json"
    if os.path.exists(kept):
        return json.load(open(kept))
    try:
        import export
    except ImportError as error:
        raise Untranslatable(f"no torch: {error}") from error
    return within(seconds, export.graphs_of, path)


def prepare_one(name, path, out, options):
    record = {"name": name, "flags": [], "notes": [], "why": "", "file": "kernel.cu"}
    folder = os.path.join(out, name)
    try:
        graph = graph_beside(path, options["seconds"])
        record.update(translate(graph, folder, options["shape"] == "small"))
        record["operators"] = sorted({n["op"] for n in graph["nodes"]})
    except Untranslatable as error:
        record["why"] = f"no kernel: {error}"
        shutil.rmtree(folder, ignore_errors=True)
        return record
    shutil.copyfile(path, os.path.join(folder, "reference.py"))
    track_a.write_json(os.path.join(folder, "graph.json"), graph)
    return record


def prepare(folder, out, options):
    os.makedirs(out, exist_ok=True)
    keep = lambda records: track_a.write_json(os.path.join(out, "problems.json"), records)
    records = track_a.in_parallel(options["jobs"], lambda problem: prepare_one(*problem, out, options), problems_in(folder, options), keep)
    reasons = {}
    for record in records:
        if record["why"]:
            reasons.setdefault(record["why"], []).append(record["name"])
    for why, names in sorted(reasons.items(), key=lambda r: -len(r[1])):
        print(f"{len(names)}: {why} ({names[0]})")
    print(f"{sum(not r['why'] for r in records)} of {len(records)} problems have a kernel from templates, {sum(bool(r.get('batch')) for r in records)} of them for any batch")
