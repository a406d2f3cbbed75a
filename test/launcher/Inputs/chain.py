"""Stands for ccache: says what it is given and runs it."""

import os
import sys

print("chain:", *sys.argv[1:], file=sys.stderr)
os.execvp(sys.argv[1], sys.argv[1:])
