#!/usr/bin/env python3
"""A model for tests: reads a request of kb-opt's on stdin, answers as its role would for blocked.cu.

MODEL_MODE chooses what goes wrong: nothing, or garbage, library, skips, fills (machine code of 16 GiB), typo
(which the debugger mends), rejects, leaks (fails if the request names an unseen size), stranger (names a pass and
an anchor that it was not shown, until it is told), schedule (the planner names a schedule, at first one with a key
that there is not), disputes (what the program skips; the debugger disputes the gate).
"""
import json
import os
import re
import sys

request = sys.stdin.read()
role, mode = os.environ["KBOPT_ROLE"], os.environ.get("MODEL_MODE", "")
with open(os.environ["MODEL_LOG"], "a") as log:
    log.write(role + "\n")
if re.search(r"\b7919\b", request):
    sys.exit("the request names a size that no role may know")


def body(loop):
    edits = [{"anchor": "a1", "text": f"\n  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)\n    {loop}\n"},
             {"anchor": "launch1", "text": "scaleKernel<<<(n + {{EACH}} * 256 - 1) / ({{EACH}} * 256), 256>>>(y, x, n);"}]
    return {"summary": "strode over the grid, so that lanes are neighbours", "edits": edits,
            "parameters": [{"name": "EACH", "values": ["4", "8", "16"], "default": "16"}]}


good = body("y[i] = 2.0f * x[i];")
filling = body("y[i] = table[i & 1] * x[i];")
filling["edits"].append({"anchor": "decls", "text": "__device__ const float table[1ull << 32] = {2.0f, 2.0f};\n"})
if role == "planner":
    chosen = re.search(r"^- (\S+) on '(\w+)':", request, re.M)
    answer = {"pass": chosen[1], "kernel": chosen[2], "why": "lanes are sixteen elements apart",
              "instruction": "let lanes be neighbours"}
    if mode == "schedule":
        assert "kb.nest @" in request and "\n  - rows " in request
        told = "schedule 'rows teams=4' cannot be had: schedule 'rows' has no key 'teams'" in request
        answer = {"pass": "schedule", "kernel": chosen[2], "why": "lanes are far apart", "instruction": "",
                  "schedule": "rows team=32" if told else "rows teams=4"}
    if mode == "stranger" and "pass 'conjure' on kernel 'scaleKernel' is not among the choices: " not in request:
        answer["pass"] = "conjure"
elif role in ("coder", "minimal", "compose"):
    answer = {"library": body("cublasSscal(0, n, 0, y, 1);"), "skips": body("if (i < 16) y[i] = 2.0f * x[i];"),
              "disputes": body("if (i < 16) y[i] = 2.0f * x[i];"),
              "fills": filling, "typo": body("y[i] = 2.0f * z[i];")}.get(mode, good)
    if mode == "stranger" and "rule 'unknown-anchor': there is no anchor 'a9'" not in request:
        answer = json.loads(json.dumps(good).replace('"a1"', '"a9"'))
    if role == "compose":
        answer = {"pass": re.search(r"^The search would try '(\S+)'", request, re.M)[1], **answer}
    if role == "compose" and mode == "schedule":
        assert "kb.nest @" in request and "\n  - rows " in request
        told = "schedule 'rows teams=4' cannot be had: schedule 'rows' has no key 'teams'" in request
        answer = {"pass": "schedule", "schedule": "rows team=32" if told else "rows teams=4"}
elif role == "debugger" and mode == "disputes":
    answer = {"summary": "", "edits": [], "dispute": "only the first elements matter"}
elif role == "debugger":
    answer = good
elif role == "verifier":
    answer = {"verdict": "reject" if mode == "rejects" else "accept", "reason": "each element is still doubled"}
elif role == "evaluator":
    answer = {"findings": [{"evidence": ["e1"], "text": "it gained more than was predicted"}]}
elif role == "gap-analyst":
    answer = {"causes": [{"evidence": ["e1"], "cause": "the loads were strided"}]}
else:
    answer = {"lessons": [], "proposals": []}
if role in ("coder", "debugger"):
    answer = {"pass": re.search(r"^## Pass '(\S+)' on kernel", request, re.M)[1], **answer}
print("I would rather talk about the weather." if mode == "garbage" else json.dumps(answer))
