# SPDX-License-Identifier: Apache-2.0
"""A search and two workers on machines of their own, which meet in the database alone: over TLS, each with its password. Usage: hosts.py FOLDER PROGRAM."""
import os
import pathlib
import subprocess
import sys

sys.argv.insert(1, "hosts")
from cluster import FOLDER, init, run, worker  # noqa: E402
from machines import Machine  # noqa: E402
from postgres import Postgres  # noqa: E402

PROGRAM = sys.argv[3]
USERS = {"carrier": "kbopt_worker", "seeker": "kbopt_search"}
SECRET = "a word that only they know"


def file_of_passwords(words, secret=SECRET):
    """A file as libpq reads it."""
    path = FOLDER.parent / f"{FOLDER.name}-{words}.pgpass"
    path.write_text("".join(f"*:*:*:{user}:{secret}\n" for user in USERS))
    path.chmod(0o600)
    return {**os.environ, "PGPASSFILE": str(path), "XDG_CACHE_HOME": str(FOLDER / "cache")}


def refused(address, environment, words):
    for command in (["kb-run", "serve"], ["kb-opt", "cluster", "status"]):
        done = run(*command, address, env=environment, timeout=60)
        assert done.returncode != 0 and words in done.stderr and SECRET not in done.stderr, done


FOLDER.mkdir(parents=True)
known, wrong = file_of_passwords("known"), file_of_passwords("wrong", "a guess")
with Machine("first", FOLDER) as first, Machine("second", FOLDER) as second, Postgres(FOLDER, tls="db.test", addresses=(first.here, second.here)) as database:
    init(database.url)
    for user, role in USERS.items():
        database.sql(f"create role {user} login password '{SECRET}' in role {role}")

    def address(user, host="127.0.0.1", name="db.test", mode="verify-full"):
        return f"postgresql://{user}@{name}:{database.port}/kbopt?hostaddr={host}&sslmode={mode}&sslrootcert={database.certificate}"

    refused(address("carrier"), wrong, "password authentication failed")
    refused(address("carrier", name="another.test"), known, "does not match host name")
    refused(address("carrier", mode="disable"), known, "no encryption")
    refused(address("carrier").replace("server.crt", "missing.crt"), known, "missing.crt")
    with worker(address("carrier", first.here), environment=known, prefix=first.command()) as one, worker(address("carrier", second.here), environment=known, prefix=second.command()) as two:
        search = subprocess.Popen(["kb-opt", "-passes=auto", "--budget-candidates=1", "--trajectories=1", "--seed=1", f"--device={address('seeker')}", f"--knowledge={address('seeker')}", f"--journal={address('seeker')}",
                                   "-o", FOLDER / "kept.cu", PROGRAM], env=known, stderr=subprocess.PIPE, text=True)
        said = search.communicate(timeout=200)[1]
        assert search.returncode in (0, 4), said
        assert database.sql("select host from kbopt.workers order by host") == "first\nsecond"
        assert database.sql("select count(distinct host) from kbopt.jobs join kbopt.workers on worker = workers.id") == "2"
        assert database.sql("select count(*) > 0 from kbopt.evidence") == "t"
        # All of them came by the network, and nothing was sent as plain text.
        assert database.sql("select distinct usename || ' ' || client_addr || ' ' || ssl from pg_stat_ssl join pg_stat_activity using (pid) where usename <> 'kbopt' order by 1") == "\n".join(
            sorted(f"carrier {each.there}/32 true" for each in (first, second)))
        texts = [said, one.said.read_text(), two.said.read_text(), *(pathlib.Path(f"/proc/{each.pid}/cmdline").read_bytes().decode() for each in (one, two))]
        assert not any(SECRET in text for text in texts), texts
