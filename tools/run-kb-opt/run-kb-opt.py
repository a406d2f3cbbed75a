#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs kb-opt over the CUDA files of a compile database, several at once.

Its flags are run-clang-tidy's where there is one: -p, -j, -export-fixes, regular
expressions for the files. docs/Launcher.md is the manual.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import html
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

EXTENSIONS = (".cu", ".cpp", ".cc", ".cxx", ".c++", ".cuh")
# Flags of one half of clang's two compilations, and of output: they do not tell two compilations of a file apart.
HALVES = {"--cuda-host-only", "--cuda-device-only", "--cuda-compile-host-device"}
OUTPUTS = {"-o", "--output-file", "-MF", "--dependency-output", "-MT", "-MQ", "--dependency-target-name"}
PHASES = {"-c", "-dc", "--device-c", "-MD", "-MMD", "-MP", "--generate-dependencies-with-compile",
          "--generate-nonsystem-dependencies-with-compile", "--compile", "-S"}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MOST_RESULTS = 25000  # of SARIF: GitHub refuses more
EMITS = ("findings", "findings-yaml", "findings-json", "sarif")


def fail(message, note):
    """What is wrong with the command line or the database, as kb-opt says it."""
    print(f"run-kb-opt: error: {message}\nrun-kb-opt: note: {note}", file=sys.stderr)
    sys.exit(2)


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


def object_of(entry, words):
    """What an entry makes: as it says, as its compiler is told, or as compilers name it."""
    name = entry.get("output") or (words[words.index("-o") + 1] if "-o" in words[:-1] else None)
    name = name or os.path.splitext(os.path.basename(entry["file"]))[0] + ".o"
    return os.path.normpath(os.path.join(entry["directory"], name))


def command_of(entry):
    """File, object and flags of an entry; None if it is no CUDA. Commands with equal files and flags are one."""
    words = entry.get("arguments") or shlex.split(entry["command"])
    folder = entry["directory"]
    path = os.path.normpath(os.path.join(folder, entry["file"]))
    at = compiler_in(words)
    flags, is_cuda, skip = [os.path.basename(words[at])], path.endswith(".cu"), False
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
    return {"file": path, "directory": folder, "flags": flags, "object": object_of(entry, words)}


def read_database(folder):
    """The compilations of CUDA files. Of a file with several, each names the object that tells it from the others."""
    try:
        with open(os.path.join(folder, "compile_commands.json")) as file:
            entries = json.load(file)
    except (OSError, ValueError) as problem:
        fail(f"cannot read compile_commands.json in '{folder}': {problem}",
             "cmake writes one with CMAKE_EXPORT_COMPILE_COMMANDS=ON")
    commands = {}
    for command in filter(None, map(command_of, entries)):
        commands.setdefault(json.dumps([command["file"], command["directory"], command["flags"]]), command)
    files = [command["file"] for command in commands.values()]
    for command in commands.values():
        if files.count(command["file"]) == 1:
            command["object"] = None
    return list(commands.values())


def nearest_database():
    folder = os.getcwd()
    while True:
        for below in ("", "build"):
            if os.path.exists(os.path.join(folder, below, "compile_commands.json")):
                return os.path.join(folder, below)
        if os.path.dirname(folder) == folder:
            fail("no compile_commands.json here or above", "name its folder with -p")
        folder = os.path.dirname(folder)


def root_of(files):
    """The folder from which patches apply: the repository of the files, else the current one."""
    folder = os.path.commonpath([os.path.dirname(file) for file in files]) if files else os.getcwd()
    while not os.path.exists(os.path.join(folder, ".git")):
        if os.path.dirname(folder) == folder:
            return os.getcwd()
        folder = os.path.dirname(folder)
    return folder


@functools.lru_cache(maxsize=None)
def digest_of(path):
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return None


def text_of(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def is_current(depends):
    """Whether everything that a result depends on, as kb-opt --depfile lists it, is as it was."""
    lock = depends.get("lock")
    if lock and not all(entry in text_of(lock["file"]) for entry in lock["entries"]):
        return False
    return all(digest_of(path) == digest for path, digest in depends["files"].items())


class Results:
    """The results of earlier runs, a file for each compilation and what was asked of it."""

    def __init__(self, folder):
        self.folder = folder

    def path(self, command, options):
        key = json.dumps([command, options, os.environ.get("CUDA_PATH")])
        return os.path.join(self.folder, hashlib.sha256(key.encode()).hexdigest() + ".json")

    def find(self, command, options):
        try:
            with open(self.path(command, options)) as file:
                result = json.load(file)
            return result if is_current(result["depends"]) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, command, options, result):
        os.makedirs(self.folder, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "w") as file:
            json.dump(result, file, indent=1)
        os.replace(temporary, self.path(command, options))


class Runner:
    """Runs kb-opt on one compilation after the other, in several threads."""

    def __init__(self, kb_opt, build, root):
        self.kb_opt, self.build, self.root = kb_opt, build, root
        self.children = set()
        self.is_stopped = False

    def run(self, command, options):
        with tempfile.TemporaryDirectory(prefix="run-kb-opt") as folder:
            depfile = os.path.join(folder, "depends.json")
            words = [self.kb_opt, "-p", self.build, f"--depfile={depfile}"] + options
            words += [f"--object={command['object']}"] if command["object"] else []
            before = text_of(command["file"])
            out, err, status = self.wait_for(words + [os.path.relpath(command["file"], self.root)])
            result = {"file": command["file"], "status": status, "out": out, "err": err,
                      "rewritten": text_of(command["file"]) != before}
            try:
                with open(depfile) as file:
                    result["depends"] = json.load(file)
            except (OSError, ValueError):
                pass
            return result

    def wait_for(self, words):
        if self.is_stopped:
            return "", "", 130
        child = subprocess.Popen(words, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 errors="replace")
        self.children.add(child)
        out, err = child.communicate()
        self.children.discard(child)
        return out, err, child.returncode

    def stop(self):
        self.is_stopped = True
        for child in list(self.children):
            child.terminate()


PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>run-kb-opt: {done} of {all}</title>{refresh}
<style>body {{ font: 15px sans-serif; margin: 2em }} td, th {{ padding: .2em .8em; text-align: left }} progress {{ width: 30em }} .running {{ background: #eef }} .failed {{ background: #fdd }}</style></head>
<body><h1>run-kb-opt</h1><p><progress max="{all}" value="{done}"></progress> {words}</p>
<table><tr><th>file</th><th>state</th><th>seconds</th><th>result</th></tr>
{rows}</table></body></html>
"""


class Progress:
    """How far a run is: for the terminal, and as a page that loads itself again."""

    def __init__(self, commands, path):
        self.path, self.lock, self.start = path, threading.Lock(), time.monotonic()
        self.rows = [{"file": command["file"], "state": "waiting", "since": 0, "seconds": 0, "result": ""} for command in commands]
        self.timed = []  # seconds of what this run has done
        self.write()

    def begin(self, index):
        with self.lock:
            self.rows[index].update(state="running", since=time.monotonic())
            self.write()

    def end(self, index, result, is_again=True):
        with self.lock:
            row = self.rows[index]
            state = "done" if result["status"] in (0, 4) or has_no_kernels(result) else "failed"
            row.update(state=state, seconds=time.monotonic() - row["since"] if is_again else 0, result=sentence_of(result))
            if is_again:
                self.timed.append(row["seconds"])
            self.write()

    def count(self, *states):
        return sum(row["state"] in states for row in self.rows)

    def words(self):
        """One line: what is done, what runs, what failed, and how long the rest takes at this rate."""
        done, waiting = self.count("done", "failed"), self.count("waiting", "running")
        text = f"{done} of {len(self.rows)} files"
        for state in ("running", "failed"):
            text += f", {self.count(state)} {state}" if self.count(state) else ""
        if waiting and self.timed:
            minutes = (time.monotonic() - self.start) / len(self.timed) * waiting / 60
            text += f", about {minutes:.0f} min left" if minutes >= 2 else f", about {60 * minutes:.0f} s left"
        return text

    def write(self):
        if not self.path:
            return
        cell = lambda row: f"{row['seconds']:.0f}" if row["state"] in ("done", "failed") else ""
        rows = "".join(f"<tr class=\"{row['state']}\"><td>{html.escape(row['file'])}</td><td>{row['state']}</td><td>{cell(row)}</td><td>{html.escape(row['result'])}</td></tr>\n" for row in self.rows)
        is_over = not self.count("waiting", "running")
        text = PAGE.format(done=self.count("done", "failed"), all=len(self.rows), words=html.escape(self.words()), rows=rows,
                           refresh="" if is_over else '<meta http-equiv="refresh" content="5">')
        with open(self.path + ".new", "w") as file:
            file.write(text)
        os.replace(self.path + ".new", self.path)


def files_at_once(arguments):
    """A search whose candidates other machines run is mostly waiting."""
    cores = os.cpu_count() or 4
    return arguments.j or (cores if "postgresql://" in arguments.device or "postgres://" in arguments.device else max(1, cores // 4))


def run_all(commands, options, runner, results, arguments):
    """The results of all commands, in their order; what is known is not run."""
    known = [None if arguments.restart else results.find(command, options) for command in commands]
    found = {index: result | {"again": False} for index, result in enumerate(known) if result}
    progress = Progress(commands, arguments.page)
    for index, result in found.items():
        progress.end(index, result, is_again=False)

    def run_one(index):
        progress.begin(index)
        result = runner.run(commands[index], options)
        progress.end(index, result)
        return result

    with concurrent.futures.ThreadPoolExecutor(files_at_once(arguments)) as pool:
        waiting = {pool.submit(run_one, index): index for index in range(len(commands)) if index not in found}
        try:
            for number, future in enumerate(concurrent.futures.as_completed(waiting), 1):
                result, command = future.result(), commands[waiting[future]]
                # What failed is tried again next time: its cause may be outside of what was read.
                if result["status"] in (0, 4) and "depends" in result:
                    results.put(command, options, result)
                found[waiting[future]] = result | {"again": True}
                if not arguments.quiet:
                    print(f"[{number}/{len(waiting)}] {result['file']} ({progress.words()})", file=sys.stderr)
                    sys.stderr.write(result["err"])
        except KeyboardInterrupt:
            for signal_number in SIGNALS:  # a second one ends this at once
                signal.signal(signal_number, signal.SIG_DFL)
            runner.stop()
            pool.shutdown(wait=True, cancel_futures=True)
            print("run-kb-opt: stopped; the same command goes on", file=sys.stderr)
            sys.exit(130)
    return [found[index] for index in range(len(commands))]


def has_no_kernels(result):
    return "kb-opt: error: no kernels in " in result["err"]


def sentence_of(result):
    """What became of a file, in one line."""
    if has_no_kernels(result):
        return "no kernels, nothing to do"
    for line in reversed(result["err"].splitlines()):
        if re.fullmatch(r"\d+ findings?", line):
            return line
        for word in ("result: ", "lock: ", "kb-opt: error: "):
            if word in line:
                return line.strip()
    if result["status"] in (0, 4):
        return "rewritten" if result["out"].strip() or result["rewritten"] else "nothing to rewrite"
    return f"kb-opt ended with status {result['status']}"


def export_fixes(path, results, root):
    """All patches as one, in the order of the files. Of a file that is compiled in several ways one patch counts."""
    patches = {}
    for result in results:
        if result["out"]:
            patches.setdefault(result["file"], []).append(result["out"])
    with open(path, "w") as file:
        for name, texts in patches.items():
            file.write(texts[0])
            if len(set(texts)) > 1:
                print(f"run-kb-opt: warning: '{name}' is rewritten in {len(set(texts))} ways, one for each of its "
                      f"commands; '{path}' has the first", file=sys.stderr)
    if patches:
        print(f"run-kb-opt: '{path}' applies in '{root}': git apply, or patch -p1", file=sys.stderr)


def joined_findings(kind, results):
    """The findings of all files as one document."""
    texts = [result["out"] for result in results if result["out"].strip()]
    if kind == "findings":
        return "".join(texts)
    if kind == "findings-yaml":
        items = []
        for text in texts:
            body = re.search(r"^Diagnostics:[^\n]*\n(.*?)(?=^\S|\Z)", text, re.M | re.S)
            items += re.split(r"^(?=  - DiagnosticName:)", body[1], flags=re.M)[1:] if body else []
        listed = "\n" + "".join(unique(items)) if items else " []\n"
        return f"---\nMainSourceFile:  ''\nDiagnostics:{listed}...\n"
    documents = [json.loads(text) for text in texts]
    if kind == "findings-json":
        return json.dumps(unique(finding for document in documents for finding in document), indent=2) + "\n"
    if not documents:
        return ""
    # Every document has the same rules in the same order; artifacts are numbered in each.
    run = documents[0]["runs"][0]
    results, artifacts = [], []
    for document in documents:
        own = document["runs"][0]
        for artifact in own.get("artifacts", []):
            artifacts += [artifact] if artifact not in artifacts else []
        for result in own["results"]:
            for location in result["locations"]:
                place = location["physicalLocation"]["artifactLocation"]
                place["index"] = artifacts.index(own["artifacts"][place["index"]])
            results.append(result)
    run["results"], run["artifacts"] = unique(results)[:MOST_RESULTS], artifacts
    return json.dumps(documents[0], indent=2) + "\n"


def unique(items):
    """Each item once, in their order: a header's findings are those of every file that includes it."""
    return list({json.dumps(item, sort_keys=True): item for item in items}.values())


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="run-kb-opt", description=__doc__, allow_abbrev=False,
        epilog="Exit status: 0 every file is done; 1 a file has an error, or findings with -warnings-as-errors; "
               "2 the command line or the database makes no sense; 130 stopped by a signal.")
    parser.add_argument("-p", dest="build_path", help="folder with compile_commands.json (default: the nearest one)")
    parser.add_argument("-j", type=int, default=0,
                        help="files at once (default: one per core, divided by four; with workers one per core)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-passes", "--passes", default="auto", help="pipeline (default: auto)")
    what.add_argument("-emit", "--emit", choices=EMITS, help="rewrite nothing; print the findings of all files as one")
    parser.add_argument("-o", dest="output", metavar="FILE", help="file for what -emit makes (default: stdout)")
    parser.add_argument("-warnings-as-errors", "--warnings-as-errors", action="store_true",
                        help="with -emit: status 1 where there are findings")
    parser.add_argument("-lock", "--lock", action="store_true", help="keep what is proven in kbopt.lock")
    parser.add_argument("-fix", "--fix", action="store_true", help="write rewritten programs back")
    parser.add_argument("-export-fixes", "--export-fixes", metavar="FILE", help="write all patches to this file")
    parser.add_argument("-quiet", "--quiet", action="store_true", help="print the summary only")
    parser.add_argument("-device", "--device", default="", help="kb-opt's --device, as postgresql://... for workers behind a database")
    parser.add_argument("-page", "--page", metavar="FILE", help="keep a page with the progress in this file (HTML)")
    parser.add_argument("-extra-arg", "--extra-arg", action="append", default=[], help="one more option of kb-opt")
    parser.add_argument("-restart", "--restart", action="store_true", help="forget what an earlier run has done")
    parser.add_argument("-kb-opt-binary", "--kb-opt-binary", metavar="PATH", help="kb-opt (default: beside this)")
    parser.add_argument("files", nargs="*", help="regular expressions; a file is taken that one of them finds")
    arguments = parser.parse_args()
    if arguments.emit and (arguments.lock or arguments.fix or arguments.export_fixes):
        fail("'-emit' prints findings and rewrites nothing", "drop '-lock', '-fix' and '-export-fixes'")
    if not arguments.emit and (arguments.output or arguments.warnings_as_errors):
        fail("'-o' and '-warnings-as-errors' are of findings", "name their form with -emit, or drop them")
    return arguments


def expressions_of(patterns):
    for pattern in patterns:
        try:
            yield re.compile(pattern)
        except re.error as problem:
            fail(f"'{pattern}' is no regular expression: {problem}",
                 "files are named by regular expressions: '.*\\.cu$', not '*.cu'")


def options_of(arguments):
    if arguments.emit:
        options = [f"--emit={arguments.emit}"] + ["--warnings-as-errors"] * arguments.warnings_as_errors
    else:
        options = [f"-passes={arguments.passes}"] + ["--lock"] * arguments.lock + ["--fix"] * arguments.fix
    return options + [f"--device={arguments.device}"] * bool(arguments.device) + arguments.extra_arg


def kb_opt_of(arguments):
    beside = os.path.join(os.path.dirname(os.path.realpath(__file__)), "kb-opt")
    return arguments.kb_opt_binary or (beside if os.path.exists(beside) else "kb-opt")


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    arguments = parse_arguments()
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)
    build = os.path.abspath(arguments.build_path or nearest_database())
    expressions = list(expressions_of(arguments.files or [""]))
    commands = [each for each in read_database(build) if any(e.search(each["file"]) for e in expressions)]
    if not commands:
        fail(f"no CUDA file of '{build}' fits {' or '.join(repr(each) for each in arguments.files or ['.*'])}",
             "files are named by regular expressions that their paths are searched for")
    commands.sort(key=lambda each: each["file"])
    root = root_of([each["file"] for each in commands])
    results = run_all(commands, options_of(arguments), Runner(kb_opt_of(arguments), build, root),
                      Results(os.path.join(build, "run-kb-opt")), arguments)
    if arguments.export_fixes:
        export_fixes(arguments.export_fixes, results, root)
    summary = sys.stdout
    if arguments.emit:
        document = joined_findings(arguments.emit, results)
        if arguments.output:
            with open(arguments.output, "w") as file:
                file.write(document)
        else:
            sys.stdout.write(document)
            summary = sys.stderr
    shown = os.path.commonpath([os.path.dirname(each["file"]) for each in results]) if results else ""
    for result in results:
        print(f"{os.path.relpath(result['file'], shown)}: {sentence_of(result)}", file=summary)
    # Files of device functions alone are part of many builds: there is nothing in them to search.
    failed = sum(each["status"] not in (0, 4) and not has_no_kernels(each) for each in results)
    found = "with findings or errors" if arguments.warnings_as_errors else "with errors"
    known = sum(not each["again"] for each in results)
    print(f"{len(results)} compilations, {failed} {found}, {known} known from an earlier run", file=summary)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
