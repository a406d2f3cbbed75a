"""Pure functions of bench/learning.py; the argument is its folder."""
import math
import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))
sys.dont_write_bytecode = True
import learning


def attempt(outcome="correct", us=None, tokens=0, trajectory=1, repair=False, verdict=None, phase="search"):
    return {"phase": phase, "outcome": outcome, "us": us, "tokens": tokens, "trajectory": trajectory, "repair": repair,
            "verdict": verdict or outcome}


def report(original, best, attempts=(), tokens=0):
    return {"originalUs": original, "bestUs": best, "found": best < original, "confirmed": True, "source": "modelled",
            "attempts": list(attempts), "judged": len(attempts),
            "roles": [{"role": "coder", "calls": 1, "promptTokens": tokens, "completionTokens": 0}] if tokens else []}


class Figures(unittest.TestCase):
    def test_gain_of_nothing_is_one(self):
        self.assertEqual(learning.gain(report(10, 2)), 5)
        self.assertEqual(learning.gain({**report(10, 10), "bestUs": None}), 1)

    def test_what_is_not_proven_is_no_gain(self):
        self.assertEqual(learning.gain({**report(10, 2), "confirmed": False}), 1)

    def test_the_attainable_time_stands_in_what_was_said(self):
        said = "state: balanced\n  modelled on h200: 37.90 us; no rewrite goes below 5.10 us\n"
        self.assertEqual(learning.attainable_us(said), 5.1)
        self.assertIsNone(learning.attainable_us("state: balanced\n"))

    def test_room_is_what_rules_leave_above_the_attainable_time(self):
        gains = {"near": 2.0, "far": 2.0, "unknown": 1.0}
        originals = {"near": 20.0, "far": 20.0, "unknown": 20.0}
        self.assertEqual(learning.room_of(gains, originals, {"near": 9.2, "far": 9.0, "unknown": None}), {"far"})

    def test_repairs_belong_to_the_proposal_that_they_mend(self):
        run = report(10, 5, [attempt("incorrect", tokens=9, trajectory=1), attempt("incorrect", tokens=9, trajectory=2),
                             attempt("correct", 5, tokens=4, trajectory=1, repair=True),
                             attempt("refused", tokens=4, trajectory=2, repair=True),
                             attempt("refused", tokens=2, trajectory=1, verdict="declined"), attempt("correct", 5)])
        self.assertEqual(learning.proposals(run), ["correct", "failed", "declined"])
        self.assertEqual(learning.valid_rate([run, run]), (2, 4))

    def test_steps_are_counted_to_the_first_that_is_near_the_end(self):
        run = report(100, 10, [attempt("incorrect"), attempt(us=50), attempt(us=11), attempt(us=10)])
        self.assertEqual(learning.steps_to_share(run), 3)  # ln(100 / 11) is 95.9 % of ln(10)
        self.assertEqual(learning.steps_to_share(run, 0.3), 2)
        self.assertIsNone(learning.steps_to_share(report(10, 10)))

    def test_a_refused_winner_is_no_step(self):
        refused = attempt("incorrect", trajectory=0, phase="confirm")
        self.assertEqual(learning.steps_to_share(report(100, 10, [refused, attempt(us=10)])), 1)
        self.assertIsNone(learning.steps_to_share(report(100, 10, [refused])))

    def test_means(self):
        self.assertAlmostEqual(learning.geometric_mean([2, 8]), 4)
        self.assertIsNone(learning.geometric_mean([]))


class Area(unittest.TestCase):
    def test_a_gain_counts_once_its_tokens_are_spent(self):
        run = report(math.e, 1, [attempt("incorrect", tokens=25), attempt(us=1, tokens=25)])
        self.assertAlmostEqual(learning.area(run, 100), 0.5)
        self.assertAlmostEqual(learning.area(run, 50), 0)

    def test_a_slower_candidate_takes_nothing_back(self):
        run = report(math.e, 1, [attempt(us=1), attempt(us=math.e ** 2, tokens=50), attempt("incorrect", us=0.1)])
        self.assertAlmostEqual(learning.area(run, 100), 1)

    def test_what_comes_after_the_horizon_does_not_count(self):
        run = report(math.e, 1, [attempt("incorrect", tokens=150), attempt(us=1)])
        self.assertAlmostEqual(learning.area(run, 100), 0)

    def test_no_tokens_have_no_area(self):
        self.assertIsNone(learning.area(report(10, 1, [attempt(us=1)]), 0))


class Bootstrap(unittest.TestCase):
    def test_equal_clusters_leave_no_doubt(self):
        low, high = learning.clustered_interval({"a": [2, 2], "b": [2], "c": []}, resamples=100)
        self.assertAlmostEqual(low, 2)
        self.assertAlmostEqual(high, 2)

    def test_kernels_of_a_family_are_drawn_together(self):
        within = learning.clustered_interval({"a": [1, 4], "b": [1, 4]}, resamples=1000)
        between = learning.clustered_interval({"a": [1, 1], "b": [4, 4]}, resamples=1000)
        self.assertAlmostEqual(within[0], within[1])
        self.assertAlmostEqual(between[0], 1)
        self.assertAlmostEqual(between[1], 4)

    def test_the_seed_determines_the_interval(self):
        clusters = {"a": [1, 2], "b": [3], "c": [1.5, 4]}
        self.assertEqual(learning.clustered_interval(clusters, 200), learning.clustered_interval(clusters, 200))

    def test_one_cluster_says_nothing(self):
        self.assertIsNone(learning.clustered_interval({"a": [1, 2], "b": []}))


class Rules(unittest.TestCase):
    near, far = ("scatter", "near1"), ("scatter", "far1")
    gains = {("empty", 4): {near: 2.0, far: 2.0}, ("evidence", 4): {near: 3.0}, ("recipes", 4): {near: 6.0}}

    def figure(self, **wanted):
        found = [f for f in learning.rule_figures(self.gains, {self.near}) if wanted.items() <= f.items()]
        self.assertEqual(len(found), 1)
        return found[0]

    def test_ratios_are_of_kernels_that_have_both(self):
        self.assertAlmostEqual(self.figure(one="evidence", group="near", room=False)["ratio"], 1.5)
        self.assertIsNone(self.figure(one="evidence", group="far", room=False)["ratio"])

    def test_aims_belong_to_their_ratio(self):
        self.assertEqual(self.figure(one="evidence", group="near", room=False)["aim"], 1.3)
        self.assertEqual(self.figure(one="recipes", other="evidence", group="near", room=True)["aim"], 1.5)
        self.assertIsNone(self.figure(one="recipes", other="evidence", group="near", room=False)["aim"])

    def test_the_table_says_what_is_met(self):
        lines = learning.rule_table(self.gains, {self.near: 1.0}, {self.near: 9.0}, {self.near}, "modelled")
        self.assertIn("| scatter/near1 | 9.00 | 1.00 | 2.00 | 3.00 | 6.00 | yes |", lines)
        self.assertIn("| scatter/far1 | - | - | 2.00 | - | - |  |", lines)
        self.assertIn("| 4 | recipes over evidence | 1 near with room | 2.00 | - | 1.50 | met |", lines)

    def test_nothing_is_said_of_nothing(self):
        self.assertEqual(learning.rule_table({}, {}, {}, set(), ""), ["Nothing was run."])


class Model(unittest.TestCase):
    def test_areas_of_one_kernel_have_one_horizon(self):
        slow = report(math.e, 1, [attempt(us=1, tokens=100)], tokens=100)
        fast = report(math.e, 1, [attempt(us=1, tokens=50)], tokens=50)
        lines = learning.model_table({("scatter", "near1", 0): {"no-memory": slow, "recipes": fast}})
        self.assertIn("| scatter/near1/0 | 2.72 (1.00) | 2.72 (1.65) |", lines)
        self.assertIn("| recipes over no-memory | 1 near | 1.65 | - |", lines)

    def test_nothing_is_said_of_nothing(self):
        self.assertEqual(learning.model_table({}), ["Nothing was run."])


unittest.main()
