"""busy_folder.py FOLDER -- COMMAND...: adds files to FOLDER and removes them again while COMMAND runs; ends with its status."""

import pathlib
import subprocess
import sys
import threading

folder, command = pathlib.Path(sys.argv[1]), sys.argv[3:]
ended = threading.Event()


def bustle():
    turn = 0
    while not ended.wait(0.002):
        turn += 1
        for number in range(4):
            path = folder / f"other{number}.txt"
            path.write_text(f"{turn}\n") if (turn + number) % 4 else path.unlink(missing_ok=True)


thread = threading.Thread(target=bustle)
thread.start()
try:
    status = subprocess.run(command).returncode
finally:
    ended.set()
    thread.join()
sys.exit(status)
