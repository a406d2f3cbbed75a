"""Copies a program to DIR and gives it a name and a comment that would like to be markup, and turns the reading direction.

usage: hostile_program.py PROGRAM DIR: the copy's path is DIR/script><img onerror=alert(1)>.cu; the plain one's is kernel.cu"""

import shutil
import sys

program, folder = sys.argv[1:]
shutil.copy(program, "kernel.cu")
with open(program, encoding="utf-8") as file:
    text = file.read()
shared = "stage[tile][tile];"
assert shared in text
text = text.replace(shared, shared + " /* </script><img src=x onerror=alert(2)> &lt; \u202e */")
with open(folder + "/script><img onerror=alert(1)>.cu", "w", encoding="utf-8") as file:
    file.write(text)
