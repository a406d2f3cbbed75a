"""Prints `N passed, N failed, N skipped` from lit's results; fails if a test failed or none ran."""

import collections
import json
import sys

try:
    tests = json.load(open(sys.argv[1]))["tests"]
except (OSError, ValueError) as error:
    print(f"cannot read lit's results: {error}", file=sys.stderr)
    tests = []
codes = collections.Counter(test["code"] for test in tests)
passed = codes["PASS"] + codes["XFAIL"] + codes["FLAKYPASS"]
skipped = codes["UNSUPPORTED"] + codes["SKIPPED"]
failed = len(tests) - passed - skipped
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(1 if failed or not passed else 0)
