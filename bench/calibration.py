#!/usr/bin/env python3
"""Prepares pairs (kernel, pipeline) whose gain is modelled here and measured on a GPU.

    bench/calibration.py prepare build/bin/kb-opt FOLDER kernel.cu …

writes, for each kernel, the job of the original and one per pipeline that rewrites it (plan, machine code), and
FOLDER/pairs.json with the modelled times. Pipelines are every pass that applies, with every value of its tuning
range, and what follows the best of them.
"""
import hashlib
import json
import os
import re
import subprocess
import sys


def run(argv):
    return subprocess.run(argv, capture_output=True, text=True)


def tuning_ranges(kb_opt):
    """{pass: [option texts]} from --list-passes; a pass without ranges has one empty text."""
    ranges, name = {}, None
    for line in run([kb_opt, "--list-passes"]).stdout.splitlines():
        if line and not line.startswith(" "):
            name = line.split()[0]
            ranges[name] = [""]
        tried = re.search(r"\{(\w+)=.*\(tried: ([^)]*)\)", line)
        if tried:
            ranges[name] = [f"{{{tried[1]}={value}}}" for value in tried[2].split(", ")]
    return ranges


def profile(kb_opt, source):
    result = run([kb_opt, "--emit=profile-json", source])
    if result.returncode:
        sys.exit(f"{source}: no profile: {result.stderr}")
    return json.loads(result.stdout)


def applicable(page):
    return sorted({a["pass"] for k in page["kernels"] for a in k["advice"] if a["applies"]})


class Preparation:
    def __init__(self, kb_opt, folder):
        self.kb_opt, self.folder = kb_opt, folder
        self.ranges = tuning_ranges(kb_opt)
        self.pairs = []

    def share(self, path):
        """Keeps one copy of equal payloads; a link would not travel."""
        digest = hashlib.sha256(open(path, "rb").read()).hexdigest()[:16]
        shared = os.path.join(self.folder, "data", digest + ".bin")
        os.makedirs(os.path.dirname(shared), exist_ok=True)
        os.replace(path, shared)
        return os.path.relpath(shared, self.folder)

    def job(self, source, name):
        folder = os.path.join(self.folder, name)
        result = run([self.kb_opt, "--emit=job", "-o", folder, source])
        if result.returncode:
            print(f"{name}: {result.stderr.strip()}", file=sys.stderr)
            return None
        os.remove(os.path.join(folder, "observables.bin"))
        return self.share(os.path.join(folder, "data.bin"))

    def candidate(self, source, kernel, pipeline, number, base):
        """The modelled time of the rewritten program, or nothing if nothing was rewritten."""
        rewritten = os.path.join(self.folder, f"{kernel}.{number}.cu")
        result = run([self.kb_opt, "--quiet", f"-passes={pipeline}", source, "-o", rewritten])
        if result.returncode or open(rewritten).read() == open(source).read():
            if os.path.exists(rewritten):
                os.remove(rewritten)
            return None
        page = profile(self.kb_opt, rewritten)
        name = f"{kernel}/{number}"
        data = self.job(rewritten, name)
        if data:
            self.pairs.append({"kernel": kernel, "pipeline": pipeline, "folder": name, "data": data,
                               "baseline": base["folder"], "baselineData": base["data"],
                               "modelledBaselineUs": base["us"], "modelledUs": page["us"],
                               "kernels": {k["kernel"]: k["metrics"] for k in page["kernels"]}})
        print(f"{name}: {pipeline}: modelled {base['us'] / page['us']:.2f} x", flush=True)
        return page["us"], pipeline, page

    def kernel(self, source):
        kernel = os.path.splitext(os.path.basename(source))[0]
        page = profile(self.kb_opt, source)
        base = {"folder": f"{kernel}/0", "us": page["us"], "data": self.job(source, f"{kernel}/0"),
                "kernels": {k["kernel"]: k["metrics"] for k in page["kernels"]}}
        number, made = 0, []
        for name in applicable(page):
            for text in self.ranges[name]:
                number += 1
                made.append(self.candidate(source, kernel, name + text, number, base))
        best = min((m for m in made if m), key=lambda m: m[0], default=None)
        if best and best[0] < page["us"]:
            for name in applicable(best[2]):
                if name not in best[1]:
                    number += 1
                    self.candidate(source, kernel, f"{best[1]},{name}{self.ranges[name][-1]}", number, base)
        self.pairs.append({"kernel": kernel, "pipeline": "", "folder": base["folder"], "data": base["data"],
                           "baseline": base["folder"], "baselineData": base["data"],
                           "modelledBaselineUs": base["us"], "modelledUs": base["us"],
                           "kernels": base["kernels"]})


def main():
    if len(sys.argv) < 5 or sys.argv[1] != "prepare":
        sys.exit(__doc__)
    preparation = Preparation(sys.argv[2], sys.argv[3])
    os.makedirs(sys.argv[3], exist_ok=True)
    for source in sys.argv[4:]:
        preparation.kernel(source)
        with open(os.path.join(sys.argv[3], "pairs.json"), "w") as out:
            json.dump(preparation.pairs, out, indent=1)
    print(f"{len(preparation.pairs)} pairs")


if __name__ == "__main__":
    main()
