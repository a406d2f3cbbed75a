"""Sends a signal to a kb-opt that waits for a program on stdin: send_signal.py SIGNAL. Prints its stderr and exit status."""

import pathlib
import signal
import subprocess
import sys
import time

number = getattr(signal, "SIG" + sys.argv[1])
child = subprocess.Popen(["kb-opt", "-passes=unroll-loop", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def catches():
    """Whether the child has installed a handler by now."""
    status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
    return int(status.partition("SigCgt:")[2].split()[0], 16) >> (number - 1) & 1


while not catches():
    assert child.poll() is None
    time.sleep(0.01)
time.sleep(0.2)
child.send_signal(number)
_, errors = child.communicate(timeout=120)
print(errors.decode(errors="replace"))
print("status", child.returncode)
