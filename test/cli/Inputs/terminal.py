"""Runs a command with a terminal as its stderr and writes what the terminal got to a file.

usage: terminal.py FILE COMMAND…"""

import os
import pty
import subprocess
import sys

ours, theirs = pty.openpty()
child = subprocess.Popen(sys.argv[2:], stderr=theirs)
os.close(theirs)
with open(sys.argv[1], "wb") as file:
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # the last end was closed
            break
        if not data:
            break
        file.write(data)
sys.exit(child.wait())
