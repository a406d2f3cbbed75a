"""Runs a command where bubblewrap cannot be found: without_bwrap.py FOLDER COMMAND …

A folder of PATH with bubblewrap in it is replaced by FOLDER, which links to everything else that is there.
"""

import os
import sys

stand_in, command = os.path.abspath(sys.argv[1]), sys.argv[2:]
folders = []
for folder in os.environ["PATH"].split(os.pathsep):
    if os.path.exists(os.path.join(folder, "bwrap")):
        os.makedirs(stand_in, exist_ok=True)
        for name in os.listdir(folder):
            link = os.path.join(stand_in, name)
            if name != "bwrap" and not os.path.lexists(link):
                os.symlink(os.path.join(folder, name), link)
        folder = stand_in
    folders.append(folder)
os.execvpe(command[0], command, {**os.environ, "PATH": os.pathsep.join(folders)})
