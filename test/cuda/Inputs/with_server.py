"""with_server.py FOLDER SERVER... -- COMMAND...: runs SERVER FOLDER beside COMMAND, whose status it ends with."""

import subprocess
import sys

split = sys.argv.index("--")
folder, server, command = sys.argv[1], sys.argv[2:split], sys.argv[split + 1:]
process = subprocess.Popen(server + [folder])
try:
    status = subprocess.run(command, timeout=300).returncode
finally:
    process.terminate()
    process.wait()
sys.exit(status)
