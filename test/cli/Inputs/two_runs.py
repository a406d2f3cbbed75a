"""Two runs at once on one journal and one knowledge folder: both end well, with the same program."""

import pathlib
import subprocess
import sys

folder, program = pathlib.Path(sys.argv[1]), sys.argv[2]
runs = [subprocess.Popen(["kb-opt", "-v", "-passes=auto", "--budget-candidates=4", "--emit=source", f"--journal={folder}/j.sqlite",
                          f"--knowledge={folder}/kb", f"-o{folder}/{name}.cu", program], stderr=subprocess.PIPE, text=True)
        for name in ("a", "b")]
for run in runs:
    errors = run.communicate()[1]
    assert run.returncode in (0, 4), errors
assert (folder / "a.cu").read_bytes() == (folder / "b.cu").read_bytes()
lines = (folder / "kb" / "evidence.jsonl").read_text().splitlines()
ids = {line.split('"id":"')[1][:32] for line in lines}
print(f"both ended, {len(ids)} distinct records")
