"""SIGTERM: a judgement whose candidate's host never returns ends soon."""

import signal
import subprocess
import sys
import time

child = subprocess.Popen(["kb-opt", *sys.argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
time.sleep(4)
print(f"ended by itself: {child.poll() is not None}")
start = time.monotonic()
child.send_signal(signal.SIGTERM)
out, err = child.communicate(timeout=90)
print(f"ended in time: {time.monotonic() - start < 15}")
print(err.strip())
