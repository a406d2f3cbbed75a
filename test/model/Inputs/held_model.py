"""model.py, but the question with the number MODEL_HOLD is never answered: it writes a byte into the pipe
MODEL_PIPE and waits until whoever holds the pipe lets go of MODEL_LEAVE. Numbers are counted in MODEL_COUNT.
"""
import fcntl
import os
import pathlib
import sys

with open(os.environ["MODEL_COUNT"], "a+") as count:
    fcntl.flock(count, fcntl.LOCK_EX)
    count.write("asked\n")
    count.flush()
    count.seek(0)
    number = len(count.readlines())
if str(number) == os.environ.get("MODEL_HOLD"):
    with open(os.environ["MODEL_LEAVE"], "rb") as leave:
        with open(os.environ["MODEL_PIPE"], "wb", buffering=0) as pipe:
            pipe.write(b".")
        leave.read()
    sys.exit("the run was killed")
os.execv(sys.executable, [sys.executable, str(pathlib.Path(__file__).with_name("model.py"))])
