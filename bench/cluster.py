#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a database of jobs carries, and a simulation of more workers than this machine has.

    bench/cluster.py measure FOLDER       # efficiency with 1 to 16 workers, jobs a second, overhead of a job (PostgreSQL, scripts/build ClusterLoad)
    bench/cluster.py repository FOLDER N [PROGRAM]  # N copies of a program (row_norm.cu), many searches at once, with 1 and with 4 workers that really run
    bench/cluster.py simulate FIGURES     # a queue with up to 4096 workers, from the figures that `measure` has printed

Workers sleep in the place of running a job (kb-run serve --pretend), so that two cores are enough. Figures are ratios of one run on one machine.
"""
import heapq
import json
import os
import random
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "cluster", "Inputs"))
BIN, LOAD = os.path.join(ROOT, "build", "bin"), os.path.join(ROOT, "build", "bin", "ClusterLoad")


class Workers:
    """`count` workers that take `seconds` for a job, or run it where that is below 0, from the entry of a `with` block to its end."""

    def __init__(self, database, count, seconds):
        self.database, self.count = database, count
        self.command = [os.path.join(BIN, "kb-run"), "serve", database.url, f"-j{count}", *([f"--pretend={seconds}"] if seconds >= 0 else [])]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.DEVNULL)
        while self.database.sql("select count(*) from kbopt.workers") != str(self.count):
            time.sleep(0.05)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def load(database, folder, jobs, threads, searches=1):
    """Seconds for so many jobs, `threads` at once of each of so many searches."""
    database.sql("truncate kbopt.jobs")
    return float(subprocess.run([LOAD, database.url, folder, str(jobs), str(threads), str(searches)], capture_output=True, text=True, check=True).stdout)


def measure(folder):
    import postgres
    os.makedirs(folder, exist_ok=True)
    figures = {"efficiency": {}}
    with postgres.Postgres(folder) as database:
        subprocess.run([os.path.join(BIN, "kb-opt"), "cluster", "init", database.url], check=True, stdout=subprocess.DEVNULL)
        seconds = 0.25
        for workers in (1, 2, 4, 8, 16):
            with Workers(database, workers, seconds):
                jobs = 16 * workers
                took = load(database, folder, jobs, 2 * workers)
            figures["efficiency"][workers] = jobs * seconds / workers / took
            print(f"{workers} workers, jobs of {seconds} s: efficiency {100 * figures['efficiency'][workers]:.1f} %", flush=True)
        with Workers(database, 1, 0):
            figures["overheadMs"] = 1e3 * min(load(database, folder, 200, 1) / 200 for _ in range(3))
        print(f"one after the other: {figures['overheadMs']:.1f} ms for each job beside its own time", flush=True)
        for workers, searches in ((4, 1), (8, 2), (16, 4)):
            with Workers(database, workers, 0):
                rate = 2000 / load(database, folder, 2000, 2 * workers // searches, searches)
            figures["jobsPerSecond"] = max(rate, figures.get("jobsPerSecond", 0))
            print(f"{workers} workers that take no time, {searches} searches: {rate:.0f} jobs a second", flush=True)
    print(json.dumps(figures))


def repository(folder, count, program):
    import postgres
    servers, folder = folder, os.path.join(folder, "project")
    os.makedirs(folder, exist_ok=True)
    with open(program) as file:
        program = file.read()
    entries = []
    for number in range(count):
        path = os.path.join(folder, f"copy{number}.cu")
        with open(path, "w") as file:
            file.write(f"// {number}\n" + program)
        entries.append({"directory": folder, "file": path, "arguments": ["nvcc", "-c", path]})
    with open(os.path.join(folder, "compile_commands.json"), "w") as file:
        json.dump(entries, file)
    for workers in (1, 4):
        with postgres.Postgres(servers) as database:
            subprocess.run([os.path.join(BIN, "kb-opt"), "cluster", "init", database.url], check=True, stdout=subprocess.DEVNULL)
            with Workers(database, workers, -1):
                start = time.monotonic()
                done = subprocess.run([os.path.join(BIN, "run-kb-opt"), "-p", folder, "-j4", "--restart", "--quiet", f"--device={database.url}", f"--extra-arg=--knowledge={database.url}", f"--extra-arg=--journal={folder}/{workers}.sqlite",
                                       "--extra-arg=--budget-candidates=1", "--extra-arg=--trajectories=1", "--extra-arg=--compile-cache-size=0"], capture_output=True, text=True)
                seconds = time.monotonic() - start
            jobs = int(database.sql("select count(*) from kbopt.jobs"))
        print(f"{workers} workers: {count} files in {seconds:.0f} s, {jobs} jobs; {done.stdout.strip().splitlines()[-1]}", flush=True)
        print("\n".join(line for line in done.stdout.splitlines() + done.stderr.splitlines() if "error" in line.lower()), flush=True)


def simulated(workers, job_seconds, figures, rng, horizon=600):
    """Share of their time that workers compute, and the 99th percentile of the wait of a job's answer for the database, over `horizon` seconds.

    The database is one server that does a job's statements in 1/jobsPerSecond seconds, half of them when the job is taken and half when it is answered, in the order of their coming. Jobs take an exponential time with the mean
    `job_seconds`; there are always some that wait. What the statements of one job cost beside the server's time (the network, waking up) is `overheadMs` less that time.
    """
    service = 1 / figures["jobsPerSecond"] / 2
    beside = max(0.0, figures["overheadMs"] / 1e3 - 2 * service) / 2
    free, computed, waits = 0.0, 0.0, []
    events = [(rng.random() * job_seconds, worker, "take") for worker in range(workers)]
    heapq.heapify(events)
    while events:
        now, worker, what = heapq.heappop(events)
        if now > horizon:
            break
        free = max(free, now) + service
        waits.append(free - now)
        if what == "take":
            duration = rng.expovariate(1 / job_seconds)
            computed += duration
            heapq.heappush(events, (free + beside + duration, worker, "answer"))
        else:
            heapq.heappush(events, (free + beside, worker, "take"))
    return computed / horizon / workers, statistics.quantiles(waits, n=100)[98]


def simulate(path):
    with open(path) as file:
        figures = json.loads(file.read().strip().splitlines()[-1])
    print(f"simulated, from {figures['jobsPerSecond']:.0f} jobs a second and {figures['overheadMs']:.1f} ms for a job\n\n| workers | jobs of | busy, simulated | wait for the database, 99 of 100, simulated |\n|---:|---:|---:|---:|")
    for job_seconds in (0.5, 2, 10):
        for workers in (16, 64, 256, 1024, 4096):
            busy, wait = simulated(workers, job_seconds, figures, random.Random(1))
            print(f"| {workers} | {job_seconds} s | {100 * min(busy, 1):.0f} % | {1e3 * wait:.0f} ms |")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["measure", folder]:
            measure(os.path.abspath(folder))
        case ["repository", folder, count, *program] if len(program) <= 1:
            repository(os.path.abspath(folder), int(count), (program or [os.path.join(ROOT, "examples", "row-norm", "row_norm.cu")])[0])
        case ["simulate", path]:
            simulate(path)
        case _:
            sys.exit(__doc__)
