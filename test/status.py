"""Runs a command and fails unless it ends with one of the given exit statuses: status.py 0,4 COMMAND …"""

import subprocess
import sys

status = subprocess.run(sys.argv[2:]).returncode
if status not in map(int, sys.argv[1].split(",")):
    sys.exit(f"exit status {status}, expected {sys.argv[1]}")
