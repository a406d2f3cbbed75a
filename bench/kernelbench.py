#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""KernelBench. Track A: KernelBlaster's CUDA inputs (half precision), measured against the given init.cu. Track B: KernelBench's modules (float32), from templates.
Track MS: MSKernelBench, CUDA to CUDA, beside CUDAMaster's rewritten files.

    bench/kernelbench.py fetch FOLDER [--from=REPOSITORY]     checks the track's repository out at the pinned commit (git, network)
    bench/kernelbench.py prepare FOLDER OUT                   a workload for each problem, in track B a kernel.cu as well (needs torch); what has none is named and counted
    bench/kernelbench.py examine OUT FILE [-- …]              which problems parse, are raised and have a schedule, and why not the others
    bench/kernelbench.py run OUT RESULTS [-- …]               kb-opt -passes=auto on each; what follows -- goes to kb-opt
    bench/kernelbench.py prove OUT RESULTS [-- …]             kb-opt --judge on what a run screened and did not prove in its time
    bench/kernelbench.py fill OUT RESULTS [-- …]              where a run kept nothing: its kernels fused and scheduled by rules, unmeasured
    bench/kernelbench.py evaluate OUT RESULTS EVALUATED       right or wrong beside float64 (track B: and upstream's judge), times beside eager and torch.compile (needs torch and a GPU)
    bench/kernelbench.py evaluate … --track=ms [-- …]         upstream's own tests with kb-opt's and with CUDAMaster's files, and kb-opt's judge on the latter (needs nvcc and a GPU)
    bench/kernelbench.py compare EVALUATED…                   the ratios of these times
    bench/kernelbench.py report RESULTS…                      shares and geometric means, by level, odd and even numbers apart

        --track=a|b|ms          whose problems fetch, prepare, evaluate and compare take (default a)
        --type=bf16|fp32        track MS: which half fetch and prepare take (default bf16)
        --parity=odd|even|all   problems by number (default odd: the even ones are kept for the table); those of track MS have none
        --shape=driver|small    prepare: the driver's shape, or one that the CPU device runs in a moment (default driver)
        --only=REGEX            problems by name
        --kb-opt=PATH           the tool (default: build/bin/kb-opt)
        --jobs=N                so many at once (default 1)
        --gpus=LIST             run, prove, evaluate: the GPUs that the problems are spread over, as CUDA_VISIBLE_DEVICES names them, with commas (default: as the environment says)
        --seconds=S             for the search, the evaluation, or torch's export, of each problem (default 60)
        --upstream=FOLDER       evaluate: the checkout of KernelBench that fetch --track=b made
        --compile=MODES         evaluate: of torch.compile, with commas (default "default"; "max-autotune" takes minutes)
        --nvcc=PATH             evaluate, track MS: the compiler of upstream's tests (default nvcc)
        --deadline=S            after so many seconds nothing is begun and what runs is stopped (default: none)

Nothing that was fetched is committed. docs/KernelBench.md says how the figures are made.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernelbench"))
import evaluate  # noqa: E402
import ms_evaluate  # noqa: E402
import runs  # noqa: E402
import track_a  # noqa: E402
import track_b  # noqa: E402
import track_ms  # noqa: E402
from cards import Cards  # noqa: E402


CHOICES = {"track": ["a", "b", "ms"], "type": ["bf16", "fp32"], "parity": ["odd", "even", "all"], "shape": ["driver", "small"]}


def main(argv):
    options = {"kb-opt": "build/bin/kb-opt", "only": "", "parity": "odd", "jobs": 1, "seconds": 60, "deadline": 0, "from": "", "shape": "driver", "track": "a", "upstream": "", "compile": "default", "type": "bf16", "nvcc": "nvcc", "gpus": ""}
    extra = argv[argv.index("--") + 1:] if "--" in argv else []
    words = argv[:argv.index("--")] if "--" in argv else argv
    names = [w for w in words if not w.startswith("--")]
    for word in words:
        if word.startswith("--"):
            key, _, value = word[2:].partition("=")
            if key not in options or not value or value not in CHOICES.get(key, [value]):
                sys.exit(f"unknown option '{word}'\n{__doc__}")
            options[key] = type(options[key])(value)
    options["extra"] = extra
    options["cards"] = Cards(options["gpus"])
    match names:
        case ["fetch", folder]:
            if options["track"] == "ms":
                track_ms.fetch(folder, options["from"], options["type"])
            else:
                track = {"a": track_a, "b": track_b}[options["track"]]
                track_a.fetch(folder, options["from"], track.REPOSITORY, track.COMMIT)
        case ["prepare", folder, out]:
            {"a": track_a, "b": track_b, "ms": track_ms}[options["track"]].prepare(folder, out, options)
        case ["examine", prepared, out]:
            track_a.examine(prepared, out, options)
        case ["run", prepared, out]:
            runs.run(prepared, out, options)
        case ["prove" | "fill" as action, prepared, results]:
            {"prove": runs.prove, "fill": runs.fill}[action](os.path.abspath(prepared), os.path.abspath(results), options)
        case ["evaluate", prepared, results, out] if options["track"] == "ms":
            ms_evaluate.run(prepared, results, out, options)
        case ["evaluate", prepared, results, out]:
            if options["track"] == "b" and not os.path.isdir(os.path.join(options["upstream"], "src/kernelbench")):
                sys.exit(f"'{options['upstream']}' is no checkout of KernelBench: --upstream=FOLDER names one, and fetch --track=b makes one")
            evaluate.run(prepared, results, out, {**options, "compile": [mode for mode in options["compile"].split(",") if mode != "none"]})
        case ["compare", *evaluated] if evaluated:
            print((ms_evaluate if options["track"] == "ms" else evaluate).table(evaluated))
        case ["report", *results] if results:
            runs.report(results)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
