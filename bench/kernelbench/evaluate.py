# SPDX-License-Identifier: Apache-2.0

"""Judges and times what a run of track B kept, beside eager PyTorch and torch.compile, on the GPU at hand. Needs torch and upstream's checkout.

Each problem is one process. Upstream's eval_kernel_against_ref, unmodified, says whether ModelNew is correct; the reference in float64 says how far off eager and ModelNew are. Then all are timed in
turns, each run with a cold L2, alone on the card (a lock): once with strict float32 and once with TF32 allowed for PyTorch. kb-opt's kernels are the same in both.
"""
import contextlib
import fcntl
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import types

import binding
import times
import track_a

ROUNDS = 15


@contextlib.contextmanager
def alone():
    """One process at a time on the card."""
    with open(os.path.join(tempfile.gettempdir(), "kb-kernelbench.lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def loaded(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def distance(result, exact):
    """The largest difference, over the largest value."""
    pairs = zip(result, exact) if isinstance(exact, tuple) else [(result, exact)]
    return max(float((a.double() - b).abs().max() / b.abs().max().clamp_min(1e-30)) for a, b in pairs)


def fresh(torch, module, kind, dtype):
    """A model and its inputs; the same seed gives the same values."""
    torch.manual_seed(42)
    model = getattr(module, kind)(*module.get_init_inputs())
    torch.manual_seed(43)
    inputs = [x.cuda().to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in module.get_inputs()]
    return model.cuda().to(dtype), inputs


def leave_out_clients():
    """Upstream's package imports clients of model services, which its judge does not use: what is not installed is an empty module."""
    for name, wanted in (("openai", "OpenAI"), ("litellm", "completion"), ("dotenv", "load_dotenv")):
        if not importlib.util.find_spec(name):
            sys.modules[name] = types.ModuleType(name)
            setattr(sys.modules[name], wanted, lambda *_, **__: None)


def evaluate(folder, cuda_path, upstream, modes):
    """The record of one problem; exceptions are for the caller. `modes` are those of torch.compile."""
    import torch
    sys.path.insert(0, os.path.join(upstream, "src"))
    leave_out_clients()
    from kernelbench.eval import eval_kernel_against_ref
    text = binding.model_of(folder, cuda_path)
    with open(os.path.join(folder, "reference.py")) as file:
        reference = file.read()
    record = {"compile": {}}
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    verdict = eval_kernel_against_ref(reference, text, num_correct_trials=3, measure_performance=False)
    record["correct"] = bool(verdict and verdict.compiled and verdict.correctness)
    if not record["correct"]:
        record["why"] = str(verdict.metadata if verdict else "not evaluated")[:500]
        return record
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(text)
        file.flush()
        module = loaded(file.name, "kb_answer")
    model, inputs = fresh(torch, module, "Model", torch.float32)
    answer, _ = fresh(torch, module, "ModelNew", torch.float32)
    with torch.no_grad():
        try:
            exact_model, exact_inputs = fresh(torch, module, "Model", torch.float64)
            exact = exact_model(*exact_inputs)
            record["distance"] = {"eager": distance(model(*inputs), exact), "kb-opt": distance(answer(*inputs), exact)}
            del exact_model, exact_inputs, exact
        except torch.OutOfMemoryError:
            record["distance"] = None
        for tf32 in (False, True):
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
            functions = {"kb-opt": answer, "eager": model}
            for mode in modes:
                torch._dynamo.reset()
                compiled = torch.compile(model, mode=mode)
                try:
                    compiled(*inputs)
                    functions["compile " + mode] = compiled
                except Exception as error:
                    record["compile"][mode] = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
            with alone():
                calls = {name: lambda function=function: function(*inputs) for name, function in functions.items()}
                record["tf32" if tf32 else "strict"] = times.microseconds(torch, calls, ROUNDS)
    return record


def one(arguments):
    """The process of one problem: prints its record as the last line."""
    folder, cuda_path, upstream, modes = arguments
    record = evaluate(folder, cuda_path, upstream, modes.split(",") if modes else [])
    print(json.dumps(record))


def run(prepared, results, upstream, out, options):
    """Every problem of `results` (of a run) that has a kernel; what fails is named and counted."""
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(results, "results.json")) as file:
        gains = {record["name"]: record for record in json.load(file)}
    end = time.time() + options["deadline"] if options["deadline"] else None

    def judge(record):
        name, kept = record["name"], os.path.join(results, record["name"].replace("/", "-") + ".cu")
        found = {"name": name, "gain": gains.get(name, {}).get("gain", 1.0)}
        if record["why"]:
            return {**found, "correct": False, "why": record["why"]}
        folder = os.path.join(prepared, name)
        left = min(options["seconds"], end - time.time()) if end else options["seconds"]
        if left < 5:
            return {**found, "correct": False, "why": "not begun before the deadline"}
        cuda = kept if os.path.exists(kept) else os.path.join(folder, "kernel.cu")
        command = [sys.executable, os.path.abspath(__file__), folder, cuda, upstream, ",".join(options["compile"])]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=left)
        except subprocess.TimeoutExpired:
            return {**found, "correct": False, "why": f"took more than {left:.0f} s"}
        with open(os.path.join(out, name.replace("/", "-") + ".log"), "w") as log:
            log.write(done.stdout + done.stderr)
        lines = done.stdout.strip().splitlines()
        try:
            found.update(json.loads(lines[-1]) if done.returncode == 0 and lines else {"correct": False, "why": ((done.stderr.strip().splitlines() or ["no word"])[-1])[:300]})
        except json.JSONDecodeError:
            found.update(correct=False, why="it printed no record")
        print(f"{name}: {'correct' if found['correct'] else found.get('why', '')}", flush=True)
        return found

    records = track_a.load(prepared, options)
    track_a.in_parallel(options["jobs"], judge, records, lambda rs: track_a.write_json(os.path.join(out, "evaluated.json"), rs))


def table(paths):
    """Ratios over eager and over the better of eager and torch.compile, strict and with TF32, by level."""
    from runs import geometric_mean, parity_of
    records = {}
    for path in paths:
        with open(os.path.join(path, "evaluated.json") if os.path.isdir(path) else path) as file:
            records.update((record["name"], record) for record in json.load(file))
    groups = {}
    for record in records.values():
        groups.setdefault((record["name"].split("/")[0], parity_of(record)), []).append(record)
    lines = ["| level | numbers | problems | correct | over eager, strict | over the better, strict | over eager, TF32 | over the better, TF32 |", "|---|---|---:|---:|---:|---:|---:|---:|"]
    for (level, parity), group in sorted(groups.items()):
        correct = [r for r in group if r["correct"]]
        cells = []
        for precision in ("strict", "tf32"):
            timed = [r[precision] for r in correct if precision in r]
            better = [min(us for name, us in each.items() if name != "kb-opt") for each in timed]
            cells += [f"{geometric_mean([each['eager'] / each['kb-opt'] for each in timed]):.2f}", f"{geometric_mean([b / each['kb-opt'] for b, each in zip(better, timed)]):.2f}"]
        lines.append(f"| {level} | {parity} | {len(group)} | {len(correct)} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    one(sys.argv[1:])
