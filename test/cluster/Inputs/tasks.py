# SPDX-License-Identifier: Apache-2.0
"""Workers that Slurm starts, as on a site. Usage: tasks.py TEST FOLDER; each function check_… below is a test."""
import os
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


globals()[f"check_{sys.argv[1]}"]()
