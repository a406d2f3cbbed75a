# SPDX-License-Identifier: Apache-2.0

"""Track A: KernelBlaster's own inputs (data/kernelbench-cuda), each an init.cu and a libtorch driver.

A prepared problem is a folder level/problem with the unmodified init.cu, init.workload.yaml, reference.py (PyTorch's own program for the same tensors, references.py) and, in
problems.json of the whole, its record: what was translated only roughly, the flags it needs, or the reason why it has no workload or no reference. Nothing of it is committed.
"""
import collections
import concurrent.futures
import json
import math
import os
import re
import shutil
import subprocess
import time

import cxx
from references import Reference
from values import Untranslatable
from workloads import Translation, missing_includes

REPOSITORY = "kris-dong/KernelBlaster"
COMMIT = "b8d651b786f3f82d6e4d26feabaaed8f992fef0f"
DATA = "data/kernelbench-cuda"


def fetch(folder, source=None, repository=REPOSITORY, commit=COMMIT, paths=()):
    """Checks the repository out at the pinned commit, of it only `paths` where there are any; source is another place to clone it from."""
    root = os.path.join(folder, repository.split("/")[1])
    if not os.path.isdir(root):
        subprocess.run(["git", "clone", "-q", "--no-checkout", "--filter=blob:none", source or f"https://github.com/{repository}", root], check=True)
        if paths:
            subprocess.run(["git", "-C", root, "sparse-checkout", "init", "--cone"], check=True)
    if paths:
        subprocess.run(["git", "-C", root, "sparse-checkout", "add", *paths], check=True)
    subprocess.run(["git", "-C", root, "checkout", "-q", commit], check=True)


def is_wanted(problem, options):
    """By number, so that what tunes kb-opt never opens the other half, and by name. A problem without a number is of either half."""
    number = re.match(r"\d+", problem.split("/")[1])
    return (options["parity"] == "all" or not number or (int(number[0]) % 2 == 1) == (options["parity"] == "odd")) and re.search(options["only"], problem)


def problems_in(folder, options):
    data = os.path.join(folder, REPOSITORY.split("/")[1], DATA)
    data = data if os.path.isdir(data) else folder
    names = [f"{level}/{name}" for level in sorted(os.listdir(data)) if re.fullmatch(r"level\d", level) for name in sorted(os.listdir(os.path.join(data, level)))]
    return data, [n for n in names if re.match(r"\d", n.split("/")[1]) and is_wanted(n, options)]


def prepare_one(data, problem, out, small=False):
    record = {"name": problem, "flags": [], "notes": [], "why": "", "noReference": ""}
    source = os.path.join(data, problem, "init.cu")
    try:
        text = open(source).read()
        record["flags"] = [f for h in missing_includes(text) for f in ("-include", h)]
        translation = Translation(open(os.path.join(data, problem, "driver.cpp")).read(), text)
        workload = translation.text(small)
        record.update(notes=translation.notes, bytes=translation.bytes(), sizes=translation.sizes)
    except (OSError, Untranslatable, cxx.Unreadable) as error:
        record["why"] = f"no workload: {error}"
        return record
    folder = os.path.join(out, problem)
    os.makedirs(folder, exist_ok=True)
    shutil.copyfile(source, os.path.join(folder, "init.cu"))
    with open(os.path.join(folder, "init.workload.yaml"), "w") as file:
        file.write(workload)
    try:
        reference = Reference(translation.driver, translation.parameters, "driver.cpp").text()
        with open(os.path.join(folder, "reference.py"), "w") as file:
            file.write(reference)
    except Untranslatable as error:
        record["noReference"] = str(error)
    return record


def prepare(folder, out, options):
    data, names = problems_in(folder, options)
    records = [prepare_one(data, name, out, options["shape"] == "small") for name in names]
    os.makedirs(out, exist_ok=True)
    write_json(os.path.join(out, "problems.json"), records)
    for record in records:
        for line in [record["why"]] if record["why"] else record["notes"]:
            print(f"{record['name']}: {line}")
    print(f"{sum(not r['why'] for r in records)} of {len(records)} problems have a workload, {sum(bool(r['notes']) for r in records)} of them with notes")
    for record in records:
        if record["noReference"]:
            print(f"{record['name']}: no reference: {record['noReference']}")
    print(f"{sum(not r['why'] and not r['noReference'] for r in records)} have a reference for PyTorch")


def write_json(path, value):
    with open(path + ".part", "w") as file:
        json.dump(value, file, indent=1)
    os.replace(path + ".part", path)


def load(prepared, options):
    with open(os.path.join(prepared, "problems.json")) as file:
        return [r for r in json.load(file) if is_wanted(r["name"], options)]


def ask(command, seconds, environment=None):
    """(exit status, standard output, standard error); no status where it took longer."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, env=environment)
    except subprocess.TimeoutExpired as late:
        return None, "", (late.stderr or b"").decode(errors="replace")
    return done.returncode, done.stdout, done.stderr


def in_parallel(jobs, function, items, keep):
    """All results; calls keep(results so far) after each."""
    results = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(function, item) for item in items]):
            results.append(done.result())
            keep(sorted(results, key=lambda r: r["name"]))
    return results


# What is known without running anything

def examine_one(record, prepared, options):
    """parsed, raised kernels of all, and whether a schedule applies; the reasons are kb-opt's."""
    result = {**record, "parsed": False, "kernels": [], "scheduled": False, "reasons": []}
    if record["why"]:
        return result
    source = os.path.join(prepared, record["name"], record.get("file", "init.cu"))
    status, text, words = ask([options["kb-opt"], "--emit=kb-nest", source, "--", *record["flags"]], 120)
    if status != 0:
        result["reasons"].append("does not parse: " + next((l for l in words.splitlines() if "error:" in l), f"status {status}"))
        return result
    result["parsed"] = True
    for kind, quoted, plain, reason in re.findall(r'^\s*kb\.(nest|unraised) @(?:"([^"]*)"|(\S+))(?: "((?:[^"\\]|\\.)*)")?', text, re.M):
        result["kernels"].append({"name": quoted or plain, "raised": kind == "nest", "reason": reason if kind == "unraised" else ""})
    status, text, words = ask([options["kb-opt"], "-passes=schedule", "--unsafe-no-sandbox", *options["extra"], source, "--", *record["flags"]], 120)
    result["scheduled"] = status == 0 and "@@" in text
    result["reasons"] += [l.split("remark: ")[-1] for l in words.splitlines() if "remark:" in l or "error:" in l]
    return result


def kind_of(reason):
    return re.sub(r"\b\d+\b", "…", re.sub(r"'[^']*'|\"[^\"]*\"", "…", reason))


def examine(prepared, out, options):
    records = load(prepared, options)
    results = in_parallel(options["jobs"], lambda r: examine_one(r, prepared, options), records, lambda rs: write_json(out, rs))
    kernels = [k for r in results for k in r["kernels"]]
    print(f"problems {len(results)}, with a workload {sum(not r['why'] for r in results)}, parsed {sum(r['parsed'] for r in results)}, "
          f"all kernels raised {sum(bool(r['kernels']) and all(k['raised'] for k in r['kernels']) for r in results)}, "
          f"kernels raised {sum(k['raised'] for k in kernels)} of {len(kernels)}, with a schedule {sum(r['scheduled'] for r in results)}")
    for title, reasons in (("not raised", [(k["reason"], r["name"]) for r in results for k in r["kernels"] if not k["raised"]]),
                           ("no schedule", [(x, r["name"]) for r in results if not r["scheduled"] for x in r["reasons"] or [r["why"] or "no reason"]])):
        groups = collections.defaultdict(list)
        for reason, name in reasons:
            groups[kind_of(reason)].append(name)
        print(f"\n| {title} | why | for example |\n|---:|---|---|")
        for reason, names in sorted(groups.items(), key=lambda g: -len(g[1])):
            print(f"| {len(names)} | {reason} | {names[0]} |")
