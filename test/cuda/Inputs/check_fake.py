"""Runs jobs on the fake driver (test/cuda/fake) and checks what kb-run says: statuses, messages and notes.

usage: check_fake.py KB_RUN LIBRARIES FOLDER, where FOLDER was made by make_fake.py"""

import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
KB_RUN, LIBRARIES, FOLDER = sys.argv[1:]

# Job, KB_FAKE_CUDA, exit status, status, and what message, a line break and note must match.
CASES = [
    ("saxpy-small", "", 0, "ok", r"^\n$"),
    ("reduction", "", 0, "ok", r"^\n$"),
    ("separate", "", 0, "ok", r"^\n$"),
    ("outside", "", 1, "ok", r"^\n$"),
    ("input", "", 1, "ok", r"^\n$"),
    ("tail", "", 1, "ok", r"^\n$"),
    ("wrong", "", 0, "ok", r"^\n$"),
    ("illegal", "", 1, "fault", r"^kernel _Z14illegalAddressiPi \(step 1\): CUDA_ERROR_700"),
    ("trap", "", 1, "fault", r"^kernel _Z10trapAlwaysiPi \(step 1\): CUDA_ERROR_719"),
    ("assert", "", 1, "assert", r"^kernel _Z12assertAlwaysiPi \(step 1\): CUDA_ERROR_710"),
    ("endless", "", 1, "timeout", r"^kernel _Z7endlessiPVi \(step 2\) was still running after 0.2 seconds"),
    ("huge", "", 1, "out-of-memory", r"the job allows 8589934592\nraise deviceBytes"),
    ("no-kernel", "", 1, "invalid-launch", r"^the image has no kernel '_Z5saxpyifPKfPf'"),
    ("other-arch", "", 3, "environment", r"kernels-sm_80.cubin: is for sm_80, .* is sm_90\ncompile with -arch=sm_90"),
    ("asked-arch", "", 3, "environment", r"^the job is for sm_80, device 0 .* is sm_90\ncompile with -arch=sm_90"),
    ("saxpy-small", "arch=100", 3, "environment", r"kernels.cubin: is for sm_90, .* is sm_100\n"),
    # No device that can be used.
    ("saxpy-small", "devices=0", 3, "environment", r"^no CUDA device\nsee nvidia-smi"),
    ("saxpy-small", "cuInit=100", 3, "environment", r"^the CUDA driver does not start: CUDA_ERROR_100 .*\nsee nvidia-smi"),
    ("saxpy-small", "cuInit=803", 3, "environment", r"does not start: CUDA_ERROR_803 .*\n.* are of different versions"),
    ("saxpy-small", "cuDevicePrimaryCtxRetain=46", 3, "environment", r"^cannot use the device: .*\nanother process has the device"),
    ("saxpy-small", "cuDevicePrimaryCtxRetain=2", 1, "out-of-memory", r"^cannot use the device: .*\nuse a smaller workload, or free"),
    # Memory.
    ("reduction", "memory=4096", 1, "out-of-memory", r"^the plan needs 2 MiB of device memory at once, .*\nuse a smaller workload"),
    ("separate", "memory=4096", 1, "out-of-memory", r"^buffer 0: CUDA_ERROR_2 .*\nuse a smaller workload"),
    ("reduction", "cuMemAlloc=214!", 3, "environment", r"CUDA_ERROR_214 .*\nthe device's memory has failed"),
    # A driver that is older than what made the image.
    ("saxpy-small", "cuModuleLoadDataEx=200", 1, "invalid-launch", r"kernels.cubin: does not load: .*\nthe file is damaged, or made by"),
    ("saxpy-small", "cuModuleLoadDataEx=222", 3, "environment", r"does not load: .*\nthe driver is older than the compiler"),
    ("saxpy-small", "cuModuleLoadDataEx=209", 3, "environment", r"does not load: .*\ncompile for this device's architecture"),
    # The device goes while the plan runs: by an uncorrectable memory error, by an Xid error, by a reset.
    ("saxpy-small", "cuStreamQuery@3=214!", 3, "environment", r"CUDA_ERROR_214 .*\nthe device's memory has failed"),
    ("saxpy-small", "cuStreamQuery@4=999!", 3, "environment", r"CUDA_ERROR_999 .*\nthe device may have been lost: .*Xid"),
    ("saxpy-small", "cuStreamQuery@5=46!", 3, "environment", r"CUDA_ERROR_46 .*\nanother process has the device"),
    ("saxpy-small", "cuLaunchKernel@2=719!", 1, "fault", r"CUDA_ERROR_719"),
    ("saxpy-small", "cuEventCreate=999!", 3, "environment", r"CUDA_ERROR_999 .*\nthe device may have been lost"),
    ("timed", "cuEventElapsedTime@9=999!", 3, "environment", r"^timing: an event: CUDA_ERROR_999 .*\nthe device may have been lost"),
    ("timed", "", 0, "ok", r"^\n$"),
    ("reads", "", 0, "ok", r"^\n$"),
    ("audit", "", 0, "ok", r"^\n$"),
    ("profile", "", 0, "ok", r"^\n$"),
]


def environment(**changes):
    path = os.path.join(HERE, "bin") + os.pathsep + os.environ["PATH"]
    return {**os.environ, "LD_LIBRARY_PATH": LIBRARIES, "PATH": path, **changes}


def run(job, **changes):
    """Exit status, result, and whether the reads are the plan's expected ones."""
    result, reads = f"{FOLDER}/{job}.result.json", f"{FOLDER}/{job}.out/observables.bin"
    for path in (result, reads):
        if os.path.exists(path):
            os.remove(path)
    done = subprocess.run([KB_RUN, f"{FOLDER}/{job}.json"], capture_output=True, text=True, timeout=120, env=environment(**changes))
    with open(result) as file:
        answer = json.load(file)
    same = False
    if os.path.exists(reads):
        with open(f"{FOLDER}/{job}.json") as file:
            plan = json.load(file)["plan"]
        with open(reads, "rb") as got, open(f"{FOLDER}/{plan}/expected.bin", "rb") as expected:
            same = got.read() == expected.read()
    return done.returncode, answer, same


failed = 0


def check(name, good, detail):
    global failed
    failed += not good
    print(f"{'ok  ' if good else 'FAIL'} {name}{'' if good else '  ' + str(detail)}")


for job, fake, exit_status, status, pattern in CASES:
    code, result, same = run(job, KB_FAKE_CUDA=fake)
    words = result["message"] + "\n" + result.get("note", "")
    good = code == exit_status and result["status"] == status and re.search(pattern, words)
    # What was read before the times were taken stays.
    has_reads = status == "ok" and job not in ("tail", "wrong") or words.startswith("timing:")
    good = good and (same == has_reads or job == "huge")
    check(f"{job} {fake}".strip(), good, (code, result["status"], words, same))

code, result, _ = run("outside")
check("a write behind a buffer is found", [finding["offset"] for finding in result["findings"]] == [4000], result["findings"])
code, result, _ = run("input")
check("a changed input is found", [finding["kind"] for finding in result["findings"]] == ["const-input-changed"], result["findings"])
code, result, _ = run("timed")
timing = result["timing"]
check("times are compared, and every timed output is looked at", timing["cold"]["decision"]["comparison"] == "faster" and
      timing["outputs"]["candidate"]["checked"] > 50 and not timing["outputs"]["candidate"]["different"], timing["outputs"])

code, result, same = run("repeats")
check("periods that change nothing are left out, and what they read is known", same and
      [launch["repeats"] for launch in result["launches"]] == [1, 39, 1, 1, 1, 1, 1], result["launches"])
timing = result["timing"]
check("they are timed by a few of them", not timing["outputs"]["candidate"]["different"] and
      abs(timing["cold"]["candidate"]["medianUs"] - 45 * 20) < 1 and
      abs(timing["cold"]["baseline"]["medianUs"] - 45 * 80) < 1, timing["cold"])
code, result, same = run("repeats-unknown")
check("an image that does not tell its variables runs whole", same and len(result["launches"]) == 45, result["launches"])
code, result, same = run("repeats-separate")
check("where a tool watches, what another execution found is left out", same and
      [launch["repeats"] for launch in result["launches"]] == [1, 39, 1, 1, 1, 1, 1], result["launches"])
code, result, same = run("repeats-elsewhere")
check("what is no repetition of the plan is executed", same and len(result["launches"]) == 45, result["launches"])
done = subprocess.run([KB_RUN, f"{FOLDER}/repeats-wrong.json"], capture_output=True, text=True, env=environment())
check("a repetition has no more periods than it has", done.returncode == 2 and "resting.periods: is none" in done.stderr, done)


def run_contents(known, salt="0123456789abcdeffedcba9876543210"):
    """The digests of the reads of "reads" for a sender who has \p known, and the files that came."""
    with open(f"{FOLDER}/reads.json") as file:
        job = json.load(file)
    job.update(outputs="contents.out", result="contents.result.json", contents={"salt": salt, "known": known})
    with open(f"{FOLDER}/contents.json", "w") as file:
        json.dump(job, file)
    out = f"{FOLDER}/contents.out"
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([KB_RUN, f"{FOLDER}/contents.json"], capture_output=True, timeout=120, env=environment())
    with open(f"{FOLDER}/contents.result.json") as file:
        result = json.load(file)
    files = {}
    for name in os.listdir(out):
        with open(f"{out}/{name}", "rb") as file:
            files[name] = file.read()
    return result, files


result, files = run_contents([])
digests = result["contents"]
with open(f"{FOLDER}/reads/expected.bin", "rb") as file:
    expected = file.read()
check("reads come as files named by their digests", b"".join(files[digest] for digest in digests) == expected, digests)
check("the same bytes come once", digests[0] == digests[1] and len(files) == 3, list(files))
check("all bytes count as read", result["observables"]["bytes"] == len(expected), result["observables"])
again, files = run_contents(digests)
check("known reads do not come again", again["contents"] == digests and not files, (again["contents"], list(files)))
again, files = run_contents(digests[2:])
check("what is not known comes", list(files) == digests[:1], list(files))
other, files = run_contents([], salt="0" * 32)
check("another salt makes other digests", not set(digests[:3]) & set(other["contents"]), other["contents"])
code, result, _ = run("saxpy-small", KB_FAKE_BUSY="1")
noise = " ".join(result["device"]["noise"])
check("others' work, memory errors and low clocks are said", re.search("97 % busy .* 1 other process.* 3 uncorrected .*0x20", noise), noise)
check("they are no reason to fail", code == 0, code)
code, result, _ = run("audit")
check("an audit without a trace says why", result["audit"]["degraded"] and not result["audit"]["launches"], result["audit"])
code, result, _ = run("profile")
profile = result["profile"]
check("a profile without counters says why and has times", profile["isDegraded"] and profile["noLines"] and
      profile["launches"][0]["us"] > 0 and profile["launches"][0]["grid"] == [391, 1, 1], profile)
code, result, _ = run("watched")
report = result["sanitizer"]
check("compute-sanitizer's finding comes back", code == 1 and [(finding["kind"], finding["kernel"], finding["line"]) for finding in
      report["findings"]] == [("memcheck", "_Z12writeOutsideiPi", 48)], report)
check("a tool that did not work is named", report["degraded"].startswith("initcheck: Error: Target application"), report["degraded"])
code, result, _ = run("hung")
check("a tool that hangs is ended", result["sanitizer"]["degraded"] == "synccheck: still ran after 0.5 seconds", result["sanitizer"])
code, result, _ = run("watched", PATH="/nowhere", CUDA_PATH="/nowhere")
if not os.path.exists("/usr/local/cuda/bin/compute-sanitizer"):
    check("a missing compute-sanitizer is said", "neither on PATH" in result["sanitizer"]["degraded"], result["sanitizer"])

server = subprocess.Popen([KB_RUN, "serve", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=FOLDER, env=environment())
names, statuses = ["saxpy-small", "illegal", "reduction", "endless", "saxpy-small"], []
for name in names:
    with open(f"{FOLDER}/{name}.json") as file:
        server.stdin.write(json.dumps(json.load(file)) + "\n")
    server.stdin.flush()
    statuses.append(json.loads(server.stdout.readline())["status"])
server.stdin.close()
check("a bad job costs a server one job", server.wait(60) == 0 and statuses == ["ok", "fault", "ok", "timeout", "ok"], statuses)


def serve(fake, sessions):
    """Statuses of one job after the other, each in its session."""
    server = subprocess.Popen([KB_RUN, "serve", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=FOLDER,
                              env=environment(KB_FAKE_CUDA=fake))
    statuses = []
    for name, session in sessions:
        if name == "kill":
            for child in open(f"/proc/{server.pid}/task/{server.pid}/children").read().split():
                os.kill(int(child), 9)
            continue
        with open(f"{FOLDER}/{name}.json") as file:
            server.stdin.write(json.dumps({**json.load(file), "session": session}) + "\n")
        server.stdin.flush()
        statuses.append(json.loads(server.stdout.readline())["status"])
    server.stdin.close()
    server.wait(60)
    return statuses


# What a process of one job does not reach: its fifth load of machine code.
later = "cuModuleLoadDataEx@5=209"
statuses = serve(later, [("saxpy-small", "a"), ("saxpy-small", "b"), ("saxpy-small", ""), ("saxpy-small", "")])
check("jobs of different sessions share no process", statuses == ["ok"] * 4, statuses)
statuses = serve(later, [("saxpy-small", "a"), ("saxpy-small", "b"), ("saxpy-small", "a"), ("saxpy-small", "a"), ("saxpy-small", "b")])
check("jobs of one session do, until one goes wrong", statuses == ["ok", "ok", "environment", "ok", "environment"], statuses)
statuses = serve(later, [("outside", "a"), ("saxpy-small", "a"), ("illegal", "b"), ("saxpy-small", "b")])
check("nobody goes on after a finding or a fault", statuses == ["ok", "ok", "fault", "ok"], statuses)
statuses = serve("cuModuleLoadDataEx@6=209", [("audit", "a"), ("saxpy-small", "a")])
check("nor after an audit", statuses == ["ok", "ok"], statuses)
statuses = serve("", [("profile", "a"), ("saxpy-small", "a"), ("profile", "a"), ("kill", ""), ("profile", "a"), ("profile", "b"), ("saxpy-small", "a")])
check("profiles have a process of their own, and one that died while it waited costs none", statuses == ["ok"] * 6, statuses)
statuses = serve("cuMemAlloc@4=2", [("saxpy-small", "a"), ("saxpy-small", "a"), ("saxpy-small", "a")])
check("who runs out of memory has the device without those who wait", statuses == ["ok"] * 3, statuses)
statuses = serve("", [("saxpy-small", "a"), ("kill", "a"), ("saxpy-small", "a")])
check("who dies while waiting costs no job", statuses == ["ok", "ok"], statuses)
statuses = serve("", [("saxpy-small", str(i % 9)) for i in range(27)])
check("many sessions take turns", statuses == ["ok"] * 27, statuses)
code, result, _ = run("timed")
check("a result says where its seconds went", {"device", "turn", "load", "run", "timing"} <= set(result["seconds"]), result["seconds"])
print(f"{failed} checks failed")
