"""Pure functions of bench/calibration.py; the argument is its folder."""
import json
import os
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))
sys.dont_write_bytecode = True
import calibration


class Ranks(unittest.TestCase):
    def test_equal_values_share_their_mean_rank(self):
        self.assertEqual(calibration.ranks([3, 1, 2]), [3, 1, 2])
        self.assertEqual(calibration.ranks([5, 1, 5, 5]), [3, 1, 3, 3])
        self.assertEqual(calibration.ranks([2, 2]), [1.5, 1.5])

    def test_spearman_knows_order_alone(self):
        self.assertAlmostEqual(calibration.spearman([1, 2, 3, 4], [1, 10, 11, 1000]), 1)
        self.assertAlmostEqual(calibration.spearman([1, 2, 3, 4], [4, 3, 2, 1]), -1)
        # d = (1, -1, 0, 0): 1 - 6 * 2 / (4 * 15)
        self.assertAlmostEqual(calibration.spearman([1, 2, 3, 4], [2, 1, 3, 4]), 0.8)

    def test_spearman_with_ties(self):
        # ranks 1.5 1.5 3 and 1 2 3
        self.assertAlmostEqual(calibration.spearman([1, 1, 2], [1, 2, 3]), 3 ** 0.5 / 2)

    def test_no_spread_is_no_correlation(self):
        self.assertEqual(calibration.correlation([1, 1, 1], [1, 2, 3]), 0)


class Gains(unittest.TestCase):
    def test_inconclusive_is_no_gain(self):
        self.assertEqual(calibration.settled(1.004, "inconclusive"), 1)
        self.assertEqual(calibration.settled(1.004, "faster"), 1.004)

    def test_settling_removes_the_order_of_noise(self):
        points = [(1, 0.998, "inconclusive", "a", "p"), (1, 1.003, "inconclusive", "a", "q"), (2, 1.9, "faster", "a", "r"),
                  (0.5, 0.6, "slower", "a", "s")]
        line = calibration.rank_line(points)
        self.assertIn("inconclusive gains as 1 1.000", line)
        self.assertIn("Spearman 0.949,", line)

    def test_halves_part_the_kernels(self):
        self.assertEqual(calibration.halves(["c", "a", "b", "a"]), (["a", "c"], ["b"]))


class Counters(unittest.TestCase):
    pairs = [{"kernels": [{"kernel": "_Z1kv", "metrics": {calibration.COUNTERS["sectors"].format("ld"): 99}}]}]

    def measured(self, value):
        return [{"launches": [{"step": 3, "kernel": "_Z1kv"}],
                 "profile": {"launches": [{"step": 3, "metrics": {calibration.COUNTERS["sectors"].format("ld"): value}}]}}]

    def test_joins_by_step_and_kernel(self):
        self.assertEqual(calibration.counter_errors(self.pairs, self.measured(100)), {"sectors ld": [(99, 100)]})
        self.assertAlmostEqual(calibration.relative_errors([(99, 100), (12, 10)])[0], 0.01)
        self.assertAlmostEqual(calibration.relative_errors([(99, 100), (12, 10)])[1], 0.2)

    def test_what_the_device_did_not_count_is_left_out(self):
        self.assertEqual(calibration.counter_errors(self.pairs, self.measured(0)), {})
        self.assertEqual(calibration.counter_errors(self.pairs, [{"status": "fault"}]), {})


class Model(unittest.TestCase):
    def test_renews_times_and_baselines_and_takes_equal_code_once(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "counts"))
            tool = os.path.join(folder, "tool")
            with open(tool, "w") as file:
                file.write("#!/bin/sh\ncat $3\n")
            os.chmod(tool, stat.S_IRWXU)
            calibration.write_json(os.path.join(folder, "pairs.json"), [{"kernel": "k", "pipeline": p, "us": 9} for p in ("", "x", "same", "y")])
            for number, (us, code) in enumerate(((8, "c"), (4, "d"), (7, "c"))):
                calibration.write_json(calibration.counts_file(folder, number),
                                       {"modelledUs": us, "launches": [], "kernels": {"k": {"code": code}}})
            calibration.model(tool, "h200", folder)
            pairs = calibration.read_json(os.path.join(folder, "pairs.json"))
        self.assertEqual([(p["us"], p["baselineUs"]) for p in pairs], [(8, 8), (4, 8), (8, 8), (None, 8)])


unittest.main(argv=sys.argv[:1])
