"""Makes a model's answer out of a pass's worked example.

usage: answer.py FOLDER PASS KERNEL

FOLDER holds before.cu and after.cu. What after.cu has at the anchors of PASS at KERNEL becomes the answer's texts. It fails
where after.cu differs from before.cu at any other place (white space and lines of comment apart), since no reply could make
that of the program."""

import json
import os
import re
import subprocess
import sys

folder, name, kernel = sys.argv[1:]
command = ["kb-opt", "--emit=anchors", f"-passes={name}{{kernel={kernel}}}", os.path.join(folder, "before.cu")]
marked = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
if marked.returncode:
    sys.exit(marked.stderr)
pieces = re.split(r"/\* <<<KB:BEGIN (\w+)>>> \*/(.*?)/\* <<<KB:END \1>>> \*/", marked.stdout, flags=re.DOTALL)


def fixed(text):
    """A pattern for text that stands in both files."""
    code = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    return r"\s*" + r"\s*".join(re.escape(word) for word in code.split()) + r"\s*"


# What can stand there alone, where "anything" would match text of other anchors.
forms = {"includes": r"((?:\s*#include[^\n]*\n)*)", "attributes": r"((?:__(?:launch_bounds|maxnreg)__\s*\(.*?\)\s*)?)"}
places = [forms.get(anchor, "(.*?)") for anchor in pieces[1::3]] + [""]
pattern = "".join(fixed(piece) + place for piece, place in zip(pieces[::3], places))
with open(os.path.join(folder, "after.cu")) as file:
    text = re.sub(r"\A(//.*\n)+", "", file.read())
found = re.fullmatch(pattern, text, flags=re.DOTALL)
if not found:
    sys.exit(f"after.cu differs from before.cu outside of the anchors {', '.join(pieces[1::3])}")
edits = [
    {"anchor": anchor, "text": new}
    for anchor, old, new in zip(pieces[1::3], pieces[2::3], found.groups())
    if new.split() != old.split()
]
json.dump({"summary": "did what the worked example shows", "edits": edits}, sys.stdout, indent=1)
