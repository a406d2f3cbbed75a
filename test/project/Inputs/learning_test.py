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
    return {"originalUs": original, "bestUs": best, "found": best < original, "source": "modelled",
            "attempts": list(attempts), "judged": len(attempts),
            "roles": [{"role": "coder", "calls": 1, "promptTokens": tokens, "completionTokens": 0}] if tokens else []}


class Figures(unittest.TestCase):
    def test_gain_of_nothing_is_one(self):
        self.assertEqual(learning.gain(report(10, 2)), 5)
        self.assertEqual(learning.gain({**report(10, 10), "bestUs": None}), 1)

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

    def test_tuning_takes_steps_too(self):
        tuned = [attempt(us=30, trajectory=0, phase="tune"), attempt(us=10, trajectory=0, phase="tune")]
        self.assertEqual(learning.steps_to_share(report(100, 10, [attempt(us=90)] + tuned)), 3)

    def test_a_refused_winner_is_no_step(self):
        refused = attempt("incorrect", trajectory=0, phase="confirm")
        self.assertEqual(learning.steps_to_share(report(100, 10, [refused, attempt(us=10)])), 1)
        self.assertIsNone(learning.steps_to_share(report(100, 10, [refused])))

    def test_tokens_over_the_sum_of_logarithms(self):
        runs = [report(math.e, 1, tokens=100), report(10, 10, tokens=50)]
        self.assertAlmostEqual(learning.tokens_per_log_gain(runs), 150)
        self.assertIsNone(learning.tokens_per_log_gain([report(10, 10, tokens=50)]))

    def test_means(self):
        self.assertAlmostEqual(learning.geometric_mean([2, 8]), 4)
        self.assertIsNone(learning.geometric_mean([]))
        self.assertEqual(learning.median([3, 1, 2]), 2)
        self.assertEqual(learning.median([4, 1]), 2.5)


class Table(unittest.TestCase):
    def test_ratios_are_of_kernels_that_have_both(self):
        lines = learning.table({"a": {"empty": report(8, 1, tokens=10), "no-memory": report(8, 2)},
                                "b": {"empty": report(9, 1, tokens=10)}})
        self.assertIn("Speed-ups, modelled:", lines)
        self.assertIn("| a | 8.00 | - | 4.00 | - |", lines)
        self.assertIn("| *geometric mean* | 8.49 | - | 4.00 | - |", lines)
        self.assertIn("memory that this run makes (empty over no-memory): 2.000 x, 1 kernels", lines)
        self.assertIn("memory of other kernels (trained over no-memory): - x, 0 kernels", lines)

    def test_nothing_is_said_of_nothing(self):
        self.assertEqual(learning.table({}), ["Nothing was run."])


unittest.main()
