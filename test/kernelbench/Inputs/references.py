"""bench/kernelbench: the module that stands for a driver's reference, the judgement of programs beside it, and the tables. What needs torch is left out where there is none."""
import ctypes
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(sys.argv.pop(1), "kernelbench"))
import evaluate
import programs
import track_a
from cards import Cards
from drivers import Driver
from references import Reference
from values import Untranslatable
from workloads import entry_parameters

HAS_TORCH = importlib.util.find_spec("torch") is not None
ENTRY = "void launch_gpu_implementation({}) {{}}"


def written(body, parameters):
    """The module for a main of this body, whose entry has these parameters."""
    driver = Driver("int main() {" + body + "}").run()
    return Reference(driver, entry_parameters(ENTRY.format(parameters), len(driver.arguments))).text()


def statements(text):
    """The lines of reference()."""
    return [line.strip() for line in re.search(r"def reference\(.*?\n\n", text, re.S)[0].strip().splitlines()]


LINEAR = """int rows = 4, inputs = 8, outputs = 6; float slope = 0.25f;
  auto linear = torch::nn::Linear(torch::nn::LinearOptions(inputs, outputs)); linear->to(torch::kCUDA, torch::kHalf);
  auto x = torch::randn({rows, inputs}, torch::dtype(torch::kHalf).device(torch::kCUDA));
  auto weight = linear->weight.detach().clone();
  auto h = linear->forward(x); h = torch::leaky_relu(h, slope); h = 1 - h; h += std::get<0>(torch::max(h, 1, true));
  auto y = torch::empty_like(h);
  launch_gpu_implementation(y.data_ptr(), x.data_ptr(), weight.data_ptr(), linear->bias.data_ptr(), nullptr, rows, slope, true, {rows, inputs});
  bool same = torch::allclose(y.to(torch::kFloat32), h.to(torch::kFloat32), 1e-1, 1e-1);"""
LINEAR_PARAMETERS = "void *y, const void *x, const void *w, const void *b, const void *extra, int rows, float slope, bool flag, const std::vector<int64_t> &shape"
NORM = """int n = 8, c = 4;
  auto norm = torch::nn::BatchNorm2d(c); auto pool = torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(3).stride(2).padding(1).dilation(3)); {}
  auto x = torch::randn({{2, c, n, n}}); auto weight = norm->weight; {}
  auto h = pool(norm->forward(x)); h.relu_(); auto z = h.index({{torch::indexing::Slice(), torch::indexing::Slice(0, 2)}}); z = torch::nn::functional::softplus(z, torch::nn::functional::SoftplusFuncOptions().beta(0.5));
  auto y = torch::empty_like(z);
  launch_gpu_implementation(y.data_ptr(), x.data_ptr(), weight.data_ptr(), c);
  torch::allclose(z, y);"""
NORM_PARAMETERS = "float *y, float *x, float *w, int c"


class Written(unittest.TestCase):
    def test_operators_and_modules(self):
        text = written(LINEAR, LINEAR_PARAMETERS)
        self.assertEqual(statements(text), [
            "def reference(x, w, b, *, dtypes=NATURAL):", "v0 = F.linear(x, w, b)", "v1 = leaky_relu_2(v0, 0.25)", "v2 = 1 - v1", "v3 = max_3(v2, 1, True)", "v4 = v3[0]", "v5 = v2 + v4",
            "v6 = v5.to(dtypes['f32'])", "return [v6]"])
        self.assertIn("CALL = 'launch_gpu_implementation((void *)p[0], (const void *)p[1], (const void *)p[2], (const void *)p[3], nullptr, (int)4, (float)0.25, (bool)true, "
                      "std::vector<int64_t>{4, 8})'", text)
        self.assertIn("'y': ([4, 6], 'f16', '', '')", text)
        self.assertIn("'w': ([6, 8], 'f16', 'uniform(-0.353553, 0.353553)', 'uniform(-0.353553, 0.353553)')", text)
        self.assertIn("v0 = clone_1(w)", text)  # the entry is handed a copy of what the reference uses
        self.assertIn("v0 = y.to(dtypes['f32'])", text)

    def test_constants_and_modes(self):
        text = written(NORM.format("", ""), NORM_PARAMETERS)
        lines = statements(text)
        # What the entry is not handed has torch's own values; what it is handed is drawn, and torch's own stands beside.
        self.assertIn("'w': ([4], 'f32', 'uniform(0.5, 1.5)', 'ones')", text)
        self.assertRegex(text, r"'t\d': \(\[4\], 'f32', 'zeros', 'zeros'\)")
        self.assertRegex(lines[1], r"v0 = F.batch_norm\(x, t\d, t\d, w, t\d, training=True\)")
        self.assertIn("nn.MaxPool2d(3, stride=2, padding=1, dilation=3)(v0)", text)
        self.assertIn("relu_1(v1)", text)
        self.assertIn("v2[slice(None), slice(0, 2)]", text)
        self.assertRegex(text, r"softplus_1s\(v\d, beta=0\.5\)")
        self.assertIn("training=False", written(NORM.format("norm->eval();", ""), NORM_PARAMETERS))
        self.assertIn("'w': ([4], 'f32', 'normal', 'normal')", written(NORM.format("", "norm->weight.data().normal_();"), NORM_PARAMETERS))

    def test_refused(self):
        with self.assertRaisesRegex(Untranslatable, "random numbers that the entry is not handed"):
            written("auto a = torch::randn({4}); auto b = torch::randn({4}); auto c = a + b; auto y = torch::empty_like(c); launch_gpu_implementation(y.data_ptr(), a.data_ptr());"
                    "torch::allclose(y, c);", "float *y, float *a")
        with self.assertRaisesRegex(Untranslatable, "no tensor of the entry is compared"):
            written("auto a = torch::randn({4}); auto y = torch::empty_like(a); launch_gpu_implementation(y.data_ptr()); torch::allclose(y, y);", "float *y")


@unittest.skipUnless(HAS_TORCH, "no torch")
class Judged(unittest.TestCase):
    """With torch on the CPU, and entries of plain C++."""

    def reference(self, text):
        path = os.path.join(self.folder, "reference.py")
        with open(path, "w") as file:
            file.write(text)
        spec = importlib.util.spec_from_file_location("reference_of_test", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def library(self, call, body, name):
        source, library = os.path.join(self.folder, name + ".cpp"), os.path.join(self.folder, name + ".so")
        with open(source, "w") as file:
            file.write(f'static void launch_gpu_implementation(float *y, const float *x, const float *s, int n) {{ {body} }}\nextern "C" void kb_call(void **p) {{ {call}; }}\n')
        subprocess.run(["c++", "-shared", "-fPIC", source, "-o", library], check=True)
        return ctypes.CDLL(library)

    def test_right_wrong_and_nothing(self):
        import torch
        with tempfile.TemporaryDirectory() as self.folder:
            module = self.reference(written("int n = 512; auto x = torch::randn({n}); auto norm = torch::nn::LayerNorm(torch::nn::LayerNormOptions({n})); auto s = norm->weight;"
                                            "auto h = torch::softmax(x * s, 0); auto y = torch::empty_like(h); launch_gpu_implementation(y.data_ptr(), x.data_ptr(), s.data_ptr(), n);"
                                            "torch::allclose(y, h);", "float *y, const float *x, const float *s, int n"))
            softmax = "float m = -1e30f, t = 0; for (int i = 0; i < n; ++i) if (x[i] * S > m) m = x[i] * S; for (int i = 0; i < n; ++i) t += __builtin_expf(x[i] * S - m);" \
                      "for (int i = 0; i < n; ++i) y[i] = __builtin_expf(x[i] * S - m) / t;"
            libraries = {"given": self.library(module.CALL, softmax.replace("S", "1.0f"), "given"), "kb-opt": self.library(module.CALL, softmax.replace("S", "s[i]"), "right"),
                         "empty": self.library(module.CALL, "", "empty")}
            if not hasattr(torch.cuda, "synchronize") or not torch.cuda.is_available():
                torch.cuda.synchronize = lambda: None
            problem = programs.Problem(torch, module, 1, device="cpu")
            driver, drawn = (programs.judged(problem, libraries, place) for place in (programs.DRIVER, programs.WORKLOAD))
        # With torch's own scale of one nobody sees that the given program leaves it out, and the driver's tolerance takes zeros.
        self.assertTrue(all(driver["accepted"].values()), driver)
        self.assertEqual([programs.is_right(driver, name) for name in libraries], [True, True, False])
        self.assertEqual([programs.is_right(drawn, name) for name in libraries], [False, True, False])
        self.assertFalse(driver["random"])


class Evaluated(unittest.TestCase):
    TIMES = {"given": 30.0, "kb-opt": 10.0, "eager": 40.0, "compile default": 25.0}

    def test_suspicious_is_evaluated_again(self):
        fast, slower = ({"correct": True, "half": {**self.TIMES, "kb-opt": us}} for us in (10.0, 12.0))
        self.assertTrue(evaluate.is_suspicious(fast))
        self.assertFalse(evaluate.is_suspicious({"correct": True, "half": {**self.TIMES, "kb-opt": 20.0}}))
        self.assertEqual(evaluate.slower_of(fast, slower)["half"]["kb-opt"], 12.0)
        self.assertEqual(evaluate.slower_of(slower, fast)["half"]["kb-opt"], 12.0)
        self.assertEqual(evaluate.slower_of(fast, {"correct": False, "why": "x"})["why"], "when evaluated again: x")

    def test_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            log, run = os.path.join(folder, "log"), lambda code, seconds=20: evaluate.asked([sys.executable, "-c", code], os.path.join(folder, "log"), seconds)
            self.assertEqual(run("print('words'); print('{\"correct\": true}')"), {"correct": True})
            self.assertEqual(run("import sys; sys.exit('no card')")["why"], "no card")
            self.assertEqual(run("print('words')")["why"], "it printed no record")
            self.assertEqual(run("import time; time.sleep(9)", 1)["why"], "took more than 1 s")

    def test_run_names_what_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            names = ["level1/001_A", "level1/003_B", "level1/005_C"]
            track_a.write_json(os.path.join(folder, "problems.json"), [{"name": names[0], "why": "no workload: x", "flags": []}, {"name": names[1], "why": "", "noReference": "y", "flags": []},
                                                                       {"name": names[2], "why": "", "noReference": "", "flags": []}])
            track_a.write_json(os.path.join(folder, "results.json"), [{"name": n, "gain": 2.0} for n in names])
            options = {"parity": "odd", "only": "", "jobs": 1, "seconds": 60, "deadline": 0, "track": "a", "compile": [], "cards": Cards("")}
            evaluate.run(folder, folder, os.path.join(folder, "out"), options)
            with open(os.path.join(folder, "out/evaluated.json")) as file:
                found = {record["name"]: record for record in json.load(file)}
        self.assertEqual([found[n]["why"] for n in names[:2]], ["no workload: x", "no reference: y"])
        self.assertFalse(found[names[2]]["correct"])  # the process fails: there is no init.cu
        self.assertTrue(found[names[2]]["why"])

    def test_table(self):
        judged = lambda off, zeros: {"distance": {"eager": 1e-3, "given": off}, "accepted": {"given": True, "zeros": zeros}, "random": False}
        right = {"name": "level1/001_A", "correct": True, "half": self.TIMES, "right": {"given": True}, "driver": judged(1e-3, False), "drawn": judged(1e-3, False)}
        wrong = {"name": "level1/003_B", "correct": False, "half": self.TIMES, "right": {"given": False}, "driver": judged(0.7, True), "drawn": judged(0.8, True)}
        late = {"name": "level1/005_C", "correct": False, "why": "took more than 60 s"}
        with tempfile.TemporaryDirectory() as folder:
            track_a.write_json(os.path.join(folder, "evaluated.json"), [right, wrong, late])
            lines = evaluate.table([folder]).splitlines()
        self.assertIn("| level1 | odd | 3 | 2 | 1 | half | 3.00 | 4.00 | 2.50 |", lines)
        self.assertIn("| level1 | odd, filtered | 3 | 2 | 1 | half | 3.00 | 4.00 | 2.50 |", lines)
        self.assertIn("| level1/003_B | 0.7 | 0.001 | 0.8 | accepts | accepts | wrong |", lines)
        self.assertIn("1 x took more than 60 s (level1/005_C)", lines)
        self.assertFalse(any("001_A" in line for line in lines))


if __name__ == "__main__":
    unittest.main()
