#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what the cost model says of rewrites with what a GPU says.

    bench/calibration.py prepare build/bin/kb-opt FOLDER kernel.cu …    here: pairs (kernel, pipeline) as jobs for kb-run
    bench/calibration.py measure kb-run FOLDER OUT                      there: runs the jobs, writes OUT/measured.json
    bench/calibration.py report FOLDER/pairs.json measured.json SVG     figures, and the scatter plot
    bench/calibration.py model build/bin/ModelTimes CHIP FOLDER         after a change of the model: renews FOLDER/pairs.json from
                                                                        FOLDER/counts, which prepare fills if ModelTimes is built

Pipelines are every pass that applies, with every value of its tuning range, and what can follow the best of them.
"""
import hashlib
import json
import math
import os
import re
import subprocess
import sys

COUNTERS = {"sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum",
            "requests": "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum",
            "bank conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum",
            "shared wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"}


def run(argv):
    return subprocess.run(argv, capture_output=True, text=True)


def read_json(path):
    with open(path) as file:
        return json.load(file)


def write_json(path, value):
    with open(path + ".part", "w") as out:
        json.dump(value, out, indent=1)
    os.replace(path + ".part", path)


# Here: pairs and jobs.

def tuning_ranges(kb_opt):
    """{pass: [option texts]} from --list-passes; a pass without ranges has one empty text."""
    ranges, name = {}, None
    for line in run([kb_opt, "--list-passes"]).stdout.splitlines():
        if line and not line.startswith(" "):
            name = line.split()[0]
            ranges[name] = [""]
        tried = re.search(r"\{(\w+)=.*\(tried: ([^)]*)\)", line)
        if tried:
            ranges[name] = [f"{{{tried[1]}={value}}}" for value in tried[2].split(", ")]
    return ranges


def profile(kb_opt, source):
    result = run([kb_opt, "--emit=profile-json", source])
    if result.returncode:
        sys.exit(f"{source}: no profile: {result.stderr}")
    page = json.loads(result.stdout)
    kernels = [{key: kernel[key] for key in ("kernel", "us", "launches", "limiter", "metrics")} for kernel in page["kernels"]]
    launching = sum(k["launches"] * k["metrics"]["kbopt__launch_overhead_us"] for k in page["kernels"])
    return {"us": page["us"] + launching, "chip": page["chip"], "kernels": kernels,
            "applies": sorted({a["pass"] for k in page["kernels"] for a in k["advice"] if a["applies"]})}


def counts_file(folder, number):
    return os.path.join(folder, "counts", f"{number:03}.json")


class Preparation:
    def __init__(self, kb_opt, folder):
        self.kb_opt, self.folder = kb_opt, folder
        self.ranges = tuning_ranges(kb_opt)
        self.pairs = []
        self.model_times = os.path.join(os.path.dirname(kb_opt), "ModelTimes")
        for name in ("blobs", "jobs", "counts"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)

    def program(self, source, name):
        """The fields that name a program in a job; the data of equal runs is kept once."""
        folder = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        result = run([self.kb_opt, "--emit=job", "-o", folder, source])
        if result.returncode:
            sys.exit(f"{name}: {result.stderr.strip()}")
        data = os.path.join(folder, "data.bin")
        with open(data, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        os.replace(data, os.path.join(self.folder, "blobs", digest))
        for unneeded in ("observables.bin", "job.json"):
            os.remove(os.path.join(folder, unneeded))
        return {"plan": f"../{name}", "image": f"../{name}/image.cubin", "dataSha256": digest}

    def add(self, kernel, pipeline, source, base, page, program):
        number = len(self.pairs)
        if os.path.exists(self.model_times):
            counted = run([self.model_times, "count", source, page["chip"], counts_file(self.folder, number)])
            if counted.returncode:
                sys.exit(f"{source}: {counted.stderr.strip()}")
        write_json(os.path.join(self.folder, "jobs", f"{number:03}.json"), {
            "version": 1, "id": str(number), "device": "cuda", **program, "blobs": "../blobs", "repetitions": 2,
            "result": f"../results/{number:03}.json", "outputs": f"../outputs/{number:03}",
            "timing": {"baseline": base["program"], "warmUpSeconds": 0.2, "maxSeconds": 3}, "profile": {"sets": "ABC"}})
        self.pairs.append({"kernel": kernel, "pipeline": pipeline, "baselineUs": base["page"]["us"], **page})
        write_json(os.path.join(self.folder, "pairs.json"), self.pairs)
        print(f"{number} {kernel}: {pipeline or 'as it is'}: modelled {base['page']['us'] / page['us']:.2f} x", flush=True)

    def candidate(self, source, kernel, pipeline, base):
        """The modelled page of the rewritten program, or nothing if nothing was rewritten."""
        name = f"{kernel}/{len(self.pairs)}"
        os.makedirs(os.path.join(self.folder, name), exist_ok=True)
        rewritten = os.path.join(self.folder, name, os.path.basename(source))
        result = run([self.kb_opt, "--quiet", f"-passes={pipeline}", source, "-o", rewritten])
        with open(source) as old, open(rewritten) as new:
            if result.returncode or old.read() == new.read():
                return None
        page = profile(self.kb_opt, rewritten)
        self.add(kernel, pipeline, rewritten, base, page, self.program(rewritten, name))
        return page

    def kernel(self, source):
        kernel = os.path.splitext(os.path.basename(source))[0]
        page = profile(self.kb_opt, source)
        base = {"page": page, "program": self.program(source, f"{kernel}/original")}
        self.add(kernel, "", source, base, page, base["program"])
        best, best_pipeline = page, ""
        for name in page["applies"]:
            for text in self.ranges[name]:
                made = self.candidate(source, kernel, name + text, base)
                if made and made["us"] < best["us"]:
                    best, best_pipeline = made, name + text
        for name in best["applies"] if best_pipeline else []:
            if name not in best_pipeline:
                self.candidate(source, kernel, f"{best_pipeline},{name}{self.ranges[name][-1]}", base)


def prepare(kb_opt, folder, *sources):
    preparation = Preparation(kb_opt, folder)
    for source in sources:
        preparation.kernel(source)
    if os.path.exists(preparation.model_times):
        model(preparation.model_times, preparation.pairs[0]["chip"], folder)
    print(f"{len(preparation.pairs)} pairs")


def machine_code(counts):
    """What equal programs have in common: the code of each kernel and how it is launched."""
    return json.dumps([{name: kernel["code"] for name, kernel in counts["kernels"].items()},
                       [[launch[key] for key in ("kernel", "grid", "block", "dynamicSharedBytes", "repeats")]
                        for launch in counts["launches"]]], sort_keys=True)


def model(model_times, chip, folder):
    """Pairs without counts stay without a modelled time, and report says how many there are. Of programs with the same
    machine code the first one's time is that of all: kb-opt never models nor measures such a program again."""
    pairs_path = os.path.join(folder, "pairs.json")
    pairs, base, times = read_json(pairs_path), None, {}
    for number, pair in enumerate(pairs):
        counts = counts_file(folder, number)
        pair["us"] = None
        if os.path.exists(counts):
            result = run([model_times, "model", chip, counts])
            if result.returncode:
                sys.exit(f"{counts}: {result.stderr.strip()}")
            plan = json.loads(result.stdout)
            code = pair["kernel"], machine_code(read_json(counts))
            pair["us"] = times.setdefault(code, plan["modelledUs"])
            pair["kernels"] = [{"kernel": l["kernel"], "us": l["modelledUs"], "launches": l["repeats"], "limiter": l["limiter"],
                                "metrics": l["metrics"]} for l in plan["launches"]]
        base = base if pair["pipeline"] else pair["us"]
        pair["baselineUs"] = base
    write_json(pairs_path, pairs)


# There: kb-run.

def measure(kb_run, folder, out):
    """One record per job, without its samples; outputs of a kernel's rewrites are compared with the original's."""
    os.makedirs(os.path.join(folder, "results"), exist_ok=True)
    pairs, measured, reads = read_json(os.path.join(folder, "pairs.json")), [], {}
    for number, pair in enumerate(pairs):
        done = run([kb_run, os.path.join(folder, "jobs", f"{number:03}.json")])
        try:
            result = read_json(os.path.join(folder, "results", f"{number:03}.json"))
        except (OSError, ValueError):
            result = {"status": "none", "message": done.stderr[-300:]}
        for series in ("cold", "hot"):
            result.get("timing", {}).get(series, {}).pop("samples", None)
        observables = os.path.join(folder, "outputs", f"{number:03}", "observables.bin")
        if os.path.exists(observables):
            with open(observables, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            result["sameBits"] = digest == reads.setdefault(pair["kernel"], digest)
        result["launches"] = [{key: launch[key] for key in ("step", "kernel", "grid", "block")}
                              for launch in result.get("launches", [])]
        measured.append(result)
        write_json(os.path.join(out, "measured.json"), measured)
        cold = result.get("timing", {}).get("cold", {})
        decision = cold.get("decision", {})
        print(f"{number} {pair['kernel']} {pair['pipeline'] or 'as it is'}: {result['status']} {result.get('message', '')} "
              f"{cold.get('candidate', {}).get('medianUs', 0):.2f} us, modelled {pair['us']:.2f} us; gain "
              f"{decision.get('ratio', 0):.3f} {decision.get('comparison', '')}, modelled {pair['baselineUs'] / pair['us']:.3f}; "
              f"same bits {result.get('sameBits')}", flush=True)


# Anywhere: figures.

def ranks(values):
    """Ranks from 1; equal values share their mean rank."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    result = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for i in order[start:end]:
            result[i] = (start + end + 1) / 2
        start = end
    return result


def correlation(x, y):
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
    spread = math.sqrt(sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y))
    return covariance / spread if spread else 0.0


def spearman(x, y):
    return correlation(ranks(x), ranks(y))


def settled(gain, comparison):
    """A measured gain that the accept rule does not tell from none is none."""
    return 1.0 if comparison == "inconclusive" else gain


def halves(kernels):
    """Every second kernel by name, and the others."""
    names = sorted(set(kernels))
    return names[0::2], names[1::2]


def rank_line(points):
    """Points are (modelled gain, measured gain, comparison, kernel, pipeline)."""
    modelled, true = [p[0] for p in points], [p[1] for p in points]
    clear = [settled(p[1], p[2]) for p in points]
    return (f"Spearman {spearman(modelled, true):.3f}, with inconclusive gains as 1 {spearman(modelled, clear):.3f}, "
            f"correlation of logarithms {correlation([math.log(v) for v in modelled], [math.log(v) for v in true]):.3f}")


def relative_errors(values):
    """Sorted |modelled - measured| / measured."""
    return sorted(abs(m - t) / t for m, t in values)


def counter_errors(pairs, measured):
    """{counter: [(modelled, measured)]} per kernel and launch, where the device counted anything."""
    errors = {}
    for pair, result in zip(pairs, measured):
        by_step = {launch["step"]: launch["kernel"] for launch in result.get("launches", [])}
        for launch in result.get("profile", {}).get("launches", []):
            kernel = next((k for k in pair["kernels"] if k["kernel"] in by_step.get(launch["step"], "")), None)
            for name, metric in COUNTERS.items():
                for op in ("ld", "st"):
                    true = launch["metrics"].get(metric.format(op))
                    modelled = kernel and kernel["metrics"].get(metric.format(op))
                    if true and modelled is not None:
                        errors.setdefault(f"{name} {op}", []).append((modelled, true))
    return errors


def scatter(points, path):
    """Points are (modelled gain, measured gain, label); both axes are logarithmic."""
    size, margin = 480, 50
    low = math.log(min(min(p[:2]) for p in points) * 0.95)
    high = math.log(max(max(p[:2]) for p in points) * 1.05)

    def at(value):
        return (math.log(value) - low) / (high - low) * (size - 2 * margin)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" font-family="sans-serif" font-size="12">',
             f'<rect width="{size}" height="{size}" fill="white"/>',
             f'<line x1="{margin}" y1="{size - margin}" x2="{size - margin}" y2="{margin}" stroke="#bbb"/>']
    for tick in (0.25, 0.5, 1, 2, 4, 8, 16):
        if low <= math.log(tick) <= high:
            parts.append(f'<text x="{margin + at(tick):.1f}" y="{size - margin + 18}" text-anchor="middle">{tick:g}</text>'
                         f'<text x="{margin - 8}" y="{size - margin - at(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for modelled, true, label in points:
        parts.append(f'<circle cx="{margin + at(modelled):.1f}" cy="{size - margin - at(true):.1f}" r="4" fill="#2a6fb0" '
                     f'fill-opacity="0.6"><title>{label}: modelled {modelled:.2f}, measured {true:.2f}</title></circle>')
    parts.append(f'<text x="{size / 2}" y="{size - 10}" text-anchor="middle">modelled gain</text>'
                 f'<text x="14" y="{size / 2}" text-anchor="middle" transform="rotate(-90 14 {size / 2})">measured gain</text></svg>')
    with open(path, "w") as out:
        out.write("\n".join(parts) + "\n")


def report(pairs_path, measured_path, svg):
    pairs, measured = read_json(pairs_path), read_json(measured_path)
    points, originals, unmodelled = [], [], 0
    for pair, result in zip(pairs, measured):
        cold = result.get("timing", {}).get("cold", {})
        if result.get("status") != "ok" or "candidate" not in cold:
            continue
        if pair["us"] is None or pair["baselineUs"] is None:
            unmodelled += 1
        elif not pair["pipeline"]:
            originals.append((pair["us"], cold["candidate"]["medianUs"]))
        else:
            points.append((pair["baselineUs"] / pair["us"], cold["decision"]["ratio"], cold["decision"]["comparison"],
                           pair["kernel"], pair["pipeline"]))
    print(f"{len(points)} rewrites of {len(originals)} kernels" + (f", {unmodelled} programs left out: not modelled" if unmodelled else ""))
    print(f"gain: {rank_line(points)}")
    for half in halves([p[3] for p in points]):
        print(f"  of {', '.join(half)}: {rank_line([p for p in points if p[3] in half])}")
    print(f"time of the originals: Spearman {spearman(*map(list, zip(*originals))):.3f}, modelled over measured "
          + ", ".join(f"{m / t:.2f}" for m, t in sorted(originals)))
    for name, values in sorted(counter_errors(pairs, measured).items()):
        shares = relative_errors(values)
        print(f"{name}: {len(values)} launches, error median {100 * shares[len(shares) // 2]:.2f} %, "
              f"largest {100 * shares[-1]:.2f} %, within 2 %: {100 * sum(s <= 0.02 for s in shares) / len(shares):.0f} %")
    scatter([(*p[:2], f"{p[3]} {p[4]}") for p in points], svg)


if __name__ == "__main__":
    commands = {"prepare": (prepare, 3), "model": (model, 3), "measure": (measure, 3), "report": (report, 3)}
    command, arguments = (commands.get(sys.argv[1]) if len(sys.argv) > 1 else None), sys.argv[2:]
    if not command or len(arguments) < command[1] or (sys.argv[1] != "prepare" and len(arguments) != command[1]):
        sys.exit(__doc__)
    command[0](*arguments)
