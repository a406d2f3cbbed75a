# SPDX-License-Identifier: Apache-2.0

"""Evaluates what a run of track MS kept, on a GPU: upstream's own test, unmodified but for the text between its marks, times kb-opt's file and CUDAMaster's against the given one, and kb-opt's judge
says whether CUDAMaster's file is right."""
import difflib
import json
import os
import re
import subprocess
import time

import track_a
from runs import geometric_mean, latest
from times import alone
from track_ms import END, START, Test, Unprepared, entry_of, read, write


def rewritten_part(result, given):
    """What kb-opt put between the marks and above them, and a note where it changed what stands behind them."""
    if result.count(START) != 1 or result.count(END) != 1:
        raise Unprepared("kb-opt's file has not the two marks")
    head, rest = result.split(START)
    between, tail = rest.split(END)
    old, new = given.split(START)[0].splitlines(True), head.splitlines(True)
    added = [line for tag, _, _, i, j in difflib.SequenceMatcher(None, old, new, False).get_opcodes() if tag in ("insert", "replace") for line in new[i:j]]
    return "".join(added) + between, "" if tail == given.split(END)[1] else "what kb-opt changed in main is left out"


def results_of(status, text, words):
    """Of what a test printed: the ratio of each size, and why it is not right, if it is not. No status: it was stopped."""
    ratios, size, wrong = [], "", ""
    for line in text.splitlines():
        if line.startswith("Test case size:"):
            size = line.removeprefix("Test case size:").split(". Complexity")[0].strip()
        elif match := re.match(r"Speedup ratio: ([0-9.]+)\s*$", line):
            ratios.append({"size": size, "ratio": max(float(match[1]), 0.005)})
        elif re.search("mismatch", line, re.I):
            wrong = wrong or f"{line.strip()} ({size})"
    if not wrong and status is not None and (status or not ratios):
        wrong = next((line.strip() for line in reversed((text + "\n" + words).splitlines()) if line.strip()), "it printed nothing")
        wrong = f"status {status}: {wrong}" if status else "it printed no ratio"
    if not wrong and not ratios:
        wrong = "stopped before its first ratio"
    return {"ratios": ratios, "right": not wrong, "why": wrong}


def test_of(name, text, out, options, record, environment):
    """Compiles and runs a test program for the card that the environment shows."""
    path = os.path.join(out, name.replace("/", "-"))
    write(path + ".cu", text)
    left = lambda: min(options["seconds"], options["end"] - time.time()) if options["end"] else options["seconds"]
    if left() < 5:
        return {"ratios": [], "right": False, "why": "not begun before the deadline"}
    try:
        status, _, words = track_a.ask([options["nvcc"], "-O3", "-std=c++17", "-arch=native", *record["flags"], "-o", path + ".run", path + ".cu"], 300, environment)
    except OSError:
        return {"ratios": [], "right": False, "why": f"no nvcc: '{options['nvcc']}'"}
    if status != 0:
        return {"ratios": [], "right": False, "why": "does not compile: " + next((l.split("error")[-1].lstrip(": ") for l in words.splitlines() if "error" in l), f"status {status}")}
    with alone(environment):
        seconds = max(left(), 5)
        status, text, words = run_by_line([path + ".run"], seconds, environment)
    os.remove(path + ".run")
    write(path + ".log", text + words)
    result = results_of(status, text, words)
    return result if status is not None else {**result, "note": f"stopped after {seconds:.0f} s, at {len(result['ratios'])} sizes"}


def run_by_line(command, seconds, environment):
    """(exit status, output, errors), of a program that was stopped as well: each line is written at once."""
    process = subprocess.Popen(["stdbuf", "-oL", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", env=environment)
    try:
        text, words = process.communicate(timeout=seconds)
        return process.returncode, text, words
    except subprocess.TimeoutExpired:
        process.kill()
        return None, *process.communicate()


def verdict_of(folder, record, options, environment):
    """What kb-opt's judge says of CUDAMaster's file."""
    command = [options["kb-opt"], f"--judge={os.path.join(folder, 'master.cu')}", "--promise=reassociates", os.path.join(folder, "given.cu"), *options["extra"], "--", *record["flags"]]
    try:
        status, text, words = track_a.ask(command, 300, environment)
    except OSError:
        return f"not judged: no kb-opt: '{options['kb-opt']}'"
    said = re.findall(r"^((?:correct|incorrect|inconclusive)\b[^\n]*)", text, re.M)
    if said:
        return said[-1]
    return "not judged: " + (next((l for l in words.splitlines() if "error:" in l), f"status {status}") if status is not None else "took more than 300 s")


def evaluate_one(record, prepared, results, gains, out, options, environment):
    found = {"name": record["name"], "kb-opt": {"ratios": [], "right": False, "why": record["why"]}, "CUDAMaster": {"ratios": [], "right": False, "why": record["why"], "verdict": ""}}
    if record["why"]:
        return found
    folder, name = os.path.join(prepared, record["name"]), record["name"].replace("/", "-")
    test, master, given = Test(read(os.path.join(folder, "test.cu"))), read(os.path.join(folder, "master")), read(os.path.join(folder, "given.cu"))
    found["CUDAMaster"] = test_of(name + "-CUDAMaster", test.with_text(master, entry_of(master)), out, options, record, environment)
    kept = os.path.join(results, name + ".cu")
    gain, screened = gains.get(record["name"], (1.0, 1.0))
    if max(gain, screened) <= 1.0 or not os.path.exists(kept):
        found["kb-opt"] = {"ratios": [], "right": True, "why": "", "note": "nothing was kept"}
    else:
        try:
            text, note = rewritten_part(read(kept), given)
            found["kb-opt"] = test_of(name + "-kb-opt", test.with_text(text, entry_of(given.split(START)[1].split(END)[0])), out, options, record, environment)
            found["kb-opt"]["note"] = "; ".join(n for n in (note, "" if gain > 1 else "not proven", found["kb-opt"].get("note", "")) if n)
        except Unprepared as error:
            found["kb-opt"]["why"] = str(error)
    print(f"{record['name']}: kb-opt {told(found['kb-opt'])}; CUDAMaster {told(found['CUDAMaster'])}", flush=True)
    return found


def judge_one(found, record, prepared, options, environment):
    if not record["why"]:
        isOver = options["end"] and time.time() > options["end"]
        found["CUDAMaster"]["verdict"] = "not judged: the deadline" if isOver else verdict_of(os.path.join(prepared, record["name"]), record, options, environment)
        print(f"{record['name']}: {found['CUDAMaster']['verdict']}", flush=True)
    return found


def run(prepared, results, out, options):
    os.makedirs(out, exist_ok=True)
    options["end"] = time.time() + options["deadline"] if options["deadline"] else None
    with open(os.path.join(results, "results.json")) as file:
        gains = {r["name"]: (r["gain"], r.get("screened", 1.0)) for r in json.load(file)}

    records = track_a.load(prepared, options)
    keep = lambda rs: track_a.write_json(os.path.join(out, "evaluated.json"), rs)

    def evaluate(record):
        with options["cards"].one() as environment:
            return evaluate_one(record, prepared, results, gains, out, options, environment)

    def judge(record):
        with options["cards"].one() as environment:
            return judge_one(evaluated[record["name"]], record, prepared, options, environment)

    # The judge's runs would be in the way of the times, and take longer.
    evaluated = {found["name"]: found for found in track_a.in_parallel(options["jobs"], evaluate, records, keep)}
    track_a.in_parallel(options["jobs"], judge, records, keep)
    print(table([out]))


def mean_of(result):
    return geometric_mean([r["ratio"] for r in result["ratios"]])


def told(result):
    said = f"{mean_of(result):.2f} x at {len(result['ratios'])} sizes" if result["right"] and result["ratios"] else ""
    return "; ".join(x for x in (said, result.get("why", ""), result.get("note", "")) if x)


def table(paths):
    """Each problem, and for each type both sides: what is not right, or is no faster, counts as 1.0 in the last mean."""
    records = {r["name"]: r for r in latest(paths, "evaluated.json")}
    lines = ["| problem | kb-opt | CUDAMaster | kb-opt's judge on CUDAMaster's file |", "|---|---|---|---|"]
    lines += [f"| {n} | {told(r['kb-opt'])} | {told(r['CUDAMaster'])} | {r['CUDAMaster']['verdict']} |" for n, r in sorted(records.items())]
    lines += ["", "| type | whose | problems | right | faster | geometric mean of those right, as measured | of all, others as 1.0 |", "|---|---|---:|---:|---:|---:|---:|"]
    for kind in sorted({n.split("/")[0] for n in records}):
        group = [r for n, r in records.items() if n.startswith(kind + "/")]
        for whose, key, isJudged in (("kb-opt", "kb-opt", False), ("CUDAMaster", "CUDAMaster", False), ("CUDAMaster, correct by kb-opt's judge as well", "CUDAMaster", True)):
            right = [mean_of(r[key]) for r in group if r[key]["right"] and not (isJudged and not r[key]["verdict"].startswith("correct"))]
            faster = [m for m in right if m > 1]
            lines.append(f"| {kind} | {whose} | {len(group)} | {len(right)} | {len(faster)} | {geometric_mean(right):.2f} | {geometric_mean(faster + [1.0] * (len(group) - len(faster))):.2f} |")
    verdicts = [re.match(r"correct|incorrect|inconclusive|not judged|", r["CUDAMaster"]["verdict"])[0] or "no program" for r in records.values()]
    return "\n".join([*lines, "", "kb-opt's judge on CUDAMaster's files: " + ", ".join(f"{verdicts.count(v)} {v}" for v in sorted(set(verdicts)))])
