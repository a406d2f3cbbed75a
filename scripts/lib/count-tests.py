# SPDX-License-Identifier: Apache-2.0

"""Prints the slowest tests, the seconds of each folder, and `N passed, N failed, N skipped` from lit's results.

usage: count-tests.py RESULTS. Fails if a test failed or none ran."""

import collections
import json
import sys

SLOWEST = 20

try:
    tests = json.load(open(sys.argv[1]))["tests"]
except (OSError, ValueError) as error:
    print(f"cannot read lit's results: {error}", file=sys.stderr)
    tests = []


def folder_of(name):
    """`kb-opt :: test/cli/judge.test` is of test/cli, `kb-opt-unit :: Eval/./EvalTests/3/8` of unit/Eval."""
    suite, _, path = name.partition(" :: ")
    parts = path.split("/")
    return "unit/" + parts[0] if suite == "kb-opt-unit" else "/".join(parts[: 3 if parts[0] == "passes" else 2])


# GoogleTest's cases share the time of the process that ran them.
seconds = collections.Counter()
for test in tests:
    seconds[test["name"]] = test["elapsed"] or 0
folders = collections.Counter()
for name, elapsed in seconds.items():
    folders[folder_of(name)] += elapsed
print("slowest tests:")
for name, elapsed in seconds.most_common(SLOWEST):
    print(f"{elapsed:9.1f} s  {name.partition(' :: ')[2]}")
print(f"seconds by folder, {sum(folders.values()):.0f} in all:")
for folder, elapsed in folders.most_common():
    if elapsed >= 1:
        print(f"{elapsed:9.1f} s  {folder}")
codes = collections.Counter(test["code"] for test in tests)
passed = codes["PASS"] + codes["XFAIL"] + codes["FLAKYPASS"]
skipped = codes["UNSUPPORTED"] + codes["SKIPPED"]
failed = len(tests) - passed - skipped
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(1 if failed or not passed else 0)
