"""The private servers of these tests start, do what tests ask of them, and leave nothing behind."""
import os
import sys

import postgres
import slurm

FOLDER = sys.argv[2]


def check_postgres():
    with postgres.Postgres(FOLDER) as database:
        database.sql("create table kept (n int); insert into kept values (1)")
        database.restart()
        assert database.sql("select n from kept") == "1"
        with postgres.Proxy(database.port) as proxy:
            assert proxy.port != database.port
        log = database.log
    assert not os.path.exists(log)


def check_slurm():
    with slurm.Slurm(FOLDER, nodes=2) as site:
        place = os.path.join(FOLDER, "job-%a")
        site.run(["sbatch", "--wait", "--array=1-2", "--gres=gpu:1", f"--output={place}", "--wrap", "echo $SLURM_ARRAY_TASK_ID $CUDA_VISIBLE_DEVICES"])
        for task in ("1", "2"):
            with open(place.replace("%a", task)) as output:
                assert output.read() == f"{task} 0\n"
        daemons = list(site.daemons.values())
    assert all(daemon.poll() is not None for daemon in daemons)


{"postgres": check_postgres, "slurm": check_slurm}[sys.argv[1]]()
