# SPDX-License-Identifier: Apache-2.0

"""Judges and times what a run of track B kept, beside eager PyTorch and torch.compile, on the GPU at hand, in one process. Needs torch and upstream's checkout.

Upstream's eval_kernel_against_ref, unmodified, says whether ModelNew is correct; the reference in float64 says how far off eager and ModelNew are. Then all are timed in turns, each run with a cold
L2, alone on the card: once with strict float32 and once with TF32 allowed for PyTorch. kb-opt's kernels are the same in both.
"""
import importlib.util
import json
import os
import sys
import tempfile
import types

import binding
import times

ROUNDS = 15


def loaded(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fresh(torch, module, kind, dtype, seed):
    """A model and its inputs; the same seed gives the same values. They are made on the GPU: modules have gigabytes of them."""
    with torch.device("cuda"):
        torch.manual_seed(seed)
        model = getattr(module, kind)(*module.get_init_inputs())
        torch.manual_seed(seed + 1)
        inputs = [x.cuda().to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in module.get_inputs()]
    return model.cuda().to(dtype), inputs


def leave_out_clients():
    """Upstream's package imports clients of model services, which its judge does not use: what is not installed is an empty module."""
    for name, wanted in (("openai", "OpenAI"), ("litellm", "completion"), ("dotenv", "load_dotenv")):
        if not importlib.util.find_spec(name):
            sys.modules[name] = types.ModuleType(name)
            setattr(sys.modules[name], wanted, lambda *_, **__: None)


def judged(torch, folder, text, upstream, seed):
    """Whether upstream's judge takes the answer."""
    sys.path.insert(0, os.path.join(upstream, "src"))
    leave_out_clients()
    from kernelbench.eval import eval_kernel_against_ref
    with open(os.path.join(folder, "reference.py")) as file:
        verdict = eval_kernel_against_ref(file.read(), text, seed_num=seed, measure_performance=False)
    correct = bool(verdict and verdict.compiled and verdict.correctness)
    return {"correct": correct, **({} if correct else {"why": str(verdict.metadata if verdict else "not evaluated")[:500]})}


def distances(torch, module, model, answer, inputs, seed):
    """How far off eager and the answer are from float64; None where that does not fit the card."""
    try:
        exact_model, exact_inputs = fresh(torch, module, "Model", torch.float64, seed)
        exact = exact_model(*exact_inputs)
        return {"eager": times.distance(model(*inputs), exact), "kb-opt": times.distance(answer(*inputs), exact)}
    except torch.OutOfMemoryError:
        return None


def evaluate(folder, cuda_path, upstream, modes, seed):
    """The record of one problem; exceptions are for the caller. `modes` are those of torch.compile."""
    import torch
    text = binding.model_of(folder, cuda_path)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    with times.computing():
        record = {"compile": {}, **judged(torch, folder, text, upstream, seed)}
        if not record["correct"]:
            return record
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(text)
            file.flush()
            module = loaded(file.name, "kb_answer")
        model, inputs = fresh(torch, module, "Model", torch.float32, seed)
        answer, _ = fresh(torch, module, "ModelNew", torch.float32, seed)
        with torch.no_grad():
            record["distance"] = distances(torch, module, model, answer, inputs, seed)
    for precision in ("strict", "tf32"):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
        with times.computing(), torch.no_grad():
            functions = {"kb-opt": answer, "eager": model, **times.compiled(torch, model, modes, lambda made: made(*inputs), record["compile"])}
        calls = {name: lambda function=function: function(*inputs) for name, function in functions.items()}
        with times.alone():
            record[precision] = times.microseconds(torch, calls, ROUNDS)
    return record


if __name__ == "__main__":
    place, cuda, checkout, all_modes, number = sys.argv[1:]
    print(json.dumps(evaluate(place, cuda, checkout, all_modes.split(",") if all_modes else [], int(number))))
