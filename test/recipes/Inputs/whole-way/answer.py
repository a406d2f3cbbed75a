"""Answers as a model would that needs two steps: a row for eight lanes first, for a warp then."""
import json
import os
import sys

question, role = sys.stdin.read(), os.environ["KBOPT_ROLE"]
lanes = 32 if "kLanes8" in question else 8
body = """
  int lane = threadIdx.x % kLanesN;
  int row = blockIdx.x * (128 / kLanesN) + threadIdx.x / kLanesN;
  if (row >= rows)
    return;
  float sum = 0;
  for (int j = lane; j < width; j += kLanesN)
    sum += x[row * width + j] * x[row * width + j];
  for (int o = kLanesN / 2; o; o >>= 1)
    sum += __shfl_xor_sync(0xffffffffu, sum, o);
  float scale = rsqrtf(sum / width + 1e-5f);
  for (int j = lane; j < width; j += kLanesN)
    y[row * width + j] = x[row * width + j] * scale;
"""
edits = [{"anchor": "decls", "text": "constexpr int kLanesN = N;\n"},
         {"anchor": "a1", "text": body},
         {"anchor": "launch1", "text": "rmsRows<<<(rows + 128 / kLanesN - 1) / (128 / kLanesN), 128>>>(y, x, rows, width);"}]
for edit in edits:
    edit["text"] = edit["text"].replace("kLanesN", f"kLanes{lanes}").replace("N;", f"{lanes};")
answers = {
    "compose": {"pass": "invent", "summary": f"gave a row to {lanes} lanes", "edits": edits},
    "generalizer": {"cannot": "not asked"},
    "evaluator": {"findings": []}, "gap-analyst": {"causes": []}, "updater": {"lessons": []},
    "verifier": {"verdict": "accept", "reason": "the same work"},
}
print(json.dumps(answers[role]))
