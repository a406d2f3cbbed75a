# SPDX-License-Identifier: Apache-2.0

"""Figures of scripts/bench-learning: what a search gains by what was learnt from other kernels. Pure functions of the
reports of `kb-opt --report=FILE.json` (docs/Report.md)."""
import math
import random
import re

FAMILIES = ("product", "row-norm", "scatter", "stencil", "launch-chain", "gather-scan")
TRAINING, NEAR, FAR = ("train1", "train2"), ("near1", "near2"), ("far1", "far2")
GROUPS = {"near": NEAR, "far": FAR}

# Without "no-memory" unless it is asked for: it takes away what a search learns on its way, too.
RULE_ARMS = ("no-memory", "empty", "evidence", "recipes")
BUDGETS = (4, 12)
MODEL_ARMS = ("no-memory", "placebo", "examples", "recipes", "minimal-agent")

# A kernel has room where rules leave it above so much of its attainable time.
ROOM = 1.1

# The aims of the first part, written down on 29 November 2026, before its first run: at 4 candidates, the geometric mean
# of the speed-up with `one` over that with `other`, of all kernels or of those with room.
AIMS = (
    {"one": "evidence", "other": "empty", "group": "near", "room": False, "least": 1.3},
    {"one": "evidence", "other": "empty", "group": "far", "room": False, "least": 1.15},
    {"one": "recipes", "other": "evidence", "group": "near", "room": True, "least": 1.5},
    {"one": "recipes", "other": "evidence", "group": "far", "room": True, "least": 1.2},
)
AIMED_BUDGET = 4
RATIOS = (("evidence", "empty"), ("recipes", "evidence"), ("recipes", "empty"), ("empty", "no-memory"))

RESAMPLES, BOOTSTRAP_SEED = 10000, 20261129


def gain(report):
    """How many times as fast the search made its program; 1 where it found nothing that it could prove."""
    return report["originalUs"] / report["bestUs"] if report["found"] and report["confirmed"] else 1.0


def attainable_us(log):
    """The time that no rewrite goes below, of what kb-opt said on its standard error; None where it is not known."""
    said = re.search(r"no rewrite goes below ([\d.]+) us", log)
    return float(said[1]) if said else None


def room_of(gains, originals, attainables):
    """The kernels that a search left above ROOM of their attainable time. All three are by kernel: speed-ups and times."""
    return {kernel for kernel, gained in gains.items()
            if attainables.get(kernel) and originals[kernel] / gained > ROOM * attainables[kernel]}


def tokens(report):
    return sum(role["promptTokens"] + role["completionTokens"] for role in report["roles"])


def area(report, horizon):
    """The mean of ln(best speed-up so far) over the first `horizon` tokens; None without a horizon.

    Tokens are those of the attempts, in the order in which the search settled them. A candidate counts once the tokens of
    its attempt are spent, and what needed no tokens counts from where it stands.
    """
    if horizon <= 0:
        return None
    spent, best, under = 0, 0.0, 0.0
    for attempt in report["attempts"]:
        until = min(horizon, spent + attempt["tokens"])
        under += best * (until - spent)
        spent = until
        if attempt["outcome"] == "correct" and attempt["us"] and attempt["phase"] != "confirm":
            best = max(best, math.log(report["originalUs"] / attempt["us"]))
        if spent == horizon:
            break
    return (under + best * (horizon - spent)) / horizon


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


def valid_rate(reports):
    """(correct, all) proposals, declined ones left out."""
    fates = [fate for report in reports for fate in proposals(report) if fate != "declined"]
    return fates.count("correct"), len(fates)


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


def clustered_interval(clusters, resamples=RESAMPLES, seed=BOOTSTRAP_SEED, confidence=0.95):
    """(low, high) of the geometric mean of all values, by the bootstrap: whole clusters are drawn with replacement, because
    the kernels of a family gain or lose together. None where there are fewer than two clusters with values.

    `clusters` is {name: [values]}.
    """
    sums = [(sum(map(math.log, values)), len(values)) for _, values in sorted(clusters.items()) if values]
    if len(sums) < 2:
        return None
    draw, means = random.Random(seed), []
    for _ in range(resamples):
        drawn = [draw.choice(sums) for _ in sums]
        means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    tail = (1 - confidence) / 2
    low, high = means[int(tail * resamples)], means[min(resamples - 1, int((1 - tail) * resamples))]
    return math.exp(low), math.exp(high)


def compare(ones, others, kernels):
    """The ratio of two arms over `kernels`, which are (family, kernel) pairs: {"ratio", "interval", "kernels"}.

    `ones` and `others` are {(family, kernel): speed-up}. Kernels that lack a side are left out.
    """
    ratios = {}
    for kernel in kernels:
        if kernel in ones and kernel in others:
            ratios.setdefault(kernel[0], []).append(ones[kernel] / others[kernel])
    values = [value for family in ratios.values() for value in family]
    return {"ratio": geometric_mean(values), "interval": clustered_interval(ratios), "kernels": len(values)}


def kernels_of(group):
    return [(family, kernel) for family in FAMILIES for kernel in GROUPS[group]]


def rule_figures(gains, room):
    """What the first part says, for results.json.

    `gains` is {(arm, budget): {(family, kernel): speed-up}}, `room` the set of kernels with room.
    """
    figures = []
    for budget in sorted({budget for _, budget in gains}):
        for one, other in RATIOS:
            for group in GROUPS:
                for only_room in (False, True):
                    kernels = [k for k in kernels_of(group) if not only_room or k in room]
                    found = compare(gains.get((one, budget), {}), gains.get((other, budget), {}), kernels)
                    aim = [a["least"] for a in AIMS if budget == AIMED_BUDGET and
                           (a["one"], a["other"], a["group"], a["room"]) == (one, other, group, only_room)]
                    figures.append({"budget": budget, "one": one, "other": other, "group": group, "room": only_room, **found,
                                    "aim": aim[0] if aim else None})
    return figures


def text(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def interval_text(interval):
    return f"{interval[0]:.2f} to {interval[1]:.2f}" if interval else "-"


def rows(header, lines):
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *("| " + " | ".join(line) + " |" for line in lines)]


def rule_table(gains, attainables, originals, room, source):
    """Lines for people. `attainables` and `originals` are {(family, kernel): microseconds}."""
    columns = sorted(gains, key=lambda column: (column[1], RULE_ARMS.index(column[0])))
    kernels = sorted({kernel for of in gains.values() for kernel in of},
                     key=lambda k: (FAMILIES.index(k[0]), k[1].startswith("far"), k[1]))
    if not kernels:
        return ["Nothing was run."]
    lines = [f"Speed-ups, {source}:", ""]
    lines += rows(["kernel", "original, us", "attainable, us", *(f"{arm}, {budget}" for arm, budget in columns), "room"],
                  [["/".join(k), text(originals.get(k)), text(attainables.get(k)), *(text(gains[c].get(k)) for c in columns),
                    "yes" if k in room else ""] for k in kernels])
    lines += ["", f"Room: with no evidence and {max(b for _, b in columns)} candidates the search stays above {ROOM} of the "
              f"attainable time ({len(room)} of {len(kernels)}).", ""]
    lines += rows(["candidates", "ratio", "kernels", "geometric mean", "95 % of", "aim", ""],
                  [[str(f["budget"]), f"{f['one']} over {f['other']}", f"{f['kernels']} {f['group']}" + (" with room" if f["room"] else ""),
                    text(f["ratio"]), interval_text(f["interval"]), text(f["aim"]),
                    "" if f["aim"] is None or f["ratio"] is None else "met" if f["ratio"] >= f["aim"] else "missed"]
                   for f in rule_figures(gains, room) if f["kernels"]])
    return lines


def model_table(reports):
    """Lines for {(family, kernel, sample): {arm: report}}. The horizon of an area is what the arm that spent the most
    tokens on this kernel and sample spent."""
    if not reports:
        return ["Nothing was run."]
    arms = [arm for arm in MODEL_ARMS if any(arm in of for of in reports.values())]
    areas = {}
    for key, of in reports.items():
        horizon = max(sum(a["tokens"] for a in report["attempts"]) for report in of.values())
        for arm, report in of.items():
            under = area(report, horizon)
            areas.setdefault(arm, {})[key] = math.exp(under) if under is not None else 1.0
    of = {arm: [by[arm] for _, by in sorted(reports.items()) if arm in by] for arm in arms}
    sources = " and ".join(sorted({report["source"] for by in reports.values() for report in by.values()}))
    lines = [f"Speed-ups, {sources}; in brackets the mean best speed-up so far over the tokens:", ""]
    lines += rows(["kernel", *arms],
                  [["/".join(map(str, key)), *(f"{gain(by[arm]):.2f} ({areas[arm][key]:.2f})" if arm in by else "-" for arm in arms)]
                   for key, by in sorted(reports.items())])
    lines += [""] + rows(["", *arms], [
        ["geometric mean", *(text(geometric_mean([gain(r) for r in of[arm]])) for arm in arms)],
        ["mean best so far", *(text(geometric_mean(list(areas[arm].values()))) for arm in arms)],
        ["proposals that ended correct", *("{} of {}".format(*valid_rate(of[arm])) for arm in arms)],
        ["tokens", *(str(sum(map(tokens, of[arm]))) for arm in arms)]])
    lines += [""]
    figures = []
    for one in arms:
        for other in ("no-memory", "placebo", "minimal-agent"):
            if one == other or other not in arms:
                continue
            for name, group in GROUPS.items():
                keys = [key for key in sorted(reports) if key[1] in group]
                found = compare(areas[one], areas[other], keys)
                if found["kernels"]:
                    figures.append([f"{one} over {other}", f"{found['kernels']} {name}", text(found["ratio"]),
                                    interval_text(found["interval"])])
    return lines + rows(["mean best so far", "searches", "geometric mean", "95 % of"], figures)
