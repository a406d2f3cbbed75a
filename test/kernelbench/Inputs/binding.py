"""What bench/kernelbench makes of a module and its CUDA: ModelNew, run here with stand-ins for torch and for the compiled library; and the table of an evaluation."""
import contextlib
import json
import os
import sys
import types
import unittest

sys.path.insert(0, os.path.join(sys.argv.pop(1), "kernelbench"))
import binding
import evaluate
import times

GRAPH = {"inputs": [{"name": "p_linear_weight", "role": "PARAMETER", "used": True}, {"name": "b_mean", "role": "BUFFER", "used": False}, {"name": "flag", "role": "USER_INPUT", "used": False},
                    {"name": "x", "role": "USER_INPUT", "used": True}],
         "nodes": [{"name": "mm", "shape": [2, 3]}, {"name": "sum_1", "shape": [2]}], "outputs": ["sum_1"]}
REFERENCE = """
import torch
class Model(torch.nn.Module):
    def __init__(self, width):
        self.width = width
"""


class Tensor:
    def __init__(self, address):
        self.address, self.device = address, "cuda:0"

    def detach(self):
        return self

    contiguous = detach

    def data_ptr(self):
        return self.address


class Module:
    def named_parameters(self):
        return [("linear.weight", Tensor(10)), ("linear.bias", Tensor(11))]

    def named_buffers(self):
        return [("mean", Tensor(12))]


def stand_in():
    torch = types.ModuleType("torch")
    torch.Tensor, torch.float32 = Tensor, "f32"
    torch.nn = types.SimpleNamespace(Module=Module)
    torch.cuda = types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=77))
    torch.made = []
    torch.empty = lambda shape, dtype, device: torch.made.append(shape) or Tensor(90)
    return torch


class Binding(unittest.TestCase):
    def test_arguments(self):
        self.assertEqual(binding.arguments_of(GRAPH), [("own", "p_linear_weight"), ("input", 1)])

    def test_model_new(self):
        torch, calls = stand_in(), []
        sys.modules["torch"] = torch
        try:
            scope = {}
            exec(binding.model_new(REFERENCE, GRAPH, 'extern "C" void kb_run() {} // "quoted" {braces}\n'), scope)
            scope["_library"] = lambda: types.SimpleNamespace(kb_keep=lambda: None, kb_run=lambda *given: calls.append([g.value for g in given]))
            model = scope["ModelNew"](7)
            result = model.forward(Tensor(20), Tensor(21))
            scope["SIZES"].append(64)
            model.forward(Tensor(20), Tensor(21))
        finally:
            del sys.modules["torch"]
        self.assertEqual(model.width, 7)
        self.assertEqual(calls, [[90, 10, 21, 77], [90, 10, 21, 64, 77]])
        self.assertEqual((torch.made, result.address), ([[2], [2]], 90))
        self.assertIn("SIZES = [64]", binding.model_new(REFERENCE, {**GRAPH, "size": {"name": "batch", "value": 64}}, ""))
        self.assertIn('"quoted" {braces}', scope["CUDA"])


class Event:
    """Every function takes as many milliseconds as were called before it."""
    calls = []

    def __init__(self, enable_timing):
        pass

    def record(self):
        self.at = len(Event.calls)

    def elapsed_time(self, end):
        return end.at


class Times(unittest.TestCase):
    def test_in_turns(self):
        Event.calls.clear()
        nothing = lambda *_, **__: None
        torch = types.SimpleNamespace(int8="i8", empty=lambda *_, **__: types.SimpleNamespace(zero_=nothing), no_grad=contextlib.nullcontext,
                                      cuda=types.SimpleNamespace(Event=Event, synchronize=nothing))
        found = times.microseconds(torch, {"a": lambda: Event.calls.append("a"), "b": lambda: Event.calls.append("b")}, 3)
        self.assertEqual("".join(Event.calls), "ababab")
        self.assertEqual(found, {"a": 3000, "b": 4000})


class Table(unittest.TestCase):
    def test_table(self):
        timed = {"kb-opt": 2.0, "eager": 8.0, "compile default": 4.0}
        path = os.path.join(os.environ["TMPDIR"] if "TMPDIR" in os.environ else "/tmp", f"evaluated-{os.getpid()}.json")
        with open(path, "w") as file:
            json.dump([{"name": "level1/001_A", "correct": True, "strict": timed, "tf32": {**timed, "eager": 1.0}}, {"name": "level1/003_B", "correct": False, "why": "no kernel"}], file)
        try:
            self.assertIn("| level1 | odd | 2 | 1 | 1 | float32 |  | 4.00 | 2.00 |", evaluate.table([path]))
            self.assertIn("| level1 | odd | 2 | 1 | 1 | float32, PyTorch with TF32 |  | 0.50 | 0.50 |", evaluate.table([path]))
        finally:
            os.remove(path)


if __name__ == "__main__":
    unittest.main()
