"""Text that bench/kernelbench/templates.py prints, and what it refuses."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(sys.argv.pop(1), "kernelbench"))
from batches import Batched, expression, unified
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
        self.assertIn("reluKernel0<<<(6 + 255) / 256, 256, 0, stream>>>(last, x, 6);", Generator(values).generate())

    def test_products_read_turned_matrices(self):
        values = graph("permute", [{"node": "w"}, [1, 0]], [4, 3], {"w": [3, 4], "x": [2, 4]})
        values["nodes"].append({"name": "product", "op": "mm", "args": [X, {"node": "result"}], "kwargs": {}, "shape": [2, 3], "dtype": "f32"})
        values["outputs"] = ["product"]
        text = Generator(values).generate()
        self.assertIn("a0[(batch * 2 + row) * 4 + k] * a1[(batch * 3 + column) * 4 + k];", text)
        self.assertNotIn("permuteKernel", text)
        # What something else uses as well is a copy.
        values["nodes"].append({"name": "last", "op": "relu", "args": [{"node": "result"}], "kwargs": {}, "shape": [4, 3], "dtype": "f32"})
        values["outputs"] = ["product", "last"]
        self.assertIn("permuteKernel0<<<", Generator(values).generate())

    def test_refused(self):
        for values, why in ((graph("topk", [X], [2], {"x": [4]}), "no template for aten.topk"), (graph("argmax", [X], [2], {"x": [4]}, "i64"), "argmax of type i64"),
                            (graph("view", [X, [4]], [4], {"x": [4]}), "an output is an input"), (graph("linalg_vector_norm", [X, 3], [], {"x": [4]}), "a norm of order 3")):
            with self.assertRaisesRegex(Untranslatable, why):
                Generator(values).generate()


class Batches(unittest.TestCase):
    """A module whose batch is a number that kb_run is handed."""
    BATCHES = (64, 3, 2)

    def test_expressions(self):
        self.assertEqual(expression(["64", "3", "2"], self.BATCHES), "batch_size")
        self.assertEqual(expression(["320", "15", "10"], self.BATCHES), "(batch_size * 5)")
        self.assertEqual(expression(["127", "5", "3"], self.BATCHES), "(batch_size * 2 - 1)")
        self.assertEqual(expression(["64.0f", "3.0f", "2.0f"], self.BATCHES), "static_cast<float>(batch_size)")
        self.assertEqual(expression([str(b * (1 << 26)) for b in self.BATCHES], self.BATCHES), "(static_cast<long long>(batch_size) * 67108864)")
        self.assertIsNone(expression(["4096", "9", "4"], self.BATCHES))  # the square
        self.assertIsNone(expression(["1e-05f", "1e-04f", "1e-04f"], self.BATCHES))
        self.assertEqual(unified(["a[i / 320] + 7", "a[i / 15] + 7", "a[i / 10] + 7"], self.BATCHES), "a[i / (batch_size * 5)] + 7")
        self.assertIsNone(unified(["a", "a + b", "a"], self.BATCHES))

    def batched(self, rows_of, batches=BATCHES):
        return Batched([graph("mul", [X, {"node": "w"}], [rows_of(b), 1 << 20], {"x": [rows_of(b), 1 << 20], "w": [1 << 20]}) for b in batches], list(batches))

    def test_program(self):
        module = self.batched(lambda batch: batch)
        text = module.program()
        self.assertIn("const float *__restrict__ a1, int count) {", text)  # no kernel is handed what it does not use
        self.assertIn("mulKernel0<<<((batch_size * 1048576) + 255) / 256, 256, 0, stream>>>(result, x, w, (batch_size * 1048576));", text)
        self.assertIn("kb_run(float *result, const float *x, const float *w, int batch_size, cudaStream_t stream)", text)
        # 64 rows are 516 MiB, 32 are 260: a quarter is searched, and all are computed in the end.
        self.assertEqual((module.size, module.bytes(32)), (16, 4 * (2 * 32 + 1) << 20))
        self.assertIn("sizes: {batch_size: 16}\ntest-sizes: [{batch_size: 3}]\nunseen-sizes: [{batch_size: 2}]\n", module.workload())
        self.assertIn("shape: [batch_size * 1048576]", module.workload())
        self.assertIn("sizes: {batch_size: 3}\ntest-sizes: [{batch_size: 2}]\nparameters:", module.workload(small=True))

    def test_kernels_are_handed_the_batch(self):
        sums = lambda batch: graph("sum", [X, [0]], [8], {"x": [batch, 8]})
        text = Batched([sums(b) for b in self.BATCHES], list(self.BATCHES)).program()
        self.assertIn("int count, int batch_size) {", text)
        self.assertIn("for (int r0 = 0; r0 < batch_size; ++r0) {", text)
        self.assertIn("(result, x, 8, batch_size);", text)

    def test_kept_as_it_is(self):
        module = self.batched(lambda batch: batch * batch)
        self.assertIsNone(module.size)
        self.assertNotIn("batch_size", module.program() + module.workload())


if __name__ == "__main__":
    unittest.main()
