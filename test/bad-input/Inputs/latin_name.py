"""Runs kb-opt on a copy of the file under a name in Latin-1, as a shell would: latin_name.py FILE"""
import shutil
import subprocess
import sys

name = b"caf\xe9.cu"
shutil.copy(sys.argv[1], name)
result = subprocess.run([b"kb-opt", b"-passes=auto", name], capture_output=True)
print("status", result.returncode, flush=True)
sys.stdout.buffer.write(result.stderr)
