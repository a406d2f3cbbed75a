"""What bench/kernelbench makes of drivers: shapes, distributions, sizes, and what it refuses."""
import importlib.util
import os
import sys
import unittest

sys.path.insert(0, os.path.join(sys.argv.pop(1), "kernelbench"))
import operators
import runs
import shapes
from cxx import Unreadable, parse
from drivers import Driver
from torchcalls import called
from values import Int, Tensor, Untranslatable, add, multiply, quotient, subtract
from workloads import Translation, aligned_below, entry_parameters, missing_includes


def driver(body, declarations=""):
    return declarations + "int main() {" + body + "}"


def launch(body):
    return Driver(driver(body + " launch_gpu_implementation(y.data_ptr()); torch::allclose(y, y);")).run().arguments[0].tensor


class Numbers(unittest.TestCase):
    def test_expressions(self):
        n, k = Int.size("n", 10), Int.size("k", 3)
        self.assertEqual(add(subtract(n, k), Int(1)).text(), "n - k + 1")
        self.assertEqual(multiply(subtract(n, Int(1)), k).text(), "(n - 1) * k")
        self.assertEqual(quotient(add(n, Int(0)), Int(1)).text(), "n")
        self.assertEqual(subtract(n, subtract(k, Int(1))).text(), "n - k + 1")
        self.assertEqual(subtract(n, add(k, n)).text(), "n - (k + n)")
        self.assertEqual(quotient(Int(-7), Int(2)).value, -3)

    def test_division_by_zero(self):
        with self.assertRaises(Untranslatable):
            quotient(Int(1), Int(0))


class Shapes(unittest.TestCase):
    def test_convolution(self):
        y = launch("int h = 32; auto x = torch::randn({2, 3, h, h}); auto c = torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, {3, 5}).stride(2).padding({1, 0})); auto y = c->forward(x);")
        self.assertEqual([e.value for e in y.shape], [2, 8, 16, 14])
        self.assertEqual([e.text() for e in y.shape][2], "(h - 1) / 2 + 1")

    def test_transposed_convolution(self):
        y = launch("auto y = torch::nn::ConvTranspose2d(torch::nn::ConvTranspose2dOptions(4, 6, 3).stride(2).padding(1).output_padding(1).groups(2))->forward(torch::randn({1, 4, 7, 9}));")
        self.assertEqual([e.value for e in y.shape], [1, 6, 14, 18])

    def test_pool_reduction_view(self):
        y = launch("auto x = torch::max_pool2d(torch::randn({2, 3, 9, 8}), 2); x = torch::sum(x, {1}, true).squeeze(1); auto y = x.view({2, -1}).unsqueeze(0);")
        self.assertEqual([e.value for e in y.shape], [1, 2, 16])

    def test_extents_that_do_not_fit(self):
        with self.assertRaisesRegex(Untranslatable, "extents 4 and 3 differ"):
            launch("auto y = torch::matmul(torch::randn({2, 4}), torch::randn({3, 5}));")

    def test_a_window_that_is_too_large(self):
        with self.assertRaisesRegex(Untranslatable, "a window of 5 on 3 elements"):
            launch("auto y = torch::max_pool2d(torch::randn({1, 1, 3, 3}), 5);")

    def test_matmul_of_vectors(self):
        self.assertEqual(shapes.matmul(Tensor([Int(3)], "f32"), Tensor([Int(3)], "f32")).shape, [])


class Language(unittest.TestCase):
    """What drivers are written in beside calls of torch."""

    def shape(self, body, shape, before=""):
        text = "#include <torch/torch.h>\n" + before + "\nint main() { " + body + " launch_gpu_implementation(r.data_ptr()); torch::allclose(r, r); }"
        self.assertEqual([e.value for e in Driver(text).run().arguments[0].tensor.shape], shape)

    def test_vectors(self):
        self.shape("std::vector<int64_t> s; s.reserve(2); s.push_back(3); s.push_back(5); auto r = torch::randn(s);", [3, 5])
        self.shape("std::vector<int64_t> s{2, 3, 5}; std::vector<int64_t> t(s.begin() + 1, s.end()); t.insert(t.begin(), s.begin(), s.end() - 2); auto r = torch::randn(t);", [2, 3, 5])
        self.shape("std::vector<int64_t> s{2, 3, 5}; auto n = std::accumulate(s.begin(), s.end(), 1, std::multiplies<int64_t>()); auto r = torch::randn({n, s.back(), *s.begin()});", [30, 5, 2])

    def test_elements(self):
        self.shape("std::vector<int64_t> s(2); for (int i = 0; i < 2; ++i) s[i] = 3 + i; auto r = torch::randn(s);", [3, 4])
        text = "int main() { auto r = torch::zeros({3}); for (int i = 0; i < 3; ++i) r[i] = i; launch_gpu_implementation(r.data_ptr()); }"
        self.assertEqual(Driver(text).run().arguments[0].tensor.storage.note, "set element by element")

    def test_loops(self):
        self.shape("int n = 0; for (int i = 0; i < 3; i++) { n += 2; } auto r = torch::randn({n});", [6])
        self.shape("int n = 1; std::vector<int> f{2, 3}; for (const auto& each : f) n = n * each; auto r = torch::randn({n});", [6])

    def test_classes(self):
        self.shape("struct Pair { int a = 3; int b = 4; }; Pair p; auto r = torch::randn({p.a, p.b});", [3, 4])
        self.shape("auto m = new torch::nn::LinearImpl(4, 7); auto r = m->forward(torch::randn({2, 4}));", [2, 7])
        self.shape("auto m = std::make_shared<torch::nn::Conv3dImpl>(torch::nn::Conv3dOptions(2, 8, 3)); auto r = m->forward(torch::randn({1, 2, 5, 5, 5}));", [1, 8, 3, 3, 3])
        self.shape("torch::nn::Hardswish m; auto r = m(torch::nn::Flatten()(torch::randn({2, 3, 4})));", [2, 12])

    def test_macros_and_declarations(self):
        self.shape("TORCH_CHECK(torch::cuda::is_available(), 1); torch::set_default_dtype(1); auto r = torch::randn({3});", [3], "void other(float *, int64_t, const int n[]);\nvoid none(void);")


class Operators(unittest.TestCase):
    """torch's operators by class, from its schema."""

    def test_schema(self):
        classes = operators.read_schema("""
- func: twice(Tensor self) -> Tensor
  tags: [core, pointwise]
- func: twice_(Tensor(a!) self) -> Tensor(a!)
  tags: pointwise
- func: widest.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
  structured_inherits: TensorIteratorBase
- func: gap_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor
  structured_inherits: TensorIteratorBase
- func: halves(Tensor self, int dim=-1) -> Tensor
  tags: pointwise
- func: shaped(Tensor self, SymInt[] size) -> Tensor
""")
        self.assertEqual(classes, {"pointwise": ["twice", "twice_"], "reduction": ["widest"], "loss": ["gap_loss"]})

    def test_known(self):
        for name, kind in (("hardtanh_", "pointwise"), ("erfinv", "pointwise"), ("logaddexp", "pointwise"), ("nansum", "reduction"), ("huber_loss", "loss"), ("reshape", "")):
            self.assertEqual(operators.kind_of(name), kind)

    def test_in_place_and_copied(self):
        self.assertEqual([e.value for e in called("hardtanh_", [Tensor([Int(3)], "f32")], None).shape], [3])
        target, source = Tensor([Int(3)], "f32", "zeros"), Tensor([Int(3)], "f32", "normal")
        self.assertEqual(called("copy_", [target, source], None).storage.init, "normal")
        self.assertEqual([e.value for e in called("diag", [Tensor([Int(3)], "f32")], None).shape], [3, 3])

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_asked_of_torch(self):
        n = Int.size("n", 6)
        kept = []
        result = called("cdist", [Tensor([n, Int(4)], "f32"), Tensor([Int(5), Int(4)], "f32")], lambda *extents: kept.append(extents))
        self.assertEqual([e.text() for e in result.shape], ["n", "5"])
        self.assertEqual(kept, [])


class Refused(unittest.TestCase):
    def refuse(self, body, why):
        with self.assertRaisesRegex(Untranslatable, why):
            Driver(driver(body)).run()

    def test_reasons(self):
        self.refuse("int n = 3;", "main does not call launch_gpu_implementation")
        self.refuse("for (int i = 0; i < 5000; ++i) {}", "a 'for' loop of more than")
        self.refuse("while (more()) {}", "a 'while' loop")
        self.refuse("int n = 0; for (int i = 0; i < 3; ++i) { n += 1; break; }", "a 'for' loop")
        self.refuse("std::vector<int> v(2000); for (int each : v) {}", "a 'for' loop of more than")
        self.refuse("auto x = torch::fft_fft(torch::randn({3}));", "torch::fft_fft")
        self.refuse("auto x = load(3);", "the function load")

    def test_no_cxx(self):
        with self.assertRaises(Unreadable):
            parse("int main() { auto f = [](int x) { return x; }; }")

    def test_parameters(self):
        text = "void launch_gpu_implementation(int *a);\ntemplate <class T> void launch_gpu_implementation(T *a, int n, int m) {}\nvoid launch_gpu_implementation(float *a, int n) {}\n"
        self.assertEqual(entry_parameters(text, 2), [("float *", "a"), ("int", "n")])
        with self.assertRaisesRegex(Untranslatable, "no launch_gpu_implementation of 5 parameters"):
            entry_parameters(text, 5)


class Workload(unittest.TestCase):
    BODY = ("const int n = 600, k = 3, hidden = 64; auto w = torch::nn::Conv1d(3, 8, k); w->to(torch::kHalf); auto x = torch::randint(0, n, {n, 3, hidden}, torch::kLong);"
            "auto r = w->forward(x); auto y = torch::zeros_like(r); auto m = torch::tril(x); launch_gpu_implementation(y.data_ptr(), m.data_ptr(), w->weight.data_ptr(), nullptr, n, k, 2.5f);"
            "torch::allclose(y, r);")
    SOURCE = "void launch_gpu_implementation(void *y, void *x, const void *w, void *b, int n, int k, float s) {}"

    def test_text(self):
        translation = Translation(driver(self.BODY), self.SOURCE)
        text = translation.text()
        # k is the window, hidden is not handed over: both are numbers.
        self.assertIn("sizes: {n: 600}\n", text)
        self.assertIn("shape: [n, 8, 62]\n    role: inout\n    init: zeros", text)
        self.assertIn("  - name: b\n    cxx: nullptr", text)
        self.assertIn("  - name: s\n    type: f32\n    value: 2.5", text)
        self.assertIn("init: uniform(-0.333333, 0.333333)", text)
        self.assertEqual(translation.notes, ["'x' is computed by tril in the driver, here range(0, 2)"])

    def test_sizes_that_the_driver_stands(self):
        body = "int c = 64; auto g = torch::nn::GroupNorm(8, c); auto x = torch::randn({c, c}); auto y = g->forward(x); launch_gpu_implementation(y.data_ptr(), c); torch::allclose(y, y);"
        translation = Translation(driver(body), "void launch_gpu_implementation(void *y, int c) {}")
        self.assertTrue(translation.holds({"c": 24}))
        self.assertFalse(translation.holds({"c": 33}))

    def test_parameters_in_another_order(self):
        body = "int n = 4, m = 5; auto x = torch::randn({n, m}); launch_gpu_implementation(x.data_ptr(), n, m); torch::allclose(x, x);"
        declared = "void launch_gpu_implementation(void *x, int n, int m);"
        with self.assertRaisesRegex(Untranslatable, "the driver hands 'n' to the parameter 'm'"):
            Translation(driver(body, declared), "void launch_gpu_implementation(void *x, int m, int n) {}")

    def test_sizes_keep_their_divisors(self):
        self.assertEqual([aligned_below(n, n * 7 // 10) for n in (4096, 4000, 16, 3, 1)], [2816, 2784, 8, 2, 1])

    def test_missing_includes(self):
        self.assertEqual(missing_includes("#include <cuda_fp16.h>\nstd::vector<int> a; // std::cout\n"), ["vector"])
        self.assertEqual(missing_includes("#include <vector>\nstd::vector<int> a;\n"), [])


class Report(unittest.TestCase):
    def test_understand(self):
        text = "  modelled on h200: 9.0 us; no rewrite goes below 1.25 us\nresult: 2.50 x faster, 10.00 -> 4.00 us, measured\nreplay: kb-opt -passes='a' k.cu\n"
        self.assertEqual(runs.understand(0, text)["gain"], 2.5)
        self.assertTrue(runs.understand(0, text)["ran"])
        unproven = runs.understand(4, text.replace("result:", "not proven:"))
        self.assertEqual((unproven["gain"], unproven["screened"], unproven["ran"]), (1.0, 2.5, True))
        faster = runs.understand(0, text + "  another program was screened at 3.50 x and not proven in time\n")
        self.assertEqual((faster["gain"], faster["screened"]), (2.5, 3.5))
        refused = runs.understand(1, "kb-opt: error: 'k.cu': the original is left alone: race\n")
        self.assertEqual((refused["gain"], refused["note"], refused["parsed"], refused["ran"]), (1.0, "race", True, False))
        self.assertEqual(runs.understand(4, "stopped: time budget spent before the original was judged; x\n")["note"], "time budget spent before the original was judged")
        self.assertFalse(runs.understand(1, "k.cu:3:1: error: unknown type name 'x'\n")["parsed"])

    def test_groups(self):
        self.assertEqual(runs.groups_of({"name": "level1/007_A"}), [("level1", "odd"), ("level1", "odd, filtered")])
        self.assertEqual(runs.groups_of({"name": "level1/012_A"}), [("level1", "even")])  # a product with a diagonal matrix is not in the filtered half
        self.assertEqual(runs.groups_of({"name": "bf16/rms_norm"}), [("bf16", "all")])

    def test_mean(self):
        self.assertAlmostEqual(runs.geometric_mean([4, 1]), 2)


if __name__ == "__main__":
    unittest.main()
