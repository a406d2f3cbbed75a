# SPDX-License-Identifier: Apache-2.0
"""Workers that Slurm starts, as on a site. Usage: tasks.py TEST FOLDER [PAGE PROGRAM]; each function check_… below is a test."""
import json
import os
import pathlib
import re
import subprocess
import sys

import slurm
from cluster import FOLDER, eventually, run, started


def check_submit():
    """submit starts workers by a job array, a node that is lost gives its job to another, and stop ends everything."""
    stack, database = started()
    with stack, slurm.Slurm(FOLDER, nodes=4) as site:
        def cluster(*words):
            done = run("kb-opt", "cluster", *words, env={**os.environ, **site.environment, "PATH": os.environ["PATH"] + ":" + site.environment["PATH"]}, cwd=FOLDER)
            assert done.returncode == 0, done.stderr
            return done.stdout

        script = FOLDER / "workers.sh"
        options = ["--workers=4", "--partition=debug", "--time=10", f"--sbatch=--output={FOLDER}/%a.log"]
        assert f"wrote {script}" in cluster("submit", database.url, *options, "--account=us", f"--script={script}")
        text = script.read_text()
        for line in ("#SBATCH --array=1-4", "#SBATCH --gres=gpu:1", "#SBATCH --requeue", "#SBATCH --partition=debug", "#SBATCH --account=us", "#SBATCH --time=10"):
            assert line in text.splitlines(), text
        assert text.splitlines()[-1].startswith("exec '") and f"serve '{database.url}'" in text, text

        said = cluster("submit", database.url, *options)
        assert "starts 4 workers" in said, said
        workers = lambda: database.sql("select count(*) from kbopt.workers where seen > now() - interval '15 seconds'")
        eventually(lambda: workers() == "4", "four workers come", 60)
        shown = cluster("status", database.url)
        assert shown.startswith("4 workers\n"), shown
        # A real job: what device there is. Every worker has the CPU device alone.
        database.sql("insert into kbopt.jobs (name, kind, request, release, device, asker) values ('facts', 'facts', '{\"version\": 1, \"device\": \"cuda\", \"plan\": \"\", \"image\": \"\"}', '0.1.0, jobs 1', 'cpu', 'test'); notify kbopt_jobs")
        eventually(lambda: database.sql("select state from kbopt.jobs") == "answered", "a worker answers")
        # A worker dies as on a broken node; Slurm starts its task again.
        victim = int(database.sql("select process from kbopt.workers order by id limit 1"))
        number = said.split("Slurm's job ")[1].split()[0]
        task = next(line.split("=")[1] for line in open(f"/proc/{victim}/environ").read().split("\0") if line.startswith("SLURM_JOB_ID="))
        site.run(["scontrol", "requeue", task])
        eventually(lambda: not os.path.exists(f"/proc/{victim}"), "the task ends")
        eventually(lambda: workers() == "4" and database.sql(f"select count(*) from kbopt.workers where process = {victim}") == "0", "the task is there again", 90)
        said = cluster("stop", database.url)
        assert "asked 4 workers" in said and f"cancelled Slurm's jobs {number}" in said, said
        eventually(lambda: database.sql("select count(*) from kbopt.workers") == "0", "the workers say that they go")
        eventually(lambda: site.run(["squeue", "--noheader"]) == "", "Slurm has no jobs")


def commands_of(page):
    """The blocks of commands of a page, each as text; lines that end with a backslash go on."""
    return [re.sub(r"\\\\\n *", "", "\n".join(line[4:] for line in block.rstrip("\n").split("\n"))) for block in re.findall(r"(?:^ {4}\S.*\n(?: {4}.*\n)*)", page, re.M)]


def check_page():
    """The commands of docs/Cluster.md, as they stand there, but for the names of servers, files and accounts."""
    page, program = pathlib.Path(sys.argv[3]).read_text(), sys.argv[4]
    project = FOLDER / "project"
    (project / "build").mkdir(parents=True)
    (project / "kernel.cu").write_text(pathlib.Path(program).read_text())
    (project / "build" / "compile_commands.json").write_text(json.dumps([{"directory": str(project / "build"), "file": str(project / "kernel.cu"), "arguments": ["nvcc", "-c", str(project / "kernel.cu")]}]))
    few = "--budget-candidates=1 --trajectories=1"
    stack, database = started()
    with stack, slurm.Slurm(FOLDER, nodes=2) as site:
        def execute(text):
            done = subprocess.run(["bash", "-euc", text], cwd=project, capture_output=True, text=True, timeout=200,
                                  env={**os.environ, **site.environment, "PATH": os.environ["PATH"] + ":" + site.environment["PATH"]})
            assert done.returncode == 0, (text, done.stdout, done.stderr)
            return done.stdout

        install, four, repository, *rest = commands_of(page)
        assert "createdb kbopt" in install and "kb-run serve" in four and "run-kb-opt" in repository, (install, four, repository)
        site_commands = next(block for block in rest if "cluster submit" in block)
        url = f"'{database.url}'"
        here = lambda text: re.sub(r"postgresql://[^\s]*/kbopt", lambda _: url, text)
        four = here(four).replace("kb-run serve", "kb-run serve").replace("kernel.cu", few + " kernel.cu")
        four = re.sub(r"(kb-run serve .*) &$", r"(\1 2> /dev/null > /dev/null &)", four, flags=re.M)
        # The last line stops the workers that the repository needs, too.
        *lines, stop = four.splitlines()
        said = execute("\n".join(lines))
        assert "4 workers" in said and "0 waiting" in said, said
        repository = here(repository).replace(f"={url}", f"={database.url}").replace("&", "\\&")
        execute(repository + " " + " ".join(f"--extra-arg={word}" for word in few.split()))
        assert "1 of 1 files" in (project / "progress.html").read_text()
        assert execute(stop).startswith("asked 4 workers to stop")
        eventually(lambda: database.sql("select count(*) from kbopt.workers") == "0", "the workers go")

        text = here(site_commands).replace("/shared/kbopt/files", str(FOLDER / "files")).replace("--workers=16", "--workers=2").replace("--partition=gpu", f"--partition=debug --sbatch=--output={FOLDER}/%a.log")
        init_line, submit, watch, stop = text.splitlines()
        said = execute(init_line + "\n" + submit)
        assert "starts 2 workers" in said, said
        eventually(lambda: database.sql("select count(*) from kbopt.workers") == "2", "the workers come", 60)
        said = execute(f"timeout 5 {watch} || test $? = 124")
        assert said.count("2 workers\n") >= 2, said
        assert "cancelled Slurm's jobs" in execute(stop)
        eventually(lambda: site.run(["squeue", "--noheader"]) == "", "Slurm has no jobs")


globals()[f"check_{sys.argv[1]}"]()
