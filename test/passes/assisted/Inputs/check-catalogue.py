"""Compares the catalogue's names with the folders of passes and the seed knowledge.

check-catalogue.py SOURCE_DIR LIST, where LIST has 'number form name' lines: form F (a
rule), P (a rule for a pattern), T (tuning only) or N (a model)."""

import json
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
entries = [line.split() for line in pathlib.Path(sys.argv[2]).read_text().splitlines() if line.strip()]
seed = {o["number"]: o["name"] for o in json.loads((root / "knowledge/seed/optimizations.json").read_text())["optimizations"]}
problems = []

folders, aliases = {}, {}
for folder in sorted((root / "passes").glob("*/*/")):
    folders[folder.name] = folder
    declaration = next((f.read_text() for f in (folder / "Pass.td", folder / "pass.yaml") if f.exists()), "")
    for names in re.findall(r"^(?:  let aliases = |aliases: )\[(.*?)\]", declaration, re.M):
        for name in names.split(","):
            aliases[name.strip().strip('"')] = folder.name

for number, form, name in entries:
    if seed.get(int(number)) != name:
        problems.append(f"{number}: the seed calls '{name}' '{seed.get(int(number))}'")
    folder = folders.get(name) or folders.get(aliases.get(name, ""))
    if not folder:
        problems.append(f"{number}: '{name}' has no folder")
    elif not (folder / "prompt.md").exists():
        problems.append(f"{number}: '{name}' has no assisted form")
for name in sorted(set(seed.values()) - {name for _, _, name in entries}):
    problems.append(f"the seed's '{name}' is not in the catalogue")
# A pass that only sets a schedule is no optimization that a model could be asked for.
for name in sorted(n for n, folder in folders.items() if (folder / "prompt.md").exists()):
    if name in {name for _, _, name in entries}:
        continue
    problems.append(f"passes/*/{name} is not in the catalogue")
print("\n".join(problems) or f"{len(entries)} entries")
sys.exit(bool(problems))
