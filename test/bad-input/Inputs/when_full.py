"""Fills the file system of FOLDER to the last byte, runs COMMAND and says what is left there: when_full.py FOLDER COMMAND …"""

import os
import subprocess
import sys

folder = sys.argv[1]
fill = os.open(os.path.join(folder, "fill"), os.O_WRONLY | os.O_CREAT)
try:
    while True:
        os.write(fill, bytes(4096))
except OSError:
    os.close(fill)
status = subprocess.run(sys.argv[2:]).returncode
print("left:", *sorted(os.listdir(folder)))
sys.exit(status)
