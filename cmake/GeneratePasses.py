#!/usr/bin/env python3
"""Turns the Pass.td files, dumped by llvm-tblgen, into what the build needs.

  GeneratePasses.py --tblgen llvm-tblgen --include DIR --registry OUT.cpp --docs DIR PASS_FOLDER...

writes the registry (every pass's metadata as constants and a table of
constructors; no static constructor runs) and one Markdown page per pass.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

PROMISE_TEXT = {
    "Bitwise": "bitwise: every observable byte stays the same",
    "Reassociates": "reassociates: floating-point operations may be grouped in another order",
    "LowerPrecision": "lower precision: some operations are done in fewer bits; the judge needs a declared tolerance",
}


ASSUMPTION_TEXT = {
    "Aligned": "pointers aligned to a vector of their elements",
    "NoAlias": "pointers that lead to different memory",
}


class DeclarationError(Exception):
    pass


def load(tblgen, include, folder):
    """The one RewritePass record of a folder, as a plain dictionary."""
    source = folder / "Pass.td"
    run = subprocess.run([tblgen, "--dump-json", "-I", include, str(source)],
                         capture_output=True, text=True)
    if run.returncode:
        raise DeclarationError(run.stderr.strip())
    dump = json.loads(run.stdout)
    names = dump["!instanceof"].get("RewritePass", [])
    if len(names) != 1:
        raise DeclarationError(f"{source}: one RewritePass is expected, {len(names)} found")
    record = dict(dump[names[0]])

    def follow(value):
        return dump[value["def"]] if isinstance(value, dict) and "def" in value else value

    record["cppName"] = names[0]
    record["family"] = folder.parent.name
    record["folder"] = folder
    record["promise"] = follow(record["promise"])["cpp"]
    record["site"] = follow(record["site"])["cpp"]
    record["assumes"] = [follow(each)["cpp"] for each in record["assumes"]]
    record["options"] = [follow(option) for option in record["options"]]
    check(source, record)
    return record


def check(source, record):
    if record["name"] != record["folder"].name:
        raise DeclarationError(f"{source}: the pass is named '{record['name']}' but its folder '{record['folder'].name}'")
    for field in ("summary", "description"):
        if not (record.get(field) or "").strip():
            raise DeclarationError(f"{source}: '{field}' is empty")
    if record["summary"].endswith("."):
        raise DeclarationError(f"{source}: the summary ends in a full stop")
    for option in record["options"]:
        if option["name"] in ("kernel", "site"):
            raise DeclarationError(f"{source}: every pass has '{option['name']}' already")


def quote(text):
    return json.dumps(text)


def registry(records):
    out = ["// Generated from passes/*/*/Pass.td by cmake/GeneratePasses.py.",
           '#include "kb-opt/Rewrite/PassRegistry.h"',
           '#include "kb-opt/Rewrite/RewritePass.h"', "", "using llvm::StringRef;", "", "namespace kbopt {"]
    out += [f"std::unique_ptr<RewritePass> create{r['cppName']}();" for r in records]
    out.append("namespace {")
    for r in records:
        name = r["cppName"]

        def array(suffix, values):
            if not values:
                return "{}"
            out.append(f"constexpr StringRef k{name}{suffix}[] = {{{', '.join(quote(v) for v in values)}}};")
            return f"k{name}{suffix}"

        lists = {key: array(key.capitalize(), r[key])
                 for key in ("aliases", "states", "requires", "excludes", "enables")}
        assumes = "{}"
        if r["assumes"]:
            out.append(f"constexpr Assumption k{name}Assumes[] = {{{', '.join('Assumption::' + a for a in r['assumes'])}}};")
            assumes = f"k{name}Assumes"
        options = "{}"
        if r["options"]:
            rows = []
            for index, o in enumerate(r["options"]):
                tuning = array(f"Tuning{index}", o["tuning"])
                rows.append(f"    {{{quote(o['name'])}, OptionType::{o['type']}, {quote(o['defaultValue'])}, "
                            f"{quote(o['summary'])}, {tuning}, {o['minimum']}, {o['maximum']}}},")
            out.append(f"constexpr OptionInfo k{name}Options[] = {{")
            out += rows
            out.append("};")
            options = f"k{name}Options"
        out.append(f"constexpr PassInfo k{name} = {{{quote(r['name'])}, {quote(r['family'])}, {lists['aliases']}, "
                   f"{quote(r['summary'])},\n    {quote(dedent(r['description']))},\n    {options}, {lists['states']}, "
                   f"{lists['requires']}, {lists['excludes']}, {lists['enables']}, SiteKind::{r['site']}, "
                   f"Promise::{r['promise']}, {assumes}, {r['minimumChip']}}};")
    out += ["} // namespace", "", "const PassRegistry &builtinPasses() {",
            "  static const PassRegistry registry = [] {", "    PassRegistry passes;"]
    out += [f"    passes.add({{&k{r['cppName']}, create{r['cppName']}}});" for r in records]
    out += ["    return passes;", "  }();", "  return registry;", "}", "} // namespace kbopt", ""]
    return "\n".join(out)


def dedent(text):
    lines = text.strip("\n").split("\n")
    margin = min((len(l) - len(l.lstrip()) for l in lines if l.strip()), default=0)
    return "\n".join(l[margin:].rstrip() for l in lines).strip()


def without_run_lines(text):
    kept = [line for line in text.split("\n") if not re.match(r"\s*//\s*(RUN|CHECK[-A-Z]*|UNSUPPORTED|REQUIRES):", line)]
    return "\n".join(kept).strip("\n")


def page(r):
    code = lambda names: ", ".join(f"`{n}`" for n in names)
    link = lambda names: ", ".join(f"[{n}]({n}.md)" if n in page.known else f"`{n}`" for n in names)
    out = [f"# {r['name']}", "", f"{r['summary']}.", "",
           f"- Family: {r['family']}", f"- Promise: {PROMISE_TEXT[r['promise']]}",
           f"- One site per {r['site'].lower()}", f"- States: {code(r['states'])}"]
    if r["aliases"]:
        out.append(f"- Also called: {code(r['aliases'])}")
    for key, words in (("requires", "Wants to run after"), ("excludes", "Not together with"), ("enables", "Enables")):
        if r[key]:
            out.append(f"- {words}: {link(r[key])}")
    if r["assumes"]:
        out.append(f"- Relies on, or tests at run time: {', '.join(ASSUMPTION_TEXT[a] for a in r['assumes'])}")
    if r["minimumChip"]:
        out.append(f"- Needs compute capability {r['minimumChip'] // 10}.{r['minimumChip'] % 10} or later")
    out += ["", dedent(r["description"]), ""]
    if r["options"]:
        out += ["## Options", "", "| option | type | default | meaning | values tried |", "|---|---|---|---|---|"]
        for o in r["options"]:
            out.append(f"| `{o['name']}` | {o['type'].lower()} | `{o['defaultValue'] or '(none)'}` | {o['summary']} | {code(o['tuning']) or '-'} |")
        out.append("")
    example = r["folder"] / "examples"
    before, after = example / "before.cu", example / "after.cu"
    if before.exists() and after.exists():
        for title, path in (("Before", before), ("After", after)):
            out += [f"## {title}", "", "```cuda", without_run_lines(path.read_text()), "```", ""]
    out += ["<!-- Generated from Pass.td and examples/ by cmake/GeneratePasses.py. -->", ""]
    return "\n".join(out)


def index(records):
    out = ["# Passes", "", "| pass | family | promise | what it does |", "|---|---|---|---|"]
    promise = {"Bitwise": "bitwise", "Reassociates": "reassociates", "LowerPrecision": "lower precision"}
    out += [f"| [{r['name']}]({r['name']}.md) | {r['family']} | {promise[r['promise']]} | {r['summary']} |" for r in records]
    return "\n".join(out + ["", "<!-- Generated by cmake/GeneratePasses.py. -->", ""])


def write(path, text):
    """Leaves the file alone if it is right, so that nothing is rebuilt."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tblgen", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--registry", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path)
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    try:
        records = sorted((load(arguments.tblgen, arguments.include, f) for f in arguments.folders),
                         key=lambda r: r["name"])
    except DeclarationError as error:
        sys.exit(f"GeneratePasses.py: error: {error}")
    if arguments.registry:
        write(arguments.registry, registry(records))
    if arguments.docs:
        page.known = {r["name"] for r in records}
        for r in records:
            write(arguments.docs / f"{r['name']}.md", page(r))
        write(arguments.docs / "README.md", index(records))
        pages = {f"{name}.md" for name in page.known} | {"README.md"}
        for stale in arguments.docs.iterdir():
            if stale.is_file() and stale.name not in pages:
                stale.unlink()


if __name__ == "__main__":
    main()
