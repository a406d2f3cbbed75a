"""Answers as a model would: a rewrite whose launch is written with a number that the kernel is not passed, and then,
asked to generalize it, one that is not."""
import json
import os
import sys

question, role = sys.stdin.read(), os.environ["KBOPT_ROLE"]
with open(role + ".txt", "a") as file:
    file.write(question)
body = """
  int lane = threadIdx.x % 32;
  int row = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
  if (row >= rows)
    return;
  float sum = 0;
  for (int j = lane; j < width; j += 32)
    sum += x[row * width + j] * x[row * width + j];
  for (int o = 16; o; o >>= 1)
    sum += __shfl_xor_sync(0xffffffffu, sum, o);
  float scale = rsqrtf(sum / width + 1e-5f);
  for (int j = lane; j < width; j += 32)
    y[row * width + j] = x[row * width + j] * scale;
"""
launch = "rmsRows<<<blocks * 32, kThreads>>>"
answers = {
    "compose": {"pass": "invent", "summary": "gave a row to a warp", "edits": [
        {"anchor": "decls", "text": "constexpr int kThreads = 128;\n"},
        {"anchor": "a1", "text": body},
        {"anchor": "launch1", "text": launch + "(y, x, rows, width);"}]},
    "generalizer": {"edits": [{"program": "after", "old": launch,
                               "new": "rmsRows<<<(rows + kThreads / 32 - 1) / (kThreads / 32), kThreads>>>"}]},
    "evaluator": {"findings": []}, "gap-analyst": {"causes": []}, "updater": {"lessons": []},
    "verifier": {"verdict": "accept", "reason": "the same work"},
}
print(json.dumps(answers[role]))
