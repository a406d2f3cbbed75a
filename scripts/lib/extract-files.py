# SPDX-License-Identifier: Apache-2.0

"""Writes the code blocks of a Markdown page that name a file (```lang file=NAME) into a folder."""

import pathlib
import re
import sys

page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
blocks = re.findall(r"^```\w+ file=(\S+)\n(.*?)^```", page.read_text(), re.M | re.S)
if not blocks:
    sys.exit(f"{page}: no block names a file")
for name, text in blocks:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
