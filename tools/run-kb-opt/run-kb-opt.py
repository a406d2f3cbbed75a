#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs kb-opt over the CUDA files of a compile database, several at once.

Its flags are run-clang-tidy's where there is one: -p, -j, -export-fixes, regular
expressions for the files. docs/Launcher.md is the manual.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

EXTENSIONS = (".cu", ".cpp", ".cc", ".cxx", ".c++", ".cuh")
# Flags of one half of clang's two compilations, and of output: they do not tell two compilations of a file apart.
HALVES = {"--cuda-host-only", "--cuda-device-only", "--cuda-compile-host-device"}
OUTPUTS = {"-o", "--output-file", "-MF", "--dependency-output", "-MT", "-MQ", "--dependency-target-name"}
PHASES = {"-c", "-dc", "--device-c", "-MD", "-MMD", "-MP", "--generate-dependencies-with-compile",
          "--generate-nonsystem-dependencies-with-compile", "--compile", "-S"}


def is_compiler(word):
    name = os.path.basename(word)
    return ("nvcc" in name or "clang" in name) and not word.startswith("-") and not name.endswith(EXTENSIONS)


def compiler_in(words):
    """Where the compiler stands: launchers of any name may stand before it, with options of their own."""
    for index, word in enumerate(words):
        if is_compiler(word):
            return index
    last = 0
    while last + 1 < len(words) and not words[last + 1].startswith("-") and not words[last + 1].endswith(EXTENSIONS):
        last += 1
    return last


def command_of(entry):
    """The file and the flags of an entry, as kb-opt takes them after `--`; None if it is no CUDA."""
    words = entry.get("arguments") or shlex.split(entry["command"])
    folder = entry["directory"]
    path = os.path.normpath(os.path.join(folder, entry["file"]))
    at = compiler_in(words)
    flags, is_cuda, skip = [], path.endswith(".cu"), False
    for index, word in enumerate(words[at + 1:], at + 1):
        if skip:
            skip = False
        elif word in OUTPUTS:
            skip = True
        elif word in HALVES or word in PHASES or re.match(r"-o[^dp].*|-MF.+|--(output-file|dependency-output)=", word):
            pass
        elif not word.startswith("-") and os.path.normpath(os.path.join(folder, word)) == path:
            pass
        else:
            flags.append(word)
            if word in ("cu", "cuda") and words[index - 1] == "-x" or word in ("-xcu", "-xcuda", "-x=cu"):
                is_cuda = True
    if not is_cuda:
        return None
    compiler = "clang++" if "clang" in os.path.basename(words[at]) else "nvcc"
    return {"file": path, "directory": folder, "flags": [compiler] + flags}


def text_of(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def has_main(text):
    return re.search(r"\bint\s+main\s*\(", text) is not None


def host_objects(entries):
    """What was built of files that are no CUDA, where exactly one of them has main: the host code of the program."""
    objects, mains = [], 0
    for entry in entries:
        words = entry.get("arguments") or shlex.split(entry["command"])
        if command_of(entry) or "-o" not in words[:-1]:
            continue
        path = os.path.normpath(os.path.join(entry["directory"], words[words.index("-o") + 1]))
        if path.endswith(".o") and os.path.exists(path):
            objects.append(path)
            mains += has_main(text_of(os.path.join(entry["directory"], entry["file"])))
    return objects if mains == 1 else []


def read_database(folder):
    try:
        with open(os.path.join(folder, "compile_commands.json")) as file:
            entries = json.load(file)
    except (OSError, ValueError) as problem:
        sys.exit(f"run-kb-opt: error: cannot read compile_commands.json in '{folder}': {problem}\n"
                 "run-kb-opt: note: cmake writes one with CMAKE_EXPORT_COMPILE_COMMANDS=ON")
    commands = {}
    objects = host_objects(entries)
    for entry in entries:
        command = command_of(entry)
        if command:
            text = text_of(command["file"])
            if not has_main(text) and "kb-workload:" not in text:
                command["flags"] += objects
            commands.setdefault(json.dumps([command["file"], command["flags"]]), command)
    return list(commands.values())


def nearest_database():
    folder = os.getcwd()
    while True:
        for below in ("", "build"):
            if os.path.exists(os.path.join(folder, below, "compile_commands.json")):
                return os.path.join(folder, below)
        if os.path.dirname(folder) == folder:
            sys.exit("run-kb-opt: error: no compile_commands.json here or above\nrun-kb-opt: note: name its folder with -p")
        folder = os.path.dirname(folder)


def digest_of(command, options):
    """What a result depends on: the file, its flags and what is asked. Headers are kb-opt's business: its journal
    answers what has not changed."""
    digest = hashlib.sha256(json.dumps([command, options]).encode())
    for path in [command["file"]] + [flag for flag in command["flags"] if flag.endswith(".o")]:
        try:
            with open(path, "rb") as file:
                digest.update(file.read())
        except OSError:
            pass
    return digest.hexdigest()


class State:
    """What is done, so that a run that was stopped goes on."""

    def __init__(self, path, is_fresh):
        self.path = path
        self.done = {}
        if not is_fresh and os.path.exists(path):
            try:
                with open(path) as file:
                    self.done = json.load(file)
            except (OSError, ValueError):
                self.done = {}

    def put(self, key, result):
        self.done[key] = result
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(self.path) or ".", prefix=".run-kb-opt")
        with os.fdopen(handle, "w") as file:
            json.dump(self.done, file, indent=1, sort_keys=True)
        os.replace(temporary, self.path)


def run_one(command, options, kb_opt):
    words = [kb_opt] + options + [command["file"], "--"] + command["flags"]
    ended = subprocess.run(words, cwd=command["directory"], capture_output=True, text=True, errors="replace", check=False)
    return {"file": command["file"], "status": ended.returncode, "out": ended.stdout, "err": ended.stderr}


def sentence_of(result):
    """What became of a file, in one line."""
    for line in reversed(result["err"].splitlines()):
        for word in ("result: ", "lock: ", "kb-opt: error: "):
            if word in line:
                return line.strip()
    if result["status"] in (0, 4):
        return "rewritten" if result["out"].strip() else "nothing to rewrite"
    return f"kb-opt ended with status {result['status']}"


def export_fixes(path, results):
    """All patches as one, in the order of the files."""
    with open(path, "w") as file:
        for result in results:
            file.write(result["out"])


def parse_arguments():
    parser = argparse.ArgumentParser(prog="run-kb-opt", description=__doc__)
    parser.add_argument("-p", dest="build_path", help="folder with compile_commands.json (default: the nearest one)")
    parser.add_argument("-j", type=int, default=0, help="files at once (default: one per core, divided by four)")
    parser.add_argument("-passes", "--passes", default="auto", help="pipeline (default: auto)")
    parser.add_argument("-lock", "--lock", action="store_true", help="keep what is proven in kbopt.lock")
    parser.add_argument("-fix", "--fix", action="store_true", help="write rewritten programs back")
    parser.add_argument("-export-fixes", "--export-fixes", metavar="FILE", help="write all patches to this file")
    parser.add_argument("-quiet", "--quiet", action="store_true", help="print the summary only")
    parser.add_argument("-extra-arg", "--extra-arg", action="append", default=[], help="one more option of kb-opt")
    parser.add_argument("-restart", "--restart", action="store_true", help="forget what an earlier run has done")
    parser.add_argument("-kb-opt-binary", "--kb-opt-binary", metavar="PATH", help="kb-opt (default: beside this script)")
    parser.add_argument("files", nargs="*", help="regular expressions; a file is taken that one of them finds")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    beside = os.path.join(os.path.dirname(os.path.realpath(__file__)), "kb-opt")
    kb_opt = arguments.kb_opt_binary or (beside if os.path.exists(beside) else "kb-opt")
    folder = arguments.build_path or nearest_database()
    expressions = [re.compile(each) for each in arguments.files] or [re.compile("")]
    commands = [each for each in read_database(folder) if any(e.search(each["file"]) for e in expressions)]
    options = [f"-passes={arguments.passes}"] + arguments.extra_arg
    options += ["--lock"] * arguments.lock + ["--fix"] * arguments.fix
    state = State(os.path.join(folder, "run-kb-opt.json"), arguments.restart)
    results, waiting = [], {}
    with concurrent.futures.ThreadPoolExecutor(arguments.j or max(1, (os.cpu_count() or 4) // 4)) as pool:
        for command in commands:
            key = digest_of(command, options)
            if key in state.done:
                results.append(state.done[key] | {"again": False})
            else:
                waiting[pool.submit(run_one, command, options, kb_opt)] = key
        try:
            for number, future in enumerate(concurrent.futures.as_completed(waiting), 1):
                result = future.result()
                # What ended for want of something else than the program is tried again next time.
                if result["status"] in (0, 1, 4):
                    state.put(waiting[future], result)
                results.append(result | {"again": True})
                if not arguments.quiet:
                    print(f"[{number}/{len(waiting)}] {result['file']}", file=sys.stderr)
                    sys.stderr.write(result["err"])
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            print("run-kb-opt: stopped; the same command goes on", file=sys.stderr)
            return 130
    results.sort(key=lambda each: each["file"])
    if arguments.export_fixes:
        export_fixes(arguments.export_fixes, results)
    shown = os.path.commonpath([os.path.dirname(each["file"]) for each in results]) if results else ""
    for result in results:
        print(f"{os.path.relpath(result['file'], shown)}: {sentence_of(result)}")
    failed = sum(each["status"] not in (0, 4) for each in results)
    known = sum(not each["again"] for each in results)
    print(f"{len(results)} compilations, {failed} with errors, {known} known from an earlier run")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
