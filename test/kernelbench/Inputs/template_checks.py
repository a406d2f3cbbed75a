"""Text that bench/kernelbench/templates.py prints, and what it refuses."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(sys.argv.pop(1), "kernelbench"))
from templates import Generator, digits, number, offset, strides
from values import Untranslatable


def graph(op, args, shape, inputs, dtype="f32", kwargs=None):
    values = [{"name": n, "shape": s, "dtype": "f32", "role": "", "used": True, "init": "normal"} for n, s in inputs.items()]
    return {"inputs": values, "nodes": [{"name": "result", "op": op, "args": args, "kwargs": kwargs or {}, "shape": shape, "dtype": dtype}], "outputs": ["result"]}


X = {"node": "x"}


class Texts(unittest.TestCase):
    def test_parts(self):
        self.assertEqual([number(v) for v in (1, 0.5, 1e-5, float("-inf"))], ["1.0f", "0.5f", "1e-05f", "-INFINITY"])
        self.assertEqual(strides([2, 3, 4]), [12, 4, 1])
        self.assertEqual(offset(["a", "b", "c"], [4, 0, 1]), "a * 4 + c")
        self.assertEqual(digits([2, 3])[0], ["  int i0 = i / 3;", "  int i1 = i % 3;"])

    def test_broadcasting(self):
        text = Generator(graph("mul", [X, {"node": "w"}], [2, 3], {"x": [2, 3], "w": [3]})).generate()
        self.assertIn("float b = a1[i1];", text)

    def test_indices_of_64_bits(self):
        text = Generator(graph("relu", [X], [1 << 16, 1 << 15], {"x": [1 << 16, 1 << 15]})).generate()
        self.assertIn("long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;", text)

    def test_views_are_no_kernels(self):
        values = graph("view", [X, [6]], [6], {"x": [2, 3]})
        values["nodes"].append({"name": "last", "op": "relu", "args": [{"node": "result"}], "kwargs": {}, "shape": [6], "dtype": "f32"})
        values["outputs"] = ["last"]
        self.assertIn("reluKernel0<<<1, 256, 0, stream>>>(last, x, 6);", Generator(values).generate())

    def test_refused(self):
        for values, why in ((graph("topk", [X], [2], {"x": [4]}), "no template for aten.topk"), (graph("argmax", [X], [2], {"x": [4]}, "i64"), "argmax of type i64"),
                            (graph("view", [X, [4]], [4], {"x": [4]}), "an output is an input"), (graph("linalg_vector_norm", [X, 3], [], {"x": [4]}), "a norm of order 3")):
            with self.assertRaisesRegex(Untranslatable, why):
                Generator(values).generate()


if __name__ == "__main__":
    unittest.main()
