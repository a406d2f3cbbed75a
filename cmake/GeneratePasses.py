#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the declarations of passes into what the build needs.

  GeneratePasses.py --tblgen llvm-tblgen --include DIR --states FILE
                    --registry OUT.cpp --docs DIR PASS_FOLDER...
  GeneratePasses.py --tblgen llvm-tblgen --include DIR --bonuses FILE --edges OUT.json PASS_FOLDER...

A folder declares its pass in Pass.td (with C++; dumped by llvm-tblgen) or in pass.yaml
(without). This writes the registry (every pass's metadata as constants and a table of
constructors; no static constructor runs) and one Markdown page per pass, or else the edges of the seed
knowledge: what passes say of each other, with the figures of knowledge/seed/bonuses.json.
lib/Rewrite/PassFile.cpp reads the same pass.yaml at run time; a unit test compares.
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


YAML_PROMISES = {"bitwise": "Bitwise", "reassociates": "Reassociates", "lower-precision": "LowerPrecision"}
YAML_ASSUMPTIONS = {"aligned": "Aligned", "noalias": "NoAlias"}
SITES = ("Kernel", "Parameter", "Loop", "Access", "Shared", "Launch")
YAML_TEXTS = ("name", "family", "summary", "description", "site", "promise")
YAML_LISTS = ("aliases", "states", "excludes", "enables", "retunes", "allow", "assumes")


NEIGHBOURS = {"excludes": "Not together with", "enables": "Enables", "retunes": "Behind it, tune again"}


FORM_TEXT = {
    "rule": "a rule, in C++",
    "model": "assisted: a model writes it, and the judge decides",
    "both": "a rule, in C++; where that does not apply a model can be asked",
}


class DeclarationError(Exception):
    pass


def read_yaml(path):
    """The part of YAML that built-in passes use: `key: text`, `key: [a, b]`, `key: |` with an
    indented text, and a list of `- key: value` mappings. Only comments may stand beside."""
    lines = path.read_text().split("\n")
    at = first = 0  # the line to read next, and that of the key being read

    def fail(what):
        raise DeclarationError(f"{path}:{first + 1}: {what}")

    def value(text):
        if text.startswith("["):
            if not text.endswith("]"):
                fail("a list ends on its line")
            return [word.strip().strip("'\"") for word in text[1:-1].split(",") if word.strip()]
        return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text

    def pair(text):
        match = re.fullmatch(r"([A-Za-z]+):(?:\s+(.*))?", text.strip())
        if not match:
            fail("expected 'key: value'")
        return match[1], (match[2] or "").strip()

    root = {}
    while at < len(lines):
        line = lines[at]
        if not line.strip() or line.startswith("#"):
            at += 1
            continue
        first = at
        if line.startswith(" "):
            fail("unexpected indentation")
        key, rest = pair(line)
        if key in root:
            fail(f"'{key}' is given twice")
        at += 1
        block = []
        while at < len(lines) and (not lines[at].strip() or lines[at].startswith(" ")):
            block.append(lines[at])
            at += 1
        if rest == "|":
            root[key] = dedent("\n".join(block))
        elif rest:
            if any(each.strip() for each in block):
                fail(f"'{key}' has a value on its line and more below")
            root[key] = value(rest)
        else:
            items = []
            for each in filter(str.strip, block):
                text = each.strip()
                if text.startswith("- "):
                    items.append({})
                    text = text[2:]
                if not items:
                    fail(f"'{key}' has no value")
                name, word = pair(text)
                items[-1][name] = value(word)
            root[key] = items
    return root


def load_yaml(folder):
    """The pass that pass.yaml describes, in the form of `load`."""
    source = folder / "pass.yaml"
    record = read_yaml(source)
    unknown = set(record) - set(YAML_TEXTS) - set(YAML_LISTS) - {"matcher", "parameters", "minimumChip"}
    if unknown:
        raise DeclarationError(f"{source}: unknown key '{min(unknown)}'")
    for key in YAML_TEXTS:
        if not isinstance(record.get(key), str):
            raise DeclarationError(f"{source}: '{key}' is missing or no text")
    for key in YAML_LISTS:
        if not isinstance(record.setdefault(key, []), list):
            raise DeclarationError(f"{source}: '{key}' is a list, as in [a, b]")
    if record["family"] != folder.parent.name:
        raise DeclarationError(f"{source}: the family is '{record['family']}' but the folder '{folder.parent.name}'")
    try:
        record["promise"] = YAML_PROMISES[record["promise"]]
        record["assumes"] = [YAML_ASSUMPTIONS[each] for each in record["assumes"]]
    except KeyError as error:
        raise DeclarationError(f"{source}: {error} is no promise or assumption")
    record["site"] = record["site"].capitalize()
    if record["site"] not in SITES:
        raise DeclarationError(f"{source}: '{record['site'].lower()}' is no kind of site")
    record["cppName"] = "".join(word.capitalize() for word in record["name"].split("-"))
    record["folder"] = folder
    record["options"] = []
    chip = str(record.get("minimumChip", 0))
    record["exactChip"] = chip.endswith("a")
    record["minimumChip"] = int(chip.removesuffix("a"))
    record["deterministic"] = False
    return record


def add_assisted_form(record):
    """What a model is told: prompt.md, examples, and what pass.yaml says of replies."""
    folder = record["folder"]
    read = lambda name: (folder / name).read_text().strip() if (folder / name).exists() else ""
    record["prompt"] = read("prompt.md")
    if not record["prompt"] and not record["deterministic"]:
        raise DeclarationError(f"{folder / 'prompt.md'}: missing or empty; it says what a model is told")
    record["before"], record["after"] = (without_run_lines(read(f"examples/{n}.cu")) for n in ("before", "after"))
    if bool(record["before"]) != bool(record["after"]):
        raise DeclarationError(f"{folder / 'examples'}: before.cu and after.cu are there together or not at all")
    record.setdefault("matcher", "")
    if record["matcher"] and '.bind("site")' not in re.sub(r"\s", "", record["matcher"]):
        raise DeclarationError(f"{folder}: the matcher binds no node as \"site\"")
    for parameter in record.setdefault("parameters", []):
        if set(parameter) != {"name", "summary", "default", "values"} or parameter["default"] not in parameter["values"]:
            raise DeclarationError(f"{folder}: a parameter has name, summary, values and, of these, a default")


def check_neighbours(records):
    """Names of other passes are names of passes."""
    known = {name for r in records for name in [r["name"], *r["aliases"]]}
    for r in records:
        for key in NEIGHBOURS:
            for name in r[key]:
                if name not in known:
                    raise DeclarationError(f"{r['folder']}: '{key}' names '{name}', which is no pass")


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
    record["parameters"] = [{"name": p["name"], "summary": p["summary"], "default": p["defaultValue"], "values": p["values"]}
                            for p in map(follow, record["parameters"])]
    record["deterministic"] = True
    record["matcher"] = dedent(record["matcher"])
    return record


def load_folder(arguments, folder):
    source = folder / "pass.yaml"
    if source.exists() == (folder / "Pass.td").exists():
        raise DeclarationError(f"{folder}: a pass has a Pass.td, or else a pass.yaml")
    if source.exists():
        record = load_yaml(folder)
    else:
        source = folder / "Pass.td"
        record = load(arguments.tblgen, arguments.include, folder)
    check(source, record)
    if arguments.states:
        states = {state["name"] for state in json.loads(arguments.states.read_text())["states"]}
        for state in record["states"]:
            if state not in states:
                raise DeclarationError(f"{source}: '{state}' is no state of {arguments.states.name}")
    add_assisted_form(record)
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
        if option["name"] in ("kernel", "site", "reply"):
            raise DeclarationError(f"{source}: every pass has '{option['name']}' already")


def quote(text):
    """A C++ literal, one line of it per line of the text."""
    lines = text.split("\n")
    parts = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] or len(lines) == 1 else [])
    return "\n    ".join(json.dumps(part, ensure_ascii=False) for part in parts)


def registry(records):
    out = ["// Generated from the folders of passes/ by cmake/GeneratePasses.py.",
           '#include "kb-opt/Rewrite/PassRegistry.h"',
           '#include "kb-opt/Rewrite/RewritePass.h"', "", "using llvm::StringRef;", "", "namespace kbopt {"]
    out += [f"std::unique_ptr<RewritePass> create{r['cppName']}();" for r in records if r["deterministic"]]
    out.append("namespace {")
    for r in records:
        name = r["cppName"]

        def array(suffix, values):
            if not values:
                return "{}"
            out.append(f"constexpr StringRef k{name}{suffix}[] = {{{', '.join(quote(v) for v in values)}}};")
            return f"k{name}{suffix}"

        lists = {key: array(key.capitalize(), r[key])
                 for key in ("aliases", "states", *NEIGHBOURS, "allow")}
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
        assisted = "nullptr"
        if r["prompt"]:
            parameters = "{}"
            if r["parameters"]:
                rows = [f"    {{{quote(p['name'])}, {quote(p['summary'])}, {quote(p['default'])}, "
                        f"{array(f'Values{index}', p['values'])}}}," for index, p in enumerate(r["parameters"])]
                out += [f"constexpr ReplyParameter k{name}Parameters[] = {{", *rows, "};"]
                parameters = f"k{name}Parameters"
            out.append(f"constexpr AssistedForm k{name}Assisted = {{{quote(r['prompt'])},\n    {quote(r['before'])},\n"
                       f"    {quote(r['after'])},\n    {lists['allow']}, {parameters}, {quote(r['matcher'])}}};")
            assisted = f"&k{name}Assisted"
        out.append(f"constexpr PassInfo k{name} = {{{quote(r['name'])}, {quote(r['family'])}, {lists['aliases']}, "
                   f"{quote(r['summary'])},\n    {quote(dedent(r['description']))},\n    {options}, {lists['states']}, "
                   f"{', '.join(lists[key] for key in NEIGHBOURS)}, SiteKind::{r['site']}, "
                   f"Promise::{r['promise']}, {assumes}, {r['minimumChip']}, {'true' if r['exactChip'] else 'false'}, {assisted}, "
                   f"{'true' if r['deterministic'] else 'false'}}};")
    out += ["} // namespace", "", "const PassRegistry &builtinPasses() {",
            "  static const PassRegistry registry = [] {", "    PassRegistry passes;"]
    out += [f"    passes.add({{&k{r['cppName']}, create{r['cppName']}}});" if r["deterministic"] else
            f"    passes.add({{&k{r['cppName']}}});" for r in records]
    out += ["    return passes;", "  }();", "  return registry;", "}", "} // namespace kbopt", ""]
    return "\n".join(out)


def edges(records, bonuses):
    """The seed's edges.json (lib/Knowledge/Catalogue.cpp)."""
    figures = {(b["before"], b["after"]): b for b in bonuses["bonuses"]}
    rows = []
    for r in records:
        for kind, key in (("enables", "enables"), ("excludes", "excludes"), ("retune", "retunes")):
            for name in r[key]:
                row = {"kind": kind, "before": r["name"], "after": name, "source": "the pass's folder"}
                if kind != "excludes":
                    figure = figures.pop((r["name"], name), {})
                    row["bonus"] = figure.get("bonus", bonuses["usualBonus"][key])
                    row["source"] = figure.get("source", row["source"])
                rows.append(row)
    for before, after in figures:
        raise DeclarationError(f"knowledge/seed/bonuses.json: '{before}' neither enables nor retunes '{after}'")
    return json.dumps({"version": 1, "edges": rows, "repeats": bonuses["repeats"]}, indent=1) + "\n"


def dedent(text):
    lines = text.strip("\n").split("\n")
    margin = min((len(l) - len(l.lstrip()) for l in lines if l.strip()), default=0)
    return "\n".join(l[margin:].rstrip() for l in lines).strip()


def without_run_lines(text):
    kept = [line for line in text.split("\n") if not re.match(r"\s*//\s*(RUN|CHECK[-A-Z]*|UNSUPPORTED|REQUIRES):", line)]
    return "\n".join(kept).strip("\n")


def form(r):
    return "model" if not r["deterministic"] else "both" if r["prompt"] else "rule"


def page(r):
    code = lambda names: ", ".join(f"`{n}`" for n in names)
    link = lambda names: ", ".join(f"[{n}]({n}.md)" if n in page.known else f"`{n}`" for n in names)
    out = [f"# {r['name']}", "", f"{r['summary']}.", "",
           f"- Family: {r['family']}", f"- Form: {FORM_TEXT[form(r)]}", f"- Promise: {PROMISE_TEXT[r['promise']]}",
           f"- One site per {r['site'].lower()}" + (" that the matcher finds" if r["matcher"] and not r["deterministic"] else ""),
           f"- States: {code(r['states'])}"]
    if r["aliases"]:
        out.append(f"- Also called: {code(r['aliases'])}")
    for key, words in NEIGHBOURS.items():
        if r[key]:
            out.append(f"- {words}: {link(r[key])}")
    if r["assumes"]:
        out.append(f"- Relies on, or tests at run time: {', '.join(ASSUMPTION_TEXT[a] for a in r['assumes'])}")
    if r["exactChip"]:
        out.append(f"- Needs code for sm_{r['minimumChip']}a")
    elif r["minimumChip"]:
        out.append(f"- Needs compute capability {r['minimumChip'] // 10}.{r['minimumChip'] % 10} or later")
    out += ["", dedent(r["description"]), ""]
    if r["options"]:
        out += ["## Options", "", "| option | type | default | meaning | values tried |", "|---|---|---|---|---|"]
        for o in r["options"]:
            out.append(f"| `{o['name']}` | {o['type'].lower()} | `{o['defaultValue'] or '(none)'}` | {o['summary']} | {code(o['tuning']) or '-'} |")
        out.append("")
    if r["parameters"]:
        out += ["## Numbers that a reply leaves open", "", "| name | default | meaning | values tried |", "|---|---|---|---|"]
        out += [f"| `{p['name']}` | `{p['default']}` | {p['summary']} | {code(p['values'])} |" for p in r["parameters"]]
        out.append("")
    if r["matcher"]:
        out += ["## Sites" if not r["deterministic"] else "## Where a model is asked", "", "```", r["matcher"], "```", ""]
    if r["before"]:
        for title, text in (("Before", r["before"]), ("After", r["after"])):
            out += [f"## {title}", "", "```cuda", text, "```", ""]
    if r["prompt"]:
        # Headings of the prompt stand one level below this one.
        out += ["## What a model is told", ""]
        if r["allow"]:
            out += [f"Beyond what every reply may use, its replies may use: {code(r['allow'])}.", ""]
        out += [re.sub(r"(?m)^#+ ", "### ", r["prompt"]), ""]
    out += ["<!-- Generated from the pass's folder by cmake/GeneratePasses.py. -->", ""]
    return "\n".join(out)


def index(records):
    out = ["# Passes", "", "A pass is applied by a rule, written by a model (*model*), or by a model where the rule does not fit (*both*).",
           "", "| pass | family | by | promise | what it does |", "|---|---|---|---|---|"]
    promise = {"Bitwise": "bitwise", "Reassociates": "reassociates", "LowerPrecision": "lower precision"}
    out += [f"| [{r['name']}]({r['name']}.md) | {r['family']} | {form(r)} | {promise[r['promise']]} | {r['summary']} |" for r in records]
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
    parser.add_argument("--states", type=pathlib.Path, help="rules.json with the names of all states")
    parser.add_argument("--registry", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path)
    parser.add_argument("--bonuses", type=pathlib.Path, help="what is known of the edges between passes")
    parser.add_argument("--edges", type=pathlib.Path)
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    try:
        records = sorted((load_folder(arguments, f) for f in arguments.folders), key=lambda r: r["name"])
        if arguments.states:
            check_neighbours(records)
        if arguments.edges:
            write(arguments.edges, edges(records, json.loads(arguments.bonuses.read_text())))
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
