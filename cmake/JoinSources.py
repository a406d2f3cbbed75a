#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says which source files may be compiled as one translation unit.

  JoinSources.py LINES FILE...

Prints one number for each file, separated by semicolons: files of one number are compiled together, so that headers
and the functions of templates are compiled once for all of them (eight files of Raise took 0.6 of the time). Together
come only files that mean the same alone and joined: no two of them give one name to something of their own, and none
sees a using directive that it does not have itself. A unit has LINES lines at most, or one file.
"""
import pathlib
import re
import sys

USING = re.compile(r"^using namespace ([\w:]+);", re.M)
# What a file declares at the margin: types and aliases, functions, variables, macros.
NAMES = [re.compile(pattern, re.M) for pattern in (
    r"^(?:typedef )?(?:struct|class|union|enum(?: class)?)\s+(\w+)",
    r"^(?:template\s*<[^;{]*>\s*)?(?:struct|class|union)\s+(\w+)",
    r"^(?:using|namespace) (\w+) =",
    r"^#\s*define (\w+)",
    r"^(?=\w)(?!return|using|namespace)[^\n(=;/\"]*?(?<![:\w])(\w+)\(",
    r"^(?:static|const|constexpr|inline|thread_local|std|llvm)\b[^\n(=;]*?(?<![:\w])(\w+)(?:\[[^\]]*\])*\s*(?:=|\{|;)",
)]
# One declaration of several constants.
CONSTANTS = re.compile(r"^(?:static )?(?:constexpr|const)\b[^;{(]*;", re.M)


def names_of(text):
    names = {name for pattern in NAMES for name in pattern.findall(text)}
    for several in CONSTANTS.findall(text):
        names.update(re.findall(r"(\w+) =", several))
    return names


class Unit:
    def __init__(self):
        self.files, self.names, self.usings, self.lines = [], set(), set(), 0

    def takes(self, names, usings, lines, limit):
        return self.usings <= usings and not self.names & names and self.lines + lines <= limit

    def add(self, file, names, usings, lines):
        self.files.append(file)
        self.names |= names
        self.usings |= usings
        self.lines += lines


def main(limit, paths):
    sources = []
    for path in paths:
        text = pathlib.Path(path).read_text()
        sources.append((path, names_of(text), set(USING.findall(text)), text.count("\n")))
    units = []
    # CMake joins them in this order, so that a later one may have more using directives.
    for source in sources:
        unit = next((each for each in units if each.takes(*source[1:], limit)), None)
        if unit is None:
            unit = Unit()
            units.append(unit)
        unit.add(*source)
    number = {file: index for index, unit in enumerate(units) for file in unit.files}
    print(";".join(str(number[path]) for path in paths), end="")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
