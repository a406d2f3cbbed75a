"""Pure functions of bench/ranking.py; the argument is its folder."""
import json
import math
import os
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))
sys.dont_write_bytecode = True
import ranking

LOG = """state: memory_latency_bound
  measured on NVIDIA H200: 100.00 us, modelled 90.00 us; no rewrite goes below 10.00 us
[sketch] schedule{as="map block=256" kernel=k}  correct, measured 50.00 us, 2.00 x of the step before (modelled 1.50 x)
best 2.00 x, 1 candidate
[sketch] schedule{as="map block=64" kernel=k}  correct, measured 80.00 us, 1.25 x of the step before (modelled 1.60 x)
[sketch] schedule{as="map block=32" kernel=k}  incorrect (G4, correctness): output 0[0] is 1
[1] unroll-loop{factor=4 kernel=k}  correct, measured 25.00 us, 2.00 x of the step before (modelled 1.20 x)
[1] unroll-loop{factor=8 kernel=k}  correct, measured 25.00 us, 2.00 x of the step before (modelled 1.20 x) (identical machine code, not measured again)
[2] launch-bounds{blocks=2 kernel=k}  correct, measured 20.00 us, 1.25 x of the step before
"""


class Reading(unittest.TestCase):
    def read(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
            return ranking.read_steps([folder])

    def test_log_finds_the_program_before_by_its_time(self):
        steps = self.read("corpus-k.log", LOG)
        self.assertEqual([(s.program, len(s.pipeline), s.measured_all) for s in steps],
                         [("corpus-k", 1, 2), ("corpus-k", 1, 1.25), ("corpus-k", 2, 4)])
        self.assertAlmostEqual(steps[2].modelled_all, 1.5 * 1.2)
        self.assertEqual(steps[2].kernel, "k")

    def test_evidence_is_chained_by_what_was_before_and_after(self):
        def line(**fields):
            return json.dumps({"device": "cuda", "pass": "p", "program": "x", **fields})
        steps = self.read("evidence.jsonl", "\n".join([
            line(before="a", after="b", modelledGain=math.log(2), achievedGain=math.log(3)),
            line(before="b", after="c", modelledGain=math.log(0.5), achievedGain=math.log(0.5), parameters={"n": "4"}),
            line(before="b", after="d", achievedGain=0),
            line(before="a", after="e", modelledGain=0, device="cpu-modelled")]))
        self.assertEqual([s.step for s in steps], ["p", "p{n=4}"])
        self.assertAlmostEqual(steps[1].modelled_all, 1)
        self.assertAlmostEqual(steps[1].measured_all, 1.5)


def step(modelled, measured, program="p"):
    return ranking.Step(program, "k", "s", modelled, measured, modelled, measured, (str(modelled),))


class Figures(unittest.TestCase):
    def test_signs_leave_out_noise(self):
        steps = [step(1.2, 1.5), step(0.9, 1.5), step(1.0, 0.8), step(0.8, 0.8), step(5, 1.01)]
        self.assertEqual(ranking.right_signs(steps), (2, 4))

    def test_regret_of_the_first(self):
        steps = [step(3, 2), step(2, 4), step(1, 1), step(1, 1, "alone")]
        self.assertEqual(ranking.regrets(steps, 1), {"p": 1.0})
        self.assertEqual(ranking.regrets(steps, 2), {"p": 0.0})

    def test_ranks_within_a_program_need_four(self):
        steps = [step(i, i) for i in (1, 2, 3, 4)] + [step(1, 2, "q"), step(2, 1, "q")]
        self.assertEqual(ranking.within_groups(steps), (1.0, 1))

    def test_both_halves_have_programs(self):
        halves = {ranking.is_held_out(f"program {i}") for i in range(20)}
        self.assertEqual(halves, {True, False})


if __name__ == "__main__":
    unittest.main()
