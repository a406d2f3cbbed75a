# SPDX-License-Identifier: Apache-2.0
"""What the tests of workers and of searches share: a database that is ready for jobs, and workers. A script's arguments are the name of a test and a folder."""
import contextlib
import pathlib
import subprocess
import sys
import time

import postgres

FOLDER = pathlib.Path(sys.argv[2])


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)


def init(url, *options):
    done = run("kb-opt", "cluster", "init", url, *options)
    assert done.returncode == 0, done.stderr
    return done


def eventually(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.02)


@contextlib.contextmanager
def worker(url, *options, environment=None, prefix=()):
    """A kb-run that takes jobs, behind `prefix` in its command line; its standard error lies in `said` of what is returned."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    said = FOLDER / f"worker-{time.monotonic_ns()}.log"
    with open(said, "w") as log:
        process = subprocess.Popen([*prefix, "kb-run", "serve", url, *options], stderr=log, env=environment)
    process.said = said
    try:
        eventually(lambda: "waits for jobs" in said.read_text() or process.poll() is not None, "a worker starts")
        yield process
    finally:
        process.kill()
        process.wait()


def started():
    """A database that is ready for jobs."""
    stack = contextlib.ExitStack()
    database = stack.enter_context(postgres.Postgres(FOLDER))
    init(database.url)
    return stack, database
