"""Drives `kb-run hold` on the fake driver (test/cuda/fake) and checks what it says.

usage: check_hold.py KB_RUN LIBRARIES FOLDER, where FOLDER was made by make_fake.py"""

import os
import re
import sys
import time

sys.dont_write_bytecode = True
import hold_cases  # noqa: E402

KB_RUN, LIBRARIES, FOLDER = sys.argv[1:]
failed = 0


def check(name, good, detail=""):
    global failed
    failed += not good
    print(f"{'ok  ' if good else 'FAIL'} {name}{'' if good else '  ' + str(detail)}", flush=True)


def start(fake=""):
    return hold_cases.Hold(KB_RUN, FOLDER, LD_LIBRARY_PATH=LIBRARIES, KB_FAKE_CUDA=fake)


def mapped(process, name):
    """Files of that name that a process maps, by inode, and with which rights."""
    return {line[4]: line[1][:2] for line in mappings(process, name)}


def mappings(process, name):
    with open(f"/proc/{process}/maps") as file:
        return [line.split() for line in file if f"memfd:{name}" in line]


def sizes(process, name):
    """MiB that a process maps of them."""
    ends = [[int(end, 16) for end in line[0].split("-")] for line in mappings(process, name)]
    return sorted((end - begin) >> 20 for begin, end in ends)


hold_cases.write_all(FOLDER)
hold = start()
answer = hold_cases.check_figures(hold, check)
check("medians are of the two programs' times", round(answer["originalUs"]) == 12 * 40 and round(answer["candidateUs"]) == 12 * 20,
      answer)
vault, worker = hold.process.pid, hold.workers()[0]
check("the vault has three blocks to lend, and one of its own for each set",
      (len(mapped(vault, "fake-shareable")), len(mapped(vault, "fake-private"))) == (3, 2), mapped(vault, "fake"))
check("a worker maps the inputs to read them, and nothing of the references",
      sorted(mapped(worker, "fake-shareable").values()) == ["r-", "rw", "rw"] and not mapped(worker, "fake-private"),
      mapped(worker, "fake"))
check("the spare has nothing yet", not mapped(hold.workers()[1], "fake"), mapped(hold.workers()[1], "fake"))
check("the end of its jobs is the vault's end", hold.close() == 0)

hold = start()
answer = hold.ask("screen", "good")
check("nothing is screened before a program is open", answer["status"] == "usage", answer)
answer = hold.ask("open", "good", name="x.cu")
check("open", answer["status"] == "ok" and not hold_cases.differs(answer), answer)
answer = hold.ask("open", "good", name="x.cu")
check("a vault has one program", answer["status"] == "usage" and "holds one program" in answer["message"], answer)
for name, (_, status, message) in hold_cases.CANDIDATES.items():
    before = hold.workers()
    answer = hold.ask("screen", name)
    check(f"{name}: {status}", re.fullmatch(status, answer["status"]) and re.search(message, answer["message"]), answer)
    stays = status in ("ok", "unsupported", "out-of-memory")
    check(f"{name}: the worker {'stays' if stays else 'goes, and the spare takes its place'}",
          hold.workers() == before if stays else before[0] not in hold.workers(), (before, hold.workers()))
    if status == "fault":
        check(f"{name}: nothing else went", hold.workers()[0] == before[1], (before, hold.workers()))
    answer = hold.ask("screen", "good")
    check(f"{name}: the next one is answered right", answer["status"] == "ok" and not hold_cases.differs(answer) and
          answer["samples"] == 8, answer)
match = hold.ask("screen", "wrong")["matches"][0][0]
check("wrong: every element", (match["elements"], match["differing"], match["name"]) == (1000, 1000, "output 0"), match)
answer = hold.ask("screen", "slow")
check("a hopeless candidate is timed once", (answer["samples"], round(answer["candidateUs"])) == (1, 100000), answer)
begin = time.time()
answer = hold.ask("screen", "hanging", leastLimitSeconds=0.1)
check("a worker that does not answer is killed", answer["status"] == "timeout" and time.time() - begin < 20 and
      re.search("did not answer within .* while kernel _Z7hangingiPi ran", answer["message"]), answer)
check("and answered once", not hold_cases.differs(hold.ask("screen", "good")))
before = hold.workers()[0]
answer = hold.ask("screen", "good", fresh=True)
check("a fresh process is another one", answer["status"] == "ok" and hold.workers()[0] != before, answer)
before = hold.workers()[0]
used = [hold.ask("screen", "good", timed=False)["samples"] for _ in range(15)]
check("fifteen more candidates share it", hold.workers()[0] == before and used == 15 * [0], used)
check("the seventeenth has another one", hold.ask("screen", "good")["status"] == "ok" and hold.workers()[0] != before)
os.kill(hold.workers()[0], 9)
answer = hold.ask("screen", "good")
check("a worker that died while it waited costs no candidate", answer["status"] == "ok", answer)
log = f"{FOLDER}/hold-jobs.jsonl"
size = os.path.getsize(log)
answer = hold.ask("screen", "good", colour="red")
os.truncate(log, size)  # the others are as the schema says
check("unknown fields are errors", answer["status"] == "usage" and answer["message"] == "colour: unknown field", answer)
check("the vault ends", hold.close() == 0)

for fake, status, message in (
        ("memory=10000000", "out-of-memory", r"^screening 'x.cu' takes 10.0 MiB of the GPU's memory, and 9.5 MiB are free$"),
        ("cuMemCreate@2=2", "out-of-memory", r"^screening 'x.cu' takes 10.0 MiB of the GPU's memory, and 1.0 GiB are free$"),
        ("cuMemExportToShareableHandle=801", "environment", r"^this driver cannot share device memory: CUDA_ERROR_801 "),
        ("cuMemCreate=801", "environment", r"^this driver cannot share device memory: CUDA_ERROR_801 "),
        ("cuMemImportFromShareableHandle=1", "environment", r"^a worker: this driver cannot share device memory: CUDA_ERROR_1 "),
        ("devices=0", "environment", "^no CUDA device")):
    hold = start(fake)
    answer = hold.ask("open", "larger", name="x.cu")
    check(f"open with {fake}: {status}", answer["status"] == status and re.search(message, answer["message"]), answer)
    hold.close()
hold = start()
answer = hold.ask("open", "repeated", name="x.cu")
vault = hold.process.pid
check("what is uploaded or read again is kept once", answer["status"] == "ok" and len(answer["matches"][0]) == 3 and
      (sizes(vault, "fake-private"), sizes(vault, "fake-shareable")) == ([4], [4, 6, 12]), (answer, sizes(vault, "fake")))
answer = hold.ask("screen", "repeated")
check("and compared each time", answer["status"] == "ok" and len(answer["matches"][0]) == 3 and not hold_cases.differs(answer), answer)
hold.close()
hold = start()
hold.ask("open", "slow", name="x.cu")
answer = hold.ask("screen", "good")
check("one pair of a long program is enough where they are far apart", (answer["status"], answer["samples"]) == ("ok", 1), answer)
answer = hold.ask("screen", "slow")
check("and two where they are not", (answer["status"], answer["samples"]) == ("ok", 2), answer)
hold.close()
hold = start()
answer = hold.ask("open", "illegal", name="x.cu")
check("an original that faults is reported", answer["status"] == "fault", answer)
hold.close()
print(f"{failed} checks failed")
