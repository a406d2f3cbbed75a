# SPDX-License-Identifier: Apache-2.0

"""Figures of searches that a model took part in; scripts/bench-learning runs them. Pure functions of the reports of
`kb-opt --report=FILE.json` (docs/Report.md)."""
import math

CONFIGURATIONS = ("empty", "trained", "no-memory", "minimal-agent")


def gain(report):
    """How many times as fast the search made its program; 1 where it found nothing."""
    return report["originalUs"] / report["bestUs"] if report["found"] else 1.0


def tokens(report):
    return sum(role["promptTokens"] + role["completionTokens"] for role in report["roles"])


def proposals(report):
    """What became of every proposal of a model, repairs included: "correct", "declined", or "failed".

    A proposal is an attempt that cost tokens; the repairs that follow it in its trajectory belong to it. One that the
    planner declined ("none of these passes helps") is none that could be right.
    """
    fates, last = [], {}
    for attempt in report["attempts"]:
        if not attempt["tokens"]:
            continue
        trajectory = attempt["trajectory"]
        if not attempt["repair"] or trajectory not in last:
            last[trajectory] = len(fates)
            fates.append("failed")
        at = last[trajectory]
        if attempt["verdict"] == "declined":
            fates[at] = "declined"
        elif attempt["outcome"] == "correct":
            fates[at] = "correct"
    return fates


def steps_to_share(report, share=0.95):
    """Attempts, those of tuning included, until the fastest program had `share` of the final gain (as a logarithm);
    None where nothing was found, or ablation alone found it."""
    final = math.log(gain(report))
    if final <= 0:
        return None
    attempts = [a for a in report["attempts"] if a["phase"] != "confirm"]
    for count, attempt in enumerate(attempts, 1):
        if attempt["outcome"] == "correct" and attempt["us"]:
            if math.log(report["originalUs"] / attempt["us"]) >= share * final:
                return count
    return None


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def tokens_per_log_gain(reports):
    """Sum of tokens over the sum of ln(speed-up); None where nothing became faster."""
    gained = sum(math.log(gain(report)) for report in reports)
    return sum(map(tokens, reports)) / gained if gained > 0 else None


def valid_rate(reports):
    """(correct, all) proposals, declined ones left out."""
    fates = [fate for report in reports for fate in proposals(report) if fate != "declined"]
    return fates.count("correct"), len(fates)


def median(values):
    ordered = sorted(values)
    half = len(ordered) // 2
    if not ordered:
        return None
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def both(reports, one, other):
    """Pairs of reports of the kernels that have both configurations."""
    return [(reports[k][one], reports[k][other]) for k in sorted(reports) if one in reports[k] and other in reports[k]]


def text(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def table(reports):
    """Lines for {kernel: {configuration: report}}. Ratios are of kernels that have both sides, and say of how many."""
    sources = sorted({r["source"] for by in reports.values() for r in by.values()})
    lines = [f"Speed-ups, {' and '.join(sources)}:" if sources else "Nothing was run.",
             "", "| kernel | " + " | ".join(CONFIGURATIONS) + " |", "|---" * (len(CONFIGURATIONS) + 1) + "|"]
    if not sources:
        return lines[:1]
    for kernel in sorted(reports):
        cells = [text(gain(reports[kernel][c])) if c in reports[kernel] else "-" for c in CONFIGURATIONS]
        lines.append(f"| {kernel} | " + " | ".join(cells) + " |")
    of = {c: [reports[k][c] for k in sorted(reports) if c in reports[k]] for c in CONFIGURATIONS}
    rows = {"geometric mean": [text(geometric_mean([gain(r) for r in of[c]])) for c in CONFIGURATIONS],
            "kernels": [str(len(of[c])) for c in CONFIGURATIONS],
            "proposals that ended correct": ["{} of {}".format(*valid_rate(of[c])) if of[c] else "-" for c in CONFIGURATIONS],
            "proposals declined": [str(sum(proposals(r).count("declined") for r in of[c])) if of[c] else "-" for c in CONFIGURATIONS],
            "tokens": [str(sum(map(tokens, of[c]))) if of[c] else "-" for c in CONFIGURATIONS],
            "tokens per unit of ln(speed-up)": [text(tokens_per_log_gain(of[c]), "{:.0f}") for c in CONFIGURATIONS],
            "steps to 95 % of the gain, median": [text(median([s for s in map(steps_to_share, of[c]) if s is not None]), "{:g}")
                                                  for c in CONFIGURATIONS]}
    lines += [f"| *{name}* | " + " | ".join(cells) + " |" for name, cells in rows.items()]
    lines.append("")
    for name, one, other in (("memory that this run makes", "empty", "no-memory"),
                             ("memory of other kernels", "trained", "no-memory"),
                             ("knowledge of other kernels", "trained", "empty")):
        pairs = both(reports, one, other)
        ratio = geometric_mean([gain(a) / gain(b) for a, b in pairs])
        lines.append(f"{name} ({one} over {other}): {text(ratio, '{:.3f}')} x, {len(pairs)} kernels")
    for one in ("empty", "trained"):
        pairs = both(reports, one, "minimal-agent")
        ours, theirs = (tokens_per_log_gain([p[i] for p in pairs]) if pairs else None for i in (0, 1))
        ratio = theirs / ours if ours and theirs else None
        lines.append(f"tokens per unit of ln(speed-up), minimal-agent over {one}: {text(ratio)} x, {len(pairs)} kernels")
    pairs = [(a, b) for a, b in ((steps_to_share(x), steps_to_share(y)) for x, y in both(reports, "empty", "trained"))
             if a is not None and b is not None]
    lines.append("steps to 95 % of the gain, empty over trained: "
                 f"{text(geometric_mean([a / b for a, b in pairs]))} x, {len(pairs)} kernels")
    return lines
