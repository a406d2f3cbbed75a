# SPDX-License-Identifier: Apache-2.0
"""Searches whose candidates are run by workers of a database. Usage: searches.py TEST FOLDER PROGRAM; each function check_… below is a test."""
import contextlib
import json
import os
import pathlib
import pwd
import subprocess
import sys
import time

from cluster import FOLDER, init, run, started, worker

PROGRAM = pathlib.Path(sys.argv[3])

OPTIONS = ["-passes=auto", "--budget-candidates=1", "--trajectories=1", "--seed=1"]


def words(name, *more):
    """kb-opt on the program, with knowledge and journal of its own."""
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    own = [f"--knowledge={folder}/knowledge", f"--journal={folder}/journal.sqlite", "-o", str(folder / "kept.cu")]
    return ["kb-opt", *OPTIONS, *(word for word in own if word.split("=")[0] not in [each.split("=")[0] for each in more]), *more, str(PROGRAM)]


def kept(name):
    return (FOLDER / name / "kept.cu").read_text()


def result_of(text):
    return [line for line in text.splitlines() if line.startswith(("result:", "proven:"))]


@contextlib.contextmanager
def searching(command):
    """The process of a search, which ends with the block."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until(process, words):
    """The first line of standard error with these words."""
    for line in process.stderr:
        if words in line:
            return line
    raise AssertionError(f"the search ended without a word about '{words}'")


def check_search():
    """A search by two workers gives what one machine gives, and two searches that ask the same are answered once."""
    alone = run(*words("alone"))
    assert alone.returncode in (0, 4), alone.stderr
    stack, database = started()
    with stack, worker(database.url), worker(database.url):
        device = f"--device={database.url}"
        first, second = (subprocess.Popen(words(name, device), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for name in ("first", "second"))
        said = [each.communicate()[1] for each in (first, second)]
        assert [first.returncode, second.returncode] == [alone.returncode] * 2, said
        assert kept("first") == kept("second") == kept("alone")
        assert result_of(said[0]) == result_of(said[1]) == result_of(alone.stderr)
        assert "its workers run the CPU device, and times are modelled" in said[0], said[0]
        asked, done = map(int, database.sql("select count(*), sum(attempts) from kbopt.jobs").split("|"))
        assert asked == done, (asked, done)
        # A third search asks nothing new: the names of its jobs are those of their content.
        third = run(*words("third", device))
        assert third.returncode == alone.returncode and kept("third") == kept("alone"), third.stderr
        new = database.sql(f"select name, kind, status, request from kbopt.jobs order by id offset {asked}")
        assert not new, new
        assert database.sql("select count(distinct worker) from kbopt.jobs") == "2"


def check_forgotten():
    """Files that the database has forgotten are sent again, and answers whose files are gone are asked again."""
    stack, database = started()
    with stack, worker(database.url, "-j2"):
        first = run(*words("first", f"--device={database.url}"))
        asked = int(database.sql("select count(*) from kbopt.jobs"))
        database.sql("delete from kbopt.blobs")
        second = run(*words("second", f"--device={database.url}"))
        assert second.returncode == first.returncode and kept("second") == kept("first"), second.stderr
        # What had no file of results is still answered.
        new = int(database.sql("select count(*) from kbopt.jobs")) - asked
        assert 0 < new < asked, (new, asked)
        with searching(words("third", f"--device={database.url}", "--seed=2", "--compile-cache-size=0")) as third:
            for _ in range(3):
                time.sleep(2)
                database.sql("delete from kbopt.blobs where used < now() - interval '1 second'")
            said = third.communicate()[1]
        assert third.returncode in (0, 4) and "result: " in said, said


def check_evidence():
    """Evidence and journal lie in the database: another run is answered from there, and its evidence goes to files and back."""
    stack, database = started()
    with stack:
        there = [f"--knowledge={database.url}", f"--journal={database.url}"]
        first = run(*words("first", "-v", *there))
        assert first.returncode in (0, 4) and f"in {database.url}" in first.stderr and " carried out" in first.stderr, first.stderr
        answers = database.sql("select count(*) from kbopt.answers")
        second = run(*words("second", "-v", *there))
        assert kept("second") == kept("first"), second.stderr
        count = database.sql("select count(*) from kbopt.evidence")
        exported = FOLDER / "exported"
        exported.mkdir()
        moved = run("kb-knowledge", "merge", exported, database.url)
        assert moved.returncode == 0, moved
        lines = (exported / "evidence.jsonl").read_text().splitlines()
        assert len(lines) == int(count) > 0
        database.sql("truncate kbopt.evidence")
        for _ in range(2):
            back = run("kb-knowledge", "merge", database.url, exported)
            assert back.returncode == 0, back
            assert database.sql("select count(*) from kbopt.evidence") == count


def check_repository():
    """run-kb-opt works through a compile database with the workers, many searches at once, and keeps a page."""
    project = FOLDER / "project"
    build = project / "build"
    build.mkdir(parents=True)
    files = [project / f"norm{i}.cu" for i in (1, 2)]
    for file in files:
        file.write_text(PROGRAM.read_text())
    (build / "compile_commands.json").write_text(json.dumps([{"directory": str(build), "file": str(file), "arguments": ["nvcc", "-c", str(file)]} for file in files]))
    page = FOLDER / "page.html"
    stack, database = started()
    with stack, worker(database.url, "-j2"):
        own = [f"--extra-arg={word}" for word in (*OPTIONS[1:], f"--knowledge={database.url}", f"--journal={FOLDER}/journal.sqlite")]
        done = run("run-kb-opt", "-p", build, "-j2", f"--device={database.url}", f"--page={page}", f"--export-fixes={FOLDER}/all.patch", *own, cwd=project)
        assert done.returncode == 0, done
        assert "2 compilations, 0 with errors" in done.stdout and done.stdout.count(": result: 12.08 x faster") == 2, done.stdout
        assert "[2/2]" in done.stderr and "(2 of 2 files)" in done.stderr, done.stderr
        text = page.read_text()
        assert text.count('class="done"') == 2 and "12.08 x faster" in text and "http-equiv" not in text, text
        assert (FOLDER / "all.patch").read_text().count("\n+++ ") == 2
        assert database.sql("select count(*) > 0 from kbopt.evidence") == "t"


@contextlib.contextmanager
def small_disk(owner):
    """A folder with half a megabyte of room, and a function that gives it more."""
    folder = FOLDER / "small"
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=512k,mode=700,uid={owner}", "none", folder], check=True)
    try:
        yield folder, lambda: subprocess.run(["mount", "-o", "remount,size=400m", folder], check=True)
    finally:
        subprocess.run(["umount", folder], check=True)


def goes_on_with_room(database, words_of_failure, give_room):
    """A search waits while a disk is full, and ends well when it is not."""
    with searching(words("first", f"--device={database.url}")) as search:
        line = until(search, words_of_failure)
        assert "No space left on device" in line, line
        give_room()
        said = search.communicate()[1]
    assert search.returncode in (0, 4) and "result: " in said, said


def check_full():
    """The folder of files is full: they wait until there is room, and nothing is lost."""
    stack, database = started()
    with small_disk(os.geteuid()) as (folder, give_room), stack, worker(database.url):
        init(database.url, f"--blobs={folder}", "--blob-bytes=1000")
        (folder / "filler").write_bytes(bytes(500000))
        goes_on_with_room(database, "cannot write to the folder", give_room)


def check_full_database():
    """The database's disk is full: what is stored there waits until there is room, and nothing is lost."""
    stack, database = started()
    owner = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else os.geteuid()
    with small_disk(owner) as (folder, give_room), stack, worker(database.url):
        for level in (FOLDER, *FOLDER.parents):
            assert level.stat().st_mode & 1, f"the server cannot get to {level}"
        database.sql(f"create tablespace small location '{folder}'")
        database.sql("alter table kbopt.blobs set tablespace small")
        goes_on_with_room(database, "could not extend file", give_room)
        database.stop()


def check_nobody():
    """Without a worker a search says so, and what to start."""
    stack, database = started()
    with stack:
        with searching(words("first", f"--device={database.url}")) as search:
            line = until(search, "no worker has the CPU device")
            assert f"start 'kb-run serve {database.url}'" in line, line
            with worker(database.url):
                search.communicate(timeout=120)
            assert search.returncode in (0, 4)
        refused = run(*words("second", f"--device=cuda:{database.url}"))
        assert refused.returncode == 3 and "has a GPU" in refused.stderr, refused


globals()[f"check_{sys.argv[1]}"]()
