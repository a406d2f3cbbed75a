"""What bench/corpus.py, native.py and raised.py read, and their arithmetic."""
import os
import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))
import candidates_per_minute
import corpus
import native
import raised


class Understand(unittest.TestCase):
    def test_result(self):
        text = ("state: uncoalesced_access, then balanced\n  modelled on h200: 9.0 us; no rewrite goes below 1.25 us\n[1] a  correct\n"
                "[2] b  incorrect (G6, correctness): x\nresult: 2.50 x faster, 10.00 -> 4.00 us, measured on h200\n"
                "replay: kb-opt -passes='a{kernel=k},b' k.cu -- -O3\n")
        result = corpus.understand(0, text)
        self.assertEqual((result["gain"], result["beforeUs"], result["afterUs"]), (2.5, 10, 4))
        self.assertEqual(result["pipeline"], "a{kernel=k},b")
        self.assertEqual((result["floorUs"], result["tried"]), ("1.25", 2))

    def test_failure_counts_as_one(self):
        result = corpus.understand(1, "kb-opt: error: 'k.cu': the original is left alone: race\n")
        self.assertEqual(result["gain"], 1.0)
        self.assertEqual(result["note"], "race")
        self.assertEqual(corpus.understand(70, "result: 3.00 x faster, 3.0 -> 1.0 us\n")["gain"], 1.0)

    def test_summary(self):
        rows = corpus.summary([{"name": "A/a", "gain": 4.0}, {"name": "A/b", "gain": 1.0}, {"name": "B/c", "gain": 1.05}])
        self.assertEqual(rows[0], ("A", 2, 2.0, 2.5, [0.5, 0.5, 0.5, 0.5]))
        self.assertEqual([row[0] for row in rows], ["A", "B", "all"])
        self.assertAlmostEqual(rows[2][2], 4.2 ** (1 / 3))

    def test_every_program_has_what_a_run_needs(self):
        names = set()
        for program in corpus.MANIFEST["programs"]:
            names.add(program["name"])
            if program["repository"]:
                self.assertIn(program["repository"], corpus.MANIFEST["commits"])
            else:
                self.assertTrue(os.path.exists(os.path.join(corpus.root_of("", program), program["file"])))
            self.assertTrue(program["file"].endswith((".cu", ".cuh")))
        self.assertEqual(len(names), len(corpus.MANIFEST["programs"]))

    def test_workload(self):
        self.assertEqual(corpus.workload_of({"repository": "a/b", "workload": ["entry: f", "sizes: {n: 8}"]}, [], 60), "entry: f\nsizes: {n: 8}\n")
        self.assertEqual(corpus.workload_of({"repository": ""}, [], 60), "")
        self.assertIn('"launches": 2', corpus.workload_of({"repository": "a/b", "launches": 2}, ["1"], 60))

    def test_every_timed_program_is_one_of_the_corpus(self):
        names = {program["name"] for program in corpus.MANIFEST["programs"]}
        for program in native.PROGRAMS:
            self.assertIn(program["name"], names)
            self.assertNotIn(native.label_of(program["call"]), [native.label_of(call) for call in program["best"]])

    def test_label(self):
        self.assertEqual(native.label_of("scale(3, x)"), "scale 3")
        self.assertEqual(native.label_of("scale7(x, 3, y)"), "scale7")

    def test_ratio_to_the_best(self):
        program = {"name": "A/a", "call": "f1(x, block)", "given-blocks": [32, 64]}
        original = "sum 10 y\ntime 32 9.0 f1\ntime 64 8.0 f1\ntime 32 5.0 f2\nfailed 64 f2\ntime 32 2.0 f3\ntime 64 3.0 f3\n"
        row = native.summarize(program, {"original": original, "ours": "sum 10.01 y\ntime 32 4.5 f1\ntime 64 4.0 f1\n"})
        self.assertEqual((row["givenUs"], row["oursUs"], row["bestUs"], row["ratio"], row["best"]), (8.0, 4.0, 2.0, 0.5, "f3, block 32"))
        self.assertEqual(row["note"], "")
        self.assertEqual(native.summarize(program, {"original": original, "ours": "sum 11 y\ntime 32 1.0 f1\n"})["note"], "sums apart")
        self.assertEqual(native.summarize(program, {"original": original})["ratio"], 0.25)

    def test_reasons(self):
        text = ('    kb.nest @a dims ["i"] extents [] symbols [] {\n    }\n    kb.unraised @b "a \\"loop\\" of \'n\' trips"\n    kb.unraised @c "reads \'x\'"\n')
        self.assertEqual(raised.kernels_of(text), [("a", ""), ("b", "a \"loop\" of 'n' trips"), ("c", "reads 'x'")])
        self.assertEqual(raised.kind_of("the bound of 'n' is 12 trips"), "the bound of … is … trips")

    def test_seconds_of_a_candidate(self):
        text = ("time: 20.0 s in all\n  effects\n        6.000 s  30.0%      4 x    1.500 s  judge\n"
                "        4.000 s  20.0%      1 x    4.000 s  judge the original\n  gates of the search\n"
                "        2.000 s  10.0%      4 x    0.500 s  G12 timed outputs\n        1.000 s   5.0%      4 x    0.250 s  G6 numerics\n"
                "  gates of the final check\n        9.000 s  45.0%      1 x    9.000 s  G12 timed outputs\n")
        self.assertEqual(candidates_per_minute.seconds_of(text, "effects", "judge"), (6.0, 4))
        self.assertEqual(candidates_per_minute.seconds_of(text, "effects", "confirm"), (0.0, 0))
        self.assertEqual(candidates_per_minute.gates_of(text), 3.0)


unittest.main()
