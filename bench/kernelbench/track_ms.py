# SPDX-License-Identifier: Apache-2.0

"""Track MS: MSKernelBench, CUDA to CUDA, with CUDAMaster's rewritten files.

Upstream has, for each problem and type, the given file (origin/TYPE/NAME_TYPE.cu), CUDAMaster's (optimized/TYPE/NAME_TYPE.cu), and a test whose main makes inputs of several sizes, and times and
compares two functions: the rewritten one, which stands between two marks, and a copy of the given one behind them. A prepared problem is a folder TYPE/NAME with
    given.cu, master.cu   whole programs: the test's inputs and sizes, and one call of the given, or of CUDAMaster's, function for each size that is kept
    test.cu, master       upstream's test and CUDAMaster's file, as they are
and in problems.json of the whole its record. Nothing of it is committed.

The text is taken by what it does: which functions main times, which buffers only one of them gets, what the test states as its complexity. Names of types and problems decide nothing.
"""
import os
import re

import track_a

REPOSITORY = "Hanyx2021/MSKernelBenchDemo"
COMMIT = "633ec0ec6a1748a4b3ce989db915c9f864ac9f59"
START, END = "// ==== OPTIMIZED KERNEL START ====", "// ==== OPTIMIZED KERNEL END ===="
WORK, BYTES, SIZES = 2 ** 32, 2 ** 26, 5  # of a size: upstream's complexity and the bytes of its inputs, at most; so many sizes

CHOICE = """
#include <algorithm>
#include <vector>
namespace kb_sizes {{
// The first pass over the sizes notes what they cost, the second one keeps up to {count} of those within the limits, the smallest and the largest among them.
struct Size {{ double work, bytes; size_t number; }};
static std::vector<Size> sizes;
static std::vector<bool> kept;
static size_t next = 0;
static bool keeps(double work, double bytes) {{
  if (!kept.empty())
    return kept[next++];
  sizes.push_back({{work, bytes, sizes.size()}});
  return false;
}}
static void choose() {{
  kept.assign(sizes.size(), false);
  std::stable_sort(sizes.begin(), sizes.end(), [](const Size &a, const Size &b) {{ return a.work != b.work ? a.work < b.work : a.bytes < b.bytes; }});
  std::vector<size_t> fitting;
  for (const Size &size : sizes)
    if (size.work <= {work}. && size.bytes <= {bytes}.)
      fitting.push_back(size.number);
  if (fitting.empty())
    fitting.push_back(sizes.front().number);
  const size_t count = std::min<size_t>({count}, fitting.size());
  for (size_t i = 0; i < count; i++)
    kept[fitting[count == 1 ? 0 : i * (fitting.size() - 1) / (count - 1)]] = true;
}}
}} // namespace kb_sizes
"""


class Unprepared(Exception):
    """Why a problem has no program."""


def found(pattern, text, what):
    match = re.search(pattern, text, re.S)
    if not match:
        raise Unprepared(f"the test has no {what}")
    return match


def closing(text, at):
    """Past the brace that belongs to the opening one at `at`."""
    depth = 0
    for match in re.finditer(r"[{}]", text[at:]):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return at + match.end()
    raise Unprepared("a brace of the test is not closed")


def bare(text):
    """Without comments, strings and lines of the preprocessor."""
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", re.sub(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', " ", text, flags=re.S), flags=re.M)


def words_of(text):
    return set(re.findall(r"[A-Za-z_]\w*", bare(text)))


def defined_in(text):
    """Names of functions, types and variables at file scope."""
    text = bare(text)
    for pair, sign in ((r"\{[^{}]*\}", "\1"), (r"\([^()]*\)", "\2"), (r"\[[^\[\]]*\]", "")):
        while (shorter := re.sub(pair, sign, text)) != text:
            text = shorter
    patterns = ("(\\w+)\\s*\2\\s*\1", "\\b(?:struct|class|union|enum|using)\\s+(\\w+)\\s*[\1:=]", "(\\w+)\\s*(?:=[^;]*)?;")
    return {name for pattern in patterns for name in re.findall(pattern, text)}


def entry_of(text):
    """The last function with C linkage that is no kernel."""
    names = re.findall(r'extern\s*"\s*C\s*"\s*(?!\s*__global__)[\w\s*]*?(\w+)\s*\(', text)
    if not names:
        raise Unprepared('a file has no extern "C" function')
    return names[-1]


class Test:
    """Upstream's test program: what stands before and behind the marks, and what its main times. `called` is the function that it expects between them."""

    def __init__(self, text):
        if text.count(START) != 1 or text.count(END) != 1:
            raise Unprepared("the test has not the two marks")
        self.head, rest = text.split(START)
        self.tail = rest.split(END)[1]
        at = found(r"(?:\n//[^\n]*)*\n[ \t]*(?:typedef\s+struct\b[^{};]*\{[^{}]*\}\s*TestCase\s*;|struct\s+TestCase\b)", self.tail, "type TestCase").start()
        self.copies, self.cases = self.tail[:at], self.tail[at:]
        self.main = self.cases[found(r"\bint\s+main\s*\(", self.cases, "main").start():]
        self.cases = self.cases[:-len(self.main)]
        ratio = found(r'printf\s*\(\s*"Speedup[^"]*"\s*,\s*(\w+)\s*/\s*(\w+)\s*\)\s*;', self.main, "ratio of two times")
        calls = dict(re.findall(r"(\w+)\s*=\s*\w+\(\s*(\w+)\s*,[^;()]*\)\s*;", self.main))
        if ratio[1] not in calls or ratio[2] not in calls:
            raise Unprepared("the functions of the two times are not known")
        self.lambdas = {name: self.lambda_of(calls[ratio[part]]) for part, name in ((1, "copy"), (2, "rewritten"))}
        _, body = self.lambdas["rewritten"]
        outside = defined_in(self.head) | defined_in(self.tail)
        names = [n for n in re.findall(r"\b(\w+)\s*\(", bare(body)) if not re.match(r"cuda|sizeof$|static_cast$", n) and n not in outside]
        if len(set(names)) != 1:
            raise Unprepared("which function is the rewritten one is not known")
        self.called, self.ratio = names[0], ratio

    def lambda_of(self, name):
        match = found(rf"auto\s+{name}\s*=\s*\[&\]\s*\(\s*\)\s*(?=\{{)", self.main, f"lambda {name}")
        end = closing(self.main, match.end())
        return (match.start(), end), self.main[match.end():end]

    def with_text(self, text, entry):
        """Upstream's test with this text between the marks: includes go to the top, and the entry has the name that main calls. Names that the test defines as well are changed."""
        outside = words_of(self.head) | words_of(self.tail)
        names = {name: name + "_kb" for name in defined_in(text) & outside if name != self.called}
        names[entry] = self.called
        includes = re.findall(r"^[ \t]*#[ \t]*include[^\n]*\n", text, re.M)
        text = re.sub(r"^[ \t]*#[ \t]*include[^\n]*\n", "", text, flags=re.M)
        text = re.sub(r"\b(" + "|".join(map(re.escape, names)) + r")\b", lambda m: names[m[1]], text)
        return "".join(includes) + self.head + START + "\n" + text.rstrip() + "\n" + END + self.tail

    def chosen_cases(self, limits):
        """TestCase and the functions about it, so that the one that makes the cases skips what is not kept."""
        shows = found(r"void\s+(\w+)\s*\(\s*(?:const\s+)?TestCase\s*&?\s*\w+\s*\)\s*(?=\{)", self.cases, "function that prints a size")
        body = self.cases[shows.end():closing(self.cases, shows.end())]
        line = found(r'printf\s*\(\s*"[^"]*"\s*,(?:[^;]*,)?([^;,]*)\)\s*;', body, "complexity of a size")
        work = re.sub(r"\b([A-Za-z_]\w*\.\w+)", r"(double)\1", line[1].strip())
        function = shows[0].replace("void", "static double", 1).replace(shows[1], "kb_work") + body[:line.start()] + f"return (double)({work});" + body[line.end():]
        makes = found(r"void\s+(\w+)\s*\(\s*std::vector<TestCase>\s*&\s*(\w+)\s*\)\s*(?=\{)", self.cases, "function that makes the cases")
        end = closing(self.cases, makes.end())
        inner = self.cases[makes.end():end]
        push = found(rf"[ \t]*\b{makes[2]}\.push_back\(\s*(\w+)\s*\)\s*;", inner, "case that is kept")
        news = list(re.finditer(r"[ \t]*[\w.]+\s*=\s*new\s+(\w+)\s*\[([^\]]+)\]\s*;", inner[:push.start()]))
        size = " + ".join(f"sizeof({n[1]}) * (double)({n[2]})" for n in news) or "0"
        at = push.start()
        if news:
            together = not re.search(r"\S", re.sub(r"[\w.]+\s*=\s*new\s+\w+\s*\[[^\]]+\]\s*;", "", inner[news[0].start():news[-1].end()]))
            at = news[0].start() if together else news[-1].end()
            between = bare(inner[at:push.start()])
            at = at if between.count("{") == between.count("}") and not re.match(r"[^{]*\}", between) else push.start()
        test = f"\n    if (!kb_sizes::keeps(kb_work({push[1]}), {size}))\n      continue;\n"
        text = self.cases[:makes.end()] + inner[:at] + test + inner[at:] + self.cases[end:]
        type_end = found(r"\A.*?\}\s*TestCase\s*;|\A.*?struct\s+TestCase\b[^{]*\{[^{}]*\}\s*;", text, "type TestCase").end()
        return text[:type_end] + "\n" + CHOICE.format(**limits) + "\n" + function + text[type_end:], makes[1], shows

    def program(self, text, entry, name, limits):
        """A whole program with this text: each kept size once, and its results copied back. The entry gets the name, and kernels lose C linkage, so that two programs differ in no name that others see."""
        text = re.sub(rf"\b{entry}\b", name, re.sub(r'extern\s*"C"\s*(?=__global__)', "", text))
        cases, makes, shows = self.chosen_cases(limits)
        (first, _), copy = self.lambdas["copy"]
        (second, _), body = self.lambdas["rewritten"]
        main = self.main
        last = max(m.end() for m in re.finditer(rf"\b(?:{self.ratio[1]}|{self.ratio[2]})\s*=\s*\w+\([^;]*;", main))
        copied = [m.end() for m in re.finditer(r"[^;{}]*cudaMemcpyDeviceToHost[^;{}]*;", main[last:self.ratio.start()])]
        if not copied:
            raise Unprepared("results are not copied back in main")
        item = found(rf"for\s*\(\s*(?:const\s+)?(?:auto|TestCase)\s*&?\s*(\w+)\s*:\s*\w+\s*\)", main, "loop over the cases")
        called = re.sub(rf"\b{self.called}\b", name, body)
        main = main[:min(first, second)] + called + main[last:last + copied[-1]] + f"\n        {shows[1]}({item[1]});\n" + main[self.ratio.end():]
        for name in words_of(copy) - words_of(body):
            main = re.sub(rf"[^;{{}}]*\bcuda\w+\s*\([^;{{}}]*\b{name}\b[^;{{}}]*;", "", main)
        main = re.sub(rf"([ \t]*\b{makes}\s*\([^;]*;)", r"\1\n    kb_sizes::choose();\n\1", main, count=1)
        return without_unused_cub(self.head + START + "\n" + text.rstrip() + "\n" + END + "\n" + self.needed_of_copies(words_of(text + cases + main) - defined_in(text)) + cases + main)

    def needed_of_copies(self, needed):
        """What stands between the marks and the cases and defines one of these names."""
        kept, text = "", self.copies
        while (opening := text.find("{")) >= 0:
            end = closing(text, opening)
            kept += text[:end] + "\n" if defined_in(text[:end]) & needed else ""
            text = text[end:]
        return kept


def given_text(path, test):
    """(text, entry, note) of the given file; where it launches what it does not define, of the test's own copy, with which upstream compares."""
    text = read(path)
    missing = set(re.findall(r"(\w+)\s*<<<", bare(text))) - words_of(re.sub(r"\w+\s*<<<", "", text))
    if not missing:
        return text, entry_of(text), ""
    return test.copies, entry_of(test.copies), f"the given file launches {', '.join(sorted(missing))}, which it does not define; the test's copy is taken"


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def without_unused_cub(text):
    """Most files include CUB, which takes seconds to read, and do not use it."""
    return text if "cub::" in bare(text) else re.sub(r"^[ \t]*#[ \t]*include\s*<cub/[^\n]*\n", "", text, flags=re.M)


def fetch(folder, source, kind):
    track_a.fetch(folder, source, REPOSITORY, COMMIT, [f"origin/{kind}", f"optimized/{kind}"])


def prepare_one(data, name, kind, out, limits):
    record = {"name": f"{kind}/{name}", "flags": [], "notes": [], "why": "", "file": "given.cu"}
    folder = os.path.join(out, record["name"])
    try:
        text = read(os.path.join(data, "origin", kind, f"test_{name}_{kind}.cu"))
        master = read(os.path.join(data, "optimized", kind, f"{name}_{kind}.cu"))
        test = Test(text)
        given, entry, note = given_text(os.path.join(data, "origin", kind, f"{name}_{kind}.cu"), test)
        record["notes"] += [note] if note else []
        programs = {"given.cu": test.program(given, entry, entry, limits), "master.cu": test.program(master, entry_of(master), entry, limits)}
    except (OSError, Unprepared) as error:
        record["why"] = f"no program: {error}"
        return record
    for file, content in {**programs, "test.cu": text, "master": master}.items():
        write(os.path.join(folder, file), content)
    return record


def prepare(folder, out, options):
    kind = options["type"]
    data = os.path.join(folder, REPOSITORY.split("/")[1])
    data = data if os.path.isdir(data) else folder
    limits = {"work": WORK, "bytes": BYTES, "count": 1 if options["shape"] == "small" else SIZES}
    names = sorted(f.removesuffix(f"_{kind}.cu") for f in os.listdir(os.path.join(data, "origin", kind)) if f.endswith(f"_{kind}.cu") and not f.startswith("test_"))
    records = [prepare_one(data, n, kind, out, limits) for n in names if re.search(options["only"], f"{kind}/{n}")]
    os.makedirs(out, exist_ok=True)
    track_a.write_json(os.path.join(out, "problems.json"), records)
    for record in records:
        for line in [record["why"]] if record["why"] else record["notes"]:
            print(f"{record['name']}: {line}")
    print(f"{sum(not r['why'] for r in records)} of {len(records)} problems have a program, {sum(bool(r['notes']) for r in records)} of them with notes")
