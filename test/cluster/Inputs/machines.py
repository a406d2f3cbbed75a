# SPDX-License-Identifier: Apache-2.0
"""Machines of their own for tests: network namespaces with a name, an address and no files of the test's.

Each one reaches this machine over a link of its own, and nothing else. It needs root and Debian's package 'iproute2'.
"""
import contextlib
import os
import random
import shutil
import subprocess


def _ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, capture_output=True, text=True)


class Machine:
    """A machine `name`, from the entry of a `with` block to its end. The folders `hidden` are empty there.

    here, there: the addresses of this machine and of that one, on their link.
    """

    def __init__(self, name, *hidden):
        self.name, self._hidden = name, hidden

    def __enter__(self):
        script = 'hostname "$1" && shift && for each; do mount -t tmpfs none "$each" || exit 1; done; echo ready; exec cat'
        self._process = subprocess.Popen(["unshare", "--net", "--mount", "--uts", "sh", "-c", script, "sh", self.name, *map(str, self._hidden)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            if self._process.stdout.readline() != "ready\n":
                raise RuntimeError(f"the machine '{self.name}' does not start")
            link, peer = (f"kb{random.randrange(1 << 32):x}{end}" for end in "ab")
            network = f"10.{random.randrange(200, 255)}.{random.randrange(256)}."
            self.here, self.there = network + "1", network + "2"
            _ip("link", "add", link, "type", "veth", "peer", "name", peer, "netns", self._process.pid)
            _ip("address", "add", self.here + "/30", "dev", link)
            _ip("link", "set", link, "up")
            for words in (("address", "add", self.there + "/30", "dev", peer), ("link", "set", peer, "up"), ("link", "set", "lo", "up")):
                subprocess.run([*self.command(), "ip", *words], check=True)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._process.stdin.close()  # The link ends with the namespace, which has no process then.
        self._process.wait()

    def command(self):
        """What a command line begins with to run there."""
        return ["nsenter", "-t", str(self._process.pid), "-n", "-m", "-u"]


def missing():
    """Returns "" if machines can be made here, else a sentence that says what is missing."""
    if os.geteuid() != 0:
        return "machines of their own need root"
    absent = [name for name in ("ip", "unshare", "nsenter") if not shutil.which(name)]
    if absent:
        return f"machines of their own need the Debian packages iproute2 and util-linux: {', '.join(absent)}"
    with contextlib.suppress(OSError, RuntimeError, subprocess.CalledProcessError), Machine("probe"):
        return ""
    return "this machine does not let root make network namespaces with links"
