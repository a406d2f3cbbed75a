# SPDX-License-Identifier: Apache-2.0
"""Workers and jobs of a database, and what may happen to them. Usage: workers.py TEST FOLDER; each function check_… below is a test.

Most workers here sleep in the place of running a job (--pretend), so that a test knows what a worker is doing when something happens to it.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import postgres
from cluster import FOLDER, eventually, init, run, started, worker


def ask(database, name, kind="test", device="cpu", release=None):
    """A job that only workers that pretend can do."""
    release = release or "0.1.0, jobs 1"
    database.sql(f"insert into kbopt.jobs (name, kind, request, release, device, asker) values ('{name}', '{kind}', '{{}}', '{release}', '{device}', 'test'); notify kbopt_jobs")


def state(database, name):
    return database.sql(f"select state, attempts, coalesce(status, '') from kbopt.jobs where name = '{name}'")


def check_killed():
    """A worker that is killed in the middle of a job: another one does it, once."""
    stack, database = started()
    with stack:
        with worker(database.url, "--pretend=60", "--lease=1") as first:
            ask(database, "one")
            eventually(lambda: state(database, "one") == "running|1|", "the worker takes the job")
            first.send_signal(signal.SIGKILL)
            with worker(database.url, "--pretend=0", "--lease=1"):
                eventually(lambda: state(database, "one") == "answered|2|ok", "another worker answers")
        assert database.sql("select count(*) from kbopt.jobs") == "1"


def check_crashes():
    """A job that takes three workers down is answered: it crashed."""
    stack, database = started()
    with stack:
        ask(database, "bad")
        for attempt in (1, 2, 3):
            with worker(database.url, "--pretend=60", "--lease=1") as victim:
                eventually(lambda: state(database, "bad") == f"running|{attempt}|", "the worker takes the job")
                victim.send_signal(signal.SIGKILL)
        with worker(database.url, "--pretend=0", "--lease=1"):
            eventually(lambda: state(database, "bad") == "answered|3|crash", "the job is answered")
        result = json.loads(database.sql("select result from kbopt.jobs"))
        assert result["message"] == "the job took down 3 workers", result
        shown = run("kb-opt", "cluster", "status", database.url)
        assert "failures: 1 crash" in shown.stdout, shown.stdout


def check_restart():
    """The database restarts while a job runs: its answer is kept, and was made once."""
    stack, database = started()
    with stack, worker(database.url, "--pretend=1.5", "--lease=20") as one:
        ask(database, "one")
        eventually(lambda: state(database, "one") == "running|1|", "the worker takes the job")
        database.restart()
        eventually(lambda: state(database, "one") == "answered|1|ok", "the worker answers")
        ask(database, "two")
        eventually(lambda: state(database, "two") == "answered|1|ok", "the worker goes on")
        assert one.poll() is None


def check_stall():
    """A worker behind a network that stalls loses its job; its late answer is not taken."""
    stack, database = started()
    with stack, postgres.Proxy(database.port) as proxy:
        far = f"postgresql://kbopt@127.0.0.1:{proxy.port}/kbopt"
        with worker(far, "--pretend=2", "--lease=1") as slow:
            ask(database, "one")
            eventually(lambda: state(database, "one") == "running|1|", "the far worker takes the job")
            proxy.stall()
            with worker(database.url, "--pretend=0", "--lease=1"):
                eventually(lambda: state(database, "one") == "answered|2|ok", "the near worker answers")
                answered = database.sql("select worker, finished from kbopt.jobs")
                proxy.go_on()
                ask(database, "two")
                eventually(lambda: state(database, "two").startswith("answered"), "somebody answers")
            ask(database, "three")
            eventually(lambda: state(database, "three") == "answered|1|ok", "the far worker is there again")
            assert database.sql("select worker, finished from kbopt.jobs where name = 'one'") == answered
            assert slow.poll() is None


def check_strange():
    """Jobs that make no sense are answered, and the worker goes on; so is one whose asker has a long name."""
    stack, database = started()
    with stack, worker(database.url) as one:
        for name, request, asker in (("words", "no JSON", "test"), ("nothing", "{}", "test"), ("files", json.dumps({"version": 1, "plan": "plans/none", "image": "blobs/none"}), "test"),
                                     ("long", json.dumps({"version": 1, "device": "cuda", "plan": "", "image": ""}), "x" * 200)):
            database.sql(f"insert into kbopt.jobs (name, kind, request, release, device, asker) values ('{name}', 'test', '{request}', '0.1.0, jobs 1', 'cpu', '{asker}'); notify kbopt_jobs")
            eventually(lambda: state(database, name).startswith("answered|1|"), f"'{name}' is answered")
        assert state(database, "words") == state(database, "nothing") == "answered|1|usage", (state(database, "words"), state(database, "nothing"))
        assert state(database, "files") == "answered|1|environment" and "there is no file none" in database.sql("select result from kbopt.jobs where name = 'files'")
        assert one.poll() is None


def check_stop():
    """Workers end after the job in hand when the database says so; a signal gives the job back at once."""
    stack, database = started()
    with stack:
        with worker(database.url, "--pretend=1") as polite:
            ask(database, "one")
            eventually(lambda: state(database, "one") == "running|1|", "the worker takes the job")
            done = run("kb-opt", "cluster", "stop", database.url)
            assert done.stdout == "asked 1 worker to stop after the job in hand\n", done
            assert polite.wait(20) == 0
            assert state(database, "one") == "answered|1|ok"
        with worker(database.url, "-j2", "--pretend=60") as hurried:
            eventually(lambda: database.sql("select count(*) from kbopt.workers") == "2", "two workers at once")
            ask(database, "two")
            eventually(lambda: state(database, "two") == "running|1|", "a worker takes the job")
            hurried.terminate()
            assert hurried.wait(90) == 0
            assert state(database, "two") == "waiting|0|", state(database, "two")
        assert database.sql("select count(*) from kbopt.workers") == "0"


def check_releases():
    """A worker takes jobs of its own release alone, and status names what nobody does."""
    stack, database = started()
    with stack, worker(database.url, "--pretend=0"):
        ask(database, "new", release="9.9")
        ask(database, "own")
        eventually(lambda: state(database, "own") == "answered|1|ok", "the worker does its own")
        assert state(database, "new") == "waiting|0|"
        database.sql("update kbopt.workers set release = '0.0'")
        shown = run("kb-opt", "cluster", "status", database.url).stdout
        assert "no worker for 1 job: device cpu, release 9.9" in shown, shown
        assert "of another release (0.0)" in shown, shown
        database.sql("update kbopt.version set number = 99")
        for command in (["kb-run", "serve", database.url], ["kb-opt", "cluster", "status", database.url], ["kb-opt", "cluster", "init", database.url]):
            refused = run(*command)
            assert refused.returncode == 3 and "made by a newer kb-opt: its schema has version 99" in refused.stderr, refused


def check_init():
    """Several may make the tables at once, and a second time changes nothing."""
    with postgres.Postgres(FOLDER) as database:
        refused = run("kb-run", "serve", database.url)
        assert refused.returncode == 3 and "has no tables of kb-opt" in refused.stderr and "kb-opt cluster init" in refused.stderr, refused
        several = [subprocess.Popen(["kb-opt", "cluster", "init", database.url], stdout=subprocess.PIPE, text=True) for _ in range(4)]
        assert all(each.wait() == 0 for each in several)
        assert database.sql("select number from kbopt.version") == "1"
        ask(database, "kept")
        init(database.url)
        assert state(database, "kept") == "waiting|0|"


def check_roles():
    """A worker may take and answer, a search may ask and read, and neither may do what the other does."""
    stack, database = started()
    with stack:
        database.sql("create role w login in role kbopt_worker; create role s login in role kbopt_search")
        as_worker, as_search = (database.url.replace("user=kbopt", f"user={name}") for name in "ws")
        with worker(as_worker, "--pretend=0"):
            database.sql("set role s; insert into kbopt.jobs (name, kind, request, release, device, asker) values ('one', 'test', '{}', '0.1.0, jobs 1', 'cpu', 'test')")
            eventually(lambda: state(database, "one") == "answered|1|ok", "the worker answers")
        for role, forbidden in (("s", "update kbopt.jobs set result = 'mine'"), ("s", "delete from kbopt.jobs"), ("s", "insert into kbopt.workers (id, host, process, release, devices) values ('x', 'x', 1, 'x', '{}')"),
                                ("w", "insert into kbopt.jobs (name, kind, request, release, device, asker) values ('mine', 'test', '', '', 'cpu', '')"), ("w", "insert into kbopt.evidence values ('x', '', '')"),
                                ("w", "update kbopt.jobs set request = 'mine'")):
            try:
                database.sql(f"set role {role}; {forbidden}")
            except RuntimeError as refused:
                assert "permission denied" in str(refused), refused
            else:
                raise AssertionError(f"{role} may {forbidden}")
        shown = run("kb-opt", "cluster", "status", as_search)
        assert shown.returncode == 0 and "1 answered" in shown.stdout, shown


def check_passwords():
    """A password is refused in an address, and what runs jobs sees neither it nor the connection."""
    stack, database = started()
    with stack:
        for command in (["kb-run", "serve"], ["kb-opt", "cluster", "status"]):
            refused = run(*command, "postgresql://me:secret@127.0.0.1/kbopt")
            assert refused.returncode in (2, 3) and "contains a password" in refused.stderr and "secret" not in refused.stderr, refused
        with worker(database.url, environment={**os.environ, "PGPASSWORD": "secret"}) as one:
            children = pathlib.Path(f"/proc/{one.pid}/task/{one.pid}/children").read_text().split()
            assert children
            for child in children:
                assert b"secret" not in pathlib.Path(f"/proc/{child}/environ").read_bytes()
                files = [os.readlink(file) for file in pathlib.Path(f"/proc/{child}/fd").iterdir()]
                assert not any(file.startswith("socket:") for file in files), files


def check_library():
    """libpq is loaded when it is asked for: without it everything else works, and the error names the package."""
    known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, env={"PATH": "/sbin:/usr/sbin:/bin:/usr/bin"}).stdout
    hidden = [word for path in re.findall(r"libpq\.so\.5 .*=> (\S+)", known) for word in ("--ro-bind", "/dev/null", os.path.realpath(path))]
    without = ["bwrap", "--dev-bind", "/", "/", *hidden]
    for command in (["kb-opt", "cluster", "status"], ["kb-run", "serve"]):
        refused = run(*without, *command, "postgresql:///kbopt")
        assert refused.returncode in (2, 3) and "cannot load PostgreSQL's client library" in refused.stderr and "install the package 'libpq5'" in refused.stderr, refused
    assert run(*without, "kb-opt", "--version").returncode == 0


def check_status():
    """What people see of a queue, as text and as JSON."""
    stack, database = started()
    with stack, worker(database.url, "--pretend=0"):
        ask(database, "one")
        ask(database, "gpu", device="cuda")
        eventually(lambda: state(database, "one") == "answered|1|ok", "the worker answers")
        shown = run("kb-opt", "cluster", "status", database.url).stdout
        for pattern in (r"^1 worker$", r"^  \S+: cpu, 1 answered in \d+ s, idle$", r"^queue: 1 waiting, 0 running, 1 answered; 1 in the last minute; the oldest is \d+ s old$",
                        r"^no worker for 1 job: device cuda$", r"^failures: none$"):
            assert re.search(pattern, shown, re.M), (pattern, shown)
        status = json.loads(run("kb-opt", "cluster", "status", "--json", database.url).stdout)
        assert (status["waiting"], status["answered"], len(status["workers"])) == (1, 1, 1), status
        unknown = run("kb-opt", "cluster", "status", database.url, "--workers=3")
        assert unknown.returncode == 2 and "has no option '--workers=3'" in unknown.stderr, unknown


def check_tidy():
    """What is old is forgotten, and what is too much; what an open job needs stays."""
    stack, database = started()
    with stack:
        init(database.url, "--keep-bytes=1000")
        old = "now() - interval '2 days'"
        database.sql(f"insert into kbopt.blobs (digest, bytes, content, used) values ('old', 1, 'x', {old}), ('needed', 1, 'x', {old}), ('new', 900, 'x', now()), ('much', 900, 'x', now() - interval '1 hour')")
        ask(database, "open", device="none")
        database.sql("update kbopt.jobs set request = '{\"image\": \"blobs/needed\"}'")
        ask(database, "past")
        database.sql(f"update kbopt.jobs set state = 'answered', finished = {old} where name = 'past'")
        ask(database, "asked long ago", device="none")
        database.sql(f"update kbopt.jobs set created = {old} where name = 'asked long ago'")
        with worker(database.url, "--pretend=0"):
            eventually(lambda: database.sql("select digest from kbopt.blobs order by 1") == "needed\nnew", "files are forgotten")
            eventually(lambda: database.sql("select name from kbopt.jobs") == "open", "jobs are forgotten")


globals()[f"check_{sys.argv[1]}"]()
