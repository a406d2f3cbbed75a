"""Reads a report as strictly as XML wants it, and holds that nothing in it is loaded or runs but its own script.

usage: check_report.py FILE SECTION… : these sections are there"""

import base64
import hashlib
import re
import sys
import xml.etree.ElementTree as tree

text = open(sys.argv[1], encoding="utf-8", newline="").read()
html = "{http://www.w3.org/1999/xhtml}"
root = tree.fromstring(text)
elements = list(root.iter())
names = {element.tag.removeprefix(html) for element in elements}
assert not names & {"img", "iframe", "object", "link", "embed", "base", "form"}, names
for element in elements:
    for name, value in element.attrib.items():
        assert not name.startswith("on") and name != "src", (element.tag, name, value)
        assert name != "href" or value.startswith("#"), value
        assert name != "style" or re.fullmatch(r"width:[0-9.]+%", value), value
scripts = [element for element in elements if element.tag == html + "script"]
assert len(scripts) == 1 and text.count("<script") == 1
digest = base64.b64encode(hashlib.sha256(scripts[0].text.encode()).digest()).decode()
assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in text
ids = [element.get("id") for element in elements if element.get("id")]
assert len(ids) == len(set(ids)), ids
for element in elements:
    target = element.get("href", "")[1:]
    assert not target or target in ids, target
for section in sys.argv[2:]:
    assert section in ids, (section, ids)
attempts = sum(1 for name in ids if re.fullmatch(r"a\d+", name))
print(f"{attempts} attempts")
