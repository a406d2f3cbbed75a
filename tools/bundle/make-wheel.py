#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs an installed tree as a wheel: make-wheel.py TREE VERSION FOLDER (docs/Bundle.md).

The package kb_opt holds the tree whole, and each of its commands starts a program of it.
"""

import base64
import hashlib
import os
import sys
import zipfile

TAG = "py3-none-manylinux_2_36_x86_64"
COMMANDS = ("kb-opt", "kb-opt-cc", "kb-run", "kb-knowledge", "run-kb-opt")
TIME = (1980, 1, 1, 0, 0, 0)  # the same tree makes the same wheel


class Wheel:
    def __init__(self, path):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, content, mode=0o644):
        info = zipfile.ZipInfo(name, TIME)
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(info, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}\n")

    def add_file(self, name, path):
        with open(path, "rb") as file:
            self.add(name, file.read(), os.stat(path).st_mode & 0o755)

    def finish(self, folder):
        self.record.append(f"{folder}/RECORD,,\n")
        self.archive.writestr(zipfile.ZipInfo(f"{folder}/RECORD", TIME), "".join(self.record))
        self.archive.close()


def main():
    tree, version, into = sys.argv[1:]
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wheel")
    path = os.path.join(into, f"kb_opt-{version}-{TAG}.whl")
    wheel = Wheel(path + ".part")
    wheel.add_file("kb_opt/__init__.py", os.path.join(own, "__init__.py"))
    wheel.add_file("kb_opt/bundle/bin/kb-clang", os.path.join(own, "kb-clang"))
    for folder, folders, files in os.walk(tree):
        folders.sort()
        for name in sorted(files):
            file = os.path.join(folder, name)
            if not os.path.islink(file):  # kb-clang
                wheel.add_file("kb_opt/bundle/" + os.path.relpath(file, tree), file)
    info = f"kb_opt-{version}.dist-info"
    wheel.add(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: kb-opt\nVersion: {version}\n"
              "Summary: A compiler that makes CUDA kernels faster and keeps only what it has proven\n"
              "License: Apache-2.0\nRequires-Python: >=3.9\n".encode())
    wheel.add(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: make-wheel\nRoot-Is-Purelib: false\n"
              f"Tag: {TAG}\n".encode())
    scripts = "".join(f"{name} = kb_opt:main\n" for name in COMMANDS)
    wheel.add(f"{info}/entry_points.txt", f"[console_scripts]\n{scripts}".encode())
    wheel.finish(info)
    os.replace(path + ".part", path)


if __name__ == "__main__":
    main()
