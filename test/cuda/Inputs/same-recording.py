"""usage: same-recording.py FOLDER FOLDER

Exits with 0 if two recordings say the same: steps, buffers, uploaded bytes and
observables, addresses apart. Says what differs first if not."""

import json
import pathlib
import sys


def load(folder):
    folder = pathlib.Path(folder)
    plan = json.loads((folder / "plan.json").read_text())
    data = (folder / "data.bin").read_bytes()
    for buffer in plan["buffers"]:
        del buffer["address"]
    for step in plan["steps"]:
        for argument in step.get("arguments", []):
            value = bytearray.fromhex(argument["bytes"])
            for word in argument.get("pointers", []):
                value[word["at"] : word["at"] + 8] = bytes(8)
            argument["bytes"] = value.hex()
        if step["step"] == "upload":
            to, at = step["to"], step.pop("data")
            size = to.get("bytes") or to["width"] * to["height"]
            value = bytearray(data[at : at + size])
            for word in step.get("pointers", []):
                value[word["at"] : word["at"] + 8] = bytes(8)
            step["bytes"] = value.hex()
    return plan["outcome"], plan["buffers"], plan["steps"], (folder / "observables.bin").read_bytes()


one, other = load(sys.argv[1]), load(sys.argv[2])
for name, left, right in zip(("outcome", "buffers", "steps", "observables"), one, other):
    if left == right:
        continue
    if name == "outcome":
        sys.exit(f"outcome: {left} against {right}")
    for index, (a, b) in enumerate(zip(left, right)):
        if a != b:
            sys.exit(f"{name}[{index}]: {str(a)[:400]} against {str(b)[:400]}")
    sys.exit(f"{name}: {len(left)} against {len(right)}")
