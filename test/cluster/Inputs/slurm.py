# SPDX-License-Identifier: Apache-2.0
"""A private Slurm on this machine for tests: one slurmctld and several slurmd, which are the nodes 'node1', 'node2' and so on.

It needs no configuration of the machine: only the programs of Debian's packages 'slurmctld', 'slurmd' and
'slurm-client' (22.05 or newer). It works for root and for any other user, whose daemons and jobs then run as that user.
There is no munge: while it runs, each local user can act as every other one towards it, so as root it is for machines
whose users all trust each other. Its ports are open on 127.0.0.1 only.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from postgres import free_port, start_guard, tail

PACKAGES = {"slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client"}
SEARCH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin"))
FAKE_DEVICES = ("null", "zero", "full", "random", "urandom")  # Slurm wants a device for each GPU, but never opens it without cgroups.


def missing():
    """Returns "" if Slurm is installed, else a sentence that says which packages to install."""
    packages = [package for program, package in PACKAGES.items() if not shutil.which(program, path=SEARCH)]
    return f"Slurm is not installed: install the Debian packages {' '.join(packages)}" if packages else ""


def _processes(mark):
    """Returns the process ids of those that were started with `mark` in their environment, and of their descendants, but for this one."""
    parents, found = {}, set()
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            state, parent = (entry / "stat").read_bytes().rpartition(b") ")[2].split()[:2]
            if state not in (b"Z", b"X"):
                parents[int(entry.name)] = int(parent)
                if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.add(int(entry.name))
    size = -1
    while size != len(found):
        size = len(found)
        found |= {child for child, parent in parents.items() if parent in found}
    return found


def _remove(mark, *folders):
    """Ends all processes with that mark, at once, and removes the folders."""
    for _ in range(500):
        found = _processes(mark)
        if not found:
            break
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


class Slurm:
    """A private Slurm with the partition 'debug' of all nodes, from the entry of a `with` block to its end.

    nodes: how many nodes there are.
    cpus: how many CPUs each node claims, however many the machine has; a job gets as many as it asks for, by default one.
    gpus: how many GPUs each node claims, up to five: jobs ask for them by --gres=gpu:N, and CUDA_VISIBLE_DEVICES numbers them from 0 on each node.
    node_timeout: Slurm notices that a slurmd has died so many seconds later, plus some 20.

    All files lie in a new folder below `folder`; only a short name for it is below /tmp. A job starts within about a
    second of a free node, is forgotten some seconds after its end, and is held back for six seconds when it is requeued,
    unless `scontrol update JobId=N StartTime=now` follows.
    At the end of the block all daemons, all jobs and all processes that were started with `environment` are killed, and
    the folder is removed; a guard does so if this process is killed, even by SIGKILL. If an exception leaves the block,
    then the ends of the daemons' logs go to stderr.

    environment: the environment for sbatch, squeue, scancel, scontrol and what calls them.
    daemons: the running processes by name, 'slurmctld' and 'node1' and so on, as subprocess.Popen.
    """

    def __init__(self, folder, nodes=4, cpus=4, gpus=1, node_timeout=30):
        if not 0 <= gpus <= len(FAKE_DEVICES):
            raise ValueError(f"a node can have up to {len(FAKE_DEVICES)} GPUs")
        self._parent, self._cpus, self._gpus, self._node_timeout = pathlib.Path(folder).resolve(), cpus, gpus, node_timeout
        self._names = [f"node{index}" for index in range(1, nodes + 1)]
        self.daemons = {}

    def _write(self):
        """Writes the configuration."""
        # A requeued job waits for cred_expire; where that is too short (1 is, 5 is not), Slurm silently uses 120 seconds.
        host, short = socket.gethostname().split(".")[0], self._private / "site"
        user, gres = os.geteuid(), f"Gres=gpu:{self._gpus}" if self._gpus else ""
        lines = [
            "ClusterName=kbopt", f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={free_port()}", f"SlurmUser={user}", f"SlurmdUser={user}",
            "AuthType=auth/none", "CredType=cred/none", "AuthInfo=cred_expire=5", "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny",
            f"StateSaveLocation={short}/state", f"SlurmdSpoolDir={short}/%n", f"SlurmctldPidFile={short}/slurmctld.pid", f"SlurmdPidFile={short}/%n.pid",
            f"SlurmctldLogFile={short}/slurmctld.log", f"SlurmdLogFile={short}/%n.log", "SlurmdParameters=config_overrides",
            "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "SwitchType=switch/none", "MpiDefault=none", "JobAcctGatherType=jobacct_gather/none",
            "AccountingStorageType=accounting_storage/none", "JobCompType=jobcomp/none", "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU",
            "SchedulerType=sched/backfill", "SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1",
            "ReturnToService=2", "JobRequeue=1", "MinJobAge=2", "KillWait=1", "CompleteWait=0", f"SlurmdTimeout={self._node_timeout}", "BatchStartTimeout=60", "GresTypes=gpu"]
        lines += [f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={self._cpus} RealMemory=100000 {gres}" for name, port in zip(self._names, self._ports())]
        lines.append("PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
        self._conf.write_text("\n".join(lines) + "\n")
        devices = FAKE_DEVICES[:self._gpus]
        (self._folder / "gres.conf").write_text("".join(f"NodeName={name} Name=gpu File=/dev/{device} Flags=nvidia_gpu_env\n" for name in self._names for device in devices))

    def _ports(self):
        ports = set()
        while len(ports) < len(self._names):
            ports.add(free_port())
        return ports

    def __enter__(self):
        if missing():
            raise RuntimeError(missing())
        self._parent.mkdir(parents=True, exist_ok=True)
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="slurm-", dir=self._parent))
        self._private = pathlib.Path(tempfile.mkdtemp(prefix="kbopt-", dir="/tmp"))
        self._conf = self._folder / "slurm.conf"
        outer = ("SLURM", "SBATCH_", "SRUN_", "SALLOC_", "SQUEUE_", "SCANCEL_", "SINFO_", "SCONTROL_")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
        self.environment |= {"SLURM_CONF": str(self._conf), "PATH": SEARCH}
        self._guard = start_guard(__file__, f"SLURM_CONF={self._conf}", self._folder, self._private)
        try:
            # The sockets of a job's steps lie in the spool folder, and their paths may have at most 107 bytes.
            (self._private / "site").symlink_to(self._folder)
            for name in ("state", *self._names):
                (self._folder / name).mkdir(mode=0o755)
            self._write()
            self.start("slurmctld")
            self._await(lambda: subprocess.run(["scontrol", "ping"], env=self.environment, capture_output=True).returncode == 0)
            for name in self._names:
                self.start(name)
            self._await(lambda: self.run(["sinfo", "--noheader", "--Node", "--format=%T"]).split() == ["idle"] * len(self._names))
        except BaseException:
            self._tell()
            self._end()
            raise
        return self

    def __exit__(self, kind, error, trace):
        if kind:
            self._tell()
        self._end()

    def _tell(self):
        for name in ("slurmctld", *self._names):
            sys.stderr.write(f"The log of {name} ends:\n{tail(self._folder / f'{name}.log')}")

    def _end(self):
        _remove(f"SLURM_CONF={self._conf}", self._folder, self._private)
        for daemon in self.daemons.values():
            daemon.wait()
        self._guard.close()

    def _await(self, ready, seconds=60):
        end = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > end or any(daemon.poll() is not None for daemon in self.daemons.values()):
                raise RuntimeError("Slurm does not start")
            time.sleep(0.1)

    def start(self, name):
        """Starts a daemon, 'slurmctld' or the slurmd of a node, which must not run, and returns at once."""
        command = ["slurmctld", "-D"] if name == "slurmctld" else ["slurmd", "-D", "-N", name]
        self.daemons[name] = subprocess.Popen(command, env=self.environment, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def stop(self, name):
        """Kills a daemon as a crash does, and returns when it has ended; the jobs of a node go on, also when Slurm has given the node up and requeued them."""
        self.daemons[name].kill()
        self.daemons.pop(name).wait()

    def run(self, command):
        """Runs a command in `environment` and returns its stdout without the last newline; raises RuntimeError with its stderr if it fails."""
        done = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))} failed: {done.stderr.strip()}")
        return done.stdout.rstrip("\n")


if __name__ == "__main__" and sys.argv[1:2] == ["--guard"]:
    sys.stdin.read()
    _remove(*sys.argv[2:])
